//! The wait before the nth retry.
//!
//! A window grows with each retry up to a cap, and jitter spreads the wait over the window. The
//! window of the first retry is `base` (some libraries start at `base · factor`; write that base).
//!
//! Invariant: every wait is finite and within [`Backoff::bounds`], for any retry up to `u32::MAX`:
//! growth saturates, it neither wraps round nor turns negative.
//! Source: Brooker, "Exponential Backoff And Jitter" (2015) with its simulator for full, equal and
//! decorrelated jitter; gRPC proposal A6 for ± 20 % around the capped window.

#[cfg(test)]
mod tests;

use serde::Serialize;

use crate::random::Distribution;
use crate::random::mix;
use crate::units::Draw;
use crate::units::Duration;

/// How the window of a wait grows with each retry, before jitter.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Growth {
    /// No wait at all.
    None,
    /// The same wait before every retry.
    Constant(Duration),
    /// `base + (k − 1) · step` before retry k.
    Linear {
        /// The wait before the first retry.
        base: Duration,
        /// What each further retry adds.
        step: Duration,
    },
    /// `base · factor^(k − 1)` before retry k.
    Exponential {
        /// The wait before the first retry.
        base: Duration,
        /// The growth per retry, at least 1.
        factor: f64,
    },
    /// A wait drawn from a distribution, the same for every retry.
    Drawn(Distribution),
}

/// The random spread laid over a window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Jitter {
    /// The window itself.
    None,
    /// `U[0, w)`.
    Full,
    /// `w/2 + U[0, w/2)`.
    Equal,
    /// `min(cap, U[base, 3 · previous))`, previous starting at base: the growth is its own.
    Decorrelated,
    /// `w · U[1 − share, 1 + share)`, after the cap.
    PlusMinus(f64),
}

/// A back-off: growth, cap and jitter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Backoff {
    /// The window before jitter.
    pub growth: Growth,
    /// The longest window; `Duration::MAX` when there is none.
    pub cap: Duration,
    /// The spread laid over the window.
    pub jitter: Jitter,
}

impl Backoff {
    /// No wait: every retry follows at once.
    pub const NONE: Self = Self { growth: Growth::None, cap: Duration::MAX, jitter: Jitter::None };

    /// `base · factor^(k − 1)` up to `cap`, with `jitter` laid over it.
    pub const fn exponential(base: Duration, factor: f64, cap: Duration, jitter: Jitter) -> Self {
        Self { growth: Growth::Exponential { base, factor }, cap, jitter }
    }

    /// The window before retry `retry` (1, 2, …): `min(cap, growth(retry))`, before jitter. For a
    /// drawn wait, where it is random itself, its mean.
    #[inline]
    pub fn window(&self, retry: u32) -> Duration {
        let steps = retry.saturating_sub(1);
        let window = match &self.growth {
            Growth::None => Duration::ZERO,
            Growth::Constant(wait) => *wait,
            Growth::Linear { base, step } => {
                let added = step.as_nanos().saturating_mul(u64::from(steps));
                base.saturating_add(Duration::from_nanos(added))
            }
            Growth::Exponential { base, factor } => base.scale(power(*factor, steps)),
            Growth::Drawn(distribution) => distribution.mean(),
        };
        window.min(self.cap)
    }

    /// The wait before retry `retry` under `draw`. `previous` is the wait before the last retry
    /// (`None` before the first); only decorrelated jitter looks at it.
    #[inline]
    pub fn wait(&self, retry: u32, previous: Option<Duration>, draw: Draw) -> Duration {
        if let Jitter::Decorrelated = self.jitter {
            let base = self.base();
            let ceiling = tripled(previous.unwrap_or(base));
            let wait = base.saturating_add(part(ceiling.saturating_sub(base), draw));
            return wait.min(self.cap);
        }
        let (window, draw) = match &self.growth {
            // The window and the jitter laid over it need a number each.
            Growth::Drawn(distribution) => (distribution.sample(draw).min(self.cap), second(draw)),
            _ => (self.window(retry), draw),
        };
        self.spread(window, draw)
    }

    /// The wait that jitter makes of a window: what `wait` gives where the window is the retry's.
    /// Decorrelated jitter has a window of its own, and leaves this one as it is.
    #[inline(always)]
    pub fn spread(&self, window: Duration, draw: Draw) -> Duration {
        match self.jitter {
            Jitter::None | Jitter::Decorrelated => window,
            Jitter::Full => part(window, draw),
            Jitter::Equal => {
                let half = Duration::from_nanos(window.as_nanos() / 2);
                half.saturating_add(part(window.saturating_sub(half), draw))
            }
            Jitter::PlusMinus(share) => window.scale(1.0 - share + 2.0 * share * draw.get()),
        }
    }

    /// The smallest and the largest wait that retry `retry` can have.
    pub fn bounds(&self, retry: u32) -> (Duration, Duration) {
        if let Jitter::Decorrelated = self.jitter {
            let base = self.base();
            return (base.min(self.cap), base.scale(power(3.0, retry.max(1))).min(self.cap));
        }
        let (low, high) = match &self.growth {
            Growth::Drawn(drawn) => (drawn.smallest(), drawn.largest().unwrap_or(Duration::MAX)),
            _ => (self.window(retry), self.window(retry)),
        };
        let (low, high) = (low.min(self.cap), high.min(self.cap));
        match self.jitter {
            Jitter::None | Jitter::Decorrelated => (low, high),
            Jitter::Full => (Duration::ZERO, high),
            Jitter::Equal => (Duration::from_nanos(low.as_nanos() / 2), high),
            Jitter::PlusMinus(share) => (low.scale(1.0 - share), high.scale(1.0 + share)),
        }
    }

    /// The mean wait before retry `retry`. For a drawn wait, of the distribution before the cap.
    pub fn mean(&self, retry: u32) -> Duration {
        match self.jitter {
            Jitter::None | Jitter::PlusMinus(_) => self.window(retry),
            Jitter::Full => self.window(retry).scale(0.5),
            Jitter::Equal => self.window(retry).scale(0.75),
            Jitter::Decorrelated => self.decorrelated_mean(retry.max(1)),
        }
    }

    /// The first window before the cap: where decorrelated jitter starts from.
    #[inline]
    fn base(&self) -> Duration {
        match &self.growth {
            Growth::None => Duration::ZERO,
            Growth::Constant(base)
            | Growth::Linear { base, .. }
            | Growth::Exponential { base, .. } => *base,
            Growth::Drawn(distribution) => distribution.mean(),
        }
    }

    /// The mean of delay `retry` under decorrelated jitter.
    ///
    /// Without the cap it is `base · (2 · 1.5^retry − 1)`; with it, the distribution of the delay
    /// is carried forward on a grid. It settles within a few dozen retries.
    fn decorrelated_mean(&self, retry: u32) -> Duration {
        const CELLS: usize = 4_000;
        const SETTLED: u32 = 60;
        let base = self.base();
        if base >= self.cap {
            return self.cap;
        }
        if base.scale(power(3.0, retry)) <= self.cap {
            return base.scale(2.0 * power(1.5, retry) - 1.0);
        }
        let (low, high) = (base.as_nanos() as f64, self.cap.as_nanos() as f64);
        let width = (high - low) / CELLS as f64;
        let middle = |cell: usize| low + (cell as f64 + 0.5) * width;
        // Shares of the delay in each cell, and exactly at the cap; before the first, all at base.
        let (mut shares, mut at_cap) = (vec![0.0; CELLS], 0.0);
        let mut sources = vec![(low, 1.0)];
        for _ in 0..retry.min(SETTLED) {
            let mut density = vec![0.0; CELLS + 1];
            at_cap = 0.0;
            for &(previous, share) in &sources {
                let per_cell = share * width / (3.0 * previous - low);
                let reached = ((3.0 * previous - low) / width).min(CELLS as f64);
                let (whole, rest) = (reached as usize, reached.fract());
                density[0] += per_cell;
                density[whole] -= per_cell * (1.0 - rest);
                if whole < CELLS {
                    density[whole + 1] -= per_cell * rest;
                }
                at_cap += share - per_cell * reached;
            }
            let mut running = 0.0;
            for (share, change) in shares.iter_mut().zip(&density) {
                running += change;
                *share = running;
            }
            sources = shares.iter().enumerate().map(|(i, share)| (middle(i), *share)).collect();
            sources.push((high, at_cap));
        }
        let inside: f64 = shares.iter().enumerate().map(|(i, share)| middle(i) * share).sum();
        Duration::from_nanos_f64(inside + high * at_cap)
    }
}

/// `factor^steps` by repeated squaring: only products, so the same on every platform, and at most
/// 32 of them, so retry 4 000 000 000 costs no more than retry 40. Infinite when out of range.
#[inline]
fn power(factor: f64, steps: u32) -> f64 {
    let (mut result, mut square, mut left) = (1.0, factor, steps);
    while left > 0 {
        if left & 1 == 1 {
            result *= square;
        }
        square *= square;
        left >>= 1;
    }
    result
}

/// `U[0, span)`.
#[inline]
fn part(span: Duration, draw: Draw) -> Duration {
    // Rounded down, so that the end of the window is never reached.
    Duration::from_nanos((span.as_nanos() as f64 * draw.get()) as u64)
}

/// Three times a span, saturating.
#[inline]
fn tripled(span: Duration) -> Duration {
    Duration::from_nanos(span.as_nanos().saturating_mul(3))
}

/// A number that is independent of `draw` for every practical purpose.
fn second(draw: Draw) -> Draw {
    Draw::from_bits(mix(draw.get().to_bits(), 0))
}
