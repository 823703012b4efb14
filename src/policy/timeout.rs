//! Timeouts: the longest wait for one attempt, and the longest time of a whole call.
//!
//! | Rule | Setting | As in |
//! | --- | --- | --- |
//! | attempt timeout only | `attempt_timeout` | httpx |
//! | total time only, shared by all attempts and waits | `timeout` | gRPC's deadline, axios-retry, Envoy's route timeout |
//! | both | both | .NET's standard handler |
//! | attempt timeout that grows: `min(after · multiplier^(k − 1), cap)` for attempt k | `multiplier`, `cap` | gax-java 2 `rpcTimeoutMultiplier` |
//! | a wait that does not fit is refused at once | [`LateWait::Refuse`] | Temporal, `ChokaQ`, axios-retry |
//! | a wait that does not fit is cut to the rest | [`LateWait::Truncate`] | Failsafe 3 `withMaxDuration`; Polly 8, whose wait the end of the call cuts |
//! | the end cuts the attempt that is out | [`Running::Cut`] | Polly, gRPC, Envoy |
//! | the end stops further attempts only | [`Running::Finish`] | Failsafe 3 `withMaxDuration`, cenkalti `MaxElapsedTime` |
//!
//! Under `Cut`, whoever truncates waits to the very end of the call and fails there: at one instant
//! timeouts come before retries. Under `Finish` the truncated retry is sent, as the last.
//!
//! Invariant: the timeout of any attempt is finite, at least `after` and at most
//! `max(after, cap)`; a wait that is granted never ends after the call does.

use serde::Serialize;

use crate::random::Distribution;
use crate::units::Draw;
use crate::units::Duration;
use crate::units::SimTime;

/// What an attempt timeout covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeoutScope {
    /// The whole attempt: the way there, waiting, service, the way back.
    Attempt,
    /// Waiting only: a worker that takes the attempt up ends the timeout (patience).
    Queue,
}

/// The longest wait for one attempt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AttemptTimeout {
    /// A constant, or drawn anew for each attempt.
    pub after: Distribution,
    /// What it covers.
    pub scope: TimeoutScope,
    /// How it grows from attempt to attempt; `None`: it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub growth: Option<TimeoutGrowth>,
}

/// How an attempt timeout grows from attempt to attempt.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TimeoutGrowth {
    /// The growth per attempt, at least 1.
    pub multiplier: f64,
    /// The longest that growth makes it; `Duration::MAX` when there is no such bound.
    pub cap: Duration,
}

impl AttemptTimeout {
    /// The same for every attempt.
    pub const fn new(after: Distribution, scope: TimeoutScope) -> Self {
        Self { after, scope, growth: None }
    }

    /// Where it is always the same.
    pub fn as_constant(&self) -> Option<Duration> {
        if self.growth.is_some() { None } else { self.after.as_constant() }
    }

    /// The timeout of attempt `attempt` (1, 2, …) under `draw`.
    pub fn span(&self, attempt: u32, draw: Draw) -> Duration {
        self.grown(self.after.sample(draw), attempt)
    }

    /// The longest timeout of attempt `attempt`: its mean where it is drawn without a bound.
    pub fn longest(&self, attempt: u32) -> Duration {
        self.grown(self.after.largest().unwrap_or_else(|| self.after.mean()), attempt)
    }

    /// The longest timeouts of the first `attempts` attempts, added up.
    pub fn longest_in_all(&self, attempts: u64) -> Duration {
        let times = |span: Duration, times: u64| {
            Duration::from_nanos(span.as_nanos().saturating_mul(times))
        };
        if self.growth.is_none() {
            return times(self.longest(1), attempts);
        }
        // Growth has met its bound, or there is none, long before that.
        const SUMMED: u64 = 10_000;
        let first = attempts.min(SUMMED);
        let sum = (1..=first as u32)
            .fold(Duration::ZERO, |sum, attempt| sum.saturating_add(self.longest(attempt)));
        sum.saturating_add(times(self.longest(SUMMED as u32), attempts - first))
    }

    fn grown(&self, span: Duration, attempt: u32) -> Duration {
        match self.growth {
            None => span,
            Some(TimeoutGrowth { multiplier, cap }) => {
                span.scale(power(multiplier, attempt.saturating_sub(1))).min(cap.max(span))
            }
        }
    }
}

/// `factor^steps` by repeated squaring: products only. Infinite when out of range.
fn power(factor: f64, steps: u32) -> f64 {
    let (mut result, mut square, mut left) = (1.0, factor, steps);
    while left > 0 {
        if left & 1 == 1 {
            result *= square;
        }
        square *= square;
        left >>= 1;
    }
    result
}

/// What becomes of a wait that would end with the call or after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LateWait {
    /// There is no retry: the call fails at once.
    #[default]
    Refuse,
    /// It is cut to what is left.
    Truncate,
}

/// What becomes of the attempt that is out when the time of the call ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Running {
    /// It is given up.
    #[default]
    Cut,
    /// It is awaited; only further attempts are not made.
    Finish,
}

/// What the end of a call's time cuts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TimeoutRule {
    /// A wait that does not fit.
    pub late_wait: LateWait,
    /// The attempt that is out.
    pub running: Running,
}

impl TimeoutRule {
    /// A wait that does not fit is refused, and the end cuts the attempt that is out.
    pub const DEFAULT: Self = Self { late_wait: LateWait::Refuse, running: Running::Cut };

    /// Is it what a policy has that does not say?
    pub fn is_default(&self) -> bool {
        *self == Self::DEFAULT
    }

    /// The wait before a retry that is decided at `now` in a call that ends at `ends_at`; `None`:
    /// there is no retry.
    #[inline]
    pub fn wait(self, wait: Duration, now: SimTime, ends_at: SimTime) -> Option<Duration> {
        if now >= ends_at {
            return None;
        }
        let left = ends_at.since(now);
        match self.late_wait {
            _ if wait < left => Some(wait),
            LateWait::Refuse => None,
            LateWait::Truncate => Some(left),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn growing(after_ms: u64, multiplier: f64, cap_ms: u64) -> AttemptTimeout {
        let after = Distribution::constant(Duration::from_millis(after_ms));
        let cap = Duration::from_millis(cap_ms);
        let growth = Some(TimeoutGrowth { multiplier, cap });
        AttemptTimeout { growth, ..AttemptTimeout::new(after, TimeoutScope::Attempt) }
    }

    /// gax-java: 1 s, × 1.5, at most 4 s.
    #[test]
    fn an_attempt_timeout_grows_up_to_its_cap() {
        let timeout = growing(1_000, 1.5, 4_000);
        let half = Draw::new(0.5).expect("a draw");
        let spans: Vec<_> = (1..=6).map(|k| timeout.span(k, half).as_nanos() / 1_000_000).collect();
        assert_eq!(spans, [1_000, 1_500, 2_250, 3_375, 4_000, 4_000]);
        assert_eq!(timeout.longest_in_all(6), Duration::from_millis(16_125));
        assert_eq!(timeout.longest_in_all(100_000), Duration::from_millis(8_125 + 4_000 * 99_996));
        assert_eq!(timeout.as_constant(), None);
        let flat = AttemptTimeout { growth: None, ..timeout };
        assert_eq!(flat.longest_in_all(1_000_000_000), Duration::from_secs(1_000_000_000));
        assert_eq!(flat.as_constant(), Some(Duration::from_secs(1)));
    }

    /// A cap below the first timeout does not shorten it.
    #[test]
    fn a_cap_bounds_growth_only() {
        assert_eq!(growing(5_000, 2.0, 1_000).longest(9), Duration::from_secs(5));
    }

    /// 10 s for the call, decided at 7 s.
    #[test]
    fn a_wait_that_does_not_fit_is_refused_or_cut() {
        let seconds = Duration::from_secs;
        let (now, ends_at) = (SimTime::ZERO + seconds(7), SimTime::ZERO + seconds(10));
        let truncate = TimeoutRule { late_wait: LateWait::Truncate, ..TimeoutRule::DEFAULT };
        #[track_caller]
        fn check(rule: TimeoutRule, wait: u64, now: SimTime, end: SimTime, expected: Option<u64>) {
            let wait = rule.wait(Duration::from_secs(wait), now, end);
            assert_eq!(wait, expected.map(Duration::from_secs));
        }
        check(TimeoutRule::DEFAULT, 2, now, ends_at, Some(2));
        check(TimeoutRule::DEFAULT, 3, now, ends_at, None);
        check(truncate, 2, now, ends_at, Some(2));
        check(truncate, 3, now, ends_at, Some(3));
        check(truncate, 100, now, ends_at, Some(3));
        check(truncate, 0, ends_at, ends_at, None);
        check(TimeoutRule::DEFAULT, 100, now, SimTime::NEVER, Some(100));
    }

    proptest! {
        #[test]
        fn no_attempt_waits_past_the_cap(
            after_ms in 1u64..100_000,
            multiplier in 1.0f64..50.0,
            cap_ms in 1u64..1_000_000,
            attempt in 1u32..20_000,
        ) {
            let timeout = growing(after_ms, multiplier, cap_ms);
            let (first, this) = (timeout.longest(1), timeout.longest(attempt));
            prop_assert!(this >= first);
            prop_assert!(this <= first.max(Duration::from_millis(cap_ms)));
            prop_assert!(timeout.longest(attempt + 1) >= this);
        }

        #[test]
        fn a_granted_wait_never_ends_after_the_call(
            wait in 0u64..1_000,
            now in 0u64..1_000,
            ends_at in 0u64..1_000,
            cut in any::<bool>(),
        ) {
            let late_wait = if cut { LateWait::Truncate } else { LateWait::Refuse };
            let rule = TimeoutRule { late_wait, ..TimeoutRule::DEFAULT };
            let (now, ends_at) = (SimTime::from_nanos(now), SimTime::from_nanos(ends_at));
            let wait = Duration::from_nanos(wait);
            match rule.wait(wait, now, ends_at) {
                Some(granted) => {
                    prop_assert!(granted <= wait && now + granted <= ends_at && now < ends_at);
                }
                None => prop_assert!(now + wait >= ends_at || now >= ends_at),
            }
        }
    }
}
