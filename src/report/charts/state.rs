//! What the system holds inside: attempts present at each service, calls to it that wait in a
//! back-off, and breakers before it that are open. One row for each service, along the road.

use crate::measure::record::EdgeWindow;
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
use crate::report::charts::frame::Time;
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
struct Panel {
    /// What is counted.
    what: String,
    values: Vec<f64>,
    colour: Colour,
    /// A level that matters, and what happens there.
    limit: Option<(f64, &'static str)>,
}

impl Panel {
    fn peak(&self) -> f64 {
        self.values.iter().copied().fold(0.0, f64::max)
    }
}

/// The chart.
pub(super) fn draw(view: &View<'_>) -> Result<Picture, ChartError> {
    let order = road::order(view.model());
    let shown = fullest(view, &order);
    picture((frame::WIDTH, frame::HEIGHT), |canvas| {
        let mut caption = format!(
            "One run: replication {}, seed {}. Values at the end of each window of {}.",
            view.replication(),
            view.seed,
            view.model().run.window
        );
        if shown.len() < order.len() {
            caption += &format!(" {} of {} services, the fullest ones.", shown.len(), order.len());
        }
        let top = frame::page(canvas, frame::HEIGHT, &title(view), &view.subtitle(), &caption);
        let first = top + frame::LANE_ROWS as f64 * frame::LANE_ROW;
        let each = (frame::HEIGHT - 96.0 - first) / shown.len().max(1) as f64;
        let breakers = view.model().policies.iter().any(|policy| policy.breaker.is_some());
        let columns = if breakers { 3 } else { 2 };
        let width = (frame::WIDTH - 2.0 * frame::MARGIN) / columns as f64;
        let time = Time::of(view);
        for (row, &service) in shown.iter().enumerate() {
            let panels = [present(view, service), backing_off(view, service), open(view, service)];
            for (column, panel) in panels.into_iter().take(columns).enumerate() {
                let place = Place {
                    x: frame::MARGIN + column as f64 * width + 58.0,
                    y: first + row as f64 * each + 32.0,
                    width: width - if column + 1 < columns { 80.0 } else { 58.0 },
                    height: each - 46.0,
                };
                let lowest = row + 1 == shown.len();
                draw_panel(canvas, view, &time, &place, &panel, lowest);
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
        what: format!("{}, attempts present", service.name),
        values: view.series().service(id).map(|window| f64::from(window.present)).collect(),
        colour: BLUE,
        // One replica crashes on its own; for several the level says nothing about their sum.
        limit: crashes_at
            .filter(|_| service.replicas == 1)
            .map(|crashes_at| (f64::from(crashes_at), "crashes at")),
    }
}

fn backing_off(view: &View<'_>, id: ServiceId) -> Panel {
    let name = &view.model().services[id].name;
    Panel {
        what: format!("calls to {name} in back-off"),
        values: sum(view, id, |window| window.backing_off),
        colour: PURPLE,
        limit: None,
    }
}

fn open(view: &View<'_>, id: ServiceId) -> Panel {
    let name = &view.model().services[id].name;
    Panel {
        what: format!("breakers open before {name}"),
        values: sum(view, id, |window| window.breakers_open),
        colour: GREEN,
        limit: None,
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
    let mut facts =
        if peak > 0.0 { format!("up to {}", number(peak)) } else { "never any".to_owned() };
    if let Some((level, what)) = panel.limit {
        facts += &format!(" · {what} {}", number(level));
    }
    let y = place.y - 13.0;
    canvas.text((place.right(), y), &facts, 15.0, QUIET, Anchor::Right);
    let room = place.width - canvas.text_width(&facts, 15.0) - 20.0;
    let what = canvas.fitted(&panel.what, 16.0, room);
    canvas.words((place.x, y), &what, 16.0);
}
