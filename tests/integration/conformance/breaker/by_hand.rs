//! Traces by hand: Polly 8, resilience4j 2 and Hystrix, from their source.

use stormlab::policy::breaker::BreakerState::Closed;
use stormlab::policy::breaker::BreakerState::HalfOpen;
use stormlab::policy::breaker::BreakerState::Open;
use stormlab::policy::breaker::Settled;

use super::Bench;
use crate::conformance::trace::millis;

const POLLY: &str = "{ window: { length: 30s, failure_share: 10%, minimum_calls: 100 },
                       open_for: 5s, late_results: count }";

#[test]
fn polly_by_hand_only_a_failure_asks_whether_to_open() {
    let mut polly = Bench::written(POLLY);
    polly.pass(0.0, &"S".repeat(90));
    polly.pass(0.0, &"F".repeat(9));
    polly.is(0.0, Closed);
    polly.pass(0.0, "F"); // 10 of 100.
    polly.is(0.0, Open);
    let mut polly = Bench::written(POLLY);
    polly.pass(0.0, &"F".repeat(20));
    polly.pass(0.0, &"S".repeat(80));
    polly.is(0.0, Closed);
    polly.pass(0.0, "F");
    polly.is(0.0, Open);
}

#[test]
fn polly_by_hand_one_probe_and_late_results_that_decide() {
    let mut polly = Bench::written(POLLY);
    let [late, later] = [(); 2].map(|()| polly.enter(0.0));
    polly.pass(0.0, &"F".repeat(100));
    polly.refused(4_999.0);
    let probe = polly.enter(5_000.0);
    polly.refused(5_000.0);
    polly.leave(5_100.0, late, Settled::Failure); // Opens it for a whole break.
    polly.leave(5_200.0, probe, Settled::Success); // Which finds it open.
    polly.is(10_099.0, Open);
    let probe = polly.enter(10_100.0);
    polly.leave(10_200.0, later, Settled::Success);
    polly.is(10_200.0, Closed);
    polly.leave(10_300.0, probe, Settled::Failure); // One of one, below the minimum.
    polly.is(10_300.0, Closed);
}

const RESILIENCE4J: &str = "{ window: { calls: 10, failure_share: 50%, judged: on_outcome },
    open_for: 60s, probes: 3, late_results: count,
    half_open: { strictly_after: true, places: in_all, decides_after: 3 } }";

#[test]
fn resilience4j_by_hand_a_success_may_fill_the_minimum() {
    let mut count = Bench::written(RESILIENCE4J);
    count.pass(0.0, "FFFFFSSSS");
    count.is(0.0, Closed);
    count.pass(0.0, "S");
    count.is(0.0, Open);
}

#[test]
fn resilience4j_by_hand_all_permitted_calls_decide() {
    let mut count = Bench::written(RESILIENCE4J);
    count.pass(0.0, "FFFFFSSSSS");
    count.refused(60_000.0); // Strictly after the wait.
    let [first, second, third] = [(); 3].map(|()| count.enter(60_001.0));
    count.refused(60_001.0);
    count.leave(60_002.0, first, Settled::Failure);
    count.leave(60_002.0, second, Settled::Success);
    count.refused(60_002.0); // Places are not given again.
    count.is(60_002.0, HalfOpen);
    count.leave(60_003.0, third, Settled::Failure); // 2 of 3.
    count.is(60_003.0, Open);
    count.pass(121_000.0, "SFI"); // What is ignored gives its permit back.
    count.pass(121_000.0, "S"); // 1 of 3.
    count.is(121_000.0, Closed);
}

#[test]
fn resilience4j_by_hand_buckets_are_seconds_of_the_clock() {
    let mut time = Bench::written(
        "{ window: { length: 10s, buckets: 10, turns: on_the_clock, failure_share: 50%,
                     minimum_calls: 4, judged: on_outcome }, open_for: 60s }",
    );
    time.pass(900.0, "F");
    time.pass(1_100.0, "F");
    time.pass(9_900.0, "F");
    time.pass(10_000.0, "F"); // The second 0 is gone: three.
    time.is(10_000.0, Closed);
    time.pass(10_999.0, "F"); // The second 1 is not yet.
    time.is(10_999.0, Open);
}

#[test]
fn resilience4j_by_hand_slow_calls() {
    let mut slow = Bench::written(
        "{ window: { calls: 4, failure_share: 50%, slow: { longer_than: 2s, share: 50% },
                     judged: on_outcome }, open_for: 60s }",
    );
    for took in [2_000.0, 2_001.0, 1.0, 2_000.0] {
        let permit = slow.enter(0.0);
        slow.leave_after(took, permit, Settled::Success, millis(took));
    }
    slow.is(3_000.0, Closed); // One of four.
    let permit = slow.enter(3_000.0);
    slow.leave_after(6_000.0, permit, Settled::Success, millis(3_000.0));
    slow.is(6_000.0, Open);
}

/// C58 by the other way: a maximum time in the half-open state.
#[test]
fn resilience4j_by_hand_a_half_open_state_does_not_last_for_ever() {
    let mut bounded = Bench::written(
        "{ consecutive: 1, open_for: 60s, half_open: { begins: by_timer, at_most: 1s } }",
    );
    bounded.pass(0.0, "F");
    bounded.is(59_999.0, Open);
    bounded.is(60_000.0, HalfOpen);
    bounded.is(60_999.0, HalfOpen);
    bounded.is(61_000.0, Open);
    bounded.is(120_999.0, Open);
    bounded.is(121_000.0, HalfOpen);
    // Rounds of 61 s, the last of a thousand as the first.
    bounded.is(61_000.0 * 1_000.0 + 59_999.0, Open);
    bounded.is(61_000.0 * 1_000.0 + 60_500.0, HalfOpen);
    bounded.enter(61_000.0 * 1_000.0 + 60_500.0); // And never comes back.
    bounded.refused(61_000.0 * 1_000.0 + 60_999.0);
    bounded.is(61_000.0 * 1_001.0, Open);
}

#[test]
fn resilience4j_by_hand_the_wait_grows_until_it_closes() {
    let mut growing = Bench::written(
        "{ consecutive: 1, open_for: { base: 1s, exponential: { factor: 2, cap: 5s } } }",
    );
    let mut now = 0.0;
    growing.pass(now, "F");
    for wait in [1_000.0, 2_000.0, 4_000.0, 5_000.0, 5_000.0] {
        growing.refused(now + wait - 1.0);
        now += wait;
        growing.pass(now, "F");
    }
    growing.pass(now + 5_000.0, "SF");
    growing.pass(now + 6_000.0, "S");
}

const HYSTRIX: &str = "{ window: { length: 10s, buckets: 20, turns: on_the_clock,
    failure_share: 50%, minimum_calls: 20, judged: at_turns },
    open_for: 5s, half_open: { strictly_after: true }, late_results: count }";

#[test]
fn hystrix_by_hand_is_judged_on_snapshots() {
    let mut hystrix = Bench::written(HYSTRIX);
    hystrix.pass(100.0, &"F".repeat(30)); // All of them pass.
    hystrix.is(499.0, Closed);
    hystrix.is(500.0, Open);
    hystrix.refused(5_500.0); // Opened at the snapshot; strictly after the sleep.
    let probe = hystrix.enter(5_501.0);
    hystrix.refused(5_501.0);
    hystrix.leave(5_600.0, probe, Settled::Failure);
    hystrix.refused(10_600.0);
    hystrix.pass(10_601.0, "S");
    hystrix.is(11_500.0, Closed); // Its counts were cleared.
}

#[test]
fn hystrix_by_hand_sees_ten_whole_seconds() {
    let mut hystrix = Bench::written(HYSTRIX);
    hystrix.pass(100.0, &"F".repeat(19));
    hystrix.pass(10_400.0, "F");
    hystrix.is(60_000.0, Closed); // At 10.5 s the first half second is gone.
    let mut hystrix = Bench::written(HYSTRIX);
    hystrix.pass(100.0, &"F".repeat(19));
    hystrix.pass(9_900.0, "F");
    hystrix.is(9_999.0, Closed);
    hystrix.is(10_000.0, Open);
    // Successes leave the window before failures do: the share rises while nobody calls.
    let mut hystrix = Bench::written(HYSTRIX);
    hystrix.pass(100.0, &"S".repeat(30));
    hystrix.pass(5_100.0, &"F".repeat(20));
    hystrix.is(10_499.0, Closed); // 20 of 50.
    hystrix.is(10_500.0, Open); // 20 of 20.
}
