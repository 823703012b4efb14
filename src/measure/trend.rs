//! Is a backlog on its way down, or is the run stuck?
//!
//! Slow is not stuck: with a small retry budget a backlog may take minutes to drain while every
//! answer is still late. So a run that was not seen to recover is asked for the slope of its
//! backlog over the last quarter, and over the last half.
//!
//! Neighbouring stretches resemble each other: the backlog of a storm swings with its crashes, and
//! a swing outlasts a stretch. Points that repeat each other prove less than their number says, so
//! the t shrinks with the correlation of what the line leaves over.
//!
//! Twenty points estimate that correlation too low. On stationary backlogs that remember 40 to 300
//! windows, 2 to 9 % of the quarters still pass for a fall; of the pairs of quarter and half, 0 to
//! 1 % do, and steady or bending drains that pass the one pass the other.
//!
//! Source: least squares over the means of twenty equal stretches, Student's t of the slope, with
//! the effective number of points n (1 − r) ÷ (1 + r) of a first-order autoregression.

/// Stretches whose means the line goes through.
const STRETCHES: usize = 20;
/// The line falls when the t of its slope is below this.
const FALLS_BELOW: f64 = -3.0;

/// A straight line through a backlog.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Trend {
    /// Change per window.
    slope: f64,
    /// Slope ÷ its standard error, less what neighbouring stretches repeat.
    t: f64,
    /// The height of the line at the end.
    level: f64,
}

impl Trend {
    /// The line through `values`, one per window; `None` when there are fewer than four.
    pub(super) fn of(values: &[u32]) -> Option<Self> {
        let stretches = STRETCHES.min(values.len());
        if stretches < 4 {
            return None;
        }
        let points: Vec<(f64, f64)> = (0..stretches)
            .map(|index| {
                let from = index * values.len() / stretches;
                let until = (index + 1) * values.len() / stretches;
                let sum: u64 = values[from..until].iter().copied().map(u64::from).sum();
                ((from + until - 1) as f64 / 2.0, sum as f64 / (until - from) as f64)
            })
            .collect();
        let n = points.len() as f64;
        let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / n;
        let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / n;
        let sxx: f64 = points.iter().map(|(x, _)| (x - mean_x) * (x - mean_x)).sum();
        let sxy: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
        let slope = sxy / sxx;
        let line = |x: f64| mean_y + slope * (x - mean_x);
        let left: Vec<f64> = points.iter().map(|(x, y)| y - line(*x)).collect();
        let rest: f64 = left.iter().map(|e| e * e).sum();
        let error = (rest / (n - 2.0) / sxx).sqrt();
        let t = if slope == 0.0 { 0.0 } else { slope / error * kept(&left, rest) };
        Some(Self { slope, t, level: line((values.len() - 1) as f64) })
    }

    /// Does the line fall for certain, and reach `goal` within `windows` more windows?
    pub(super) fn reaches(&self, goal: f64, windows: f64) -> bool {
        self.slope < 0.0
            && self.t < FALLS_BELOW
            && (self.level - goal).max(0.0) < -self.slope * windows
    }
}

/// The share of its t that a slope keeps: √((1 − r) ÷ (1 + r)), r the correlation of neighbours
/// among the residuals `left`, whose squares add up to `rest`.
fn kept(left: &[f64], rest: f64) -> f64 {
    if rest <= 0.0 {
        return 1.0; // The line goes through every point.
    }
    let products: f64 = left.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let r = (products / rest).max(0.0);
    ((1.0 - r) / (1.0 + r)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_steady_fall_that_arrives_in_time_counts() {
        #[track_caller]
        fn check(values: impl Fn(u32) -> u32, windows: f64, expected: bool) {
            let values: Vec<_> = (0..200).map(values).collect();
            let trend = Trend::of(&values).unwrap();
            assert_eq!(trend.reaches(10.0, windows), expected, "{trend:?}");
        }
        check(|i| 1_000 - i, 800.0, true); // 791 windows to go.
        check(|i| 1_000 - i, 790.0, false);
        check(|_| 1_000, 1e9, false);
        check(|i| 1_000 + i, 1e9, false);
        check(|i| 1_000 + (i * 7_919) % 401, 1e9, false); // Noise without a trend.
        check(|i| 2_000 - 5 * i + (i * 7_919) % 101, 1_000.0, true); // Noise on a fall.
        // One swing, up and down again, is no fall, although its line has a t of -5.
        let swing = |i: u32| 100.0 * (f64::from(i) * std::f64::consts::TAU / 200.0).sin();
        check(|i| (1_000.0 + swing(i)) as u32, 1e9, false);
        // Draining has a bend, and falls all the same.
        check(|i| (1_000.0 * (-f64::from(i) / 100.0).exp()) as u32, 1_000.0, true);
    }

    #[test]
    fn a_few_windows_show_no_trend() {
        assert_eq!(Trend::of(&[9, 6, 3]), None);
    }
}
