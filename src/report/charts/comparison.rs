//! All variants side by side: how often stuck, how long until recovery, what it costs.
//!
//! A dot is an estimate, its whiskers are the interval. What was never reached is written out,
//! never left blank and never drawn as a number.

use crate::analysis::summary::Estimate;
use crate::analysis::summary::Finding;
use crate::report::Material;
use crate::report::View;
use crate::report::charts::ChartError;
use crate::report::charts::axis::Axis;
use crate::report::charts::axis::TimeUnit;
use crate::report::charts::axis::label;
use crate::report::charts::canvas::Anchor;
use crate::report::charts::canvas::Canvas;
use crate::report::charts::canvas::Picture;
use crate::report::charts::canvas::picture;
use crate::report::charts::frame;
use crate::report::charts::frame::Place;
use crate::report::charts::palette::BLUE;
use crate::report::charts::palette::Colour;
use crate::report::charts::palette::FRAME;
use crate::report::charts::palette::Fill;
use crate::report::charts::palette::GREEN;
use crate::report::charts::palette::GRID;
use crate::report::charts::palette::INK;
use crate::report::charts::palette::ORANGE;
use crate::report::charts::palette::PURPLE;
use crate::report::charts::palette::QUIET;
use crate::report::charts::palette::VERMILION;
use crate::report::charts::palette::full;
use crate::report::number::counted;
use crate::report::number::number;
use crate::report::number::percent;
use crate::report::number::seconds;
use crate::report::road;
use crate::report::words;

/// Least height of a row; with more variants than fit the page grows.
const LEAST_ROW: f64 = 20.0;
/// Greatest height of a row.
const MOST_ROW: f64 = 110.0;
/// Everything of the page but its rows.
const AROUND: f64 = 280.0;
/// Width of the names, and of the findings beside them.
const NAMES: f64 = 310.0;
const FINDINGS: f64 = 140.0;
/// Width of the median recovery times, which are words as often as numbers.
const MEDIANS: f64 = 120.0;
/// Free space between two columns.
const GAP: f64 = 44.0;

/// One column: a measure of every variant.
struct Column {
    title: String,
    /// A second line: what it is measured on, what it leaves out.
    detail: String,
    axis: Axis,
    tick: fn(f64) -> String,
    estimates: Vec<Estimate>,
    /// The estimate of each row in words; what to write where there is none.
    texts: Vec<String>,
}

/// Each estimate in words.
fn texts(estimates: &[Estimate], value: fn(f64) -> String, without: &str) -> Vec<String> {
    let text = |e: &Estimate| e.estimate.map_or_else(|| without.to_owned(), value);
    estimates.iter().map(text).collect()
}

/// The chart.
pub(super) fn draw(material: &Material<'_>) -> Result<Picture, ChartError> {
    let views: Vec<_> = material.views().collect();
    let natural = frame::HEIGHT - AROUND;
    let row = (natural / views.len().max(1) as f64).clamp(LEAST_ROW, MOST_ROW);
    let height = (AROUND + row * views.len() as f64).max(frame::HEIGHT);
    picture((frame::WIDTH, height), |canvas| {
        let (subtitle, caption) = (&material.scenario.about, caption(material, &views));
        let top = frame::page(canvas, height, &title(&views), subtitle, &caption);
        let columns = columns(&views);
        let left = frame::MARGIN + NAMES + FINDINGS;
        let each = (frame::WIDTH - frame::MARGIN - left - MEDIANS) / columns.len() as f64;
        let first = top + 76.0;
        names(canvas, &views, first, row);
        medians(canvas, &views, left + 2.0 * each + MEDIANS - 8.0, first, row);
        for (index, column) in columns.iter().enumerate() {
            // The medians stand between the times and the attempts.
            let shift = if index > 1 { MEDIANS } else { 0.0 };
            let place = Place {
                x: left + index as f64 * each + shift + GAP / 2.0,
                y: first,
                width: each - GAP,
                height: row * views.len() as f64,
            };
            draw_column(canvas, column, &place, row);
        }
    })
}

/// What one sees: how many variants get stuck, and how many do not.
fn title(views: &[View<'_>]) -> String {
    let with =
        |wanted: Finding| views.iter().filter(|v| v.summary.finding == wanted).count() as u64;
    let mut parts = Vec::new();
    for finding in [
        Finding::Safe,
        Finding::Vulnerable,
        Finding::Metastable,
        Finding::Overloaded,
        Finding::Inconclusive,
    ] {
        let count = with(finding);
        let what = match finding {
            Finding::Safe => "safe",
            Finding::Vulnerable => "can get stuck",
            Finding::Metastable => "stuck in half of the runs or more",
            Finding::Overloaded => "overloaded without any trigger",
            Finding::Inconclusive => "undecided",
        };
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    if views.is_empty() {
        return "No variant has finished runs".into();
    }
    format!("{}: {}", counted(views.len() as u64, "variant"), parts.join(", "))
}

fn caption(material: &Material<'_>, views: &[View<'_>]) -> String {
    let fewest = views.iter().map(|view| view.summary.replications).min().unwrap_or(0);
    let most = views.iter().map(|view| view.summary.replications).max().unwrap_or(0);
    let runs = if fewest == most { format!("{most}") } else { format!("{fewest} to {most}") };
    let stuck =
        if any_stuck(views) { " Stuck runs count in the mean; none is left out." } else { "" };
    let shed = if views.iter().any(View::sheds) {
        " Attempts per request: requests that the operator shed aside."
    } else {
        ""
    };
    format!(
        "{runs} runs of each variant, seed {}. Whiskers: {} intervals.{stuck}{shed}",
        material.summary.seed,
        percent(material.summary.level)
    )
}

/// Was any run not seen to recover?
fn any_stuck(views: &[View<'_>]) -> bool {
    views.iter().any(|view| view.result.runs.iter().any(|run| !run.recovery.happened))
}

fn columns(views: &[View<'_>]) -> Vec<Column> {
    let stuck: Vec<_> = views.iter().map(|view| view.summary.stuck_share).collect();
    let recovery: Vec<_> =
        views.iter().map(|view| view.summary.recovery_time_s.restricted_mean).collect();
    let unit = TimeUnit::for_span(largest(&recovery));
    let tau = views.iter().find_map(|view| view.summary.recovery_time_s.tau);
    let cut = tau
        .filter(|tau| *tau > 0.0 && any_stuck(views))
        .map_or(String::new(), |tau| format!("stuck runs count as {}", seconds(tau)));
    let without = if tau == Some(0.0) { "horizon too short" } else { "not reached" };
    let times: Vec<_> = views
        .iter()
        .zip(&recovery)
        .map(|(view, mean)| mean.estimate.map_or(without.into(), |mean| mean_text(view, mean)))
        .collect();
    let in_units = |value: Option<f64>| value.map(|value| value / unit.seconds);
    let recovery: Vec<_> = recovery
        .iter()
        .map(|e| Estimate {
            estimate: in_units(e.estimate),
            low: in_units(e.low),
            high: in_units(e.high),
        })
        .collect();
    let deepest = views.first().and_then(|view| {
        let service = road::deepest(view.model())?;
        Some(view.model().services[service].name.clone())
    });
    let peaks: Vec<_> = views
        .iter()
        .map(|view| {
            let service = deepest.as_deref().and_then(|name| view.amplification(name));
            service.map_or(Estimate::default(), |service| service.peak)
        })
        .collect();
    let place = deepest.map_or(String::new(), |name| format!("at {name}"));
    vec![
        Column {
            title: "share of runs stuck".into(),
            detail: String::new(),
            axis: Axis::span(0.0, 1.0),
            tick: percent,
            texts: texts(&stuck, percent, "not known"),
            estimates: stuck,
        },
        Column {
            title: format!("mean {} to recovery", unit.name),
            detail: cut,
            axis: Axis::from_zero(largest(&recovery)),
            tick: label,
            estimates: recovery,
            texts: times,
        },
        Column {
            title: "peak attempts per request".into(),
            detail: place,
            axis: spread(&peaks),
            tick: label,
            texts: texts(&peaks, number, "not measured"),
            estimates: peaks,
        },
    ]
}

/// A mean time to recovery; only a lower bound where runs were not seen to recover.
fn mean_text(view: &View<'_>, mean: f64) -> String {
    let cut = view.result.runs.iter().any(|run| !run.recovery.happened);
    let least = if cut { "≥ " } else { "" };
    format!("{least}{}", words::recovery(view.model(), mean))
}

/// The largest number that a column shows.
fn largest(estimates: &[Estimate]) -> f64 {
    let ends = estimates.iter().flat_map(|e| [e.estimate, e.high]).flatten();
    ends.filter(|value| value.is_finite()).fold(0.0, f64::max)
}

/// A linear scale, or a logarithmic one where values differ more than twentyfold.
fn spread(estimates: &[Estimate]) -> Axis {
    let values = || estimates.iter().flat_map(|e| [e.estimate, e.low, e.high]).flatten();
    let smallest = values().filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
    let largest = largest(estimates);
    if smallest.is_finite() && largest > 20.0 * smallest {
        Axis::decades(smallest, largest)
    } else {
        Axis::from_zero(largest)
    }
}

/// Size of the text of a row.
fn text_size(row: f64) -> f64 {
    (row * 0.65).clamp(13.0, 18.0)
}

/// The variants' names and what was found.
fn names(canvas: &mut Canvas<'_>, views: &[View<'_>], top: f64, row: f64) {
    let size = text_size(row);
    for (index, view) in views.iter().enumerate() {
        let y = top + (index as f64 + 0.5) * row;
        if index % 2 == 0 {
            let width = frame::WIDTH - 2.0 * frame::MARGIN;
            let fill = Fill::Plain((0xf7, 0xf8, 0xf9));
            canvas.rectangle(frame::MARGIN, y - row / 2.0, width, row, fill);
        }
        let name = canvas.fitted(view.name(), size, NAMES - 20.0);
        canvas.words((frame::MARGIN + 8.0, y), &name, size);
        let x = frame::MARGIN + NAMES;
        mark(canvas, (x + 8.0, y), view.summary.finding);
        let finding = words::finding(view.summary.finding);
        canvas.text((x + 22.0, y), finding, size, INK, Anchor::Left);
    }
}

/// The time by which half of the runs have recovered, in words where they never do.
fn medians(canvas: &mut Canvas<'_>, views: &[View<'_>], right: f64, top: f64, row: f64) {
    canvas.text((right, top - 62.0), "median", 16.0, INK, Anchor::Right);
    canvas.text((right, top - 42.0), "to recovery", 14.0, QUIET, Anchor::Right);
    let size = text_size(row).min(16.0);
    for (index, view) in views.iter().enumerate() {
        let at = (right, top + (index as f64 + 0.5) * row);
        match view.summary.recovery_time_s.median.estimate {
            Some(median) => {
                let median = words::recovery(view.model(), median);
                canvas.text(at, &median, size, INK, Anchor::Right);
            }
            None => {
                canvas.text(at, view.not_reached(), size, QUIET, Anchor::Right);
            }
        }
    }
}

/// A shape and a colour for each finding.
fn mark(canvas: &mut Canvas<'_>, (x, y): (f64, f64), finding: Finding) {
    let colour: Colour = match finding {
        Finding::Safe => GREEN,
        Finding::Vulnerable => ORANGE,
        Finding::Metastable => VERMILION,
        Finding::Overloaded => PURPLE,
        Finding::Inconclusive => QUIET,
    };
    match finding {
        Finding::Safe => canvas.disc((x, y), 6.0, colour, true),
        Finding::Inconclusive => canvas.disc((x, y), 5.0, colour, false),
        Finding::Metastable => canvas.rectangle(x - 5.5, y - 5.5, 11.0, 11.0, Fill::Plain(colour)),
        Finding::Vulnerable => canvas
            .polygon(&[(x, y - 7.0), (x - 7.0, y + 5.5), (x + 7.0, y + 5.5)], Fill::Plain(colour)),
        Finding::Overloaded => canvas.polygon(
            &[(x, y - 7.0), (x + 7.0, y), (x, y + 7.0), (x - 7.0, y)],
            Fill::Plain(colour),
        ),
    }
}

/// One column: its scale above, then a dot and whiskers in each row, with the number.
fn draw_column(canvas: &mut Canvas<'_>, column: &Column, place: &Place, row: f64) {
    let title = canvas.fitted(&column.title, 16.0, place.width + GAP - 12.0);
    canvas.words((place.x, place.y - 62.0), &title, 16.0);
    let detail = canvas.fitted(&column.detail, 14.0, place.width + GAP - 12.0);
    canvas.text((place.x, place.y - 42.0), &detail, 14.0, QUIET, Anchor::Left);
    // The numbers stand to the right of the dots, in a strip that the scale leaves free.
    let size = text_size(row);
    let strip = column
        .estimates
        .iter()
        .zip(&column.texts)
        .filter(|(estimate, _)| estimate.estimate.is_some())
        .map(|(_, text)| canvas.text_width(text, size))
        .fold(0.0, f64::max);
    let right = place.right() - strip - 14.0;
    let mut last = f64::NEG_INFINITY;
    for tick in column.axis.ticks(4) {
        let x = column.axis.at(tick, place.x, right);
        canvas.line(&[(x, place.y), (x, place.bottom())], full(GRID), 1.0);
        let text = (column.tick)(tick);
        let half = canvas.text_width(&text, 13.0) / 2.0;
        if x - half > last + 8.0 {
            canvas.text((x, place.y - 16.0), &text, 13.0, QUIET, Anchor::Centre);
            last = x + half;
        }
    }
    canvas.line(&[(place.x, place.y), (right, place.y)], full(FRAME), 1.5);
    for (index, (estimate, text)) in column.estimates.iter().zip(&column.texts).enumerate() {
        let y = place.y + (index as f64 + 0.5) * row;
        let Some(value) = estimate.estimate else {
            canvas.text((place.x + 4.0, y), text, size, QUIET, Anchor::Left);
            continue;
        };
        let x = |value: f64| column.axis.at(value, place.x, right);
        if let (Some(low), Some(high)) = (estimate.low, estimate.high) {
            canvas.line(&[(x(low), y), (x(high), y)], full(BLUE), 2.0);
            for end in [low, high] {
                canvas.line(&[(x(end), y - 5.0), (x(end), y + 5.0)], full(BLUE), 2.0);
            }
        }
        canvas.disc((x(value), y), 5.0, BLUE, true);
        canvas.text((place.right(), y), text, size, INK, Anchor::Right);
    }
}
