//! Bulkheads: a bound on what one caller has under way, with a queue before it.
//!
//! Only counts are kept here. Who waits, and in which order, is the caller's to remember: it is
//! told whether to let one in.
//!
//! Invariant: what is under way never grows past `limit`, nor what waits past `queue`; nobody
//! waits while there is a place, and a newcomer never overtakes who waits.
//! Source: cockatiel `bulkhead(limit, queue)`; Polly's concurrency limiter.

use serde::Serialize;

/// The settings of a bulkhead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BulkheadConfig {
    /// How many may be under way at once.
    pub limit: u32,
    /// How many may wait for a place; the next one is rejected at once.
    pub queue: u32,
}

/// What a bulkhead says to who asks to enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Come in.
    Admitted,
    /// Wait for a place.
    Queued,
    /// There is no place, and none to wait at.
    Rejected,
}

/// One bulkhead: how many are inside, and how many wait. Its settings are passed to each question,
/// so that they may change while it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bulkhead {
    inside: u32,
    waiting: u32,
}

impl Bulkhead {
    /// Somebody asks to enter.
    #[inline]
    #[must_use]
    pub const fn enter(&mut self, config: &BulkheadConfig) -> Entry {
        if self.waiting == 0 && self.inside < config.limit {
            self.inside += 1;
            Entry::Admitted
        } else if self.waiting < config.queue {
            self.waiting += 1;
            Entry::Queued
        } else {
            Entry::Rejected
        }
    }

    /// Somebody who was admitted leaves. `true`: the next who waits is admitted in its place.
    #[inline]
    #[must_use]
    pub const fn leave(&mut self, config: &BulkheadConfig) -> bool {
        self.inside -= 1;
        self.admit_waiting(config)
    }

    /// Somebody who waits gives up.
    #[inline]
    pub const fn leave_queue(&mut self) {
        self.waiting -= 1;
    }

    /// `true`: the next who waits is admitted. Ask until `false` when the limit was raised.
    #[inline]
    #[must_use]
    pub const fn admit_waiting(&mut self, config: &BulkheadConfig) -> bool {
        let admitted = self.waiting > 0 && self.inside < config.limit;
        if admitted {
            self.waiting -= 1;
            self.inside += 1;
        }
        admitted
    }

    /// How many are inside.
    pub const fn inside(&self) -> u32 {
        self.inside
    }

    /// How many wait.
    pub const fn waiting(&self) -> u32 {
        self.waiting
    }
}
