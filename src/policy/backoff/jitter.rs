//! The random spread laid over a window.

use serde::Serialize;

use super::times;
use crate::units::Duration;

/// The random spread laid over a window w. `U` is uniform; see `Grain` for whole units.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Jitter {
    /// The window itself (client-go, Temporal, undici, go-retryablehttp).
    None,
    /// `U[0, w)` (AWS, Envoy, gax, tenacity, Celery, gRPC before 2024).
    Full,
    /// `w/2 + U[0, w/2)` (the AWS article, cockatiel's half, Finagle).
    Equal,
    /// `min(cap, U[base, 3 · previous))`, previous starting at base: the growth is its own (the AWS
    /// article).
    Decorrelated,
    /// `(f(t) − f(t')) · base / 1.4` with `f(t) = factor^t · tanh √(4t)`, `t = k − 1 + U[0, 1)` and
    /// t' the t before; at most the cap, which `f` does not feel (Polly, cockatiel). The waits of
    /// one call add up to `f(t) · base / 1.4`, so their sum varies little.
    DecorrelatedV2,
    /// `base`, then `U[previous, min(cap, 3 · previous))` (Finagle's decorrelatedJittered, whose
    /// documentation says `U[start, 3 · previous)`).
    Monotone,
    /// A known fault: `base`, then `U[0, previous · 2^(k − 1))`, or the cap where that is beyond it
    /// (Finagle's exponentialJittered, whose documentation says `U[0, start · 2^attempt)`).
    Compounding,
    /// A known fault: `previous · factor · U[1 − share, 1 + share)`: jitter is multiplied again
    /// with every retry, so that it compounds.
    Compounded(f64),
    /// `w · U[1 − share, 1 + share)` (gRPC 0.2, cenkalti 0.5, Polly's constant and linear 0.25).
    PlusMinus(f64),
    /// `w + U[−most, most)`, never below nothing (Failsafe, Spring Framework 7).
    Absolute(Duration),
    /// `w + U[0, most + (k − 1) · grows)` (got, Google's resumable media; Sidekiq's grows). Clipped:
    /// at most the headroom up to the cap, so that there is none at the cap (ChokaQ).
    Added {
        /// The most that is added before the first retry.
        most: Duration,
        /// How much more before each further one.
        grows: Duration,
        /// Is the band clipped to the headroom?
        clipped: bool,
    },
    /// `w + U[0, share · w)` (wait.Backoff, axios-retry, EF Core, backon with 1). With the cap after
    /// it, what goes beyond lies on the cap (tower, Linkerd, retry, Spring).
    AddedShare(f64),
    /// `U[least, w)`, or `least` where the window is shorter (tenacity's wait_random_exponential,
    /// reqwest-retry's bounded jitter).
    From(Duration),
    /// `U[w · (1 − share), w)` (BullMQ, Stripe's clients).
    Down(f64),
}

impl Jitter {
    /// Does the next wait depend on the last?
    #[inline]
    pub const fn remembers(self) -> bool {
        matches!(
            self,
            Self::Decorrelated
                | Self::DecorrelatedV2
                | Self::Monotone
                | Self::Compounding
                | Self::Compounded(_)
        )
    }

    /// Over what a wait is spread, for kinds that do not remember.
    pub(super) fn span(self, window: Duration, retry: u32, cap: Duration) -> Span {
        let of = |from, width| Span { from, width, less: Duration::ZERO };
        match self {
            Self::Full => of(Duration::ZERO, window),
            Self::Equal => {
                let half = Duration::from_nanos(window.as_nanos() / 2);
                of(half, window.saturating_sub(half))
            }
            Self::PlusMinus(share) => of(window.scale(1.0 - share), window.scale(2.0 * share)),
            Self::Absolute(most) => Span { from: window, width: times(most, 2), less: most },
            Self::Added { most, grows, clipped } => {
                let more = times(grows, retry.saturating_sub(1).into());
                let most = most.saturating_add(more);
                of(window, if clipped { most.min(cap.saturating_sub(window)) } else { most })
            }
            Self::AddedShare(share) => of(window, window.scale(share)),
            Self::From(least) => of(least, window.saturating_sub(least)),
            Self::Down(share) => {
                let low = window.scale(1.0 - share);
                of(low, window.saturating_sub(low))
            }
            _ => of(window, Duration::ZERO),
        }
    }

    /// The same with every span multiplied by `by`.
    pub(super) fn scaled(self, by: f64) -> Self {
        match self {
            Self::Absolute(most) => Self::Absolute(most.scale(by)),
            Self::From(least) => Self::From(least.scale(by)),
            Self::Added { most, grows, clipped } => {
                Self::Added { most: most.scale(by), grows: grows.scale(by), clipped }
            }
            other => other,
        }
    }
}

/// What a wait is spread over: from `from` on, `width` wide, all of it `less` shorter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) from: Duration,
    pub(super) width: Duration,
    pub(super) less: Duration,
}

impl Span {
    /// The wait of which `drawn` was drawn; never below nothing.
    #[inline]
    pub(super) fn at(self, drawn: Duration) -> Duration {
        self.from.saturating_add(drawn).saturating_sub(self.less)
    }
}
