//! What users got: requests answered in time against requests asked, over all runs.

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
        let caption = format!(
            "{}, seed {}. The band holds 80% of the runs at each moment (10% lie below it, 10% \
             above); a point covers {}.",
            counted(view.result.runs.len() as u64, "run"),
            view.seed,
            seconds(band.step_s)
        );
        let top = frame::page(canvas, frame::HEIGHT, &title(view), &view.subtitle(), &caption);
        let entries = [
            (Sample::Line(ARRIVALS), "requests made".to_owned()),
            (Sample::Line(full(BLUE)), "goodput, median of the runs".to_owned()),
            (Sample::Area(BAND), "goodput, 10 to 90% of the runs".to_owned()),
        ];
        let width = frame::WIDTH - 2.0 * frame::MARGIN;
        frame::legend(canvas, frame::MARGIN, top + 8.0, width, &entries);
        let lane = frame::LANE_ROWS as f64 * frame::LANE_ROW;
        let y = top + 30.0 + lane + 26.0;
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
        frame::events(canvas, view, &time, &above, top + 22.0 + lane);
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
        canvas.polygon(&outline, BAND);
        for (values, ink, width) in
            [(&band.arrivals_rps, ARRIVALS, 2.0), (&band.goodput_median_rps, full(BLUE), 2.5)]
        {
            let kept = decimate(values, MOST_POINTS);
            let points: Vec<_> = kept.iter().map(|&index| at(index, values[index])).collect();
            canvas.line(&points, ink, width);
        }
    })
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
