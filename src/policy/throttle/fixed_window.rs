//! A fixed window: so many permits for each cycle of time, and what is not used is lost.
//!
//! ```text
//! cycle := ⌊now / period⌋;  left := min(limit, left + limit · cycles passed)
//! left ≥ 1: at once.  Else: at the start of the first cycle whose permits are not lent yet, if
//! that is no further off than `max_wait`.  left := left − 1
//! otherwise refused: at once, or after sleeping `max_wait` (resilience4j's `acquirePermission`)
//! ```
//!
//! Cycles are aligned to the start of time rather than to the first call, so on the border of two
//! cycles `2 · limit` may begin at once: known, and imitated.
//!
//! Invariant: no more than `limit` begin in any one cycle, and nobody waits longer than `max_wait`.
//! Source: resilience4j 2 `AtomicRateLimiter` (50 per 500 ns, wait ≤ 5 s). By its code: there is
//! no recording.

use serde::Serialize;

use crate::units::Duration;
use crate::units::SimTime;

/// The settings of a fixed window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FixedWindowConfig {
    /// Permits of one cycle, at least 1.
    pub limit: u32,
    /// The length of a cycle, longer than zero.
    pub period: Duration,
    /// The longest wait for a permit of a later cycle; zero: none.
    pub max_wait: Duration,
    /// Who would wait longer waits that long all the same, in vain.
    pub refuses_after_wait: bool,
}

/// A fixed window: what is left of the cycle, negative when later ones are lent already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedWindow {
    cycle: u64,
    left: i64,
}

impl FixedWindowConfig {
    /// A window at the start of time.
    pub const fn start(&self) -> FixedWindow {
        FixedWindow { cycle: 0, left: self.limit as i64 }
    }
}

impl FixedWindow {
    /// Takes a permit: how long to wait for it, or `None` when that would be too long; nothing is
    /// taken then.
    #[inline]
    #[must_use]
    pub fn take(&mut self, config: &FixedWindowConfig, now: SimTime) -> Option<Duration> {
        let (now, period) = (now.as_nanos(), config.period.as_nanos().max(1));
        let (cycle, limit) = (now / period, i64::from(config.limit.max(1)));
        if cycle != self.cycle {
            let passed = i64::try_from(cycle.saturating_sub(self.cycle)).unwrap_or(i64::MAX);
            self.left = self.left.saturating_add(passed.saturating_mul(limit)).min(limit);
            self.cycle = cycle;
        }
        let wait = if self.left >= 1 {
            Duration::ZERO
        } else {
            // Cycles to come that are lent out wholly; the permit is of the one after them.
            let lent = (self.left.saturating_neg() / limit) as u64;
            let begins = cycle.saturating_add(1).saturating_add(lent).saturating_mul(period);
            Duration::from_nanos(begins - now)
        };
        if wait > config.max_wait {
            return None;
        }
        self.left -= 1;
        Some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn at(ms: u64) -> SimTime {
        SimTime::ZERO + Duration::from_millis(ms)
    }

    fn after(ms: u64) -> Option<Duration> {
        Some(Duration::from_millis(ms))
    }

    fn window(limit: u32, max_wait_ms: u64) -> FixedWindowConfig {
        let period = Duration::from_millis(100);
        FixedWindowConfig {
            limit,
            period,
            max_wait: Duration::from_millis(max_wait_ms),
            refuses_after_wait: false,
        }
    }

    /// resilience4j: two per 100 ms; who waits takes permits of the cycles to come.
    #[test]
    fn a_window_lends_what_is_to_come() {
        let config = window(2, 250);
        let mut limiter = config.start();
        let grants: Vec<_> = (0..8).map(|_| limiter.take(&config, at(30))).collect();
        assert_eq!(
            grants,
            [after(0), after(0), after(70), after(70), after(170), after(170), None, None]
        );
        // At 310 ms all that was lent is paid, and nothing was saved up.
        let grants: Vec<_> = (0..3).map(|_| limiter.take(&config, at(310))).collect();
        assert_eq!(grants, [after(0), after(0), after(90)]);
    }

    /// Cycles are aligned to the start of time: four begin within 2 ms.
    #[test]
    fn a_window_lets_twice_its_limit_through_at_a_border() {
        let config = window(2, 0);
        let mut limiter = config.start();
        for ms in [99, 99, 100, 100] {
            assert_eq!(limiter.take(&config, at(ms)), after(0));
        }
        assert_eq!(limiter.take(&config, at(101)), None);
        assert_eq!(limiter.take(&config, at(1_000_000_000)), after(0));
        assert_eq!(limiter.left, 1, "unused permits are lost");
    }

    proptest! {
        #[test]
        fn no_cycle_has_more_than_its_permits(
            steps in vec(0u64..60, 1..300),
            limit in 1u32..5,
            max_wait in 0u64..500,
        ) {
            let config = window(limit, max_wait);
            let mut limiter = config.start();
            let (mut now, mut begun) = (0, std::collections::BTreeMap::new());
            for step in steps {
                now += step;
                if let Some(wait) = limiter.take(&config, at(now)) {
                    prop_assert!(wait <= config.max_wait);
                    let cycle = (at(now) + wait).as_nanos() / config.period.as_nanos();
                    *begun.entry(cycle).or_insert(0u32) += 1;
                }
            }
            prop_assert!(begun.values().all(|count| *count <= limit));
        }
    }
}
