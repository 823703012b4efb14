//! The payments source: what "three attempts" are, and its composition (P3, P4, P7 to P9, P13 to
//! P15, P25).

use super::*;

/// The whole policy without its jitter.
const PLAIN: &str = "{ preset: nest-payments, retry: { jitter: none } }";
/// A retry alone, handling everything, as the source has its numbers.
const EVERYTHING: &str = "{ preset: cockatiel-wrap, retry: { jitter: none } }";

/// The library counts retries: four executions and 1.4 s where the text has three and 3 s.
#[test]
fn p7_p8_p9_three_retries_are_four_executions_within_1_4_s() {
    for (policy, class) in [(EVERYTHING, "rejected"), (PLAIN, "unavailable")] {
        let told = run(&system(policy, &burst(1), &failing(class)), 1);
        assert_eq!(told.reached, [0.0, 0.2, 0.6, 1.4], "{class}");
        assert_eq!(told.ends, [(0.0, 1.4, false)], "{class}");
    }
    let with_jitter = backoff("{ preset: nest-payments }");
    let all = sums(&with_jitter, 40_000, 3);
    near("mean", mean(&all), 0.82, 0.005);
    assert!(largest(&all) <= 1.142, "{}", largest(&all));
    assert!(largest(&all) > 1.1);
    // The cap of 2 s never binds.
    is("largest wait", bounds(&backoff(PLAIN), 3).1, 0.8);
    near("with V2", bounds(&with_jitter, 3).1, 0.865, 0.001);
}

/// Only the gateway's errors are retried: what is out of stock is one execution, and so is a bank
/// that limits the rate, which the code makes a permanent error.
#[test]
fn p3_p4_what_is_not_the_gateways_error_is_not_retried() {
    let executions = |class: &str| run(&system(PLAIN, &burst(1), &failing(class)), 1).reached.len();
    for class in ["rejected", "denied", "not_found", "rate_limited"] {
        assert_eq!(executions(class), 1, "{class}");
    }
    for class in ["internal", "overloaded", "bad_gateway", "gateway_timeout", "connection_lost"] {
        assert_eq!(executions(class), 4, "{class}");
    }
}

#[test]
fn p13_the_thirty_first_call_is_rejected_and_a_place_is_held_through_waits() {
    let slow = "{ workers: 100, work: 1s }";
    let told = run(&system(PLAIN, &burst(31), slow), 1);
    let rejected: Vec<_> = told.ends.iter().filter(|it| !it.2).collect();
    assert_eq!(rejected, [&(0.0, 0.0, false)]);
    assert_eq!([0.0, 1.0, 2.0].map(|at| told.at(at)), [10; 3]);
    // The breaker apart, an eleventh call begins when the first is over, waits included.
    let held = "{ preset: nest-payments, breaker: null, retry: { jitter: none },
                  order: [bulkhead, retry] }";
    let told = run(&system(held, &burst(11), &failing("unavailable")), 1);
    assert_eq!([0.0, 0.2, 0.6].map(|at| told.at(at)), [10; 3]);
    assert_eq!(told.at(1.4), 10 + 1);
}

/// Around the retry the breaker counts exhausted calls: 20 attempts, and four more when half-open.
/// With the retry outside it opens after five attempts, in the second call. Inside the retry a
/// place in the bulkhead is free during waits.
#[test]
fn p14_p15_what_the_breaker_counts_is_a_matter_of_order() {
    let one_by_one = |policy: &str| {
        let at: Vec<_> =
            (0..10).map(|i| (1, 2_000 * i)).chain([(1, 30_000), (1, 32_000)]).collect();
        run(&system(policy, &lab::bursts(&at), &failing("unavailable")), 1)
    };
    let told = one_by_one(PLAIN);
    // The fifth call ends at 9.4 s, and the next sequence is that of the probe at 30 s.
    assert_eq!((told.between(0.0, 20.0), told.between(20.0, 60.0)), (20, 4));
    let outside = "{ preset: nest-payments, retry: { jitter: none },
                     order: [bulkhead, retry, breaker] }";
    let told = one_by_one(outside);
    assert_eq!(told.between(0.0, 4.0), 5, "four of the first call and one of the second");
    let inner = "{ preset: nest-payments, breaker: null, retry: { jitter: none },
                   order: [retry, bulkhead] }";
    let told = run(&system(inner, &burst(11), &failing("unavailable")), 1);
    assert_eq!(told.between(0.0, 1.0), 3 * 11, "nobody waits for who waits");
}

#[test]
fn p25_ten_retries_without_a_longest_wait_outlive_every_client() {
    let ten = |cap: &str, jitter: &str| {
        backoff(&format!(
            "{{ retry: {{ max_attempts: 11, jitter: {jitter},
               backoff: {{ exponential: {{ base: 200ms, factor: 2{cap} }} }} }} }}"
        ))
    };
    for (cap, plain, v2) in
        [("", 204.6, 106.0), (", cap: 30s", 111.0, 78.0), (", cap: 2s", 15.0, 12.9)]
    {
        is(cap, summed(&ten(cap, "none"), 10).1, plain);
        let found = mean(&sums(&ten(cap, "decorrelated_v2"), 20_000, 10));
        near(cap, found, v2, 0.01 * v2);
    }
}
