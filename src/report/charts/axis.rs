//! Scales: from values to pixels, and the round values to write beside them.

use crate::report::number::magnitude;
use crate::report::number::number;
use crate::report::number::ten_to;

/// A scale that starts at a value and ends at another; linear or logarithmic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Axis {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) log: bool,
}

impl Axis {
    /// From zero to a round value at or above `largest`; `0..1` where nothing is above zero.
    pub(super) fn from_zero(largest: f64) -> Self {
        let largest = if largest.is_finite() && largest > 0.0 { largest } else { 1.0 };
        let step = round_step(largest / 4.0);
        Self { low: 0.0, high: (largest / step).ceil() * step, log: false }
    }

    /// From `low` to `high` as they are.
    pub(super) fn span(low: f64, high: f64) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        Self { low, high, log: false }
    }

    /// Logarithmic over whole decades that hold both values, which are above zero.
    pub(super) fn decades(smallest: f64, largest: f64) -> Self {
        let low = ten_to(magnitude(smallest));
        let high = ten_to(magnitude(largest));
        let high = if high < largest || high <= low { high * 10.0 } else { high };
        Self { low, high, log: true }
    }

    /// Where `value` lies between two pixel positions; values outside are taken to the end.
    pub(super) fn at(&self, value: f64, from: f64, to: f64) -> f64 {
        let share = if self.log {
            let low = libm::log10(self.low);
            (libm::log10(value.max(self.low)) - low) / (libm::log10(self.high) - low)
        } else {
            (value - self.low) / (self.high - self.low)
        };
        from + share.clamp(0.0, 1.0) * (to - from)
    }

    /// At most about `wanted` round values on the scale.
    pub(super) fn ticks(&self, wanted: usize) -> Vec<f64> {
        if self.log {
            let decades = (magnitude(self.low)..=magnitude(self.high)).collect::<Vec<_>>();
            let every = decades.len().div_ceil(wanted.max(2)).max(1);
            return decades.iter().step_by(every).map(|&decade| ten_to(decade)).collect();
        }
        let step = round_step((self.high - self.low) / wanted.max(1) as f64);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last).map(|index| index as f64 * step).collect()
    }
}

/// The smallest of 1, 2, 5 × 10ⁿ that is at least `least`.
fn round_step(least: f64) -> f64 {
    let ten = ten_to(magnitude(least));
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * ten >= least * 0.999_999);
    factor.unwrap_or(10.0) * ten
}

/// The unit in which a stretch of simulated time is best read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TimeUnit {
    /// In full, for the axis.
    pub(super) name: &'static str,
    /// Seconds in one.
    pub(super) seconds: f64,
}

impl TimeUnit {
    /// Seconds up to three minutes, minutes up to three hours, hours up to three days, then days.
    pub(super) fn for_span(seconds: f64) -> Self {
        let (name, unit) = match seconds {
            _ if seconds <= 180.0 => ("seconds", 1.0),
            _ if seconds <= 3.0 * 3_600.0 => ("minutes", 60.0),
            _ if seconds <= 3.0 * 86_400.0 => ("hours", 3_600.0),
            _ => ("days", 86_400.0),
        };
        Self { name, seconds: unit }
    }
}

/// The text beside a tick.
pub(super) fn label(value: f64) -> String {
    number(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_ends_on_a_round_value() {
        #[track_caller]
        fn check(largest: f64, high: f64, ticks: &[f64]) {
            let axis = Axis::from_zero(largest);
            assert_eq!(axis.high, high);
            assert_eq!(axis.ticks(3), ticks);
        }
        check(1_612.0, 2_000.0, &[0.0, 1_000.0, 2_000.0]);
        check(25.0, 30.0, &[0.0, 10.0, 20.0, 30.0]);
        check(0.0, 1.0, &[0.0, 0.5, 1.0]);
        check(f64::NAN, 1.0, &[0.0, 0.5, 1.0]);
    }

    #[test]
    fn a_logarithmic_scale_spans_whole_decades() {
        let axis = Axis::decades(1.0, 71.0);
        assert_eq!((axis.low, axis.high), (1.0, 100.0));
        assert_eq!(axis.at(10.0, 0.0, 100.0), 50.0);
        assert_eq!(axis.at(0.0, 0.0, 100.0), 0.0);
        let one = Axis::decades(1.0, 1.0);
        assert_eq!((one.low, one.high), (1.0, 10.0));
    }
}
