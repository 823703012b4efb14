//! Adaptive throttling: a client turns its own attempts away while the server accepts too few.
//!
//! ```text
//! P(reject) = max(0, (requests − K · accepts) ÷ (requests + 1))
//! ```
//!
//! Both are counted over a window. An accept is any answer but a refusal. Under a demand of more
//! than K times what the server accepts, K times that is sent, and the rest ends at the client.
//!
//! Source: *Site Reliability Engineering* (2016), "Handling Overload": K = 2, two minutes, every
//! request of the application counts, rejected ones too. google-cloud-gax 1.15
//! `retry_throttler.rs`, `AdaptiveThrottler`: only retries are turned away, only attempts that are
//! over count, and nothing is ever forgotten.

use serde::Serialize;

use crate::policy::outcome::Class;
use crate::policy::outcome::ClassSet;
use crate::policy::throttle::tally::Tally;
use crate::units::Draw;
use crate::units::Duration;
use crate::units::SimTime;

/// What counts as a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// Whatever asks, and is counted when it asks: what is turned away counts (SRE book).
    Asked,
    /// What has been answered (google-cloud-gax).
    Answered,
}

/// Which attempts may be turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Asks {
    /// Every one.
    Attempts,
    /// Retries; the first attempt of a call passes.
    Retries,
}

/// The settings of an adaptive throttle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AdaptiveConfig {
    /// K in thousandths: so many requests for each one accepted.
    pub k_milli: u32,
    /// Over how long both are counted; `Duration::MAX`: for ever.
    pub window: Duration,
    /// The failures that say the server did not accept the attempt.
    pub refusals: ClassSet,
    /// What counts as a request.
    pub count: Counted,
    /// Which attempts may be turned away.
    pub asks: Asks,
}

impl AdaptiveConfig {
    /// The share of attempts to turn away after so many requests and accepts.
    pub fn reject_share(&self, requests: u64, accepts: u64) -> f64 {
        let wanted = requests as f64 - f64::from(self.k_milli) / 1_000.0 * accepts as f64;
        (wanted / (requests as f64 + 1.0)).max(0.0)
    }

    /// Is the attempt let through?
    #[inline]
    pub(super) fn ask(&self, tally: &mut Tally, now: SimTime, draw: Draw, retry: bool) -> bool {
        let [requests, accepts] = tally.sums(self.window, now);
        let free = self.asks == Asks::Retries && !retry;
        let passes = free || draw.get() >= self.reject_share(requests, accepts);
        if self.count == Counted::Asked {
            tally.add(self.window, now, [1, 0]);
        }
        passes
    }

    /// An attempt that was let through has ended.
    #[inline]
    pub(super) fn settle(&self, tally: &mut Tally, now: SimTime, failure: Option<Class>) {
        let local = failure.is_some_and(Class::is_local);
        let accepted = !local && failure.is_none_or(|class| !self.refusals.contains(class));
        let answered = self.count == Counted::Answered && !local;
        tally.add(self.window, now, [u32::from(answered), u32::from(accepted)]);
    }
}
