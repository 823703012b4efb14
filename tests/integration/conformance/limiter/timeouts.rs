//! Timeouts of Envoy and axios-retry, in the engine.

use serde_json::Value;

use crate::conformance::trace;
use crate::lab;
use crate::lab::Diary;

/// One call under a policy to a server that answers after `work`.
fn one_call(policy: &str, work: &str) -> Diary {
    lab::diary(&lab::model(&format!(
        "
run: {{ horizon: 60s, warm_up: 0s, window: 1s }}
clients: {{ web: {{ arrivals: {{ burst: {{ count: 1, at: 0s }} }}, calls: server, policy: p }} }}
services: {{ server: {{ workers: 100, {work} }} }}
policies: {{ p: {policy} }}
"
    )))
}

/// A route timeout is the total one; a per-try timeout that is not set equals it, and a timeout of
/// the whole is never retried.
#[test]
fn envoy_attempts_under_route_and_per_try_timeouts() {
    let mut held = Vec::new();
    for case in trace::cases("envoy/attempts.json") {
        let policy = &case["retry_policy"];
        let slow = case["script"][0].as_str().and_then(|text| text.strip_prefix("200 after="));
        let (Some(slow), true) = (slow, case["hedge_on_per_try_timeout"] == false) else {
            continue;
        };
        let attempt_timeout = match policy.get("per_try_timeout").and_then(Value::as_str) {
            Some(span) => format!("attempt_timeout: {span},"),
            None => String::new(),
        };
        let diary = one_call(
            &format!(
                "{{ timeout: {}, {attempt_timeout} retry: {{ max_attempts: {}, jitter: full, \
                 backoff: {{ exponential: {{ base: 25ms, cap: 250ms }} }} }} }}",
                case["route_timeout"].as_str().expect("a route timeout"),
                policy["num_retries"].as_u64().expect("retries") + 1,
            ),
            &format!("work: {slow}ms"),
        );
        assert_eq!(case["attempts_made"], diary.count(&["reached"]), "{case}");
        assert_eq!(case["status"] == 200, diary.count(&["ended", "ok"]) == 1, "{case}");
        held.push(case["name"].as_str().expect("a name").to_owned());
    }
    assert_eq!(
        held,
        [
            "route_timeout_is_not_retried",
            "per_try_timeout_is",
            "per_try_timeout_within_the_route_timeout",
            "per_try_timeout_above_the_route_timeout",
        ]
    );
}

/// One timeout for all attempts: each is given what attempts and waits have left of it, and the
/// retry that does not fit is not made. (Attempts take 100 ms there.)
#[test]
fn axios_retry_shares_one_timeout_among_attempts() {
    let cases = trace::cases("npm-others/axios-retry.json");
    let case = cases.iter().find(|case| case["name"] == "one_timeout_for_all").expect("the case");
    let timeouts = trace::numbers(&case["timeouts_ms"]);
    let retries = &case["options"]["retries"].as_u64().expect("retries");
    let diary = one_call(
        &format!(
            "{{ timeout: {}ms, retry: {{ max_attempts: {}, backoff: {{ exponential: {{ base: \
             200ms }} }} }} }}",
            timeouts[0],
            retries + 1,
        ),
        "work: 100ms, errors: { class: unavailable, share: 100% }",
    );
    let left = diary.moments_ms(&["reached"]).iter().map(|at| timeouts[0] - at).collect::<Vec<_>>();
    assert_eq!(left, timeouts);
    assert_eq!(diary.lines(&["ended"]), ["900ms web ended time after 900ms"]);
}
