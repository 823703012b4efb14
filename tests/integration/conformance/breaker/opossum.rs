//! opossum 9.0.0, call by call. Its window turns on the clock, the timer makes it half-open, and
//! shares are taken of the calls begun or refused.

use std::collections::BTreeMap;

use serde_json::Value;
use stormlab::policy::breaker::Answer;
use stormlab::policy::breaker::Breaker;
use stormlab::policy::breaker::BreakerConfig;
use stormlab::policy::breaker::BreakerState;
use stormlab::policy::breaker::Permit;
use stormlab::policy::breaker::Settled;
use stormlab::policy::breaker::config::Trip;
use stormlab::units::Draw;

use super::at;
use super::written;
use crate::conformance::trace::cases;
use crate::conformance::trace::number;

fn config(options: &Value) -> BreakerConfig {
    let option = |key: &str, otherwise: f64| options.get(key).map_or(otherwise, number);
    let warms_up = options["allowWarmUp"] == true;
    let length = option("rollingCountTimeout", 10_000.0);
    let text = format!(
        "{{ window: {{ length: {length}ms, buckets: {}, turns: on_the_clock, more_than: {}%,
              minimum_calls: {}, share_of: fires, warm_up: {}ms }},
           open_for: {}ms, late_results: count, forgets: never,
           half_open: {{ begins: by_timer, places: in_all, probes_count: true }} }}",
        option("rollingCountBuckets", 10.0),
        option("errorThresholdPercentage", 50.0),
        option("volumeThreshold", 0.0).max(1.0),
        if warms_up { length } else { 0.0 },
        option("resetTimeout", 30_000.0),
    );
    written(&text)
}

fn half(_: u32) -> Draw {
    Draw::MIDDLE
}

fn replay(case: &Value) -> usize {
    let (name, config) = (&case["name"], config(&case["options"]));
    assert!(matches!(config.trip, Trip::Rate(_)));
    let mut breaker = Breaker::default();
    let mut permits: BTreeMap<u64, Permit> = BTreeMap::new();
    let mut compared = 0;
    for step in case["steps"].as_array().expect("as recorded") {
        let now = at(number(&step["at_ms"]));
        let id = step["id"].as_u64();
        match step["event"].as_str().expect("as recorded") {
            "call" => {
                let verdict = match breaker.ask(&config, now, &half) {
                    Answer::Granted(permit) if step["verdict"] == "semaphore" => {
                        breaker.settle(&config, permit, now, Settled::Failure);
                        "semaphore"
                    }
                    Answer::Granted(permit) => {
                        permits.insert(id.expect("as recorded"), permit);
                        "run"
                    }
                    Answer::Refused | Answer::Wait(_) => "refused",
                };
                assert_eq!(verdict, step["verdict"], "{name}: {step}");
            }
            "end" => {
                let permit = permits.remove(&id.expect("as recorded")).expect("it was let in");
                let settled = match step["result"].as_str().expect("as recorded") {
                    "success" | "filtered" => Settled::Success,
                    _ => Settled::Failure,
                };
                breaker.settle(&config, permit, now, settled);
                let sums = breaker.in_window().map(|(c, f)| (u64::from(c), u64::from(f)));
                let theirs = step["fires"].as_u64().zip(step["failures"].as_u64());
                assert_eq!(sums, theirs, "{name}: {step}");
                let state = state(&breaker, number(&step["at_ms"]));
                assert_eq!(state, step["state"], "{name}: {step}");
            }
            "state" if step["state"] == "half_open" => {
                breaker.pass_time(&config, now, &half);
                let state = state(&breaker, number(&step["at_ms"]));
                assert_eq!(state, "half_open", "{name}: {step}");
            }
            _ => continue,
        }
        compared += 1;
    }
    compared
}

fn state(breaker: &Breaker, millis: f64) -> &'static str {
    match breaker.state(at(millis)) {
        BreakerState::Closed => "closed",
        BreakerState::Open => "open",
        BreakerState::HalfOpen => "half_open",
    }
}

#[test]
fn opossum_circuit_breaker() {
    let compared: usize = cases("opossum/breaker.json").iter().map(replay).sum();
    assert!(compared > 500);
}
