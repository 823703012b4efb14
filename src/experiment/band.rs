//! Goodput over time across the replications, at most 600 points of it.

use crate::experiment::result::Band;
use crate::measure::record::Series;
use crate::scenario::model::RunSettings;

/// The most points of a band: more than a chart can show are not kept.
const MOST_POINTS: usize = 600;

/// What one run adds to a band: sums over each point, and the windows that the sum covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Points {
    /// Requests born, answered in time, and windows, per point.
    rows: Vec<[u64; 3]>,
}

/// Windows per point: a whole number that leaves at most 600 points for the horizon.
fn windows_per_point(run: &RunSettings) -> usize {
    let windows = run.horizon.as_nanos().div_ceil(run.window.as_nanos().max(1));
    usize::try_from(windows).unwrap_or(usize::MAX).div_ceil(MOST_POINTS).max(1)
}

impl Points {
    /// The points of one run, from time 0 on.
    pub(super) fn of(series: &Series, run: &RunSettings) -> Self {
        let populations = (series.populations.len() / series.windows.max(1)).max(1);
        let measured = series.populations.chunks_exact(populations).skip(series.warm_up_windows);
        let windows: Vec<[u64; 3]> = measured
            .map(|row| {
                let born = row.iter().map(|window| u64::from(window.born)).sum();
                let ok = row.iter().map(|window| u64::from(window.ok)).sum();
                [born, ok, 1]
            })
            .collect();
        let add =
            |sum: [u64; 3], row: &[u64; 3]| [sum[0] + row[0], sum[1] + row[1], sum[2] + row[2]];
        let points = windows.chunks(windows_per_point(run));
        Self { rows: points.map(|rows| rows.iter().fold([0; 3], add)).collect() }
    }
}

/// The band of many runs, given in the order of replications. Runs that a limit ended early have
/// no share in the points they did not reach.
pub(super) fn band(runs: &[Points], run: &RunSettings) -> Band {
    let window_s = run.window.as_secs_f64();
    let step_s = window_s * windows_per_point(run) as f64;
    let points = runs.iter().map(|points| points.rows.len()).max().unwrap_or(0);
    let mut band = Band { step_s, ..Band::default() };
    for point in 0..points {
        let rows: Vec<[u64; 3]> =
            runs.iter().filter_map(|points| points.rows.get(point)).copied().collect();
        let (born, windows) =
            rows.iter().fold((0, 0), |(born, windows), row| (born + row[0], windows + row[2]));
        let mut goodput: Vec<f64> =
            rows.iter().map(|row| row[1] as f64 / (row[2] as f64 * window_s)).collect();
        goodput.sort_by(f64::total_cmp);
        band.start_s.push(step_s * point as f64);
        band.arrivals_rps.push(born as f64 / (windows as f64 * window_s));
        band.goodput_low_rps.push(at_share(&goodput, 0.1));
        band.goodput_median_rps.push(at_share(&goodput, 0.5));
        band.goodput_high_rps.push(at_share(&goodput, 0.9));
    }
    band
}

/// The value below which a share of the sorted values lies, between neighbours by a straight line.
fn at_share(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let below = place as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64)
}

#[cfg(test)]
mod tests {
    use crate::measure::fixture::BORN;
    use crate::measure::fixture::calm;
    use crate::measure::fixture::model;
    use crate::units::Duration;

    use super::*;

    #[test]
    fn a_band_shows_the_spread_of_the_runs() {
        let model = model();
        let run = |answered| {
            let record = calm(&model, 0).storm(100..400, answered, 9);
            Points::of(&record.series, &model.run)
        };
        let runs: Vec<_> = (0..=10).map(|tenths| run(f64::from(tenths) / 10.0)).collect();
        let band = band(&runs, &model.run);
        assert_eq!((band.start_s.len(), band.step_s), (400, 1.0));
        assert_eq!(band.start_s[399], 399.0);
        let born = f64::from(BORN);
        assert_eq!(band.arrivals_rps[200], born);
        assert_eq!(band.goodput_median_rps[99], born);
        assert_eq!(band.goodput_low_rps[100], born * 0.1);
        assert_eq!(band.goodput_median_rps[100], born * 0.5);
        assert_eq!(band.goodput_high_rps[100], born * 0.9);
    }

    #[test]
    fn a_long_run_is_thinned_to_six_hundred_points() {
        let mut model = model();
        model.run.horizon = Duration::from_secs(1_501);
        let points = Points::of(&calm(&model, 0).series, &model.run);
        let band = band(&[points], &model.run);
        assert_eq!((band.start_s.len(), band.step_s), (501, 3.0));
        // The last point covers one window instead of three, and is a rate all the same.
        assert_eq!(band.goodput_median_rps[500], f64::from(BORN));
    }
}
