//! Numbers that cannot be mixed up: moments, spans, rates, shares, and one uniform draw.
//!
//! Time is an unsigned 64-bit count of nanoseconds. Sums of integers do not depend on the order in
//! which they are made, so a result does not depend on threads or on the platform.
//!
//! Invariant: every conversion from text or floating point happens once, at the edge, and
//! arithmetic on spans saturates: the ten-thousandth retry of any policy is a finite wait.

use std::fmt;
use std::ops::{Add, Sub};

use serde::{Serialize, Serializer};

/// Nanoseconds in a second.
pub const SECOND: u64 = 1_000_000_000;

/// A moment of a run: nanoseconds since its start, warm-up included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SimTime(u64);

impl SimTime {
    /// The start of a run.
    pub const ZERO: Self = Self(0);
    /// A moment that no run reaches.
    pub const NEVER: Self = Self(u64::MAX);

    /// The moment `nanos` nanoseconds after the start.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the start, for reports only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / SECOND as f64
    }

    /// The span from `earlier` to here, zero when `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for SimTime {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Sub<Duration> for SimTime {
    type Output = Self;
    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

/// A span of simulated time in nanoseconds; arithmetic saturates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// Longer than any run: "for ever".
    pub const MAX: Self = Self(u64::MAX);

    /// A span of `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// A span of `millis` milliseconds, saturating.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// A span of `secs` seconds, saturating.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(SECOND))
    }

    /// The nearest whole nanosecond to `secs` seconds: zero for NaN and negative values, `MAX`
    /// for values out of range.
    pub fn from_secs_f64(secs: f64) -> Self {
        Self::from_nanos_f64(secs * SECOND as f64)
    }

    /// The nearest whole number of nanoseconds; zero for NaN and negatives, `MAX` out of range.
    pub fn from_nanos_f64(nanos: f64) -> Self {
        // A float cast saturates and takes NaN to zero, which is what is promised.
        Self((nanos + 0.5) as u64)
    }

    /// Nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds, for reports and for formulas that are not on the path from seed to counts.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / SECOND as f64
    }

    /// Milliseconds, for reports.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Is this no time at all?
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Sum, saturating.
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Difference, zero when `other` is longer.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// This span times a non-negative factor, rounded to the nanosecond, saturating.
    pub fn scale(self, factor: f64) -> Self {
        Self::from_nanos_f64(self.0 as f64 * factor)
    }
}

impl fmt::Display for Duration {
    /// As people write it in a scenario: the largest unit that keeps at most three decimals.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 7] = [
            (86_400 * SECOND, "d"),
            (3_600 * SECOND, "h"),
            (60 * SECOND, "min"),
            (SECOND, "s"),
            (1_000_000, "ms"),
            (1_000, "us"),
            (1, "ns"),
        ];
        if *self == Self::MAX {
            return f.pad("for ever");
        }
        if self.0 == 0 {
            return f.pad("0s");
        }
        let exact = UNITS.iter().find(|(unit, _)| {
            self.0 >= *unit
                && (self.0.is_multiple_of(*unit)
                    || (*unit <= SECOND && self.0.is_multiple_of((unit / 1_000).max(1))))
        });
        let (unit, name) = exact.copied().unwrap_or((1, "ns"));
        let (whole, rest) = (self.0 / unit, self.0 % unit);
        let text = if rest == 0 {
            format!("{whole}{name}")
        } else {
            let decimals = format!("{:03}", rest / (unit / 1_000));
            format!("{whole}.{}{name}", decimals.trim_end_matches('0'))
        };
        f.pad(&text)
    }
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Events per second: finite and not negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Rate(f64); // Invariant: finite, ≥ 0.

impl Rate {
    /// `None` for NaN, infinities and negative values.
    pub fn per_second(value: f64) -> Option<Self> {
        (value.is_finite() && value >= 0.0).then_some(Self(value))
    }

    /// Events per second.
    pub const fn as_per_second(self) -> f64 {
        self.0
    }

    /// The time between two events that come evenly, at least a nanosecond; `Duration::MAX` where
    /// none come.
    pub fn interval(self) -> Duration {
        Duration::from_nanos_f64(SECOND as f64 / self.0).max(Duration::from_nanos(1))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}/s", self.0))
    }
}

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A share of a whole: a probability, a ratio of capacity, a part of the traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Share(f64); // Invariant: 0 ≤ self.0 ≤ 1.

impl Share {
    /// Nothing of it.
    pub const ZERO: Self = Self(0.0);
    /// All of it.
    pub const ONE: Self = Self(1.0);

    /// So many parts in a hundred, and all of it where they are more.
    pub const fn percent(parts: u8) -> Self {
        if parts < 100 { Self(parts as f64 / 100.0) } else { Self::ONE }
    }

    /// `None` outside `[0, 1]`, and for NaN.
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Self(value))
    }

    /// The share as a number in `[0, 1]`.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// Does an event of this probability happen under `draw`?
    pub fn happens(self, draw: Draw) -> bool {
        draw.get() < self.0
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Rounded to nine digits so that 0.07 prints as 7%, not as 7.000000000000001%.
        let percent = (self.0 * 100.0 * 1e9).round() / 1e9;
        if percent / 100.0 == self.0 {
            f.pad(&format!("{percent}%"))
        } else {
            f.pad(&self.0.to_string()) // What is printed means what it was.
        }
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0)
    }
}

/// One uniform random number, drawn by the engine and handed to a policy.
///
/// The engine looks a draw up by purpose, request and attempt, never by how many came before it.
/// Variants on common random numbers thus stay in step, however differently their policies act.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw(f64); // Invariant: 0 ≤ self.0 < 1.

impl Draw {
    /// `None` outside `[0, 1)`, and for NaN.
    pub fn new(value: f64) -> Option<Self> {
        (0.0..1.0).contains(&value).then_some(Self(value))
    }

    /// For where no chance is involved and a draw is asked for all the same.
    pub const MIDDLE: Self = Self(0.5);

    /// The draw that 64 random bits stand for: the middle of one of 2⁵² equal cells, so never
    /// exactly 0 or 1 and safe to hand to any inverse distribution function.
    pub fn from_bits(bits: u64) -> Self {
        Self(((bits >> 12) as f64 + 0.5) * (1.0 / (1u64 << 52) as f64))
    }

    /// The number in `[0, 1)`.
    pub const fn get(self) -> f64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_print_as_people_write_them() {
        #[track_caller]
        fn check(nanos: u64, expected: &str) {
            assert_eq!(Duration::from_nanos(nanos).to_string(), expected);
        }
        check(0, "0s");
        check(500_000, "500us");
        check(2 * SECOND, "2s");
        check(1_500_000_000, "1.5s");
        check(90 * SECOND, "90s");
        check(120 * SECOND, "2min");
        check(1_234_567, "1234.567us");
        check(1_000_000_001, "1000000.001us");
        check(u64::MAX, "for ever");
    }

    #[test]
    fn spans_saturate_and_never_go_negative() {
        assert_eq!(Duration::from_secs_f64(f64::NAN), Duration::ZERO);
        assert_eq!(Duration::from_secs_f64(-1.0), Duration::ZERO);
        assert_eq!(Duration::from_secs_f64(1e30), Duration::MAX);
        assert_eq!(Duration::MAX.saturating_add(Duration::from_secs(1)), Duration::MAX);
        assert_eq!(SimTime::ZERO.since(SimTime::from_nanos(5)), Duration::ZERO);
    }

    #[test]
    fn a_draw_is_inside_the_open_interval() {
        assert!(Draw::from_bits(0).get() > 0.0);
        assert!(Draw::from_bits(u64::MAX).get() < 1.0);
        assert_eq!(Draw::new(1.0), None);
        assert_eq!(Draw::new(f64::NAN), None);
    }
}
