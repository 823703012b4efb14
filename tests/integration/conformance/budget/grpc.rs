//! gRPC's retry throttle: grpcio (core) and grpc-js.

use serde_json::Value;
use stormlab::policy::budget::Asked;
use stormlab::policy::budget::BudgetConfig;
use stormlab::policy::budget::Failure;
use stormlab::policy::budget::Tab;
use stormlab::policy::outcome::Class;
use stormlab::policy::outcome::ClassSet;
use stormlab::units::SimTime;

use crate::conformance::trace::cases;
use crate::conformance::trace::number;

const CORE_MOST_ATTEMPTS: u64 = 5;

fn bucket(max_tokens: f64, ratio_milli: u32) -> BudgetConfig {
    let max = (max_tokens * 1_000.0) as u32;
    BudgetConfig::token_bucket(max, ratio_milli, max / 2, ClassSet::of(&[Class::Unavailable]))
}

/// Every call of a case: the attempts made are those the bucket grants. The number of refusals.
#[track_caller]
fn replay(case: &Value, config: &BudgetConfig, most_attempts: u64) -> u64 {
    let now = SimTime::ZERO;
    let mut budget = config.start(now);
    let mut refusals = 0;
    for (index, step) in case["steps"].as_array().expect("steps").iter().enumerate() {
        let place = format!("{}, call {index}: {step}", case["name"]);
        let answers = step["answers"].as_array().expect("answers");
        let mut tab = Tab::NEW;
        for (made, answer) in (1u64..).zip(answers) {
            let answer = answer.as_str().expect("an answer");
            let is_last = made == answers.len() as u64;
            if answer == "OK" {
                budget.attempt_succeeded(config, now, made == 1, &mut tab);
                assert!(is_last, "{place}");
                break;
            }
            let listed = answer.starts_with("UNAVAILABLE");
            let class = if listed { Class::Unavailable } else { Class::Internal };
            let last = made == most_attempts;
            budget.attempt_failed(config, now, Failure { class, retried: listed, last }, &mut tab);
            if !listed || last || answer.contains("pushback=-1") {
                assert!(is_last, "{place}");
                break;
            }
            let granted = budget.may_retry(config, now, class, &mut tab).is_granted();
            assert_eq!(granted, !is_last, "{place}, attempt {made}");
            refusals += u64::from(!granted);
        }
    }
    refusals
}

#[test]
fn grpc_core_throttle() {
    for case in cases("grpc-core/throttle.json") {
        let written = case["token_ratio"].as_str().expect("a ratio");
        // Without a point it counts thousandths, and what is finer than thousandths is cut.
        let ratio_milli = match written.split_once('.') {
            None => written.parse().expect("a number"),
            Some((whole, rest)) => {
                let thousandths = format!("{rest:0<3}");
                whole.parse::<u32>().expect("a number") * 1_000
                    + thousandths[..3].parse::<u32>().expect("a number")
            }
        };
        let config = bucket(number(&case["max_tokens"]), ratio_milli);
        let most = case["max_attempts"].as_u64().expect("a count").min(CORE_MOST_ATTEMPTS);
        replay(&case, &config, most);
    }
}

/// It is asked when the wait is over: each refusal has slept its back-off.
#[test]
fn grpc_js_throttle() {
    for case in cases("grpc-js/throttle.json") {
        let ratio_milli = (number(&case["token_ratio"]) * 1_000.0).round() as u32;
        let mut config = bucket(number(&case["max_tokens"]), ratio_milli);
        if let BudgetConfig::TokenBucket { asked, .. } = &mut config {
            *asked = Asked::AfterWait;
        }
        assert!(config.asked_after_wait());
        let most = case["max_attempts"].as_u64().expect("a count");
        let refusals = replay(&case, &config, most);
        let sum = |key: &str| {
            let steps = case["steps"].as_array().expect("steps");
            steps.iter().map(|step| step[key].as_u64().expect("a count")).sum::<u64>()
        };
        let calls = case["steps"].as_array().map_or(0, Vec::len) as u64;
        assert_eq!(sum("waits"), sum("attempts_made") - calls + refusals, "{}", case["name"]);
    }
}
