//! The retry quota of the AWS SDKs: botocore before and after 2026, JavaScript, Rust.

use serde_json::Value;
use stormlab::policy::budget::Answer;
use stormlab::policy::budget::BudgetConfig;
use stormlab::policy::budget::Failure;
use stormlab::policy::budget::Tab;
use stormlab::policy::budget::quota::Costs;
use stormlab::policy::budget::quota::QuotaConfig;
use stormlab::policy::budget::quota::Refund;
use stormlab::policy::outcome::Class;
use stormlab::policy::outcome::ClassSet;
use stormlab::units::SimTime;

use crate::conformance::trace::cases;

const THROTTLED: ClassSet = ClassSet::of(&[Class::RateLimited]);
const TIMEOUT: ClassSet = ClassSet::of(&[Class::Timeout]);

fn quota(costs: Costs, refund: Refund, waits_when_refused: bool) -> QuotaConfig {
    QuotaConfig { capacity: 500, costs, reward: 1, refund, waits_when_refused }
}

/// Every call of a case: attempts and the tokens after it. `class` reads an outcome: `None` is a
/// success, and a class that is not retried comes with `false`.
#[track_caller]
fn replay(
    case: &Value,
    config: QuotaConfig,
    tokens: &str,
    slept_when_refused: impl Fn(&Value) -> bool,
    class: impl Fn(&str) -> Option<(Class, bool)>,
) {
    let (now, config) = (SimTime::ZERO, BudgetConfig::Quota(config));
    let mut budget = config.start(now);
    let most = case["attempts"].as_u64().expect("a count") as usize;
    for (index, step) in case["steps"].as_array().expect("steps").iter().enumerate() {
        let place = format!("{}, call {index}: {step}", case["name"]);
        let outcomes = step["outcomes"].as_array().expect("outcomes");
        let mut tab = Tab::NEW;
        for (made, outcome) in (1..).zip(outcomes) {
            let is_last = made == outcomes.len();
            let Some((class, retried)) = class(outcome.as_str().expect("an outcome")) else {
                budget.attempt_succeeded(&config, now, made == 1, &mut tab);
                break;
            };
            let last = made == most;
            budget.attempt_failed(&config, now, Failure { class, retried, last }, &mut tab);
            if !retried || last {
                assert!(is_last, "{place}");
                break;
            }
            let answer = budget.may_retry(&config, now, class, &mut tab);
            assert_eq!(answer.is_granted(), !is_last, "{place}, attempt {made}");
            let sleeps = answer == Answer::RefusedAfterWait;
            assert_eq!(sleeps, is_last && slept_when_refused(step), "{place}");
        }
        assert_eq!(Some(budget.balance(&config)), step[tokens].as_i64(), "{place}");
    }
}

fn botocore(outcome: &str, retries_429: bool) -> Option<(Class, bool)> {
    match outcome {
        "200" => None,
        "500" | "503" => Some((Class::Unavailable, true)),
        "connect_timeout" | "read_timeout" => Some((Class::Timeout, true)),
        "throttled" => Some((Class::RateLimited, true)),
        "429" => Some((Class::RateLimited, retries_429)),
        "invalid" => Some((Class::Rejected, false)),
        other => panic!("{other}"),
    }
}

/// As many waits as attempts: the last one was slept in vain.
fn slept_in_vain(step: &Value) -> bool {
    step["waits_s"].as_array().map(Vec::len) == step["outcomes"].as_array().map(Vec::len)
}

#[test]
fn botocore_standard_quota_of_2026() {
    for case in cases("botocore/quota.json") {
        let polls = case["name"] == "long_poll_waits_when_drained";
        let config = quota(Costs::all(14).with(THROTTLED, 5), Refund::Call, polls);
        replay(&case, config, "quota", slept_in_vain, |outcome| botocore(outcome, true));
    }
}

#[test]
fn botocore_standard_quota_before_2026() {
    for case in cases("botocore-1.40/quota.json") {
        let config = quota(Costs::all(5).with(TIMEOUT, 10), Refund::Call, false);
        replay(&case, config, "quota", |_| false, |outcome| botocore(outcome, false));
    }
}

#[test]
fn smithy_javascript_quota() {
    for case in cases("smithy/quota.json") {
        let polls = case["name"] == "long_poll_waits_when_drained";
        let config = quota(Costs::all(14).with(THROTTLED, 5), Refund::Call, polls);
        let slept = |step: &Value| step["slept_after_ms"].as_f64() > Some(0.0);
        replay(&case, config, "capacity", slept, |outcome| match outcome {
            "200" => None,
            "500" | "503" | "timeout_error" => Some((Class::Unavailable, true)),
            "throttled" | "429" => Some((Class::RateLimited, true)),
            // The recorded clients do not retry these.
            "501" => Some((Class::Internal, false)),
            "invalid" => Some((Class::Rejected, false)),
            other => panic!("{other}"),
        });
    }
}

/// What a failed call paid last belongs to the client, and goes to the next that succeeds.
#[test]
fn aws_smithy_runtime_token_bucket() {
    for case in cases("aws-smithy-runtime/quota.json") {
        let costs = match case["spec"].as_str() {
            Some("v2_0") => Costs::all(10).with(ClassSet::of(&[Class::Internal]), 5),
            _ => Costs::all(14),
        };
        let config = quota(costs.with(THROTTLED, 5), Refund::Client, false);
        replay(
            &case,
            config,
            "tokens",
            |_| false,
            |outcome| match outcome {
                "ok" => None,
                "transient" => Some((Class::Unavailable, true)),
                "server" => Some((Class::Internal, true)),
                "throttled" => Some((Class::RateLimited, true)),
                "final" => Some((Class::Rejected, false)),
                other => panic!("{other}"),
            },
        );
    }
}
