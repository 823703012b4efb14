//! What the system holds inside: attempts present, calls in back-off, breakers that are open.

use crate::report::View;
use crate::report::charts::ChartError;
use crate::report::charts::axis::Axis;
use crate::report::charts::canvas::Anchor;
use crate::report::charts::canvas::Canvas;
use crate::report::charts::canvas::Picture;
use crate::report::charts::canvas::picture;
use crate::report::charts::decimate::MOST_POINTS;
use crate::report::charts::decimate::decimate;
use crate::report::charts::frame;
use crate::report::charts::frame::Place;
use crate::report::charts::frame::Sample;
use crate::report::charts::frame::Time;
use crate::report::charts::palette::LINES;
use crate::report::charts::palette::QUIET;
use crate::report::number::number;
use crate::report::road;
use crate::scenario::model::Caller;
use crate::scenario::model::EdgeId;

/// A quantity over the windows of a run.
struct Line {
    name: String,
    values: Vec<f64>,
}

impl Line {
    fn peak(&self) -> f64 {
        self.values.iter().copied().fold(0.0, f64::max)
    }
}

/// A panel: what it shows and the lines in it.
struct Panel {
    title: &'static str,
    lines: Vec<Line>,
    /// How many lines there were before the smallest were left out.
    of: usize,
}

/// The chart.
pub(super) fn draw(view: &View<'_>) -> Result<Picture, ChartError> {
    let panels = panels(view);
    picture((frame::WIDTH, frame::HEIGHT), |canvas| {
        let caption = format!(
            "One run: replication {}, seed {}. Values at the end of each window of {}.",
            view.replication(),
            view.seed,
            view.model().run.window
        );
        let top = frame::page(canvas, frame::HEIGHT, &title(view), &view.subtitle(), &caption);
        let lane = frame::LANE_ROWS as f64 * frame::LANE_ROW;
        let first = top + lane;
        let each = (frame::HEIGHT - 92.0 - first) / panels.len() as f64;
        let time = Time::of(view);
        for (index, panel) in panels.iter().enumerate() {
            let y = first + index as f64 * each + 58.0;
            let x = frame::MARGIN + 58.0;
            let width = frame::WIDTH - frame::MARGIN - x;
            let place = Place { x, y, width, height: each - 74.0 };
            let lowest = index + 1 == panels.len();
            draw_panel(canvas, view, &time, &place, panel, lowest);
            if index == 0 {
                let above = Place { y: y - 50.0, ..place };
                frame::events(canvas, view, &time, &above, first - 8.0);
            }
            if lowest {
                frame::time_title(canvas, &time, &place);
            }
        }
    })
}

/// What one sees: the most attempts that any service held at once.
fn title(view: &View<'_>) -> String {
    let model = view.model();
    let peaks = (0..model.services.len()).map(|id| {
        let peak = view.series().service(id).map(|window| window.present).max().unwrap_or(0);
        (peak, id)
    });
    match peaks.max_by_key(|&(peak, id)| (peak, std::cmp::Reverse(id))) {
        Some((peak, id)) if peak > 0 => format!(
            "{}: up to {} attempts at once inside {}",
            view.name(),
            number(f64::from(peak)),
            model.services[id].name
        ),
        _ => format!("{}: nothing waits", view.name()),
    }
}

/// The panels; breakers only where there are any.
fn panels(view: &View<'_>) -> Vec<Panel> {
    let (model, series) = (view.model(), view.series());
    let present = road::order(model).into_iter().map(|id| Line {
        name: model.services[id].name.clone(),
        values: series.service(id).map(|window| f64::from(window.present)).collect(),
    });
    let edge_line = |id: EdgeId, value: fn(&crate::measure::record::EdgeWindow) -> u32| Line {
        name: edge_name(view, id),
        values: series.edge(id).map(|window| f64::from(value(window))).collect(),
    };
    let waiting = (0..model.edges.len()).map(|id| edge_line(id, |window| window.backing_off));
    let open = (0..model.edges.len())
        .filter(|&id| model.policy_of(id).breaker.is_some())
        .map(|id| edge_line(id, |window| window.breakers_open));
    let mut panels = vec![
        most("attempts present (waiting, in service, out on calls)", present.collect()),
        most("calls waiting in a back-off", waiting.collect()),
    ];
    let open: Vec<_> = open.collect();
    if !open.is_empty() {
        panels.push(most("breakers open or half-open", open));
    }
    panels
}

/// The lines with the highest peaks, in the order given; those that stay at zero only if all do.
fn most(title: &'static str, lines: Vec<Line>) -> Panel {
    let of = lines.len();
    let mut peaks: Vec<_> = lines.iter().map(Line::peak).collect();
    peaks.sort_by(|a, b| b.total_cmp(a));
    let least = peaks.get(LINES.len() - 1).copied().unwrap_or(0.0);
    let mut lines: Vec<_> = lines.into_iter().filter(|line| line.peak() >= least).collect();
    if lines.iter().any(|line| line.peak() > 0.0) {
        lines.retain(|line| line.peak() > 0.0);
    }
    lines.truncate(LINES.len());
    Panel { title, lines, of }
}

/// `gateway → orders`.
fn edge_name(view: &View<'_>, id: EdgeId) -> String {
    let model = view.model();
    let edge = &model.edges[id];
    let caller = match edge.caller {
        Caller::Population(population) => &model.populations[population].name,
        Caller::Service(service) => &model.services[service].name,
    };
    format!("{caller} → {}", model.services[edge.target].name)
}

fn draw_panel(
    canvas: &mut Canvas<'_>,
    view: &View<'_>,
    time: &Time,
    place: &Place,
    panel: &Panel,
    lowest: bool,
) {
    let axis = Axis::from_zero(panel.lines.iter().map(Line::peak).fold(0.0, f64::max));
    frame::panel(canvas, view, time, place, &axis, lowest);
    let mut title = panel.title.to_owned();
    if panel.lines.len() < panel.of {
        let shown = panel.lines.len();
        title += &format!(", {shown} of {} that rise highest", panel.of);
    }
    canvas.text((place.x, place.y - 38.0), &title, 16.0, QUIET, Anchor::Left);
    let entries: Vec<_> = panel
        .lines
        .iter()
        .zip(LINES)
        .map(|(line, ink)| {
            (Sample::Line(ink), format!("{}, up to {}", line.name, number(line.peak())))
        })
        .collect();
    frame::legend(canvas, place.x, place.y - 15.0, place.width, &entries);
    for (line, ink) in panel.lines.iter().zip(LINES) {
        let points: Vec<_> = decimate(&line.values, MOST_POINTS)
            .into_iter()
            .map(|index| {
                let end = view.series().start_s(index + 1);
                (time.x(end, place), axis.at(line.values[index], place.bottom(), place.y))
            })
            .collect();
        canvas.line(&points, ink, 2.0);
    }
}
