//! What budgets and throttles do in a run: who waits, who fails, and with what cause.

use stormlab::scenario::model::Effect;

use crate::lab::Diary;
use crate::lab::diary;
use crate::lab::model;
use crate::lab::with_trigger;

/// `calls` at 0 s and one at 50 s, to a service that refuses for the first 40 s.
fn refused(calls: u32, policy: &str) -> Diary {
    let calm = model(&format!(
        "
run: {{ horizon: 100s, warm_up: 0s, window: 1s }}
clients:
  web:
    arrivals: [{{ burst: {{ count: {calls}, at: 0s }} }}, {{ burst: {{ count: 1, at: 50s }} }}]
    calls: server
    policy: p
services: {{ server: {{ workers: 100, work: 1ms }} }}
policies: {{ p: {policy} }}
"
    ));
    diary(&with_trigger(calm, 0, 40_000, Effect::Refuse(0)))
}

/// grpc-js asks its throttle when the wait is over: who is refused has slept in vain.
#[test]
fn a_budget_asked_after_the_wait_ends_the_call_then() {
    let ended = |asked: &str| {
        let policy = format!(
            "{{ retry: {{ max_attempts: 5, backoff: 1s, budget: {{ token_bucket: {{ max_tokens: 2, \
             token_ratio: 0.1, asked: {asked} }} }} }} }}"
        );
        let diary = refused(1, &policy);
        (diary.moments_ms(&["ended", "budget"]), diary.moments_ms(&["denied"]))
    };
    assert_eq!(ended("before_wait"), (vec![0.0], vec![0.0]));
    assert_eq!(ended("after_wait"), (vec![1_000.0], vec![1_000.0]));
}

/// A long poll of the AWS SDKs of 2026 sleeps its back-off before the error comes out.
#[test]
fn a_drained_quota_may_make_the_call_wait_before_it_fails() {
    let ended = |when_empty: &str| {
        let policy = format!(
            "{{ retry: {{ max_attempts: 3, backoff: 1s, budget: {{ quota: {{ capacity: 20, cost: 14, \
             when_empty: {when_empty} }} }} }} }}"
        );
        let diary = refused(1, &policy);
        assert_eq!(diary.count(&["server", "after-refusal"]), 1, "the second is not paid for");
        diary.moments_ms(&["ended", "budget"])
    };
    assert_eq!(ended("fail"), [1_000.0]);
    assert_eq!(ended("wait_and_fail"), [2_000.0]);
}

/// A total timeout cuts a wait short that would have ended in a refusal.
#[test]
fn a_wait_in_vain_is_cut_short_like_any_other() {
    let policy = "{ timeout: 500ms, retry: { max_attempts: 5, backoff: 400ms, budget: \
                  { token_bucket: { max_tokens: 4, token_ratio: 1, asked: after_wait } } } }";
    let diary = refused(1, policy);
    assert_eq!(diary.moments_ms(&["ended", "time"]), [400.0]);
    let policy = policy.replace("400ms", "450ms").replace("max_tokens: 4", "max_tokens: 2");
    assert_eq!(refused(1, &policy).moments_ms(&["ended", "budget"]), [450.0]);
}

/// client-go: each key waits for its own back-off or for its turn at the shared bucket, whichever
/// is longer.
#[test]
fn a_lending_bucket_spreads_the_retries_of_many() {
    let policy = "{ retry: { max_attempts: 2, backoff: 5ms, budget: \
                  { rate: { rate: 10/s, burst: 2, when_empty: wait } } } }";
    let diary = refused(5, policy);
    let retried = diary.moments_ms(&["server", "after-refusal"]);
    assert_eq!(retried, [5.0, 5.0, 100.0, 200.0, 300.0]);
    let policy = policy.replace("when_empty: wait", "when_empty: refuse");
    assert_eq!(refused(5, &policy).count(&["ended", "budget"]), 3);
}

/// Elapsed time and the next wait against the limit; without the wait, one more may follow.
#[test]
fn a_limit_on_elapsed_time_ends_the_retries() {
    let attempts = |limit: &str| {
        let policy = format!(
            "{{ retry: {{ max_attempts: unlimited, backoff: 1s, max_elapsed: {limit} }} }}"
        );
        let diary = refused(1, &policy);
        (diary.count(&["server", "refused"]), diary.moments_ms(&["ended", "time"]))
    };
    assert_eq!(attempts("3s"), (4, vec![3_000.0]));
    assert_eq!(attempts("2999ms"), (3, vec![2_000.0]));
    assert_eq!(attempts("{ after: 2999ms, counts_wait: false }"), (4, vec![3_000.0]));
}

/// Mission (d): the counter outlives the call, only time gives the allowance back, and a time to
/// live shorter than the back-off makes the limit void.
#[test]
fn a_counter_is_shared_by_calls_and_forgotten_with_time() {
    let attempts = |calls, backoff: &str, ttl: &str| {
        let policy = format!(
            "{{ retry: {{ max_attempts: unlimited, backoff: {backoff}, budget: {{ counter: \
             {{ limit: 3, {ttl} }} }} }} }}"
        );
        refused(calls, &policy).count(&["server", "refused"])
    };
    assert_eq!(attempts(1, "1s", "ttl: unlimited"), 1 + 3);
    assert_eq!(attempts(2, "1s", "ttl: unlimited"), 2 + 3, "two consumers share one allowance");
    assert_eq!(attempts(1, "6s", "ttl: 10s, ttl_from: last"), 1 + 3);
    assert_eq!(attempts(1, "6s", "ttl: 10s, ttl_from: first"), 7, "never ends: 0, 6 … 36 s");
    assert_eq!(attempts(1, "12s", "ttl: 10s, ttl_from: last"), 4, "void: until the outage ends");
}

/// A throttle that refuses fails the call with its own cause; the class is retried where named.
#[test]
fn a_rate_that_rejects_is_a_cause_of_its_own() {
    let policy = "{ throttle: { rate: { rate: 1/s, burst: 2, when_empty: reject } } }";
    let diary = refused(5, policy);
    assert_eq!(diary.count(&["rejected", "throttled"]), 3);
    assert_eq!(diary.count(&["ended", "throttle"]), 3);
    assert_eq!(diary.count(&["server", "refused"]), 2);
    assert_eq!(diary.moments_ms(&["ended", "ok"]), [50_001.0]);

    let policy = "{ throttle: { rate: { rate: 1/s, burst: 2, when_empty: reject } }, \
                  retry: { max_attempts: 3, on: throttled, backoff: 1s } }";
    let diary = refused(5, policy);
    assert_eq!(diary.count(&["server", "refused"]), 4, "two at once, then one each second");
    assert_eq!(diary.count(&["ended", "throttle"]), 0, "the last failure ends attempts");
}

/// A throttle that waits holds attempts back, in their order, and a timeout outside of it counts on.
#[test]
fn a_rate_that_waits_holds_attempts_back() {
    let policy = "{ throttle: { rate: { rate: 2/s, burst: 1, when_empty: wait } } }";
    let diary = refused(4, policy);
    assert_eq!(diary.moments_ms(&["server", "refused"]), [0.0, 500.0, 1_000.0, 1_500.0]);

    let policy =
        "{ timeout: 700ms, throttle: { rate: { rate: 2/s, burst: 1, when_empty: wait } } }";
    let diary = refused(4, policy);
    assert_eq!(diary.moments_ms(&["server", "refused"]), [0.0, 500.0]);
    assert_eq!(diary.moments_ms(&["ended", "time"]), [700.0, 700.0]);
}

/// By default it stands inside `retry` and sees attempts; outside of it, calls.
#[test]
fn where_a_throttle_stands_decides_what_it_sees() {
    let sent = |order: &str| {
        let policy = format!(
            "{{ throttle: {{ rate: {{ rate: 1/s, burst: 2, when_empty: reject }} }}, \
             retry: {{ max_attempts: 4, backoff: 1ms }}{order} }}"
        );
        refused(1, &policy).count(&["server", "refused"])
    };
    assert_eq!(sent(""), 2);
    assert_eq!(sent(", order: [throttle, retry]"), 4);
}

/// The adaptive throttle of the SRE book and Envoy's admission control turn most of a dead service's
/// attempts away, and the service has its calls back when it is well.
#[test]
fn adaptive_throttles_spare_a_dead_service_and_let_go() {
    // (With a timeout about as long as the wait for a token, the cubic rate would stay where it is:
    // whoever gets a token is about to leave, and the limiter never hears of a success.)
    for throttle in [
        "adaptive: { k: 2, window: 10s }",
        "admission: { threshold: 95%, window: 10s }",
        "cubic: { throttled: unavailable }",
    ] {
        let calm = model(&format!(
            "
run: {{ horizon: 100s, warm_up: 0s, window: 1s }}
clients: {{ web: {{ arrivals: {{ constant: 100/s }}, calls: server, policy: p }} }}
services: {{ server: {{ workers: 100, work: 1ms }} }}
policies: {{ p: {{ throttle: {{ {throttle} }} }} }}
"
        ));
        let diary = diary(&with_trigger(calm, 20_000, 20_000, Effect::Refuse(0)));
        let refused = diary.count(&["server", "refused"]);
        assert!((20..900).contains(&refused), "{throttle}: {refused} of 2000 reached it");
        let good = diary.moments_ms(&["ended", "ok"]);
        let last = good.iter().filter(|moment| **moment >= 90_000.0).count();
        assert!(last >= 990, "{throttle}: {last} in the last ten seconds");
    }
}
