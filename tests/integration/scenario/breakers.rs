//! Every kind of breaker can be written, is printed as it was meant, and reads back the same.

use stormlab::lint;

use crate::scenario::valid;

/// Breakers of many kinds, as a scenario writes them.
const KINDS: [&str; 20] = [
    "{ consecutive: 5, open_for: 10s }",
    "{ consecutive: { more_than: 5 }, open_for: 60s, forgets: when_opened }",
    "{ consecutive: { failures: 5, forget_after: 60s }, open_for: 30s, trips_at_once: [fatal] }",
    "{ consecutive: { failures: 5, clear_every: 30s }, open_for: 30s, or_consecutive: 3 }",
    "{ window: { length: 30s, failure_share: 10%, minimum_calls: 100 }, open_for: 5s }",
    "{ window: { length: 30s, buckets: 30, turns: on_the_clock, failure_share: 50%,
         minimum_calls: 10, judged: on_outcome, slow: { longer_than: 2s, share: 80% } },
       open_for: 60s, probes: 10, half_open: { places: in_all, decides_after: 10 } }",
    "{ window: { length: 10s, buckets: 20, turns: on_the_clock, failure_share: 50%,
         minimum_calls: 20, judged: at_turns }, open_for: 5s,
       half_open: { strictly_after: true }, late_results: count }",
    "{ window: { length: 10s, turns: on_the_clock, more_than: 50%, minimum_calls: 1,
         share_of: fires, warm_up: 10s }, open_for: 30s, forgets: never,
       half_open: { begins: by_timer, places: in_all, probes_count: true } }",
    "{ window: { length: 5s, buckets: 5, turns: with_outcomes, more_than: 20%,
         minimum_calls: 5 }, open_for: 1s, late_results: record, uncounted: closes,
       half_open: { others: wait, probes_count: true } }",
    "{ window: { calls: 100, failure_share: 50%, judged: on_outcome }, open_for: 60s }",
    "{ window: { calls: 5, failures: 3 }, open_for: 60s, probes: 5,
       half_open: { closes_after: 3, opens_after: 3 }, uncounted: nothing }",
    "{ average: { window: 30s, below: 80%, minimum_calls: 5, settled_after: 30s },
       or_consecutive: 5, open_for: { base: 5s, equal_jittered: { cap: 300s } } }",
    "{ exhausted: { attempts: 3, within: 5s }, open_for: 20s,
       half_open: { begins: never, strictly_after: true } }",
    "{ consecutive: 7, open_for: { base: 1s, exponential: { cap: 60s },
       jitter: { additive: 50% } } }",
    "{ consecutive: 5, open_for: { base: 30s, times: { cap: 300s, forget_every: 10s },
       jitter: { extra: 2s } }, half_open: none, ignores: [rejected] }",
    "{ consecutive: 1, open_for: { table: [100ms, 200ms, 400ms] } }",
    "{ consecutive: 5, open_for: { base: 30s, jitter: { plus_minus: 20% } },
       late_results: overrule, half_open: { lease: 30s, at_most: 60s } }",
    "{ consecutive: 5, open_for: 10s, uncounted: leak, cancelled: release_as_success }",
    "{ consecutive: 5, open_for: 10s, uncounted: release_as_success, cancelled: leak }",
    "{ consecutive: 5, open_for: 10s, cancelled: success, release_guarded: false }",
];

fn with_breaker(breaker: &str) -> String {
    format!(
        "schema: 1
name: test
about: A test.
source: Made up.
clients: {{ web: {{ arrivals: {{ constant: 100/s }}, calls: s, policy: p }} }}
policies: {{ p: {{ breaker: {breaker} }} }}
services: {{ s: {{ workers: 1, work: 1ms }} }}
"
    )
}

#[test]
fn a_breaker_of_any_kind_reads_back_as_it_was_meant() {
    let mut seen = Vec::new();
    for kind in KINDS {
        let scenario = valid(&with_breaker(kind));
        let text = lint::as_meant(&scenario, "base");
        let again = valid(&text);
        let policies = &scenario.variants[0].model.policies;
        assert_eq!(policies, &again.variants[0].model.policies, "{kind}\n{text}");
        let breaker = policies.iter().find_map(|policy| policy.breaker).expect("a breaker");
        assert!(!seen.contains(&breaker), "the same as another: {kind}");
        seen.push(breaker);
    }
}

/// Naming one thing that opens a breaker replaces the other, and so does an open time.
#[test]
fn a_variant_replaces_what_opens_a_breaker() {
    let base = with_breaker("{ window: { calls: 5, failures: 3 }, open_for: { table: [1s, 2s] } }");
    for (change, expected) in [
        ("{ consecutive: 5 }", "consecutive: 5"),
        ("{ average: { window: 1s, below: 50% } }", "average: { window: 1s, below: 50%"),
        ("{ window: { length: 9s, minimum_calls: 2 } }", "length: 9s"),
        ("{ window: { more_than: 20% } }", "calls: 5, more_than: 20%"),
        ("{ open_for: 7s }", "open_for: 7s"),
    ] {
        let change = format!("variants: {{ v: {{ policies: {{ p: {{ breaker: {change} }} }} }} }}");
        let scenario = valid(&format!("{base}{change}\n"));
        let text = lint::as_meant(&scenario, "v");
        assert!(text.contains(expected), "{change}\n{text}");
    }
}
