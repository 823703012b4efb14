//! A counter that outlives calls and processes, with a time to live.
//!
//! ```text
//! failure: count := count + 1;  a retry is granted while count ≤ limit
//! ```
//!
//! A success takes nothing back: only the time to live does, and then the whole allowance is there
//! again at once. When that time begins anew decides whether it ever ends.
//!
//! Source: Redis `INCR` with `EXPIRE … NX` (from the first failure), with plain `EXPIRE` (from the
//! last one; failures that keep coming keep it for ever), and without either, as a crash between
//! the two commands leaves it.

use serde::Serialize;

use crate::units::Duration;
use crate::units::SimTime;

/// What the time to live runs from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TtlFrom {
    /// The first failure counted: a fixed window.
    First,
    /// The last one: a window that slides, and may never end.
    Last,
}

/// The settings of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CounterConfig {
    /// The last count at which a retry is granted.
    pub limit: u32,
    /// How long the count is kept; `Duration::MAX`: for ever.
    pub ttl: Duration,
    /// What the time to live runs from.
    pub ttl_from: TtlFrom,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counter {
    pub(super) count: u32,
    expires_at: SimTime,
}

impl Counter {
    pub(super) const NEW: Self = Self { count: 0, expires_at: SimTime::NEVER };

    #[inline]
    pub(super) fn count_one(&mut self, config: &CounterConfig, now: SimTime) -> bool {
        if now >= self.expires_at {
            *self = Self::NEW;
        }
        if self.count == 0 || config.ttl_from == TtlFrom::Last {
            self.expires_at = now + config.ttl;
        }
        self.count = self.count.saturating_add(1);
        self.count <= config.limit
    }
}
