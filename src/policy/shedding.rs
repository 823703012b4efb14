//! What a server turns away while it is overloaded: queue timeouts and the order of service.
//!
//! A queue that empties now and then absorbs bursts, and waiting in it is harmless. One that has not
//! been empty for `interval` is a *standing* queue: everything in it waits in vain, and only
//! shedding helps. [`CoDelConfig`] then cuts the longest wait from `interval` to `target`; an
//! adaptive order then serves the newest first, who is the likeliest to be still awaited.
//!
//! What has waited too long is turned away when its turn comes, so a queue under LIFO can hold
//! stale entries for long; a bound on the queue goes well with it.
//!
//! Invariant: nobody is served who waited longer than `interval`, nor longer than `target` from a
//! standing queue.
//! Source: Maurer, "Fail at Scale" (ACM Queue 13:8, 2015): N = 100 ms, M = 5 ms; after Nichols and
//! Jacobson, "Controlling Queue Delay" (2012).

use serde::Serialize;

use crate::units::Duration;
use crate::units::SimTime;

/// The settings of a queue timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CoDelConfig {
    /// The longest wait in a queue that stands.
    pub target: Duration,
    /// The longest wait otherwise; a queue that has not been empty for so long stands.
    pub interval: Duration,
}

impl CoDelConfig {
    /// 5 ms and 100 ms.
    pub const DEFAULT: Self =
        Self { target: Duration::from_millis(5), interval: Duration::from_millis(100) };
}

/// What shedding has to know of a queue: since when it has not been empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    since: SimTime,
}

impl Default for Standing {
    fn default() -> Self {
        Self { since: SimTime::NEVER }
    }
}

impl Standing {
    /// The first one enters an empty queue.
    #[inline]
    pub const fn fill(&mut self, now: SimTime) {
        self.since = now;
    }

    /// The last one leaves it.
    #[inline]
    pub const fn empty(&mut self) {
        self.since = SimTime::NEVER;
    }

    /// Has the queue not been empty for longer than `interval`? Then it stands, and under an
    /// adaptive order the newest is served first.
    #[inline]
    pub fn stands(self, now: SimTime, interval: Duration) -> bool {
        self.since < now && now.since(self.since) > interval
    }

    /// Has somebody who came at `arrived_at` waited too long to be served?
    #[inline]
    pub fn is_stale(self, config: &CoDelConfig, now: SimTime, arrived_at: SimTime) -> bool {
        now.since(arrived_at) > self.patience(config, now)
    }

    /// The longest wait that is still worth serving.
    #[inline]
    pub fn patience(self, config: &CoDelConfig, now: SimTime) -> Duration {
        if self.stands(now, config.interval) { config.target } else { config.interval }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    fn at(ms: u64) -> SimTime {
        SimTime::ZERO + Duration::from_millis(ms)
    }

    /// Fail at Scale: 100 ms of patience, and 5 ms once the queue has stood for 100 ms.
    #[test]
    fn patience_ends_when_the_queue_stands() {
        let (config, mut queue) = (CoDelConfig::DEFAULT, Standing::default());
        assert_eq!(queue.patience(&config, at(500)), config.interval);
        queue.fill(at(500));
        assert!(!queue.stands(at(600), config.interval));
        assert_eq!(queue.patience(&config, at(600)), config.interval);
        assert!(queue.stands(at(601), config.interval));
        assert_eq!(queue.patience(&config, at(601)), config.target);
        assert!(!queue.is_stale(&config, at(601), at(596)));
        assert!(queue.is_stale(&config, at(602), at(596)));
        queue.empty();
        assert!(!queue.is_stale(&config, at(700), at(600)));
        assert!(queue.is_stale(&config, at(701), at(600)));
    }

    proptest! {
        /// A server of one worker beside the machine: whoever is served has not waited too long.
        #[test]
        fn nobody_is_served_too_late(
            gaps in vec(0u64..12, 1..400),
            work in 1u64..12,
            newest_first in any::<bool>(),
        ) {
            let (config, mut standing) = (CoDelConfig::DEFAULT, Standing::default());
            let (mut queue, mut free_at, mut now) = (VecDeque::new(), 0, 0);
            for gap in gaps {
                now += gap;
                while free_at <= now && !queue.is_empty() {
                    let begins = at(free_at.max(*queue.front().expect("not empty")));
                    let lifo = newest_first && standing.stands(begins, config.interval);
                    let next = if lifo { queue.pop_back() } else { queue.pop_front() };
                    let arrived_at = at(next.expect("not empty"));
                    let stood = standing.stands(begins, config.interval);
                    let stale = standing.is_stale(&config, begins, arrived_at);
                    if queue.is_empty() {
                        standing.empty();
                    }
                    let waited = begins.since(arrived_at);
                    prop_assert!(stale || waited <= config.interval);
                    prop_assert!(stale || !stood || waited <= config.target);
                    if !stale {
                        free_at = begins.as_nanos() / 1_000_000 + work;
                    }
                }
                if queue.is_empty() {
                    standing.fill(at(now));
                }
                queue.push_back(now);
            }
        }
    }
}
