//! What the system holds inside: attempts present at each service, calls to it that wait in a
//! back-off, and breakers before it that are open. One row for each service, along the road.
//!
//! What never happens has no panel, and is named in the caption. Values are those at the ends of windows, and what comes and goes within a window is
//! not seen; crashes are counted, so each of them is marked.

use crate::measure::record::EdgeWindow;
use crate::report::View;
use crate::report::charts::ChartError;
use crate::report::charts::axis::Axis;
use crate::report::charts::canvas::Anchor;
use crate::report::charts::canvas::Canvas;
use crate::report::charts::canvas::Picture;
use crate::report::charts::canvas::picture;
use crate::report::charts::crashes;
use crate::report::charts::decimate::MOST_POINTS;
use crate::report::charts::decimate::decimate;
use crate::report::charts::frame;
use crate::report::charts::frame::Place;
use crate::report::charts::frame::Sample;
use crate::report::charts::frame::Time;
use crate::report::charts::palette::BLACK;
use crate::report::charts::palette::BLUE;
use crate::report::charts::palette::Colour;
use crate::report::charts::palette::Fill;
use crate::report::charts::palette::GREEN;
use crate::report::charts::palette::LIMIT;
use crate::report::charts::palette::PURPLE;
use crate::report::charts::palette::QUIET;
use crate::report::charts::palette::full;
use crate::report::number::number;
use crate::report::road;
use crate::scenario::model::ServiceId;

/// Rows that one page holds.
const MOST_ROWS: usize = 5;

/// A quantity over the windows of a run.
pub(super) struct Panel {
    /// What is counted, before and after the service's name.
    pub(super) around: [&'static str; 2],
    pub(super) service: String,
    pub(super) values: Vec<f64>,
    pub(super) colour: Colour,
    /// A level that matters, and what happens there.
    pub(super) limit: Option<(f64, &'static str)>,
    /// The windows in which replicas crashed, and how many did.
    pub(super) crashes: Vec<(usize, u32)>,
}

impl Panel {
    pub(super) fn peak(&self) -> f64 {
        self.values.iter().copied().fold(0.0, f64::max)
    }

    /// Is there anything to see?
    fn moves(&self) -> bool {
        self.peak() > 0.0 || !self.crashes.is_empty()
    }

    /// What is counted.
    fn what(&self) -> String {
        let [before, after] = self.around;
        format!("{before}{}{after}", self.service)
    }

    /// What panels of one kind count, in one phrase: `calls to a, b in back-off`.
    fn together(panels: &[Self]) -> Option<String> {
        let names: Vec<_> = panels.iter().map(|panel| panel.service.as_str()).collect();
        let [before, after] = panels.first()?.around;
        Some(format!("{before}{}{after}", names.join(", ")))
    }
}

/// What a panel may show of a service.
type Kind = fn(&View<'_>, ServiceId) -> Panel;

/// The chart.
pub(super) fn draw(view: &View<'_>) -> Result<Picture, ChartError> {
    let order = road::order(view.model());
    let shown = fullest(view, &order);
    let mut kinds: Vec<Kind> = vec![present, backing_off];
    if view.model().policies.iter().any(|policy| policy.breaker.is_some()) {
        kinds.push(open);
    }
    let mut never = Vec::new();
    let mut columns: Vec<Vec<Panel>> = Vec::new();
    for kind in kinds {
        let panels = shown.iter().map(|&id| kind(view, id));
        let (moving, still): (Vec<_>, Vec<_>) = panels.partition(Panel::moves);
        never.extend(Panel::together(&still));
        columns.extend((!moving.is_empty()).then_some(moving));
    }
    let mut caption = caption(view);
    if shown.len() < order.len() {
        caption += &format!(" {} of {} services, the fullest ones.", shown.len(), order.len());
    }
    if !never.is_empty() {
        caption += &format!(" Never any: {}.", never.join("; "));
    }
    page(view, [title(view), caption], &entries(view, &shown), &columns)
}

/// Whose values they are, and when they were taken.
pub(super) fn caption(view: &View<'_>) -> String {
    format!(
        "One run: replication {}, seed {}. Values at the end of each window of {}; what comes and \
         goes within one is not seen.",
        view.replication(),
        view.seed,
        view.model().run.window
    )
}

/// A page of panels, column by column.
pub(super) fn page(
    view: &View<'_>,
    [title, caption]: [String; 2],
    entries: &[(Sample, String)],
    columns: &[Vec<Panel>],
) -> Result<Picture, ChartError> {
    picture((frame::WIDTH, frame::HEIGHT), |canvas| {
        let top = frame::page(canvas, frame::HEIGHT, &title, &view.subtitle(), &caption);
        let top = frame::legend(canvas, top, entries);
        let first = top + frame::LANE_ROWS as f64 * frame::LANE_ROW;
        let width = (frame::WIDTH - 2.0 * frame::MARGIN) / columns.len().max(1) as f64;
        let time = Time::of(view);
        for (column, panels) in columns.iter().enumerate() {
            let each = (frame::HEIGHT - 96.0 - first) / panels.len() as f64;
            for (row, panel) in panels.iter().enumerate() {
                let place = Place {
                    x: frame::MARGIN + column as f64 * width + 58.0,
                    y: first + row as f64 * each + 32.0,
                    width: width - if column + 1 < columns.len() { 80.0 } else { 58.0 },
                    height: each - 46.0,
                };
                let lowest = row + 1 == panels.len();
                draw_panel(canvas, view, &time, &place, panel, lowest);
                if row == 0 {
                    let above = Place { y: place.y - 24.0, ..place };
                    frame::events(canvas, view, &time, &above, first - 8.0);
                }
                if lowest {
                    frame::time_title(canvas, &time, &place);
                }
            }
        }
    })
}

/// The legend: shades, and crashes where there are any.
fn entries(view: &View<'_>, shown: &[ServiceId]) -> Vec<(Sample, String)> {
    let mut entries = frame::shades(view);
    if shown.iter().any(|&id| view.series().service(id).any(|window| window.crashes > 0)) {
        entries.push((Sample::Tick(BLACK), "crash".into()));
    }
    entries
}

/// What one sees: the most attempts that any service held at once.
fn title(view: &View<'_>) -> String {
    let model = view.model();
    let fullest = (0..model.services.len())
        .map(|id| (most_present(view, id), id))
        .max_by_key(|&(peak, id)| (peak, std::cmp::Reverse(id)));
    match fullest {
        Some((peak, id)) if peak > 0 => format!(
            "{}: up to {} attempts at once inside {}",
            view.name(),
            number(f64::from(peak)),
            model.services[id].name
        ),
        _ => format!("{}: nothing waits", view.name()),
    }
}

/// The most attempts that a service held at the end of a window.
fn most_present(view: &View<'_>, id: ServiceId) -> u32 {
    view.series().service(id).map(|window| window.present).max().unwrap_or(0)
}

/// The services that fit on the page, in road order.
fn fullest(view: &View<'_>, order: &[ServiceId]) -> Vec<ServiceId> {
    let mut by_peak = order.to_vec();
    by_peak.sort_by_key(|&id| std::cmp::Reverse(most_present(view, id)));
    by_peak.truncate(MOST_ROWS);
    order.iter().copied().filter(|id| by_peak.contains(id)).collect()
}

fn present(view: &View<'_>, id: ServiceId) -> Panel {
    let service = &view.model().services[id];
    let crashes_at = service.overload.and_then(|overload| overload.crashes_at);
    Panel {
        around: ["", ", attempts present"],
        service: service.name.clone(),
        values: view.series().service(id).map(|window| f64::from(window.present)).collect(),
        colour: BLUE,
        // One replica crashes on its own; for several the level says nothing about their sum.
        limit: crashes_at
            .filter(|_| service.replicas == 1)
            .map(|crashes_at| (f64::from(crashes_at), "crashes at")),
        crashes: view
            .series()
            .service(id)
            .enumerate()
            .filter(|(_, window)| window.crashes > 0)
            .map(|(index, window)| (index, window.crashes))
            .collect(),
    }
}

fn backing_off(view: &View<'_>, id: ServiceId) -> Panel {
    Panel {
        around: ["calls to ", " in back-off"],
        service: view.model().services[id].name.clone(),
        values: sum(view, id, |window| window.backing_off),
        colour: PURPLE,
        limit: None,
        crashes: Vec::new(),
    }
}

fn open(view: &View<'_>, id: ServiceId) -> Panel {
    Panel {
        around: ["breakers open before ", ""],
        service: view.model().services[id].name.clone(),
        values: sum(view, id, |window| window.breakers_open),
        colour: GREEN,
        limit: None,
        crashes: Vec::new(),
    }
}

/// A quantity of all edges to a service together.
fn sum(view: &View<'_>, id: ServiceId, value: fn(&EdgeWindow) -> u32) -> Vec<f64> {
    let series = view.series();
    let mut sums = vec![0.0; series.windows];
    for (edge, _) in view.model().edges.iter().enumerate().filter(|(_, edge)| edge.target == id) {
        for (sum, window) in sums.iter_mut().zip(series.edge(edge)) {
            *sum += f64::from(value(window));
        }
    }
    sums
}

fn draw_panel(
    canvas: &mut Canvas<'_>,
    view: &View<'_>,
    time: &Time,
    place: &Place,
    panel: &Panel,
    lowest: bool,
) {
    let peak = panel.peak();
    let limit = panel.limit.filter(|(level, _)| peak > 0.0 && *level <= 2.0 * peak);
    let axis = Axis::from_zero(peak.max(limit.map_or(0.0, |(level, _)| level)));
    frame::panel(canvas, view, time, place, &axis, lowest);
    let mut points: Vec<_> = decimate(&panel.values, MOST_POINTS)
        .into_iter()
        .map(|index| {
            let end = view.series().start_s(index + 1);
            (time.x(end, place), axis.at(panel.values[index], place.bottom(), place.y))
        })
        .collect();
    canvas.line(&points, full(panel.colour), 1.0);
    if let (Some(first), Some(last)) = (points.first().copied(), points.last().copied()) {
        points.extend([(last.0, place.bottom()), (first.0, place.bottom())]);
    }
    canvas.polygon(&points, Fill::Plain(panel.colour));
    if let Some((level, _)) = limit {
        let y = axis.at(level, place.bottom(), place.y);
        canvas.line(&[(place.x, y), (place.right(), y)], LIMIT, 2.0);
    }
    let crashed = panel.crashes.iter().map(|(index, _)| view.series().start_s(*index));
    crashes::marks(canvas, place, &crashed.map(|at| time.x(at, place)).collect::<Vec<_>>());
    heading(canvas, place, panel);
}

/// What a panel shows at the left, facts at the right: as many as leave room for the first.
fn heading(canvas: &mut Canvas<'_>, place: &Place, panel: &Panel) {
    let peak = match panel.peak() {
        peak if peak > 0.0 => format!("up to {}", number(peak)),
        _ => "never any".to_owned(),
    };
    let limit =
        panel.limit.map_or(String::new(), |(level, what)| format!(" · {what} {}", number(level)));
    let crashed = match panel.crashes.iter().map(|(_, crashes)| u64::from(*crashes)).sum() {
        0 => String::new(),
        several => format!(" · {}", crashes::counted(several)),
    };
    let what = panel.what();
    let natural = canvas.text_width(&what, 16.0);
    let choices = [format!("{peak}{limit}{crashed}"), format!("{peak}{crashed}"), peak];
    let fits = |facts: &&String| natural + canvas.text_width(facts, 15.0) + 16.0 <= place.width;
    let facts = choices.iter().find(fits).unwrap_or(&choices[2]).clone();
    let y = place.y - 13.0;
    canvas.text((place.right(), y), &facts, 15.0, QUIET, Anchor::Right);
    let room = place.width - canvas.text_width(&facts, 15.0) - 16.0;
    let what = canvas.fitted(&what, 16.0, room);
    canvas.words((place.x, y), &what, 16.0);
}
