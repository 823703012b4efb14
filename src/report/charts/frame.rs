//! What all charts over time share: the page, the panels, the lane of events above them.
//!
//! Labels of events stand in a lane of their own, never over data; where there are more than fit,
//! the lane says how many are left out.

use crate::report::View;
use crate::report::charts::axis::Axis;
use crate::report::charts::axis::TimeUnit;
use crate::report::charts::axis::label;
use crate::report::charts::canvas::Anchor;
use crate::report::charts::canvas::Canvas;
use crate::report::charts::palette::ACTION;
use crate::report::charts::palette::Colour;
use crate::report::charts::palette::FRAME;
use crate::report::charts::palette::Fill;
use crate::report::charts::palette::GRID;
use crate::report::charts::palette::INK;
use crate::report::charts::palette::Ink;
use crate::report::charts::palette::PURPLE;
use crate::report::charts::palette::QUIET;
use crate::report::charts::palette::TRIGGER;
use crate::report::charts::palette::VERMILION;
use crate::report::charts::palette::WARM_UP;
use crate::report::charts::palette::full;
use crate::report::words;
use crate::scenario::model::Action;
use crate::scenario::model::Deed;
use crate::units::Duration;

/// The page: a slide.
pub(super) const WIDTH: f64 = 1_600.0;
pub(super) const HEIGHT: f64 = 900.0;
/// Free space left and right.
pub(super) const MARGIN: f64 = 40.0;

/// A rectangle on the page, in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Place {
    pub(super) fn right(&self) -> f64 {
        self.x + self.width
    }
    pub(super) fn bottom(&self) -> f64 {
        self.y + self.height
    }
}

/// Title, what is drawn, and the caption at the foot; gives the height at which the chart begins.
pub(super) fn page(
    canvas: &mut Canvas<'_>,
    height: f64,
    title: &str,
    subtitle: &str,
    caption: &str,
) -> f64 {
    let width = WIDTH - 2.0 * MARGIN;
    let mut y = 46.0;
    for line in canvas.wrapped(title, 29.0, width, 2) {
        canvas.words((MARGIN, y), &line, 29.0);
        y += 37.0;
    }
    for line in canvas.wrapped(subtitle, 18.0, width, SUBTITLE_LINES) {
        canvas.text((MARGIN, y), &line, 18.0, QUIET, Anchor::Left);
        y += 25.0;
    }
    let caption = canvas.wrapped(caption, 15.0, width, 2);
    for (index, line) in caption.iter().enumerate() {
        let above = 19.0 * (caption.len() - 1 - index) as f64;
        canvas.text((MARGIN, height - 18.0 - above), line, 15.0, QUIET, Anchor::Left);
    }
    y + 1.0
}

/// Lines that a scenario's own words may take below the title.
const SUBTITLE_LINES: usize = 3;

/// One sample of a legend.
pub(super) enum Sample {
    Area(Fill),
    Line(Ink),
    /// An arrow that marks a window.
    Tick(Colour),
}

/// Samples and their names from the margin to the margin, below `top`; what does not fit into a row
/// begins another one. Gives the height at which the legend ends.
pub(super) fn legend(canvas: &mut Canvas<'_>, top: f64, entries: &[(Sample, String)]) -> f64 {
    const SAMPLE: f64 = 46.0;
    const GAP: f64 = 30.0;
    const ROW: f64 = 27.0;
    let (mut x, mut y) = (MARGIN, top + 8.0);
    for (sample, name) in entries {
        let name = canvas.fitted(name, 16.0, WIDTH - 2.0 * MARGIN - SAMPLE);
        let width = SAMPLE + canvas.text_width(&name, 16.0);
        if x > MARGIN && x + width > WIDTH - MARGIN {
            (x, y) = (MARGIN, y + ROW);
        }
        match sample {
            Sample::Area(fill) => canvas.rectangle(x, y - 9.0, 36.0, 18.0, *fill),
            Sample::Line(ink) => canvas.line(&[(x, y), (x + 36.0, y)], *ink, 3.0),
            Sample::Tick(colour) => {
                let tip = [(x + 18.0, y - 8.0), (x + 11.0, y + 7.0), (x + 25.0, y + 7.0)];
                canvas.polygon(&tip, Fill::Plain(*colour));
            }
        }
        canvas.words((x + SAMPLE, y), &name, 16.0);
        x += width + GAP;
    }
    if entries.is_empty() { top } else { y + 22.0 }
}

/// How long a close-up goes on after the last trigger, in windows of the series.
const CLOSE_UP_WINDOWS: f64 = 240.0;

/// The time axis that all panels of a chart share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Time {
    /// In seconds since the end of the warm-up.
    pub(super) axis: Axis,
    pub(super) unit: TimeUnit,
}

impl Time {
    /// From the start of the warm-up to the horizon.
    pub(super) fn of(view: &View<'_>) -> Self {
        let run = &view.model().run;
        let (low, high) = (-run.warm_up.as_secs_f64(), run.horizon.as_secs_f64());
        Self { axis: Axis::span(low, high), unit: TimeUnit::for_span(high - low) }
    }

    /// The same, begun at another moment.
    pub(super) fn from(self, low: f64) -> Self {
        Self { axis: Axis::span(low, self.axis.high), ..self }
    }

    /// From a little before the first trigger until the storm has shown its shape, and the same
    /// around the first thing that people do; as one where they overlap. Those that would be most
    /// of the run are left out.
    pub(super) fn close_ups(view: &View<'_>) -> Vec<Self> {
        let (model, run) = (view.model(), &view.model().run);
        let first = model.operator.iter().min_by_key(|action| action.at);
        let acted = first.map(|action| (action.at, action.at.saturating_add(lasts(action))));
        let after = CLOSE_UP_WINDOWS * run.window.as_secs_f64();
        let around = |(from, until): (Duration, Duration)| {
            let low = (from.as_secs_f64() - after / 10.0).max(-run.warm_up.as_secs_f64());
            (low, (until.as_secs_f64() + after).min(run.horizon.as_secs_f64()))
        };
        let mut spans: Vec<(f64, f64)> =
            [model.trigger_span(), acted].into_iter().flatten().map(around).collect();
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        spans.dedup_by(|next, kept| {
            let overlap = next.0 < kept.1;
            if overlap {
                kept.1 = kept.1.max(next.1);
            }
            overlap
        });
        spans.retain(|(low, high)| high - low < run.horizon.as_secs_f64() / 2.0);
        let close = |(low, high): (f64, f64)| Self {
            axis: Axis::span(low, high),
            unit: TimeUnit::for_span(high - low),
        };
        spans.into_iter().map(close).collect()
    }

    /// Does the axis reach that moment?
    pub(super) fn shows(&self, seconds: f64) -> bool {
        (self.axis.low..=self.axis.high).contains(&seconds)
    }

    /// Round moments for a panel of that many pixels, in the unit of the axis.
    fn ticks(&self, width: f64) -> Vec<f64> {
        const STEPS: [f64; 14] =
            [1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 60.0, 120.0, 240.0, 500.0, 1e3, 1e4, 1e6];
        let (low, high) = (self.axis.low / self.unit.seconds, self.axis.high / self.unit.seconds);
        let least = (high - low) / (width / 75.0);
        match STEPS.into_iter().find(|&step| step >= least) {
            Some(step) if high - low >= 2.0 => {
                let first = (low / step).ceil() as i64;
                let last = (high / step).floor() as i64;
                (first..=last).map(|index| index as f64 * step).collect()
            }
            _ => Axis::span(low, high).ticks((width / 110.0) as usize),
        }
    }

    /// The pixel of a moment in a panel.
    pub(super) fn x(&self, seconds: f64, place: &Place) -> f64 {
        self.axis.at(seconds, place.x, place.right())
    }
}

/// A panel's ground: warm-up and triggers shaded, grid, both axes with their numbers.
pub(super) fn panel(
    canvas: &mut Canvas<'_>,
    view: &View<'_>,
    time: &Time,
    place: &Place,
    values: &Axis,
    times: bool,
) {
    let shade = |canvas: &mut Canvas<'_>, from: f64, to: f64, fill| {
        let (left, right) = (time.x(from, place), time.x(to, place));
        canvas.rectangle(left, place.y, (right - left).max(2.0), place.height, fill);
    };
    if time.axis.low < 0.0 {
        shade(canvas, time.axis.low, 0.0, Fill::Plain(WARM_UP));
    }
    let model = view.model();
    let spans = |at: Duration, lasts: Duration, fill| {
        let (from, to) = (at.as_secs_f64(), at.saturating_add(lasts).as_secs_f64());
        (time.axis.low < to && from < time.axis.high).then_some((from, to, fill))
    };
    let triggers = model.triggers.iter().map(|it| spans(it.at, it.lasts, Fill::Plain(TRIGGER)));
    let shedding = model.operator.iter().filter(|action| !lasts(action).is_zero());
    let shedding = shedding.map(|action| spans(action.at, lasts(action), Fill::Shed));
    for (from, to, fill) in triggers.chain(shedding).flatten() {
        shade(canvas, from, to, fill);
    }
    let wanted = (place.height / 40.0).clamp(2.0, 6.0) as usize;
    for value in values.ticks(wanted) {
        let y = values.at(value, place.bottom(), place.y);
        canvas.line(&[(place.x, y), (place.right(), y)], full(GRID), 1.0);
        let text = label(value);
        canvas.text((place.x - 9.0, y), &text, 14.0, QUIET, Anchor::Right);
    }
    let below = place.bottom();
    for tick in time.ticks(place.width) {
        let x = time.x(tick * time.unit.seconds, place);
        canvas.line(&[(x, below), (x, below + 5.0)], full(FRAME), 1.0);
        if times {
            canvas.text((x, below + 19.0), &label(tick), 14.0, QUIET, Anchor::Centre);
        }
    }
    canvas.line(&[(place.x, below), (place.right(), below)], full(FRAME), 1.5);
    for action in &view.model().operator {
        let at = action.at.as_secs_f64();
        if !time.shows(at) {
            continue;
        }
        let x = time.x(at, place);
        canvas.line(&[(x, place.y), (x, below)], ACTION, 1.5);
    }
}

/// How long a deed of people goes on; zero for what is done in a moment.
fn lasts(action: &Action) -> Duration {
    match action.what {
        Deed::Shed { lasts, .. } => lasts,
        Deed::Set { .. } | Deed::Flush(_) | Deed::Restart(_) | Deed::Resume(_) => Duration::ZERO,
    }
}

/// What the shades of a panel mean: warm-up, triggers, people who turn requests away.
pub(super) fn shades(view: &View<'_>) -> Vec<(Sample, String)> {
    let model = view.model();
    let mut entries = Vec::new();
    if !model.run.warm_up.is_zero() {
        entries.push((Sample::Area(Fill::Plain(WARM_UP)), "warm-up".to_owned()));
    }
    if !model.triggers.is_empty() {
        entries.push((Sample::Area(Fill::Plain(TRIGGER)), "trigger".to_owned()));
    }
    if model.operator.iter().any(|action| !lasts(action).is_zero()) {
        entries.push((Sample::Area(Fill::Shed), "shedding".to_owned()));
    }
    entries
}

/// The words below the lowest panel's numbers.
pub(super) fn time_title(canvas: &mut Canvas<'_>, time: &Time, place: &Place) {
    let text = format!("{} since the end of the warm-up", time.unit.name);
    let at = (place.x + place.width / 2.0, place.bottom() + 42.0);
    canvas.text(at, &text, 15.0, QUIET, Anchor::Centre);
}

/// Rows of labels in the lane of events.
pub(super) const LANE_ROWS: usize = 2;
/// Height of one row of the event lane.
pub(super) const LANE_ROW: f64 = 22.0;

/// Triggers and operator actions, named in the lane above a panel. Where the names do not fit the
/// rest is counted at the right end. `y` is the height of the lowest row.
pub(super) fn events(canvas: &mut Canvas<'_>, view: &View<'_>, time: &Time, place: &Place, y: f64) {
    const SIZE: f64 = 14.0;
    let model = view.model();
    let mut events: Vec<(f64, String, Colour)> = Vec::new();
    for trigger in &model.triggers {
        events.push((trigger.at.as_secs_f64(), words::trigger(model, trigger), VERMILION));
    }
    for action in &model.operator {
        events.push((action.at.as_secs_f64(), words::action(model, action), PURPLE));
    }
    events.retain(|(at, ..)| time.shows(*at));
    events.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Kept free for the count of what does not fit, where that can be.
    let rest = if events.len() > LANE_ROWS { 90.0 } else { 0.0 };
    let widest = place.width * if events.len() > LANE_ROWS { 0.55 } else { 0.9 };
    let mut taken: [Vec<(f64, f64)>; LANE_ROWS] = Default::default();
    let mut left_out = 0_usize;
    for (at, text, colour) in events {
        let x = time.x(at, place);
        let text = canvas.fitted(&text, SIZE, widest);
        let width = canvas.text_width(&text, SIZE) + 16.0;
        // To the right of its moment, else ending there; in the lowest row that has room.
        let right = (x - 6.0, x + width, Anchor::Left);
        let left = (x - width, x + 6.0, Anchor::Right);
        let free = [right, left].into_iter().find_map(|(from, to, anchor)| {
            let inside = from >= place.x - 8.0 && to <= place.right() - rest;
            let row = taken.iter().position(|row| {
                row.iter().all(|&(start, end)| to + 6.0 < start || end + 6.0 < from)
            });
            row.filter(|_| inside).map(|row| (row, from, to, anchor))
        });
        let Some((row, from, to, anchor)) = free else {
            left_out += 1;
            continue;
        };
        taken[row].push((from, to));
        let y = y - row as f64 * LANE_ROW;
        canvas.line(&[(x, y + 2.0), (x, place.y)], full(colour), 1.0);
        let mark = [(x - 5.0, y - 5.0), (x + 5.0, y - 5.0), (x, y + 4.0)];
        canvas.polygon(&mark, Fill::Plain(colour));
        let offset = if anchor == Anchor::Left { 9.0 } else { -9.0 };
        canvas.text((x + offset, y), &text, SIZE, INK, anchor);
    }
    if left_out > 0 {
        let text = format!("+{left_out} more");
        canvas.text((place.right(), y), &text, SIZE, QUIET, Anchor::Right);
    }
}
