//! cockatiel's wrap(bulkhead, breaker, retry), and other orders, in the engine.
//!
//! Held here are the recordings whose waits are not drawn: the engine draws its own numbers, and none
//! can be given to it (the four generators are held number by number elsewhere). A breaker that is
//! open as the recording starts is opened by calls before that; an engine decides about an error at
//! the end of the work, the recorder at its beginning, so an outage is moved by the work. Left out is
//! also where many calls of one moment are over at that moment, answered without any latency or refused
//! by an open breaker: the recorder lets all of them arrive, and fill the bulkhead, before any ends;
//! the engine ends before others arrive (R13).

use serde_json::Value;
use stormlab::policy::outcome::Class;
use stormlab::scenario::model::Effect;
use stormlab::scenario::model::Errors;
use stormlab::scenario::model::Model;
use stormlab::units::Share;

use crate::conformance::trace;
use crate::lab;
use crate::lab::Diary;

/// A recording in the engine: the system it was made with, and when its first moment is there.
struct Staged {
    model: Model,
    starts_at_ms: f64,
}

fn millis(case: &Value, key: &str) -> f64 {
    trace::number(&case[key])
}

/// How long one call takes that fails in every attempt.
fn failing_ms(case: &Value) -> f64 {
    let retries = millis(case, "retries") as i32;
    let wait =
        |retry: i32| (millis(case, "initial_ms") * 2f64.powi(retry)).min(millis(case, "max_ms"));
    let waits: f64 = (0..retries).map(wait).sum();
    waits + f64::from(retries + 1) * millis(case, "latency_ms")
}

/// The policy of a recording, and the clients and the server it was recorded with.
fn stage(case: &Value) -> Staged {
    let starts_at_ms = match case["start"].as_str() {
        Some("closed") => 0.0,
        // A millisecond later, so that nothing ties with what opened it; no call comes so close to
        // the end of the break that it could tell.
        Some("open") => {
            let gone = millis(case, "half_open_after_ms") - millis(case, "break_left_ms");
            failing_ms(case) + gone + 1.0
        }
        _ => failing_ms(case) + millis(case, "half_open_after_ms"),
    };
    let calls: Vec<_> = trace::numbers(&case["calls_ms"]);
    let mut bursts: Vec<_> = calls
        .chunk_by(|a, b| a == b)
        .map(|at_once| (at_once.len() as u32, (at_once[0] + starts_at_ms) as u64))
        .collect();
    if starts_at_ms > 0.0 {
        bursts.insert(0, (millis(case, "threshold") as u32, 0));
    }
    let model = lab::model(&format!(
        "
run: {{ horizon: 60s, warm_up: 0s, window: 1s }}
clients: {{ web: {{ arrivals: {bursts}, calls: server, policy: wrap }} }}
services: {{ server: {{ workers: 100, work: {latency}ms }} }}
policies:
  wrap:
    order: [{order}]
    bulkhead: {{ limit: {limit}, queue: {queue} }}
    breaker:
      consecutive: {threshold}
      open_for: {open}ms
      counts: [transient, bulkhead_full]
      half_open: {{ others: wait, probes_count: true }}
      late_results: record
      uncounted: closes
    retry:
      max_attempts: {attempts}
      backoff: {{ exponential: {{ base: {initial}ms, cap: {max}ms }} }}
",
        bursts = lab::bursts(&bursts),
        latency = case["latency_ms"],
        order = case["order"].as_str().expect("an order"),
        limit = case["limit"],
        queue = case["queue"],
        threshold = case["threshold"],
        open = case["half_open_after_ms"],
        attempts = millis(case, "retries") as u32 + 1,
        initial = case["initial_ms"],
        max = case["max_ms"],
    ));
    // Errors of work that began in the outage, and of the calls that open the breaker.
    let outage = trace::numbers(&case["down_ms"]);
    let [from, until] = [outage[0], outage[1].min(60_000.0)]
        .map(|at| at + starts_at_ms + if at > 0.0 { millis(case, "latency_ms") } else { 0.0 });
    let errors = || {
        let errors = Errors { class: Class::Unavailable, share: Share::ONE };
        Effect::Errors { service: 0, errors }
    };
    let mut model = model;
    if until > from {
        model = lab::with_trigger(model, from as u64, (until - from) as u64, errors());
    }
    if starts_at_ms > 0.0 {
        model = lab::with_trigger(model, 0, starts_at_ms as u64, errors());
    }
    Staged { model, starts_at_ms }
}

impl Staged {
    /// The moments of the recording at which that happens.
    fn moments(&self, diary: &Diary, words: &[&str]) -> Vec<f64> {
        let moments = diary.moments_ms(words).into_iter();
        moments.map(|at| at - self.starts_at_ms).filter(|at| *at >= 0.0).collect()
    }
}

fn is_held(case: &Value) -> bool {
    let up = trace::numbers(&case["down_ms"]) == [0.0, 0.0];
    let together = trace::numbers(&case["calls_ms"]).iter().all(|at| *at == 0.0);
    let over_at_once = case["start"] == "open" || (up && case["latency_ms"] == 0);
    !(together && over_at_once) && case["generator"] == "none"
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
        let staged = stage(case);
        let diary = lab::diary(&staged.model);
        let raw: Vec<_> = case["raw_calls"].as_array().expect("raw calls").iter().collect();
        let mut expected: Vec<_> = raw.iter().map(|call| trace::number(&call[0])).collect();
        expected.sort_by(f64::total_cmp);
        assert_eq!(staged.moments(&diary, &["reached"]), expected, "{name}: raw calls");
        for result in ["bulkhead_rejected", "broken_circuit", "error", "success"] {
            let results = case["results"].as_array().expect("results").iter();
            let of_it = results.filter(|it| it[2] == result);
            let mut expected: Vec<_> = of_it.map(|it| trace::number(&it[0])).collect();
            expected.sort_by(f64::total_cmp);
            let ended = staged.moments(&diary, &["ended", word(result)]);
            assert_eq!(ended, expected, "{name}: {result}");
        }
        held.push(name);
    }
    assert_eq!(held.len(), 17, "{held:?}");
}

/// The numbers by which mission (e) is known: 56 raw calls of 35 at once when closed and down;
/// attempts of one call at 0, 200, 600 and 1,400 ms; 20 raw calls until it opens.
#[test]
fn cockatiel_composed_policy_by_its_golden_numbers() {
    let cases = trace::cases("cockatiel/composed.json");
    let case = |name: &str| cases.iter().find(|case| case["name"] == name).expect("a case");
    let burst = lab::diary(&stage(case("35_at_once_closed_down_latency_0")).model);
    assert_eq!(burst.count(&["reached"]), 56);
    assert_eq!(burst.count(&["ended", "attempts"]), 14);
    assert_eq!(burst.count(&["ended", "breaker"]), 16);
    assert_eq!(burst.count(&["ended", "bulkhead"]), 5);
    let one = lab::diary(&stage(case("one_failing_call")).model);
    assert_eq!(one.moments_ms(&["reached"]), [0.0, 200.0, 600.0, 1_400.0]);
    let several = lab::diary(&stage(case("failing_calls_one_after_another")).model);
    let opened_at = several.moments_ms(&["ended", "attempts"])[4];
    let before = several.moments_ms(&["reached"]).iter().filter(|at| **at <= opened_at).count();
    assert_eq!((opened_at, before), (9_400.0, 20));
}
