//! Rate limiters: how often something may begin.
//!
//! Both count in whole permits and nanoseconds, and both can lend: who is willing to wait takes a
//! permit of the future, and is told how long to wait for it.
//!
//! - [`FixedWindow`]: time is cut into cycles of equal length, aligned to the start of time rather
//!   than to the first call; each cycle has `limit` permits, and what is not used is lost. On the
//!   border of two cycles `2 · limit` may begin at once: known, and imitated.
//! - [`TokenBucket`]: a permit every `interval`, up to `burst` saved up.
//!
//! Invariant: no more than `limit` begin in any one cycle; a bucket lets at most
//! `burst + span / interval` begin in any span, and never more after a long silence.
//! Source: resilience4j 2 `AtomicRateLimiter` (50 per 500 ns, wait ≤ 5 s); client-go
//! `rate.Limiter` (10/s, burst 100, by reservation). By their code: there is no recording.

use serde::Serialize;

use crate::units::Duration;
use crate::units::SimTime;

/// What a rate limiter says to who asks to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grant {
    /// Begin after this wait; zero: at once.
    After(Duration),
    /// The wait would be longer than one is willing to wait; nothing was taken.
    Refused,
}

/// The settings of a fixed window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FixedWindowConfig {
    /// Permits of one cycle, at least 1.
    pub limit: u32,
    /// The length of a cycle, longer than zero.
    pub period: Duration,
    /// The longest wait for a permit of a later cycle; zero: none.
    pub max_wait: Duration,
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
    /// Somebody asks to begin.
    #[inline]
    #[must_use]
    pub fn acquire(&mut self, config: &FixedWindowConfig, now: SimTime) -> Grant {
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
            return Grant::Refused;
        }
        self.left -= 1;
        Grant::After(wait)
    }
}

/// The settings of a token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TokenBucketConfig {
    /// The time that makes one token, longer than zero.
    pub interval: Duration,
    /// The most tokens that can be saved up, at least 1; it starts with them.
    pub burst: u32,
    /// The longest wait for a token to come; zero: none.
    pub max_wait: Duration,
}

/// A token bucket: when it will be full again if nobody asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenBucket {
    full_at: u64,
}

impl TokenBucket {
    /// Somebody asks to begin.
    #[inline]
    #[must_use]
    pub fn acquire(&mut self, config: &TokenBucketConfig, now: SimTime) -> Grant {
        let (now, interval) = (now.as_nanos(), config.interval.as_nanos());
        let full_at = self.full_at.max(now).saturating_add(interval);
        let saved = interval.saturating_mul(u64::from(config.burst));
        let wait = Duration::from_nanos(full_at.saturating_sub(saved).saturating_sub(now));
        if wait > config.max_wait {
            return Grant::Refused;
        }
        self.full_at = full_at;
        Grant::After(wait)
    }

    /// Whole tokens there are at `now`; none while they are lent.
    pub fn tokens(&self, config: &TokenBucketConfig, now: SimTime) -> u32 {
        let missing = self.full_at.saturating_sub(now.as_nanos());
        let missing = missing.div_ceil(config.interval.as_nanos().max(1));
        config.burst.saturating_sub(u32::try_from(missing).unwrap_or(u32::MAX))
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

    fn after(ms: u64) -> Grant {
        Grant::After(Duration::from_millis(ms))
    }

    fn window(limit: u32, max_wait_ms: u64) -> FixedWindowConfig {
        let period = Duration::from_millis(100);
        FixedWindowConfig { limit, period, max_wait: Duration::from_millis(max_wait_ms) }
    }

    /// resilience4j: two per 100 ms; who waits takes permits of the cycles to come.
    #[test]
    fn a_window_lends_what_is_to_come() {
        let config = window(2, 250);
        let mut limiter = config.start();
        let grants: Vec<_> = (0..8).map(|_| limiter.acquire(&config, at(30))).collect();
        assert_eq!(
            grants,
            [
                after(0),
                after(0),
                after(70),
                after(70),
                after(170),
                after(170),
                Grant::Refused,
                Grant::Refused
            ]
        );
        // At 310 ms all that was lent is paid, and nothing was saved up.
        let grants: Vec<_> = (0..3).map(|_| limiter.acquire(&config, at(310))).collect();
        assert_eq!(grants, [after(0), after(0), after(90)]);
    }

    /// Cycles are aligned to the start of time: four begin within 2 ms.
    #[test]
    fn a_window_lets_twice_its_limit_through_at_a_border() {
        let config = window(2, 0);
        let mut limiter = config.start();
        for ms in [99, 99, 100, 100] {
            assert_eq!(limiter.acquire(&config, at(ms)), after(0));
        }
        assert_eq!(limiter.acquire(&config, at(101)), Grant::Refused);
        assert_eq!(limiter.acquire(&config, at(1_000_000_000)), after(0));
        assert_eq!(limiter.left, 1, "unused permits are lost");
    }

    /// client-go: 10/s with a burst of 3, by reservation.
    #[test]
    fn a_bucket_makes_who_comes_wait_for_its_token() {
        let interval = Duration::from_millis(100);
        let config = TokenBucketConfig { interval, burst: 3, max_wait: Duration::MAX };
        let mut bucket = TokenBucket::default();
        let grants: Vec<_> = (0..6).map(|_| bucket.acquire(&config, at(0))).collect();
        assert_eq!(grants, [after(0), after(0), after(0), after(100), after(200), after(300)]);
        assert_eq!(bucket.tokens(&config, at(599)), 2);
        assert_eq!(bucket.tokens(&config, at(600)), 3);
        let refusing = TokenBucketConfig { max_wait: Duration::ZERO, ..config };
        let mut bucket = TokenBucket::default();
        let granted = (0..10).filter(|_| bucket.acquire(&refusing, at(0)) == after(0)).count();
        assert_eq!(granted, 3);
        assert_eq!(bucket.acquire(&refusing, at(99)), Grant::Refused);
        assert_eq!(bucket.acquire(&refusing, at(100)), after(0));
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
                if let Grant::After(wait) = limiter.acquire(&config, at(now)) {
                    prop_assert!(wait <= config.max_wait);
                    let cycle = (at(now) + wait).as_nanos() / config.period.as_nanos();
                    *begun.entry(cycle).or_insert(0u32) += 1;
                }
            }
            prop_assert!(begun.values().all(|count| *count <= limit));
        }

        #[test]
        fn a_bucket_never_gives_more_than_it_earned(
            steps in vec(0u64..200, 1..300),
            burst in 1u32..6,
            max_wait in 0u64..500,
        ) {
            let (interval, max_wait) = (Duration::from_millis(50), Duration::from_millis(max_wait));
            let config = TokenBucketConfig { interval, burst, max_wait };
            let (mut bucket, mut now) = (TokenBucket::default(), 0);
            let mut begins = Vec::new();
            for step in steps {
                now += step;
                if let Grant::After(wait) = bucket.acquire(&config, at(now)) {
                    prop_assert!(wait <= max_wait);
                    begins.push((at(now) + wait).as_nanos());
                }
            }
            begins.sort_unstable();
            for (i, first) in begins.iter().enumerate() {
                let last = begins.len().min(i + 20) - 1;
                let span = begins[last] - first;
                let most = u64::from(burst) + span / interval.as_nanos();
                prop_assert!((last - i + 1) as u64 <= most);
            }
        }
    }
}
