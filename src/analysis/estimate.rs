//! Numbers with their intervals, rounded so that files are the same on every platform.
//!
//! Derived decimals pass through logarithms and quantile functions whose last digits differ from
//! one platform to the next; nine significant digits do not. What is not finite is left out: a
//! file holds no NaN and no infinity.

use crate::analysis::summary::Estimate;
use crate::stats::interval::Interval;
use crate::stats::interval::mean;
use crate::stats::interval::mean_interval;
use crate::stats::interval::wilson;

/// The level of every interval.
pub const LEVEL: f64 = 0.95;
/// Resamples of a bootstrap interval.
pub const RESAMPLES: u32 = 2_000;

/// `value` to nine significant digits; `None` when it is not finite.
pub fn rounded(value: f64) -> Option<f64> {
    let value = value.is_finite().then(|| format!("{value:.8e}").parse().ok())??;
    Some(if value == 0.0 { 0.0 } else { value }) // Never −0.
}

impl Estimate {
    /// A number with its interval.
    pub fn of(interval: Interval) -> Self {
        Self {
            estimate: rounded(interval.estimate),
            low: rounded(interval.low),
            high: rounded(interval.high),
        }
    }

    /// A number without an interval.
    pub fn bare(value: f64) -> Self {
        Self { estimate: rounded(value), low: None, high: None }
    }

    /// The share `hits` of `of` with Wilson's interval; empty of nothing.
    pub fn share(hits: u32, of: u32) -> Self {
        wilson(hits.into(), of.into(), LEVEL).map_or_else(Self::default, Self::of)
    }

    /// The mean over runs with Student's interval, kept within what the measure can be; without
    /// interval for one run, empty of nothing.
    pub fn mean(values: &[f64], smallest: f64, largest: f64) -> Self {
        match mean_interval(values, LEVEL) {
            Some(Interval { estimate, low, high }) => {
                Self::of(Interval { estimate, low: low.max(smallest), high: high.min(largest) })
            }
            None => mean(values).map_or_else(Self::default, Self::bare),
        }
    }

    /// Has it an interval?
    pub const fn has_interval(&self) -> bool {
        self.low.is_some() || self.high.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_digits_remain_and_nothing_infinite() {
        #[track_caller]
        fn check(value: f64, expected: Option<f64>) {
            assert_eq!(rounded(value), expected);
        }
        check(1.0 / 3.0, Some(0.333_333_333));
        check(2.0e9 / 3.0, Some(666_666_667.0));
        check(-0.0, Some(0.0));
        check(f64::NAN, None);
        check(f64::INFINITY, None);
        check(1e300, Some(1e300));
    }

    /// Oracle T-4.
    #[test]
    fn shares_have_wilson_intervals() {
        #[track_caller]
        fn check(hits: u32, of: u32, low: f64, high: f64) {
            let found = Estimate::share(hits, of);
            assert!((found.low.unwrap() - low).abs() < 1e-5, "{found:?}");
            assert!((found.high.unwrap() - high).abs() < 1e-5, "{found:?}");
        }
        check(0, 30, 0.0, 0.113_513);
        check(0, 60, 0.0, 0.060_172);
        check(0, 73, 0.0, 0.049_992);
        check(3, 40, 0.025_836, 0.198_642);
        check(40, 40, 0.912_378, 1.0);
        assert_eq!(Estimate::share(0, 0), Estimate::default());
    }

    #[test]
    fn one_run_has_no_interval() {
        assert_eq!(Estimate::mean(&[2.5], 0.0, 9.0), Estimate::bare(2.5));
        assert_eq!(Estimate::mean(&[], 0.0, 9.0), Estimate::default());
        let two = Estimate::mean(&[0.0, 1.0], 0.0, 1.0);
        assert_eq!((two.low, two.high), (Some(0.0), Some(1.0))); // Kept within a share.
    }
}
