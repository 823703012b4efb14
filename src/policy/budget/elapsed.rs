//! A bound on the time since a call began, kept by each call for itself.
//!
//! It ends the retries, not the attempt that is out: that is what sets it apart from a timeout. A
//! wait that a server asks for counts like any other, so a `Retry-After` beyond the limit ends the
//! call at once, with one attempt and no waiting.
//!
//! Source: cenkalti/backoff 4.1 `MaxElapsedTime` (elapsed + wait > limit stops) and google-api-core
//! `Retry(timeout)` count the wait; tenacity `stop_after_delay` (elapsed ≥ limit stops) does not.

use serde::Serialize;

use crate::units::Duration;

/// The settings of a bound on the time since a call began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ElapsedLimit {
    /// The bound.
    pub after: Duration,
    /// Does the wait before the next attempt count? If not, a wait may lead beyond the bound.
    pub counts_wait: bool,
}

impl ElapsedLimit {
    /// May another attempt follow, `elapsed` after the call began, once `wait` is over?
    #[inline]
    pub fn allows(&self, elapsed: Duration, wait: Duration) -> bool {
        if self.counts_wait {
            elapsed.saturating_add(wait) <= self.after
        } else {
            elapsed < self.after
        }
    }
}
