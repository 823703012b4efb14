//! cockatiel's wrap(bulkhead, breaker, retry), and other orders, in the engine.
//!
//! Held here are the recordings in which nobody waits on a probe and the callee does not change:
//! an engine decides about an error at the end of the work, the recorder at its beginning. Left out
//! is also the one in which calls succeed without any latency: the recorder lets all calls of one
//! moment arrive before any ends, the engine ends before others arrive (R13).

use serde_json::Value;
use stormlab::scenario::model::Model;

use crate::conformance::trace;
use crate::lab;

/// The policy of a recording, and the clients and the server it was recorded with.
fn system(case: &Value) -> Model {
    let calls = trace::numbers(&case["calls_ms"]);
    let bursts: Vec<_> = calls
        .chunk_by(|a, b| a == b)
        .map(|at_once| format!("{{ burst: {{ count: {}, at: {}ms }} }}", at_once.len(), at_once[0]))
        .collect();
    let down = trace::numbers(&case["down_ms"])[1] > 0.0;
    let errors = if down { "errors: { class: unavailable, share: 100% }" } else { "" };
    let retries = trace::number(&case["retries"]) as u32;
    lab::model(&format!(
        "
run: {{ horizon: 60s, warm_up: 0s, window: 1s }}
clients: {{ web: {{ arrivals: [{bursts}], calls: server, policy: wrap }} }}
services: {{ server: {{ workers: 100, work: {latency}ms, {errors} }} }}
policies:
  wrap:
    order: [{order}]
    bulkhead: {{ limit: {limit}, queue: {queue} }}
    breaker: {{ consecutive: {threshold}, open_for: {open}ms, counts: [transient, bulkhead_full] }}
    retry:
      max_attempts: {attempts}
      backoff: {{ exponential: {{ base: {initial}ms, cap: {max}ms }} }}
",
        bursts = bursts.join(", "),
        latency = case["latency_ms"],
        order = case["order"].as_str().expect("an order"),
        limit = case["limit"],
        queue = case["queue"],
        threshold = case["threshold"],
        open = case["half_open_after_ms"],
        attempts = retries + 1,
        initial = case["initial_ms"],
        max = case["max_ms"],
    ))
}

fn is_held(case: &Value) -> bool {
    let down = trace::numbers(&case["down_ms"]);
    let steady = down[0] == 0.0 && (down[1] == 0.0 || down[1] > 1e6);
    let at_once = case["latency_ms"] == 0 && down[1] == 0.0;
    case["start"] == "closed" && steady && !at_once && case["generator"] == "none"
}

/// Our word for a result of the recording.
fn word(result: &str) -> &'static str {
    match result {
        "bulkhead_rejected" => "bulkhead",
        "broken_circuit" => "breaker",
        "error" => "attempts",
        "success" => "ok",
        other => panic!("unknown result {other}"),
    }
}

#[test]
fn cockatiel_composed_policies_in_the_engine() {
    let mut held = Vec::new();
    let cases = trace::cases("cockatiel/composed.json");
    for case in cases.iter().filter(|case| is_held(case)) {
        let name = case["name"].as_str().expect("a name");
        let diary = lab::diary(&system(case));
        let raw: Vec<_> = case["raw_calls"].as_array().expect("raw calls").iter().collect();
        let mut expected: Vec<_> = raw.iter().map(|call| trace::number(&call[0])).collect();
        expected.sort_by(f64::total_cmp);
        assert_eq!(diary.moments_ms(&["reached"]), expected, "{name}: raw calls");
        for result in ["bulkhead_rejected", "broken_circuit", "error", "success"] {
            let results = case["results"].as_array().expect("results").iter();
            let of_it = results.filter(|it| it[2] == result);
            let mut expected: Vec<_> = of_it.map(|it| trace::number(&it[0])).collect();
            expected.sort_by(f64::total_cmp);
            let ended = diary.moments_ms(&["ended", word(result)]);
            assert_eq!(ended, expected, "{name}: {result}");
        }
        held.push(name);
    }
    assert_eq!(
        held,
        [
            "35_at_once_closed_down_latency_0",
            "35_at_once_closed_down_latency_30",
            "35_at_once_closed_up_latency_30",
            "one_failing_call",
            "failing_calls_one_after_another",
            "35_at_once_closed_down: bulkhead, retry, breaker",
            "35_at_once_closed_down: retry, breaker, bulkhead",
            "35_at_once_closed_down: retry, bulkhead, breaker",
        ]
    );
}

/// The numbers by which mission (e) is known: 56 raw calls of 35 at once when closed and down;
/// attempts of one call at 0, 200, 600 and 1,400 ms; 20 raw calls until it opens.
#[test]
fn cockatiel_composed_policy_by_its_golden_numbers() {
    let cases = trace::cases("cockatiel/composed.json");
    let case = |name: &str| cases.iter().find(|case| case["name"] == name).expect("a case");
    let burst = lab::diary(&system(case("35_at_once_closed_down_latency_0")));
    assert_eq!(burst.count(&["reached"]), 56);
    assert_eq!(burst.count(&["ended", "attempts"]), 14);
    assert_eq!(burst.count(&["ended", "breaker"]), 16);
    assert_eq!(burst.count(&["ended", "bulkhead"]), 5);
    let one = lab::diary(&system(case("one_failing_call")));
    assert_eq!(one.moments_ms(&["reached"]), [0.0, 200.0, 600.0, 1_400.0]);
    let several = lab::diary(&system(case("failing_calls_one_after_another")));
    let opened_at = several.moments_ms(&["ended", "attempts"])[4];
    let before = several.moments_ms(&["reached"]).iter().filter(|at| **at <= opened_at).count();
    assert_eq!((opened_at, before), (9_400.0, 20));
}
