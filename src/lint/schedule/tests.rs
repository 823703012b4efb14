//! Tests of schedules.

use super::*;
use crate::policy::backoff::Jitter;
use crate::policy::budget::elapsed::ElapsedLimit;
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
    let (smallest, largest, mean) = (millis(0), millis(3_500), millis(1_750));
    assert_eq!(last.sum, Total { smallest, largest, mean });
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
fn a_drawn_wait_has_the_mean_and_the_median_of_its_distribution() {
    let growth = Growth::Drawn(Distribution::exponential(millis(500)).unwrap());
    let backoff = Backoff { growth, ..Backoff::NONE };
    let schedule = policy_schedule(&Policy::plain("p").with_retry(3, backoff));
    let near = |span: Duration, expected: f64| (span.as_millis_f64() / expected - 1.0).abs() < 0.01;
    let second = schedule.waits[1];
    // ln 2 of the mean; means add up.
    assert!(near(second.wait.median, 346.57) && !second.exact, "{schedule:?}");
    assert!(near(second.sum.mean, 1_000.0), "{schedule:?}");
}

/// Polly's V2: each wait may be almost nothing, but not all of them together.
#[test]
fn waits_of_decorrelated_v2_telescope() {
    let schedule = policy_schedule(&retrying(Jitter::DecorrelatedV2));
    let last = schedule.waits[2];
    let near = |span: Duration, expected: f64| (span.as_millis_f64() - expected).abs() < 1.0;
    assert!(near(last.wait.largest, 2_163.0) && last.wait.smallest.is_zero(), "{last:?}");
    assert!(near(last.sum.largest, 2_852.0) && !last.sum.smallest.is_zero(), "{last:?}");
    // f(2) · d / 1.4, with f(2) = 4 tanh √8.
    assert!(near(last.sum.smallest, 1_418.6), "{last:?}");
}

#[test]
fn the_limit_on_the_time_of_retries_lets_the_last_attempt_finish() {
    let mut policy = retrying(Jitter::None);
    let limit = |after_ms, counts_wait| Some(ElapsedLimit { after: millis(after_ms), counts_wait });
    let mut hanging = |of| {
        if let Some(retry) = &mut policy.retry {
            retry.max_elapsed = of;
        }
        let it = policy_schedule(&policy).hanging;
        (it.attempts.len(), it.ends, it.ends_by.map(|by| by.as_millis_f64()))
    };
    // Attempts at 0, 2.5 s, 5.5 s and 9.5 s, which fail 2 s later.
    assert_eq!(hanging(limit(5_499, true)), (2, End::Elapsed, Some(4_500.0)));
    assert_eq!(hanging(limit(5_500, true)), (3, End::Elapsed, Some(7_500.0)));
    assert_eq!(hanging(limit(4_500, false)), (2, End::Elapsed, Some(4_500.0)));
    assert_eq!(hanging(limit(4_501, false)), (3, End::Elapsed, Some(7_500.0)));
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
    let ends = (hanging.ends_by, hanging.ends);
    assert_eq!(ends, (Some(millis(7_500)), End::Timeout), "a wait that does not fit is refused");

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
