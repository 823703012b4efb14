//! Bulkheads: a bound on what one caller has under way, with a line before it.
//!
//! Only counts are kept here. Who waits is the caller's to remember: it is told whether to let one
//! in, and [`Line`] says which.
//!
//! | Kind | `queue` | `max_wait` | `line` | `abandoned` |
//! | --- | --- | --- | --- | --- |
//! | semaphore (Polly, Hystrix, Envoy's `max_requests`) | 0 | – | – | `free` |
//! | semaphore and line (cockatiel, Polly with a queue) | n | none | `fifo` | `free` |
//! | semaphore and patience (resilience4j's `maxWaitDuration`) | unlimited | set | `fifo` | `free` |
//! | newest first (Netflix's `LifoBlockingLimiter`: 100, 1 s) | n | set | `lifo` | `free` |
//! | pool of threads and bounded line (Hystrix, resilience4j's `ThreadPoolBulkhead`) | n | none | `fifo` | `keeps_place` |
//!
//! Invariant: what is under way never grows past `limit`, nor what waits past `queue`; nobody
//! waits while there is a place, and a newcomer never overtakes who waits.
//! Source: cockatiel 3.2.1 `bulkhead(limit, queue)` (recorded: `tests/traces/cockatiel`); Polly 8's
//! concurrency limiter; resilience4j 2 and Hystrix 1.5, by their documentation and code;
//! Netflix/concurrency-limits @78a74b9 `LifoBlockingLimiter`.

use serde::Serialize;

use crate::policy::limiter::adaptive::AdaptiveConfig;
use crate::policy::limiter::adaptive::window::WindowConfig;
use crate::units::Duration;

/// Who of those that wait is let in next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// Who came first.
    #[default]
    Fifo,
    /// Who came last. The others may wait until their patience ends.
    Lifo,
}

/// What becomes of the place of an attempt that its caller has given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Abandoned {
    /// It is given back at once: whatever waits for the answer can be stopped.
    #[default]
    Free,
    /// It is held until the work is really over: a thread that cannot be interrupted.
    KeepsPlace,
}

/// The settings of a bulkhead.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BulkheadConfig {
    /// How many may be under way at once; where the limit adapts, at the start.
    pub limit: u32,
    /// How the limit moves with what is seen of the callee.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adapts: Option<AdaptiveConfig>,
    /// The limit hears of windows of requests rather than of each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<WindowConfig>,
    /// How many may wait for a place; the next one is rejected at once.
    pub queue: u32,
    /// How long one may wait for a place; `Duration::MAX`: as long as it takes.
    #[serde(skip_serializing_if = "is_for_ever")]
    pub max_wait: Duration,
    /// Who is let in next.
    #[serde(skip_serializing_if = "is_default")]
    pub line: Line,
    /// What becomes of the places of abandoned attempts.
    #[serde(skip_serializing_if = "is_default")]
    pub abandoned: Abandoned,
}

impl BulkheadConfig {
    /// A line without limit.
    pub const UNLIMITED: u32 = u32::MAX;

    /// `limit` under way and `queue` in a line, first come first served, without patience.
    pub const fn new(limit: u32, queue: u32) -> Self {
        Self {
            limit,
            adapts: None,
            samples: None,
            queue,
            max_wait: Duration::MAX,
            line: Line::Fifo,
            abandoned: Abandoned::Free,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_for_ever(span: &Duration) -> bool {
    *span == Duration::MAX
}

fn is_default<T: Default + PartialEq>(it: &T) -> bool {
    *it == T::default()
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
        self.enter_within(config.limit, config.queue)
    }

    /// The same where the limit is `limit` just now.
    #[inline]
    #[must_use]
    pub const fn enter_within(&mut self, limit: u32, queue: u32) -> Entry {
        if self.waiting == 0 && self.inside < limit {
            self.inside += 1;
            Entry::Admitted
        } else if self.waiting < queue {
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
        self.admit_within(config.limit)
    }

    /// Somebody who was admitted leaves; whether another follows is asked with `admit_within`.
    #[inline]
    pub const fn leave_place(&mut self) {
        self.inside -= 1;
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
        self.admit_within(config.limit)
    }

    /// The same where the limit is `limit` just now.
    #[inline]
    #[must_use]
    pub const fn admit_within(&mut self, limit: u32) -> bool {
        let admitted = self.waiting > 0 && self.inside < limit;
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[test]
    fn ten_enter_twenty_wait_and_the_next_is_rejected() {
        let config = BulkheadConfig::new(10, 20);
        let mut bulkhead = Bulkhead::default();
        let entries: Vec<_> = (0..31).map(|_| bulkhead.enter(&config)).collect();
        assert!(entries[..10].iter().all(|entry| *entry == Entry::Admitted));
        assert!(entries[10..30].iter().all(|entry| *entry == Entry::Queued));
        assert_eq!(entries[30], Entry::Rejected);
        assert!(bulkhead.leave(&config), "the first who waits takes the place");
        assert_eq!((bulkhead.inside(), bulkhead.waiting()), (10, 19));
        bulkhead.leave_queue();
        assert_eq!(bulkhead.waiting(), 18);
    }

    #[test]
    fn without_a_queue_nobody_follows_who_leaves() {
        let config = BulkheadConfig::new(1, 0);
        let mut bulkhead = Bulkhead::default();
        assert_eq!(bulkhead.enter(&config), Entry::Admitted);
        assert_eq!(bulkhead.enter(&config), Entry::Rejected);
        assert!(!bulkhead.leave(&config));
        assert_eq!(bulkhead.enter(&config), Entry::Admitted);
    }

    #[test]
    fn a_changed_limit_holds_from_then_on() {
        let (small, large) = (BulkheadConfig::new(1, 5), BulkheadConfig::new(3, 5));
        let mut bulkhead = Bulkhead::default();
        (0..4).for_each(|_| assert_ne!(bulkhead.enter(&small), Entry::Rejected));
        assert!(bulkhead.admit_waiting(&large) && bulkhead.admit_waiting(&large));
        assert!(!bulkhead.admit_waiting(&large));
        assert_eq!((bulkhead.inside(), bulkhead.waiting()), (3, 1));
        assert!(!bulkhead.leave(&small), "two inside are still more than one");
        assert!(!bulkhead.leave(&small));
        assert!(bulkhead.leave(&small));
    }

    proptest! {
        /// Against a queue kept the long way: bounds hold, and nobody waits beside a free place.
        #[test]
        fn places_are_never_oversold_nor_left_empty(
            steps in vec(0u8..3, 0..500),
            limit in 1u32..5,
            queue in 0u32..5,
        ) {
            let config = BulkheadConfig::new(limit, queue);
            let mut bulkhead = Bulkhead::default();
            let (mut inside, mut waiting) = (0, 0);
            for step in steps {
                match step {
                    0 => match bulkhead.enter(&config) {
                        Entry::Admitted => inside += 1,
                        Entry::Queued => waiting += 1,
                        Entry::Rejected => {
                            prop_assert_eq!((inside, waiting), (limit, queue));
                        }
                    },
                    1 if inside > 0 => {
                        inside -= 1;
                        if bulkhead.leave(&config) {
                            (inside, waiting) = (inside + 1, waiting - 1);
                        }
                    }
                    2 if waiting > 0 => {
                        bulkhead.leave_queue();
                        waiting -= 1;
                    }
                    _ => {}
                }
                prop_assert_eq!((bulkhead.inside(), bulkhead.waiting()), (inside, waiting));
                prop_assert!(inside <= limit && waiting <= queue);
                prop_assert!(waiting == 0 || inside == limit);
            }
        }
    }
}
