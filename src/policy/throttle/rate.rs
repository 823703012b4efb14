//! A bucket of tokens that fills at a steady rate: refuses when it is empty, or lends.
//!
//! ```text
//! tokens := min(burst, tokens + rate · elapsed)
//! refusing: take one if there is one
//! lending:  tokens := tokens − 1, wait until they are back at zero
//! ```
//!
//! Who is lent a token waits its turn, and each further caller waits one interval longer: *m*
//! calls at once are spread over *m* ÷ rate. Amounts are whole billionths of a thousandth of a
//! token, so nothing drifts at any rate.
//!
//! Invariant: tokens ≤ burst, and tokens taken in any span ≤ burst + rate · span, waits included.
//! Source: client-go `flowcontrol` and golang.org/x/time/rate (`Reserve`), both lending.

use serde::Serialize;

use crate::units::Duration;
use crate::units::SECOND;
use crate::units::SimTime;

/// One token: a thousandth a second earns one of these parts each nanosecond.
const TOKEN: i64 = SECOND as i64 * 1_000;

/// What an empty bucket does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenEmpty {
    /// It refuses.
    Refuse,
    /// It lends: the caller waits for its token, however long that is.
    Wait,
}

/// The settings of a bucket with a steady income.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RateConfig {
    /// Thousandths of a token per second.
    pub milli_per_s: u32,
    /// The most tokens it holds, at most 4,000,000; it starts full.
    pub burst: u32,
    /// What it does when there is none left.
    pub when_empty: WhenEmpty,
}

/// One bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateBucket {
    filled_at: SimTime,
    /// In parts of a token; below zero what is lent.
    parts: i64,
}

impl RateConfig {
    const fn most(&self) -> i64 {
        (self.burst as i64).saturating_mul(TOKEN)
    }

    /// A bucket as it is before the first call: full.
    pub const fn start(&self, now: SimTime) -> RateBucket {
        RateBucket { filled_at: now, parts: self.most() }
    }
}

impl RateBucket {
    /// Takes a token: how long to wait for it, or `None` when it is refused.
    #[inline]
    #[must_use]
    pub fn take(&mut self, config: &RateConfig, now: SimTime) -> Option<Duration> {
        self.fill(config, now);
        if config.when_empty == WhenEmpty::Refuse && self.parts < TOKEN {
            return None;
        }
        self.parts = self.parts.saturating_sub(TOKEN);
        Some(match self.parts {
            0.. => Duration::ZERO,
            _ if config.milli_per_s == 0 => Duration::MAX,
            lent => {
                Duration::from_nanos(lent.unsigned_abs().div_ceil(u64::from(config.milli_per_s)))
            }
        })
    }

    /// Whole tokens left, as of the last question.
    pub fn tokens(&self) -> u32 {
        u32::try_from(self.parts / TOKEN).unwrap_or(0)
    }

    #[inline]
    fn fill(&mut self, config: &RateConfig, now: SimTime) {
        let nanos = u128::from(now.since(self.filled_at).as_nanos());
        let earned = (nanos * u128::from(config.milli_per_s)).min(i64::MAX as u128) as i64;
        self.parts = self.parts.saturating_add(earned).min(config.most());
        self.filled_at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[test]
    fn a_storm_of_requeues_is_spread_over_its_size_by_the_rate() {
        let config = RateConfig { milli_per_s: 10_000, burst: 100, when_empty: WhenEmpty::Wait };
        let mut bucket = config.start(SimTime::ZERO);
        let waits: Vec<_> = (0..1_100).map(|_| bucket.take(&config, SimTime::ZERO)).collect();
        assert!(waits[..100].iter().all(|wait| *wait == Some(Duration::ZERO)));
        assert_eq!(waits[100], Some(Duration::from_millis(100)));
        assert_eq!(waits[1_099], Some(Duration::from_secs(100)), "a thousand keys: 100 s");
    }

    #[test]
    fn thirds_do_not_drift() {
        // 3/s is no whole number of nanoseconds a token.
        let config = RateConfig { milli_per_s: 3_000, burst: 1, when_empty: WhenEmpty::Refuse };
        let mut bucket = config.start(SimTime::ZERO);
        let taken = (0..=3_000_000u64)
            .filter(|i| bucket.take(&config, SimTime::from_nanos(i * 333_334)).is_some())
            .count();
        assert_eq!(taken, 3_001, "the burst, and three a second for 1000.002 s");
    }

    proptest! {
        /// Never more than the burst and the income, whether it refuses or lends.
        #[test]
        fn no_more_leave_than_have_come_in(
            pauses in vec(0u64..400_000_000, 1..300),
            rate in 1u32..20_000,
            burst in 1u32..5,
            lends: bool,
        ) {
            let when_empty = if lends { WhenEmpty::Wait } else { WhenEmpty::Refuse };
            let config = RateConfig { milli_per_s: rate, burst, when_empty };
            let mut bucket = config.start(SimTime::ZERO);
            let (mut now, mut taken) = (0, 0u128);
            for pause in pauses {
                now += pause;
                if let Some(wait) = bucket.take(&config, SimTime::from_nanos(now)) {
                    taken += 1;
                    let until = u128::from(now + wait.as_nanos());
                    let income = until * u128::from(rate);
                    prop_assert!(taken * TOKEN as u128 <= u128::from(burst) * TOKEN as u128 + income);
                }
            }
        }

        /// The ten-thousandth wait is finite and no shorter than the one before.
        #[test]
        fn waits_saturate(rate in 1u32..10) {
            let config = RateConfig { milli_per_s: rate, burst: 0, when_empty: WhenEmpty::Wait };
            let mut bucket = config.start(SimTime::ZERO);
            let waits: Vec<_> = (0..10_000).filter_map(|_| bucket.take(&config, SimTime::ZERO)).collect();
            prop_assert!(waits.is_sorted() && waits.len() == 10_000);
        }
    }
}
