//! Budgets and throttles as written: every kind is kept, and every mistake has its words.

use crate::scenario::effective::again;
use crate::scenario::problems;
use crate::scenario::valid;

fn file(retry: &str, throttle: &str) -> String {
    format!(
        "
schema: 1
name: test
run: {{ horizon: 1h }}
clients: {{ web: {{ arrivals: {{ poisson: 20/s }}, calls: server, policy: p }} }}
services: {{ server: {{ workers: 1, work: 5ms }} }}
policies: {{ p: {{ retry: {{ {retry} }}{throttle} }} }}
"
    )
}

#[test]
fn every_kind_means_the_same_when_loaded_again() {
    for budget in [
        "token_bucket: { max_tokens: 100, token_ratio: 1, cost: 10, credit: answered, last_attempt: free, asked: after_wait }",
        "quota: { capacity: 500, cost: 5, reward: 0, refund: client, when_empty: wait_and_fail }",
        "quota: { capacity: 500, costs: { default: 14, rate_limited: 5, timeout: 10 }, per: [] }",
        "window: { share: 33.3%, deposit: final, ttl: 5s, min_per_second: 0, rule: tower }",
        "window: { share: 200%, deposit: success, rule: finagle }",
        "window: { share: 20%, deposit: call }",
        "concurrent: { limit: 3, per: [caller] }",
        "active_share: { share: 20%, min: 0, interval: 500ms }",
        "client_ratio: { share: 10%, window: unlimited }",
        "rate: { rate: 10/s, burst: 100, when_empty: wait, per: [group] }",
        "counter: { limit: 3, ttl: unlimited }",
        "counter: { limit: 3, ttl: 1h, ttl_from: last }",
    ] {
        again(&valid(&file(&format!("budget: {{ {budget} }}, max_elapsed: 15min"), "")));
    }
    for throttle in [
        "adaptive: {}",
        "adaptive: { k: 1.1, window: unlimited, refusals: [overloaded], counts: answered, asks: retries }",
        "admission: { threshold: 90%, window: 10s, aggression: 2.5, cap: 50%, min_rate: 0.5/s, failures: [timeout] }",
        "cubic: {}",
        "cubic: { throttled: [rate_limited, overloaded], per: [target] }",
        "rate: { rate: 0.5/s, burst: 1, when_empty: reject }",
    ] {
        let limit = "max_elapsed: { after: 15min, counts_wait: false }";
        again(&valid(&file(limit, &format!(", throttle: {{ {throttle} }}"))));
    }
}

/// A variant that names another kind replaces it whole.
#[test]
fn another_kind_replaces_the_one_before() {
    let text = file("budget: { concurrent: { limit: 3 } }, max_elapsed: 1min", ", throttle: { cubic: {} }")
        + "
variants:
  other:
    policies:
      p:
        retry: { budget: { counter: { limit: 1, ttl: 1h } }, max_elapsed: { after: 2min, counts_wait: false } }
        throttle: { adaptive: { k: 2 } }
";
    again(&valid(&text));
}

#[test]
fn each_mistake_of_a_budget_is_named() {
    #[track_caller]
    fn check(budget: &str, expected: &str) {
        let found = problems(&file(&format!("budget: {{ {budget} }}"), ""));
        assert!(found.iter().any(|problem| problem.contains(expected)), "{expected:?}: {found:#?}");
    }
    check("quotas: {}", "`budget` has no key `quotas`");
    check("quota: { cost: 5 }", "`quota` needs `capacity`");
    check("quota: { capacity: 500 }", "`quota` needs one of `cost` or `costs`");
    check("quota: { capacity: 500, cost: 5, costs: { default: 5 } }", "not both");
    check("quota: { capacity: 500, costs: { timeout: 10 } }", "`costs` needs `default`");
    check("quota: { capacity: 500, costs: { default: 5, slow: 1 } }", "no key `slow`");
    check("quota: { capacity: 10, cost: 14 }", "a retry that costs 14 is never paid for");
    check("quota: { capacity: 10, cost: 0 }", "0 is out of range");
    check("window: { share: 20% }", "a budget's `window` needs `deposit`");
    check("window: { share: 20%, deposit: never }", "`never` is none of the words");
    check("window: { share: lots, deposit: call }", "`lots` is no share");
    check("window: { share: 0.01%, deposit: call }", "this is finer");
    check("concurrent: {}", "`concurrent` needs `limit`");
    check("active_share: { min: 3 }", "`active_share` needs `share`");
    check("rate: { rate: 10/s, burst: 100 }", "needs `when_empty`");
    check("rate: { rate: 0/s, burst: 100, when_empty: wait }", "above 0/s");
    check("rate: { rate: 10/s, burst: 0, when_empty: wait }", "0 is out of range");
    check("rate: { rate: 10/s, burst: 1, when_empty: reject }", "`reject` is none of the words");
    check("counter: { limit: 3 }", "`counter` needs `ttl`");
    check("counter: { limit: 3, ttl: unlimited, ttl_from: last }", "kept for ever has no time");
    check("token_bucket: { max_tokens: 1, token_ratio: 1, cost: 0 }", "a bucket without tokens");
    check("concurrent: { limit: 3 }, counter: { limit: 3, ttl: 1s }", "not both");
}

#[test]
fn each_mistake_of_a_throttle_is_named() {
    #[track_caller]
    fn check(throttle: &str, expected: &str) {
        let found = problems(&file("max_attempts: 2", &format!(", throttle: {{ {throttle} }}")));
        assert!(found.iter().any(|problem| problem.contains(expected)), "{expected:?}: {found:#?}");
    }
    check("adaptative: {}", "`throttle` has no key `adaptative`");
    check("adaptive: { k: 1001 }", "out of range");
    check("adaptive: { asks: calls }", "`calls` is none of the words");
    check("admission: { threshold: 0% }", "nothing is ever turned away");
    check("admission: { aggression: 0.5 }", "out of range");
    check("rate: { rate: 1/s, burst: 1, when_empty: refuse }", "`refuse` is none of the words");
    let missing = file("max_attempts: 2", ", throttle: { cubic: {} }, order: [retry]");
    assert!(problems(&missing)[0].contains("`order` leaves out `throttle`"));
    let elapsed = problems(&file("max_elapsed: 0s", ""));
    assert!(elapsed[0].contains("longer than 0s"), "{elapsed:?}");
}
