//! What reaches each service, against what it can bear: one panel for each, along the road.
//!
//! The areas are stacked by the reason for which an attempt was sent, so that the part above the
//! first attempts is what retries made of the load.

use crate::measure::record::ServiceWindow;
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
use crate::report::charts::palette::CAPACITY;
use crate::report::charts::palette::Fill;
use crate::report::charts::palette::QUIET;
use crate::report::number::number;
use crate::report::road;
use crate::report::words;
use crate::scenario::model::ServiceId;

/// Panels that one page holds.
const MOST_PANELS: usize = 12;
/// Panels that one column holds.
const MOST_ROWS: usize = 4;
/// The reasons in the order in which they are stacked, from below.
const REASONS: [(Fill, &str); 5] = [
    (Fill::First, "first attempt of its call"),
    (Fill::Timeout, "retry after timeout"),
    (Fill::Refusal, "retry after refusal"),
    (Fill::Error, "retry after error"),
    (Fill::Hedge, "hedge, beside others"),
];

/// The chart.
pub(super) fn draw(view: &View<'_>) -> Result<Picture, ChartError> {
    let order = road::order(view.model());
    let shown = most_loaded(view, &order);
    picture((frame::WIDTH, frame::HEIGHT), |canvas| {
        let mut caption =
            format!("One run: replication {}, seed {}.", view.replication(), view.seed);
        if shown.len() < order.len() {
            caption += &format!(
                " {} of {} services, those that most attempts reach in a window.",
                shown.len(),
                order.len()
            );
        }
        let top = frame::page(canvas, frame::HEIGHT, &title(view), &view.subtitle(), &caption);
        let entries = entries(view, &shown);
        let top = frame::legend(canvas, top, &entries);
        panels(canvas, view, &shown, top);
    })
}

/// The legend: what occurs in the panels, and nothing else.
fn entries(view: &View<'_>, shown: &[ServiceId]) -> Vec<(Sample, String)> {
    let windows = || shown.iter().flat_map(|&id| view.series().service(id));
    let occurs = |reason: usize| windows().any(|window| window.by_reason()[reason] > 0);
    let reasons = REASONS.iter().enumerate().filter(|(index, _)| *index == 0 || occurs(*index));
    let mut entries: Vec<_> =
        reasons.map(|(_, (fill, name))| (Sample::Area(*fill), (*name).to_owned())).collect();
    if shown.iter().any(|&id| Scale::of(view, id).line.is_some()) {
        entries.push((Sample::Line(CAPACITY), "capacity in good health".into()));
    }
    if windows().any(|window| window.crashes > 0) {
        entries.push((Sample::Tick(BLACK), "crash".into()));
    }
    entries.extend(frame::shades(view));
    entries
}

/// What one sees: how many attempts a request costs at the far end, and how the run ends.
fn title(view: &View<'_>) -> String {
    let end = view.example_outcome().map_or("ends early", |outcome| words::class(outcome.class));
    let cost = road::deepest(view.model()).and_then(|service| {
        let whole = view.example_outcome()?.amplification.get(service)?.whole?;
        Some((view.model().services[service].name.clone(), whole))
    });
    match cost {
        Some((service, whole)) => {
            let attempts = match number(whole).as_str() {
                "1" => "1 attempt reaches".to_owned(),
                several => format!("{several} attempts reach"),
            };
            format!("{}: for each request {attempts} {service}; the run {end}", view.name())
        }
        None => format!("{}: attempts per second at each service; the run {end}", view.name()),
    }
}

/// The services that fit on the page, in road order.
fn most_loaded(view: &View<'_>, order: &[ServiceId]) -> Vec<ServiceId> {
    let peak =
        |id: ServiceId| view.series().service(id).map(ServiceWindow::offered).max().unwrap_or(0);
    let mut by_peak = order.to_vec();
    by_peak.sort_by_key(|&id| std::cmp::Reverse(peak(id)));
    by_peak.truncate(MOST_PANELS);
    order.iter().copied().filter(|id| by_peak.contains(id)).collect()
}

/// The panels in columns of at most four, the lane of events above each column. Where one column
/// holds them all, others show the trigger and what people do from close by, on the same scale.
fn panels(canvas: &mut Canvas<'_>, view: &View<'_>, shown: &[ServiceId], top: f64) {
    let whole = Time::of(view);
    let rows = shown.len().div_ceil(shown.len().div_ceil(MOST_ROWS).max(1)).max(1);
    let mut columns: Vec<(Time, &[ServiceId], f64)> = Vec::new();
    let close_ups = if shown.len() <= MOST_ROWS { Time::close_ups(view) } else { Vec::new() };
    if close_ups.is_empty() {
        let share = 1.0 / shown.len().div_ceil(rows).max(1) as f64;
        columns.extend(shown.chunks(rows).map(|part| (whole, part, share)));
    } else {
        let close = if close_ups.len() > 1 { 0.29 } else { 0.44 };
        columns.push((whole, shown, 1.0 - close * close_ups.len() as f64));
        columns.extend(close_ups.into_iter().map(|time| (time, shown, close)));
    }
    let first = top + frame::LANE_ROWS as f64 * frame::LANE_ROW;
    let each = (frame::HEIGHT - 96.0 - first) / rows as f64;
    let mut x = frame::MARGIN;
    let last = columns.len() - 1;
    for (index, (time, services, share)) in columns.iter().enumerate() {
        let width = (frame::WIDTH - 2.0 * frame::MARGIN) * share;
        for (row, &service) in services.iter().enumerate() {
            let place = Place {
                x: x + 58.0,
                y: first + row as f64 * each + 32.0,
                width: width - if index < last { 80.0 } else { 58.0 },
                height: each - 46.0,
            };
            let lowest = row + 1 == services.len();
            let facts = panel(canvas, view, time, &place, service, lowest);
            // What holds for the whole run stands over the panel that shows it.
            let facts = if *time == whole { facts } else { facts.in_close_up() };
            heading(canvas, &place, &view.model().services[service].name, &facts.choices());
            if row == 0 {
                let above = Place { y: place.y - 24.0, ..place };
                frame::events(canvas, view, time, &above, first - 8.0);
            }
            if lowest {
                frame::time_title(canvas, time, &place);
            }
        }
        x += width;
    }
}

/// The scale of a service's panels, the same for the whole run and from close by.
struct Scale {
    axis: Axis,
    capacity: Option<f64>,
    /// Where the line of the capacity is drawn. One far above all load would press the load flat;
    /// the heading then says where it is.
    line: Option<f64>,
}

impl Scale {
    fn of(view: &View<'_>, id: ServiceId) -> Self {
        let series = view.series();
        let peak = series.service(id).map(ServiceWindow::offered).max().unwrap_or(0);
        let peak = f64::from(peak) * per_second(view);
        let capacity = road::capacity_rps(&view.model().services[id]);
        let line = capacity.filter(|&capacity| peak > 0.0 && capacity <= 3.0 * peak);
        Self { axis: Axis::from_zero(peak.max(line.unwrap_or(0.0))), capacity, line }
    }
}

/// Windows in a second.
fn per_second(view: &View<'_>) -> f64 {
    1.0 / view.series().window.as_secs_f64().max(f64::MIN_POSITIVE)
}

/// One service: ground, areas, capacity, crashes. Gives what is to be said of them.
fn panel(
    canvas: &mut Canvas<'_>,
    view: &View<'_>,
    time: &Time,
    place: &Place,
    id: ServiceId,
    times: bool,
) -> Facts {
    let series = view.series();
    let per_second = per_second(view);
    let windows: Vec<_> = series.service(id).collect();
    let visible: Vec<usize> =
        (0..windows.len()).filter(|&index| time.shows(series.start_s(index))).collect();
    let heights: Vec<_> =
        visible.iter().map(|&index| f64::from(windows[index].offered()) * per_second).collect();
    let peak = heights.iter().copied().fold(0.0, f64::max);
    let Scale { axis, capacity, line } = Scale::of(view, id);
    frame::panel(canvas, view, time, place, &axis, times);

    let kept: Vec<_> =
        decimate(&heights, MOST_POINTS).into_iter().map(|index| visible[index]).collect();
    let x = |index: usize| time.x(series.start_s(index), place);
    let mut floor = vec![0.0; kept.len()];
    for (layer, (fill, _)) in REASONS.iter().enumerate() {
        let roof: Vec<f64> = kept
            .iter()
            .zip(&floor)
            .map(|(&index, below)| {
                below + f64::from(windows[index].by_reason()[layer]) * per_second
            })
            .collect();
        if roof != floor {
            let y = |value: f64| axis.at(value, place.bottom(), place.y);
            let over = kept.iter().zip(&roof).map(|(&index, &value)| (x(index), y(value)));
            let under = kept.iter().zip(&floor).rev().map(|(&index, &value)| (x(index), y(value)));
            canvas.polygon(&over.chain(under).collect::<Vec<_>>(), *fill);
        }
        floor = roof;
    }
    if let Some(capacity) = line {
        let y = axis.at(capacity, place.bottom(), place.y);
        canvas.line(&[(place.x, y), (place.right(), y)], CAPACITY, 2.0);
    }
    let crashes: u64 = visible.iter().map(|&index| u64::from(windows[index].crashes)).sum();
    let crashed = visible.iter().filter(|&&index| windows[index].crashes > 0);
    crashes::marks(canvas, place, &crashed.map(|&index| x(index)).collect::<Vec<_>>());
    Facts { peak, capacity, far: line.is_none(), crashes }
}

/// What the heading adds to a service's name.
struct Facts {
    peak: f64,
    capacity: Option<f64>,
    /// Is the capacity off the scale?
    far: bool,
    crashes: u64,
}

impl Facts {
    /// Without what the panel of the whole run has said.
    fn in_close_up(self) -> Self {
        Self { capacity: None, ..self }
    }

    /// In words: the longest that fits is shown.
    fn choices(&self) -> [String; 3] {
        let peak = format!("peak {}/s", number(self.peak));
        let crashes = match self.crashes {
            0 => String::new(),
            several => format!(" · {}", crashes::counted(several)),
        };
        let capacity = self.capacity.map(|capacity| format!(" · capacity {}/s", number(capacity)));
        let far = if self.far && capacity.is_some() { " (off the scale)" } else { "" };
        let capacity = capacity.unwrap_or_default();
        [format!("{peak}{capacity}{far}{crashes}"), format!("{peak}{capacity}{crashes}"), peak]
    }
}

/// The unit after a service's name, long and short.
const UNITS: [&str; 2] = [", attempts per second", ", attempts/s"];

/// The name of a service and its unit at the left, facts at the right of the same line.
fn heading(canvas: &mut Canvas<'_>, place: &Place, name: &str, facts: &[String; 3]) {
    let y = place.y - 13.0;
    let natural = canvas.text_width(name, 18.0).min(place.width * 0.4);
    // Rather fewer facts than a panel that does not say what it counts.
    let choices = [
        (&facts[0], UNITS[0]),
        (&facts[1], UNITS[0]),
        (&facts[0], UNITS[1]),
        (&facts[1], UNITS[1]),
        (&facts[2], UNITS[0]),
        (&facts[2], UNITS[1]),
    ];
    let fits = |canvas: &mut Canvas<'_>, fact: &str, unit: &str| {
        let unit = canvas.text_width(unit, 15.0);
        canvas.text_width(fact, 15.0) + natural + unit + 20.0 < place.width
    };
    let found = choices.into_iter().find(|(fact, unit)| fits(canvas, fact, unit));
    let (fact, unit) = found.unwrap_or((&facts[2], ""));
    canvas.text((place.right(), y), fact, 15.0, QUIET, Anchor::Right);
    let room = place.width - canvas.text_width(fact, 15.0) - canvas.text_width(unit, 15.0) - 20.0;
    let name = canvas.fitted(name, 18.0, room);
    let name_width = canvas.text_width(&name, 18.0);
    canvas.words((place.x, y), &name, 18.0);
    if !unit.is_empty() {
        canvas.text((place.x + name_width, y), unit, 15.0, QUIET, Anchor::Left);
    }
}
