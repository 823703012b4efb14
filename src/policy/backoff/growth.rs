//! How the window of a wait grows, before jitter.

use serde::Serialize;

use super::times;
use crate::random::Distribution;
use crate::units::Duration;

/// How the window of a wait grows with each retry k = 1, 2, …, before jitter.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Growth {
    /// No wait at all.
    None,
    /// The same wait before every retry.
    Constant(Duration),
    /// `base + (k − 1) · step`.
    Linear {
        /// The wait before the first retry.
        base: Duration,
        /// What each further retry adds.
        step: Duration,
    },
    /// `base · factor^(k − 1 + start)`. Where doubling is done step by step under the cap (Envoy,
    /// Failsafe), it comes to the same.
    Exponential {
        /// The wait at exponent 0.
        base: Duration,
        /// The growth per retry, at least 1.
        factor: f64,
        /// The exponent of the first retry: 1 in ChokaQ, axios-retry and Google's resumable media.
        start: i32,
    },
    /// `base · (factor^(k − 1 + start) − 1)`: nothing at first (EF Core: factor 2, start 0).
    LessOne {
        /// The wait where the power is 2.
        base: Duration,
        /// The growth per retry, at least 1.
        factor: f64,
        /// The exponent of the first retry.
        start: i32,
    },
    /// `x₁ = base`, `xₖ₊₁ = ⌊xₖ · factor⌋` in whole units: resilience4j (milliseconds), Go's
    /// durations (nanoseconds).
    Stepped {
        /// The wait before the first retry.
        base: Duration,
        /// The growth per retry, at least 1.
        factor: f64,
        /// What every step is cut to.
        unit: Duration,
    },
    /// `unit · (k − 1 + start)^exponent + plus` (Sidekiq: 1 s, 4, 15 s, start 0).
    Polynomial {
        /// What the power is multiplied by.
        unit: Duration,
        /// The exponent.
        exponent: u32,
        /// What is added.
        plus: Duration,
        /// The number of the first retry.
        start: u32,
    },
    /// `base` times 1, 1, 2, 3, 5, 8, … (backon).
    Fibonacci {
        /// The first wait, and the second.
        base: Duration,
    },
    /// Waits as listed (Svix, Mailgun, Lambda).
    Table {
        /// At least one.
        waits: Vec<Duration>,
        /// Does the sequence end with the list? Otherwise its last wait repeats.
        ends: bool,
    },
    /// A wait drawn from a distribution, the same for every retry.
    Drawn(Distribution),
}

impl Growth {
    /// The window before retry `retry`. Beyond `cap` it need only be beyond. For a drawn wait, its
    /// mean.
    #[inline]
    pub(super) fn window(&self, retry: u32, cap: Duration) -> Duration {
        let steps = retry.saturating_sub(1);
        match self {
            Self::None => Duration::ZERO,
            Self::Constant(wait) => *wait,
            Self::Linear { base, step } => base.saturating_add(times(*step, steps.into())),
            Self::Exponential { base, factor, start } => {
                base.scale(power(*factor, i64::from(steps) + i64::from(*start)))
            }
            Self::LessOne { base, factor, start } => {
                base.scale(power(*factor, i64::from(steps) + i64::from(*start)) - 1.0)
            }
            Self::Stepped { base, factor, unit } => stepped(*base, *factor, *unit, steps, cap),
            Self::Polynomial { unit, exponent, plus, start } => {
                let n = u64::from(steps) + u64::from(*start);
                times(*unit, n.saturating_pow(*exponent)).saturating_add(*plus)
            }
            Self::Fibonacci { base } => times(*base, fibonacci(retry.max(1))),
            Self::Table { waits, .. } => {
                let last = waits.len().saturating_sub(1);
                waits.get((steps as usize).min(last)).copied().unwrap_or_default()
            }
            Self::Drawn(distribution) => distribution.mean(),
        }
    }

    /// The first window before the cap: where kinds that remember start from.
    #[inline]
    pub(super) fn base(&self) -> Duration {
        match self {
            Self::Constant(base)
            | Self::Linear { base, .. }
            | Self::Exponential { base, start: 0, .. } => *base,
            other => other.window(1, Duration::MAX),
        }
    }

    /// The growth per retry where there is one, else 2.
    pub(super) const fn factor(&self) -> f64 {
        match self {
            Self::Exponential { factor, .. }
            | Self::LessOne { factor, .. }
            | Self::Stepped { factor, .. } => *factor,
            _ => 2.0,
        }
    }

    /// Has it a base from which kinds of jitter that remember can grow?
    pub const fn has_base(&self) -> bool {
        matches!(
            self,
            Self::Constant(_)
                | Self::Linear { .. }
                | Self::Exponential { .. }
                | Self::Stepped { .. }
        )
    }

    /// The same from another base; `None` where there is none to change.
    pub fn with_base(&self, new: Duration) -> Option<Self> {
        let mut changed = self.clone();
        match &mut changed {
            Self::Constant(base)
            | Self::Linear { base, .. }
            | Self::Exponential { base, .. }
            | Self::LessOne { base, .. }
            | Self::Stepped { base, .. }
            | Self::Fibonacci { base } => *base = new,
            Self::None | Self::Polynomial { .. } | Self::Table { .. } | Self::Drawn(_) => {
                return None;
            }
        }
        Some(changed)
    }

    /// The same with every span multiplied by `by`; a drawn wait stays as it is.
    pub(super) fn scaled(&self, by: f64) -> Self {
        let mut scaled = self.clone();
        match &mut scaled {
            Self::None | Self::Drawn(_) => {}
            Self::Constant(base) | Self::Fibonacci { base } => *base = base.scale(by),
            Self::Linear { base, step } => (*base, *step) = (base.scale(by), step.scale(by)),
            Self::Exponential { base, .. }
            | Self::LessOne { base, .. }
            | Self::Stepped { base, .. } => *base = base.scale(by),
            Self::Polynomial { unit, plus, .. } => {
                (*unit, *plus) = (unit.scale(by), plus.scale(by));
            }
            Self::Table { waits, .. } => *waits = waits.iter().map(|w| w.scale(by)).collect(),
        }
        scaled
    }
}

/// `factor^exponent` by repeated squaring: only products, so the same on every platform, and at
/// most 32 of them, so retry 4 000 000 000 costs no more than retry 40. Infinite when out of range.
#[inline]
pub(super) fn power(factor: f64, exponent: i64) -> f64 {
    let (mut result, mut square, mut left) = (1.0, factor, exponent.unsigned_abs());
    while left > 0 {
        if left & 1 == 1 {
            result *= square;
        }
        square *= square;
        left >>= 1;
    }
    if exponent < 0 { 1.0 / result } else { result }
}

/// A growth cut to whole units after each of `steps` steps; it stops at the cap, at the end of the
/// range, and where the cut takes all that was added (it never takes more).
fn stepped(base: Duration, factor: f64, unit: Duration, steps: u32, cap: Duration) -> Duration {
    let unit = unit.as_nanos().max(1);
    let mut window = base.as_nanos();
    for _ in 0..steps {
        let grown = (window as f64 * factor) as u64;
        let next = if grown == u64::MAX { grown } else { grown - grown % unit };
        if next <= window || window >= cap.as_nanos() {
            break;
        }
        window = next;
    }
    Duration::from_nanos(window)
}

/// The nth number of Fibonacci, saturating.
fn fibonacci(n: u32) -> u64 {
    const LAST: u32 = 93; // The 94th does not fit.
    let (mut before, mut number) = (0u64, 1u64);
    for _ in 1..n.min(LAST) {
        (before, number) = (number, before + number);
    }
    if n > LAST { u64::MAX } else { number }
}
