//! What users got: requests answered in time against requests asked, over all runs.

use std::cmp::Ordering;

use crate::report::View;
use crate::report::charts::ChartError;
use crate::report::charts::axis::Axis;
use crate::report::charts::canvas::Anchor;
use crate::report::charts::canvas::Picture;
use crate::report::charts::canvas::picture;
use crate::report::charts::decimate::MOST_POINTS;
use crate::report::charts::decimate::decimate;
use crate::report::charts::frame;
use crate::report::charts::frame::Place;
use crate::report::charts::frame::Sample;
use crate::report::charts::frame::Time;
use crate::report::charts::palette::BLACK;
use crate::report::charts::palette::BLUE;
use crate::report::charts::palette::Fill;
use crate::report::charts::palette::Ink;
use crate::report::charts::palette::QUIET;
use crate::report::charts::palette::VERMILION;
use crate::report::charts::palette::full;
use crate::report::number::counted;
use crate::report::number::percent;
use crate::report::number::seconds;

const BAND: Fill = Fill::Plain((0xb3, 0xd4, 0xe8));
const ARRIVALS: Ink = Ink { colour: BLACK, dash: "9 5" };

/// The chart.
pub(super) fn draw(view: &View<'_>) -> Result<Picture, ChartError> {
    let band = &view.result.band;
    picture((frame::WIDTH, frame::HEIGHT), |canvas| {
        let fates = Fates::of(view);
        let caption = format!(
            "{}, seed {}; a point covers {}. {}",
            counted(view.result.runs.len() as u64, "run"),
            view.seed,
            seconds(band.step_s),
            fates.note(),
        );
        let top = frame::page(canvas, frame::HEIGHT, &title(view), &view.subtitle(), &caption);
        let mut entries = vec![(Sample::Line(ARRIVALS), "requests made".to_owned())];
        if fates.are_two() {
            let edge = |ink, words: &str| (Sample::Line(ink), words.to_owned());
            entries.push(edge(full(BLUE), "goodput that 10% of the runs exceed"));
            entries.push(edge(full(VERMILION), "goodput that 90% of the runs exceed"));
        } else {
            let median = "goodput, median of the runs".to_owned();
            entries.push((Sample::Line(full(BLUE)), median));
            entries.push((Sample::Area(BAND), "goodput, 10 to 90% of the runs".to_owned()));
        }
        entries.extend(frame::shades(view).into_iter().filter(|(_, name)| name != "warm-up"));
        let width = frame::WIDTH - 2.0 * frame::MARGIN;
        let top = frame::legend(canvas, top, &entries);
        let lane = frame::LANE_ROWS as f64 * frame::LANE_ROW;
        let y = top + lane + 26.0;
        let place = Place {
            x: frame::MARGIN + 58.0,
            y,
            width: width - 58.0,
            height: frame::HEIGHT - 102.0 - y,
        };
        let time = Time::of(view).from(band.start_s.first().copied().unwrap_or(0.0).min(0.0));
        let largest = band.arrivals_rps.iter().chain(&band.goodput_high_rps).copied();
        let axis = Axis::from_zero(largest.fold(0.0, f64::max));
        frame::panel(canvas, view, &time, &place, &axis, true);
        canvas.text((place.x, y - 13.0), "requests per second", 15.0, QUIET, Anchor::Left);
        let above = Place { y: y - 22.0, ..place };
        frame::events(canvas, view, &time, &above, top - 8.0 + lane);
        frame::time_title(canvas, &time, &place);
        if band.start_s.is_empty() {
            let middle = (place.x + place.width / 2.0, place.y + place.height / 2.0);
            canvas.text(middle, "no finished runs", 20.0, QUIET, Anchor::Centre);
            return;
        }

        let at = |index: usize, value: f64| {
            let x = time.x(band.start_s[index] + band.step_s / 2.0, &place);
            (x, axis.at(value, place.bottom(), place.y))
        };
        let roof = decimate(&band.goodput_high_rps, MOST_POINTS);
        let mut outline: Vec<_> = roof.iter().map(|&i| at(i, band.goodput_high_rps[i])).collect();
        let floor = decimate(&band.goodput_low_rps, MOST_POINTS);
        outline.extend(floor.iter().rev().map(|&i| at(i, band.goodput_low_rps[i])));
        if !fates.are_two() {
            canvas.polygon(&outline, BAND);
        }
        let mut lines = vec![(&band.arrivals_rps, ARRIVALS, 2.0)];
        if fates.are_two() {
            lines.push((&band.goodput_high_rps, full(BLUE), 2.0));
            lines.push((&band.goodput_low_rps, full(VERMILION), 2.0));
        } else {
            lines.push((&band.goodput_median_rps, full(BLUE), 2.5));
        }
        for (values, ink, width) in lines {
            let kept = decimate(values, MOST_POINTS);
            let points: Vec<_> = kept.iter().map(|&index| at(index, values[index])).collect();
            canvas.line(&points, ink, width);
        }
    })
}

/// How many runs come back, and how many do not. A median between two such groups is a run of
/// neither.
struct Fates {
    back: u64,
    down: u64,
}

impl Fates {
    fn of(view: &View<'_>) -> Self {
        let back = view.result.runs.iter().filter(|run| run.recovery.happened).count() as u64;
        Self { back, down: view.result.runs.len() as u64 - back }
    }

    /// Does each edge of the band belong to a group of its own? The edges are drawn a tenth of the
    /// way from the first run to the last, from either end.
    const fn are_two(&self) -> bool {
        let least = (self.back + self.down).saturating_sub(1).div_ceil(10) + 1;
        self.back >= least && self.down >= least
    }

    /// What the caption says of band and lines.
    fn note(&self) -> String {
        let (back, down) = (self.back, self.down);
        let fates = format!("{back} come back and {down} do not");
        if self.are_two() {
            return format!(
                "{fates}, so there is neither band nor median: at each moment 80% of the runs lie \
                 between the lines or on them, the upper line being one of those that come back, \
                 the lower one of those that do not, and no run need lie in the middle."
            );
        }
        let band = "The band holds 80% of the runs at each moment (10% lie below it, 10% above).";
        if back == 0 || down == 0 {
            return band.to_owned();
        }
        let shows = match back.cmp(&down) {
            Ordering::Less => "those that do not",
            Ordering::Equal => "neither",
            Ordering::Greater => "those that do",
        };
        format!("{band} {fates}: the median shows {shows}.")
    }
}

/// What one sees: in how many runs goodput comes back.
fn title(view: &View<'_>) -> String {
    let Some(recovered) = view.summary.recovered_share.estimate else {
        return format!("{}: goodput against requests made", view.name());
    };
    let runs = u64::from(view.summary.replications);
    let times = (recovered * runs as f64).round() as u64;
    let what = match times {
        _ if view.model().triggers.is_empty() => "goodput with nothing going wrong".to_owned(),
        0 if runs == 1 => "goodput does not come back in the one run".to_owned(),
        0 => format!("goodput comes back in none of {}", counted(runs, "run")),
        _ if times == runs => format!("goodput comes back in all of {}", counted(runs, "run")),
        _ => format!("goodput comes back in {} of runs", percent(recovered)),
    };
    format!("{}: {what}", view.name())
}
