//! The schedule of one policy alone: every wait with its bounds, and when attempts come in an outage.
//!
//! A pure reading of the policy. The bounds are exact. Where a wait has a closed form its mean and
//! median are, too; otherwise they are those of many sequences of waits, drawn from fixed keys, so
//! that the same policy always gives the same numbers, and `exact` says so.

use serde::Serialize;

use crate::lint::worst_case::Attempts;
use crate::lint::worst_case::attempts_per_call;
use crate::policy::backoff::Backoff;
use crate::policy::backoff::Growth;
use crate::policy::backoff::Jitter;
use crate::policy::outcome::Class;
use crate::policy::stack::Policy;
use crate::random::Keys;
use crate::random::Purpose;
use crate::units::Draw;
use crate::units::Duration;

/// Retries that are listed where attempts are limited.
const MOST_ROWS: u32 = 32;
/// Retries that are listed where they are not.
const ROWS_OF_UNLIMITED: u32 = 12;
/// Sequences of waits that are drawn where there is no closed form; odd, so that one is the median.
const SEQUENCES: u64 = 4_001;

/// The schedule of a policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Schedule {
    /// The policy's name.
    pub policy: String,
    /// The most attempts of one call.
    pub attempts: Attempts,
    /// The wait before each retry; the first ones, where there are very many.
    pub waits: Vec<Wait>,
    /// Are `waits` all of them?
    pub whole: bool,
    /// A service that refuses at once.
    pub refusing: Outage,
    /// A service that hangs.
    pub hanging: Outage,
}

/// The wait before one retry, and all waits up to it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Wait {
    /// Which retry, from 1.
    pub retry: u32,
    /// The wait alone.
    pub wait: Spread,
    /// All waits up to this one.
    pub sum: Spread,
    /// Are mean and median those of a closed form?
    pub exact: bool,
}

/// Where a span lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// At its shortest.
    pub smallest: Duration,
    /// At its longest.
    pub largest: Duration,
    /// On average.
    pub mean: Duration,
    /// As often shorter as longer.
    pub median: Duration,
}

/// When something happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Moment {
    /// At the earliest.
    pub earliest: Duration,
    /// At the latest.
    pub latest: Duration,
    /// On average.
    pub mean: Duration,
}

impl Moment {
    /// After `waited` and so many attempts of `patience`.
    fn after(waited: Spread, attempts: u32, patience: Self) -> Self {
        let times = |span: Duration| span.as_nanos().saturating_mul(attempts.into());
        let all = |wait: Duration, span| wait.saturating_add(Duration::from_nanos(times(span)));
        Self {
            earliest: all(waited.smallest, patience.earliest),
            latest: all(waited.largest, patience.latest),
            mean: all(waited.mean, patience.mean),
        }
    }
}

/// What one call does while a service is down, if nothing but its own policy stops it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outage {
    /// When each attempt is sent, since the first; those listed may still be cut by a breaker or a
    /// budget, which other calls drain.
    pub attempts: Vec<Sent>,
    /// When the call ends at the latest; `None`: never, or nobody can tell.
    pub ends_by: Option<Duration>,
    /// Why it ends.
    pub ends: End,
}

/// When an attempt is sent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sent {
    /// Which attempt, from 1.
    pub attempt: u32,
    /// When.
    pub at: Moment,
    /// Is it sent whatever the draws are? Otherwise the total timeout may come first.
    pub certain: bool,
}

/// Why a call ends in an outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// All attempts are used.
    Attempts,
    /// The failure is not retried.
    NotRetried,
    /// The total timeout ends it.
    Timeout,
    /// It goes on for ever.
    Never,
}

/// The schedule of `policy`.
pub fn policy_schedule(policy: &Policy) -> Schedule {
    let attempts = attempts_per_call(policy);
    let retries = match attempts {
        Attempts::AtMost(n) => u32::try_from(n.saturating_sub(1)).unwrap_or(u32::MAX),
        Attempts::Unlimited => u32::MAX,
    };
    let rows = if retries == u32::MAX { ROWS_OF_UNLIMITED } else { retries.min(MOST_ROWS) };
    let waits = policy.retry.as_ref().map_or(Vec::new(), |retry| waits(&retry.backoff, rows));
    let whole = retries <= rows;
    let refusing = outage(policy, &waits, whole, Class::Unavailable, Some(Moment::default()));
    let patience = policy.attempt_timeout.as_ref().map(|timeout| Moment {
        earliest: timeout.after.smallest(),
        latest: timeout.after.largest().unwrap_or(Duration::MAX),
        mean: timeout.after.mean(),
    });
    let hanging = outage(policy, &waits, whole, Class::Timeout, patience);
    Schedule { policy: policy.name.clone(), attempts, waits, whole, refusing, hanging }
}

/// The first `rows` waits.
fn waits(backoff: &Backoff, rows: u32) -> Vec<Wait> {
    let drawn = if is_symmetric(backoff) { Vec::new() } else { medians(backoff, rows) };
    let mut sum = Spread::default();
    (1..=rows)
        .map(|retry| {
            let (smallest, largest) = backoff.bounds(retry);
            let mean = backoff.mean(retry);
            sum.smallest = sum.smallest.saturating_add(smallest);
            sum.largest = sum.largest.saturating_add(largest);
            sum.mean = sum.mean.saturating_add(mean);
            let found = drawn.get(retry as usize - 1).copied();
            let (median, median_of_sum) = found.unwrap_or((mean, sum.mean));
            sum.median = median_of_sum;
            let wait = Spread { smallest, largest, mean, median };
            Wait { retry, wait, sum, exact: found.is_none() }
        })
        .collect()
}

/// Is each wait fixed, or as likely to be so much longer than its mean as so much shorter, whatever
/// the others are? Then the mean is the median, of each wait and of their sums.
const fn is_symmetric(backoff: &Backoff) -> bool {
    match (&backoff.jitter, &backoff.growth) {
        (Jitter::Decorrelated, _) | (_, Growth::Drawn(_)) => false,
        (Jitter::None | Jitter::Full | Jitter::Equal | Jitter::PlusMinus(_), _) => true,
    }
}

/// The medians of each wait and of all waits up to it, over many calls.
///
/// The draws of one retry are spread evenly over the calls, in an order of their own (a Latin
/// hypercube), which leaves a fraction of the noise of independent ones.
fn medians(backoff: &Backoff, rows: u32) -> Vec<(Duration, Duration)> {
    let keys = Keys::new(0, 0);
    let mut previous = vec![None; SEQUENCES as usize];
    let mut sums = vec![Duration::ZERO; SEQUENCES as usize];
    let median = |mut column: Vec<Duration>| {
        column.sort_unstable();
        column[column.len() / 2]
    };
    let mut row = |retry| {
        let mut calls: Vec<u64> = (0..SEQUENCES).collect();
        calls.sort_unstable_by_key(|call| keys.bits(Purpose::Backoff, *call, retry));
        let mut waits = vec![Duration::ZERO; calls.len()];
        for (place, call) in calls.into_iter().map(|call| call as usize).enumerate() {
            let draw = Draw::new((place as f64 + 0.5) / SEQUENCES as f64).unwrap_or(Draw::MIDDLE);
            let wait = backoff.wait(retry, previous[call], draw);
            (previous[call], waits[call]) = (Some(wait), wait);
            sums[call] = sums[call].saturating_add(wait);
        }
        (median(waits), median(sums.clone()))
    };
    (1..=rows).map(&mut row).collect()
}

/// What one call does while every attempt ends with `class` after `patience`; `None`: none ever
/// ends.
fn outage(
    policy: &Policy,
    waits: &[Wait],
    whole: bool,
    class: Class,
    patience: Option<Moment>,
) -> Outage {
    let first = Sent { attempt: 1, at: Moment::default(), certain: true };
    let mut attempts = vec![first];
    let Some(patience) = patience else {
        let ends = if policy.timeout.is_some() { End::Timeout } else { End::Never };
        return Outage { attempts, ends_by: policy.timeout, ends };
    };
    let bound = policy.timeout.unwrap_or(Duration::MAX);
    // An attempt that the whole call outlasts fails as its class says; otherwise nothing is retried.
    let retried = policy.retry.as_ref().is_some_and(|retry| retry.on.contains(class));
    if !retried || patience.earliest >= bound {
        let ends = if patience.earliest >= bound {
            End::Timeout
        } else if policy.max_attempts() == Some(1) {
            End::Attempts
        } else {
            End::NotRetried
        };
        return Outage { attempts, ends_by: Some(patience.latest.min(bound)), ends };
    }
    let mut at = Moment::default();
    for wait in waits {
        at = Moment::after(wait.sum, wait.retry, patience);
        if at.earliest >= bound {
            return Outage { attempts, ends_by: Some(bound), ends: End::Timeout };
        }
        let certain = at.latest < bound || policy.timeout.is_none();
        attempts.push(Sent { attempt: wait.retry + 1, at, certain });
    }
    let ends = match (whole, policy.timeout, policy.max_attempts()) {
        (true, ..) => End::Attempts,
        (_, Some(_), None) => End::Timeout,
        (_, None, None) => End::Never,
        _ => End::Attempts,
    };
    let last = whole.then(|| at.latest.saturating_add(patience.latest).min(bound));
    let ends_by = match ends {
        End::Timeout => Some(bound),
        _ => last.filter(|span| *span != Duration::MAX),
    };
    Outage { attempts, ends_by, ends }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::outcome::ClassSet;

    fn millis(span: u64) -> Duration {
        Duration::from_millis(span)
    }

    fn retrying(jitter: Jitter) -> Policy {
        let backoff = Backoff::exponential(millis(500), 2.0, Duration::MAX, jitter);
        Policy::plain("p").with_retry(4, backoff).with_attempt_timeout(millis(2_000))
    }

    #[test]
    fn waits_have_bounds_mean_and_median_and_so_have_their_sums() {
        let schedule = policy_schedule(&retrying(Jitter::Full));
        assert_eq!(schedule.attempts, Attempts::AtMost(4));
        assert_eq!(schedule.waits.len(), 3);
        let last = schedule.waits[2];
        let spread = |smallest, largest, mean| Spread {
            smallest: millis(smallest),
            largest: millis(largest),
            mean: millis(mean),
            median: millis(mean),
        };
        assert_eq!(last.wait, spread(0, 2_000, 1_000));
        assert_eq!(last.sum, spread(0, 3_500, 1_750));
        assert!(last.exact && schedule.whole);
    }

    #[test]
    fn the_median_of_a_wait_with_memory_is_that_of_many() {
        let schedule = policy_schedule(&retrying(Jitter::Decorrelated));
        // The first wait is uniform from 500 ms to 1.5 s.
        let first = schedule.waits[0];
        assert!(!first.exact && first.wait.mean == millis(1_000));
        assert!(first.wait.median.as_nanos().abs_diff(millis(1_000).as_nanos()) < 40_000_000);
        assert_eq!(schedule, policy_schedule(&retrying(Jitter::Decorrelated)));
    }

    #[test]
    fn the_median_of_a_sum_is_not_the_sum_of_medians() {
        let mean = millis(500);
        let growth = Growth::Drawn(crate::random::Distribution::exponential(mean).unwrap());
        let backoff = Backoff { growth, cap: Duration::MAX, jitter: Jitter::None };
        let schedule = policy_schedule(&Policy::plain("p").with_retry(3, backoff));
        let near =
            |span: Duration, expected: f64| (span.as_millis_f64() / expected - 1.0).abs() < 0.03;
        // ln 2 of the mean, and the median of an Erlang distribution of two phases.
        assert!(near(schedule.waits[0].wait.median, 346.57), "{schedule:?}");
        assert!(near(schedule.waits[1].sum.median, 839.17), "{schedule:?}");
    }

    #[test]
    fn a_hang_adds_a_timeout_for_each_attempt_and_the_total_timeout_cuts() {
        let policy = retrying(Jitter::None);
        let hanging = policy_schedule(&policy).hanging;
        let sent: Vec<_> = hanging.attempts.iter().map(|it| it.at.mean.as_millis_f64()).collect();
        assert_eq!(sent, [0.0, 2_500.0, 5_500.0, 9_500.0]);
        assert_eq!((hanging.ends_by, hanging.ends), (Some(millis(11_500)), End::Attempts));

        let hanging = policy_schedule(&policy.clone().with_timeout(millis(9_500))).hanging;
        assert_eq!(hanging.attempts.len(), 3, "the fourth would begin as the call ends");
        assert_eq!((hanging.ends_by, hanging.ends), (Some(millis(9_500)), End::Timeout));

        let hanging = policy_schedule(&retrying(Jitter::Full).with_timeout(millis(9_000))).hanging;
        assert_eq!(hanging.attempts.last().map(|it| (it.attempt, it.certain)), Some((4, false)));
    }

    #[test]
    fn what_is_not_retried_ends_at_once_and_what_nobody_times_never() {
        let mut policy = retrying(Jitter::None);
        if let Some(retry) = &mut policy.retry {
            retry.on = ClassSet::of(&[Class::Timeout]);
        }
        assert_eq!(policy_schedule(&policy).refusing.ends, End::NotRetried);
        policy.attempt_timeout = None;
        let hanging = policy_schedule(&policy).hanging;
        assert_eq!((hanging.attempts.len(), hanging.ends, hanging.ends_by), (1, End::Never, None));
    }
}
