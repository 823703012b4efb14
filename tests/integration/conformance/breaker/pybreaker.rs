//! pybreaker 1.4.1: calls one after another.

use serde_json::Value;
use stormlab::policy::breaker::Answer;
use stormlab::policy::breaker::BreakerState;
use stormlab::policy::breaker::Settled;

use super::Bench;
use crate::conformance::trace::cases;
use crate::conformance::trace::number;

fn replay(case: &Value) -> usize {
    let option = |key: &str, otherwise: f64| case["options"].get(key).map_or(otherwise, number);
    let mut bench = Bench::written(&format!(
        "{{ consecutive: {}, open_for: {}s, half_open: {{ closes_after: {} }} }}",
        option("fail_max", 5.0),
        option("reset_timeout", 60.0),
        option("success_threshold", 1.0),
    ));
    let steps = case["steps"].as_array().expect("as recorded");
    for step in steps {
        let millis = number(&step["at_ms"]);
        let answer = bench.ask(millis);
        assert_eq!(matches!(answer, Answer::Granted(_)), step["ran"], "{step}");
        if let Answer::Granted(permit) = answer {
            let success = step["outcome"] == "success";
            let settled = if success { Settled::Success } else { Settled::Failure };
            bench.leave(millis, permit, settled);
        }
        let state = match bench.state(millis) {
            BreakerState::Closed => "closed",
            BreakerState::Open => "open",
            BreakerState::HalfOpen => "half-open",
        };
        assert_eq!(state, step["after"], "{}: {step}", case["name"]);
    }
    steps.len()
}

#[test]
fn pybreaker_circuit_breaker() {
    let compared: usize = cases("python-others/pybreaker.json").iter().map(replay).sum();
    assert!(compared > 100);
}
