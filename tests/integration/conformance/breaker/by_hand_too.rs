//! Traces by hand: gobreaker, Finagle, Failsafe, Spring Retry, ChokaQ, Envoy and Linkerd.

use stormlab::policy::breaker::BreakerState::Closed;
use stormlab::policy::breaker::BreakerState::HalfOpen;
use stormlab::policy::breaker::BreakerState::Open;
use stormlab::policy::breaker::Settled;

use super::Bench;

#[test]
fn gobreaker_by_hand_more_than_five_and_requests_in_all() {
    let mut go = Bench::written(
        "{ consecutive: { more_than: 5 }, open_for: 60s, probes: 3,
           half_open: { strictly_after: true, places: in_all }, forgets: when_opened }",
    );
    let late = go.enter(0.0);
    go.pass(0.0, "FFFFF");
    go.is(0.0, Closed);
    go.pass(0.0, "F");
    go.refused(60_000.0);
    go.pass(60_001.0, "S");
    let [second, third] = [(); 2].map(|()| go.enter(60_001.0));
    go.refused(60_001.0); // Although the first is back.
    go.leave(60_002.0, late, Settled::Failure); // Of another generation.
    go.leave(60_002.0, second, Settled::Success);
    go.is(60_002.0, HalfOpen);
    go.leave(60_002.0, third, Settled::Success);
    go.is(60_002.0, Closed);
}

#[test]
fn gobreaker_by_hand_an_interval_clears_the_counts() {
    let text = "{ consecutive: { failures: 5, clear_every: 10s }, open_for: 60s }";
    let mut go = Bench::written(text);
    go.pass(9_000.0, "FFFF");
    go.pass(10_000.0, "F"); // The instant itself is not after the interval.
    go.is(10_000.0, Open);
    let mut go = Bench::written(text);
    go.pass(9_000.0, "FFFF");
    let before = go.enter(9_000.0);
    go.pass(10_001.0, "FFFF");
    go.leave(10_001.0, before, Settled::Failure); // Of the generation before.
    go.is(10_001.0, Closed);
    go.pass(20_001.0, "FFFF"); // Counted from 10 s on, not from the first call.
    go.is(20_001.0, Closed);
}

const FINAGLE: &str = "{ average: { window: 30s, below: 80%, minimum_calls: 5 },
    or_consecutive: 5, open_for: { base: 5s, equal_jittered: { cap: 300s } } }";

#[test]
fn finagle_by_hand_either_of_two_rules() {
    let mut finagle = Bench::written(FINAGLE);
    finagle.pass(0.0, "SSSS");
    finagle.pass(1_000.0, "F"); // e^(−1/30) = 0.967.
    finagle.is(1_000.0, Closed);
    finagle.pass(31_000.0, "F"); // 0.967 · e⁻¹ = 0.356.
    finagle.is(31_000.0, Open);
    let mut row = Bench::written(FINAGLE);
    row.pass(0.0, &"S".repeat(1_000));
    row.pass(1.0, "FFFF"); // The average is hardly moved within a millisecond.
    row.is(1.0, Closed);
    row.pass(1.0, "F");
    row.is(1.0, Open);
}

#[test]
fn finagle_by_hand_dead_times_grow_with_equal_jitter() {
    let mut finagle = Bench::written(FINAGLE);
    finagle.pass(0.0, "FFFFF");
    let mut now = 0.0;
    // Draws of one half: 5 s, then h + h/2 with h = 5, 10, 20 … s; then 300 s.
    for wait in [5.0, 7.5, 15.0, 30.0, 60.0, 120.0, 300.0, 300.0] {
        finagle.refused(now + wait * 1e3 - 1.0);
        now += wait * 1e3;
        finagle.pass(now, "F");
    }
    finagle.pass(now + 300_000.0, "S");
    finagle.is(now + 300_000.0, Closed);
}

#[test]
fn failsafe_by_hand_three_of_the_last_five() {
    let mut failsafe = Bench::written(
        "{ window: { calls: 5, failures: 3 }, open_for: 60s, probes: 5,
           half_open: { closes_after: 3, opens_after: 3 } }",
    );
    failsafe.pass(0.0, "FSSFSSFSSF"); // Never three in five.
    failsafe.is(0.0, Closed);
    failsafe.pass(0.0, "F"); // F S S F F.
    failsafe.is(0.0, Open);
    failsafe.pass(60_000.0, "FSFS");
    failsafe.is(60_000.0, HalfOpen); // Neither three failures nor three successes.
    failsafe.pass(60_000.0, "F");
    failsafe.is(60_000.0, Open);
    failsafe.pass(120_000.0, "SFSS");
    failsafe.is(120_000.0, Closed);
}

#[test]
fn failsafe_by_hand_by_default_one_of_one() {
    let mut failsafe = Bench::written("{ consecutive: 1, open_for: 60s }");
    failsafe.pass(0.0, "SSF");
    failsafe.refused(59_999.0);
    failsafe.pass(60_000.0, "S");
    failsafe.is(60_000.0, Closed);
}

const SPRING: &str = "{ exhausted: { attempts: 3, within: 5s }, open_for: 20s,
    half_open: { begins: never, strictly_after: true } }";

#[test]
fn spring_by_hand_attempts_exhausted_within_the_open_timeout() {
    let mut spring = Bench::written(SPRING);
    spring.pass(0.0, "F");
    spring.pass(1_000.0, "F");
    spring.pass(2_000.0, "S"); // A success does not begin anew.
    spring.pass(4_000.0, "F");
    spring.is(4_000.0, Open);
    spring.refused(24_000.0);
    spring.pass(24_001.0, "FF"); // Everything passes at once.
    spring.is(24_001.0, Closed);
    spring.pass(24_001.0, "F");
    spring.is(24_001.0, Open);
}

#[test]
fn spring_by_hand_a_slow_series_begins_a_new_context() {
    let mut spring = Bench::written(SPRING);
    spring.pass(0.0, "F");
    spring.pass(3_000.0, "F");
    spring.pass(6_000.0, "F"); // The call finds a context older than 5 s.
    spring.pass(7_000.0, "F");
    spring.is(7_000.0, Closed);
    // Exhausted, but by a failure that comes in late: refused until 20 s after the beginning.
    let mut spring = Bench::written(SPRING);
    let slow = spring.enter(0.0);
    spring.pass(0.0, "FF");
    spring.leave(6_000.0, slow, Settled::Failure);
    spring.refused(20_000.0);
    spring.pass(20_001.0, "S");
}

const CHOKAQ: &str = "{ consecutive: { failures: 5, forget_after: 60s }, trips_at_once: [fatal],
    open_for: 30s, half_open: { lease: 30s }, late_results: overrule }";

#[test]
fn chokaq_by_hand_a_row_that_fades_and_a_poison_message() {
    let mut chokaq = Bench::written(CHOKAQ);
    chokaq.pass(0.0, "FFFF");
    chokaq.pass(60_000.0, "F"); // The first of a new row.
    chokaq.pass(119_999.0, "FFF");
    chokaq.is(119_999.0, Closed);
    chokaq.pass(119_999.0, "F");
    chokaq.is(119_999.0, Open);
    let mut chokaq = Bench::written(CHOKAQ);
    chokaq.pass(0.0, "X");
    chokaq.is(29_999.0, Open);
    chokaq.is(30_000.0, HalfOpen);
}

#[test]
fn chokaq_by_hand_late_results_overrule() {
    let mut chokaq = Bench::written(CHOKAQ);
    let [one, two, three] = [(); 3].map(|()| chokaq.enter(0.0));
    chokaq.pass(0.0, "X");
    chokaq.leave(20_000.0, one, Settled::Failure); // Moves the last failure.
    chokaq.refused(49_999.0);
    chokaq.leave(49_999.0, two, Settled::Success);
    chokaq.is(49_999.0, Closed);
    chokaq.pass(50_000.0, "X");
    let probe = chokaq.enter(80_000.0);
    chokaq.leave(80_001.0, three, Settled::Success); // Counts as the probe's.
    chokaq.is(80_001.0, Closed);
    chokaq.leave(80_002.0, probe, Settled::Failure);
    chokaq.is(80_002.0, Closed);
}

#[test]
fn chokaq_by_hand_a_lease_is_reclaimed() {
    let mut chokaq = Bench::written(CHOKAQ);
    chokaq.pass(0.0, "X");
    let lost = chokaq.enter(40_000.0);
    chokaq.refused(69_999.0);
    let second = chokaq.enter(70_000.0);
    chokaq.leave(70_001.0, lost, Settled::Success); // Of the old lease.
    chokaq.is(70_001.0, HalfOpen);
    chokaq.leave(70_002.0, second, Settled::Success);
    chokaq.is(70_002.0, Closed);
}

#[test]
fn envoy_by_hand_no_half_open_state_and_longer_each_time() {
    let mut envoy = Bench::written(
        "{ consecutive: 5, open_for: { base: 30s, times: { cap: 300s, forget_every: 10s } },
           half_open: none }",
    );
    envoy.pass(0.0, "FFFFF");
    envoy.refused(29_999.0);
    envoy.pass(30_000.0, "FFFF"); // In full, with a row of its own.
    envoy.is(30_000.0, Closed);
    envoy.pass(30_000.0, "F");
    envoy.refused(89_999.0);
    envoy.is(90_000.0, Closed);
    envoy.pass(100_000.0, "FFFFF"); // One interval in the pool takes one off.
    envoy.refused(159_999.0);
    envoy.pass(180_000.0, "FFFFF"); // Two intervals take both off.
    envoy.is(210_000.0, Closed);
}

#[test]
fn linkerd_by_hand_seven_failures_and_a_jittered_penalty() {
    let mut linkerd = Bench::written(
        "{ consecutive: 7, open_for: { base: 1s, exponential: { factor: 2, cap: 60s },
           jitter: { additive: 50% } } }",
    );
    linkerd.pass(0.0, "FFFFFFF");
    let mut now = 0.0;
    for wait in [1.25, 2.5, 5.0, 10.0, 20.0, 40.0, 60.0, 60.0] {
        linkerd.refused(now + wait * 1e3 - 1.0);
        now += wait * 1e3;
        linkerd.pass(now, "F");
    }
}
