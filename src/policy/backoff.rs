//! The wait before the nth retry.

use serde::Serialize;

use crate::random::Distribution;
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
    /// The window before retry `k` (1, 2, …): `min(cap, growth(k))`, before jitter.
    pub fn window(&self, _retry: u32) -> Duration {
        unimplemented!()
    }

    /// The wait before retry `k` under `draw`. `previous` is the wait before the last retry
    /// (`None` before the first); only decorrelated jitter looks at it.
    pub fn wait(&self, _retry: u32, _previous: Option<Duration>, _draw: Draw) -> Duration {
        unimplemented!()
    }

    /// The smallest and the largest wait that retry `k` can have.
    pub fn bounds(&self, _retry: u32) -> (Duration, Duration) {
        unimplemented!()
    }
}
