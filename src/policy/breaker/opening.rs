//! How long a breaker stays open, the first time and when it opens again.
//!
//! Invariant: an open time is finite and, from the second opening on, at most the cap plus what the
//! jitter may add on top of it; no number of openings overflows.

use serde::Serialize;

use crate::units::Draw;
use crate::units::Duration;
use crate::units::Share;

/// Entries of a table of open times.
pub const MOST_OPENINGS: usize = 8;

/// How the open time grows with each opening since the breaker was last closed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OpenGrowth {
    /// It does not.
    Constant,
    /// The n-th opening lasts n times as long, up to the cap (Envoy: ejections). Openings are
    /// forgotten one by one, for each whole `forget_every` that the breaker stays closed; zero:
    /// whenever it closes.
    Times {
        /// The longest.
        cap: Duration,
        /// Envoy's interval.
        forget_every: Duration,
    },
    /// base · factorⁿ⁻¹, up to the cap (resilience4j, Linkerd, cockatiel).
    Exponential {
        /// At least 1.
        factor: f64,
        /// The longest.
        cap: Duration,
    },
    /// Finagle's `equalJittered`: base, then h + U[0, h) with h = base · 2ⁿ⁻², and the cap for good
    /// once h + h reaches it.
    EqualJittered {
        /// The longest.
        cap: Duration,
    },
    /// One after another; the last repeats (cockatiel's IterableBackoff).
    Table {
        /// The open times.
        times: [Duration; MOST_OPENINGS],
        /// How many of them there are, at least 1.
        len: u8,
    },
}

/// The random part of an open time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OpenJitter {
    /// None.
    None,
    /// c · U[1 − p, 1 + p): probes of many instances spread out.
    PlusMinus(Share),
    /// c + U[0, p·c), no longer than the cap of the growth (Linkerd: 50 %).
    Additive(Share),
    /// c + U[0, J) (Envoy's `max_ejection_time_jitter`).
    Extra(Duration),
}

impl OpenGrowth {
    /// How long the `nth` opening since it was last closed lasts, without jitter, and where the
    /// jitter must end. `nth` is at least 1.
    fn plain(&self, base: Duration, nth: u32) -> (Duration, Duration) {
        match *self {
            Self::Constant => (base, Duration::MAX),
            Self::Times { cap, .. } => {
                let long = base.as_nanos().saturating_mul(u64::from(nth.max(1)));
                (Duration::from_nanos(long).min(cap), Duration::MAX)
            }
            Self::Exponential { factor, cap } => (grown(base, factor, nth, cap), cap),
            Self::EqualJittered { cap } => (grown(base, 2.0, nth.saturating_sub(1), cap), cap),
            Self::Table { times, len } => {
                let last = usize::from(len).clamp(1, MOST_OPENINGS) - 1;
                let at = (nth.max(1) as usize - 1).min(last);
                (times[at], Duration::MAX)
            }
        }
    }

    /// Does it depend on how often the breaker has opened?
    pub const fn is_constant(&self) -> bool {
        matches!(self, Self::Constant)
    }
}

/// How long the `nth` opening (from 1) since the breaker was last closed lasts.
pub fn open_time(
    base: Duration,
    growth: &OpenGrowth,
    jitter: OpenJitter,
    nth: u32,
    draw: Draw,
) -> Duration {
    let (window, cap) = growth.plain(base, nth);
    let window = match growth {
        OpenGrowth::EqualJittered { cap } if nth > 1 => {
            if window.saturating_add(window) >= *cap {
                return *cap;
            }
            window.saturating_add(window.scale(draw.get()))
        }
        _ => window,
    };
    match jitter {
        OpenJitter::None => window,
        OpenJitter::PlusMinus(share) => {
            window.scale(1.0 + share.get() * (2.0 * draw.get() - 1.0)).min(cap)
        }
        OpenJitter::Additive(share) => {
            window.saturating_add(window.scale(share.get() * draw.get())).min(cap)
        }
        OpenJitter::Extra(most) => window.saturating_add(most.scale(draw.get())),
    }
}

/// base · factorⁿ⁻¹, up to the cap: the power by squaring, at most 32 steps.
fn grown(base: Duration, factor: f64, nth: u32, cap: Duration) -> Duration {
    let (mut power, mut square, mut left) = (1.0, factor.max(1.0), nth.saturating_sub(1));
    while left > 0 {
        if left & 1 == 1 {
            power *= square;
        }
        square *= square;
        left >>= 1;
    }
    base.scale(power).min(cap)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    fn share(share: f64) -> Share {
        Share::new(share).unwrap()
    }

    #[track_caller]
    fn check(growth: OpenGrowth, jitter: OpenJitter, draw: f64, expected_s: &[f64]) {
        for (i, expected) in expected_s.iter().enumerate() {
            let draw = Draw::new(draw).unwrap();
            let found = open_time(secs(5), &growth, jitter, i as u32 + 1, draw).as_secs_f64();
            assert!((found - expected).abs() < 1e-9, "opening {}: {found}, {expected}", i + 1);
        }
    }

    #[test]
    fn open_times_grow_as_the_libraries_say() {
        let none = OpenJitter::None;
        check(OpenGrowth::Constant, none, 0.9, &[5.0, 5.0, 5.0]);
        let envoy = OpenGrowth::Times { cap: secs(18), forget_every: secs(10) };
        check(envoy, none, 0.9, &[5.0, 10.0, 15.0, 18.0, 18.0]);
        let doubling = OpenGrowth::Exponential { factor: 2.0, cap: secs(30) };
        check(doubling, none, 0.9, &[5.0, 10.0, 20.0, 30.0, 30.0]);
        let finagle = OpenGrowth::EqualJittered { cap: secs(300) };
        check(finagle, none, 0.0, &[5.0, 5.0, 10.0, 20.0, 40.0, 80.0, 300.0, 300.0]);
        check(finagle, none, 0.5, &[5.0, 7.5, 15.0, 30.0, 60.0, 120.0, 300.0, 300.0]);
        let mut times = [Duration::ZERO; MOST_OPENINGS];
        (times[0], times[1]) = (secs(1), secs(3));
        check(OpenGrowth::Table { times, len: 2 }, none, 0.9, &[1.0, 3.0, 3.0]);
    }

    #[test]
    fn jitter_spreads_open_times() {
        let doubling = OpenGrowth::Exponential { factor: 2.0, cap: secs(30) };
        let spread = OpenJitter::PlusMinus(share(0.2));
        check(OpenGrowth::Constant, spread, 0.0, &[4.0]);
        check(OpenGrowth::Constant, spread, 0.75, &[5.5]);
        check(doubling, OpenJitter::Additive(share(0.5)), 0.5, &[6.25, 12.5, 25.0, 30.0]);
        check(OpenGrowth::Constant, OpenJitter::Extra(secs(2)), 0.5, &[6.0]);
    }

    proptest! {
        /// However often it opened, the open time is within its bound.
        #[test]
        fn an_open_time_is_bounded(
            nth in 1u32..=u32::MAX,
            base_ms in 1u64..1_000_000_000,
            factor in 1.0f64..1_000.0,
            cap_ms in 1u64..1_000_000_000,
            which in 0usize..3,
            unit in 0.0f64..1.0,
        ) {
            let (base, cap) = (Duration::from_millis(base_ms), Duration::from_millis(cap_ms));
            let growth = [
                OpenGrowth::Times { cap, forget_every: Duration::ZERO },
                OpenGrowth::Exponential { factor, cap },
                OpenGrowth::EqualJittered { cap },
            ][which];
            let draw = Draw::new(unit).unwrap();
            let long = open_time(base, &growth, OpenJitter::None, nth, draw);
            prop_assert!(long <= cap.max(base));
            let jitter = OpenJitter::PlusMinus(share(1.0));
            let longer = open_time(base, &growth, jitter, nth, draw);
            prop_assert!(longer <= cap.max(base).scale(2.0));
        }
    }
}
