//! Envoy's concurrent retries, against the binary: calls that all fail at one moment.

use stormlab::policy::budget::BudgetConfig;
use stormlab::policy::budget::Failure;
use stormlab::policy::budget::Tab;
use stormlab::policy::budget::slots::ActiveShare;
use stormlab::policy::outcome::Class;
use stormlab::units::Duration;
use stormlab::units::SimTime;

use crate::conformance::trace::cases;
use crate::conformance::trace::number;

#[test]
fn envoy_max_retries_and_retry_budget() {
    let (now, down) = (SimTime::ZERO, Class::Unavailable);
    let mut seen = 0;
    for case in cases("envoy/limits.json") {
        if case["num_retries"] != 1 {
            continue; // Which retries meet which depends on chance there.
        }
        seen += 1;
        let thresholds = &case["thresholds"];
        let config = match (&thresholds["retry_budget"], &thresholds["max_retries"]) {
            (serde_json::Value::Null, limit) => {
                BudgetConfig::Concurrent { limit: limit.as_u64().unwrap_or(3) as u32 }
            }
            (budget, _) => BudgetConfig::ActiveShare(ActiveShare {
                share_milli: match &budget["budget_percent"]["value"] {
                    serde_json::Value::Null => 200,
                    percent => (number(percent) * 10.0) as u32,
                },
                least: budget["min_retry_concurrency"].as_u64().unwrap_or(3) as u32,
                interval: Duration::ZERO,
            }),
        };
        let mut budget = config.start(now);
        let mut tabs = vec![Tab::NEW; case["calls"].as_u64().expect("a count") as usize];
        tabs.iter_mut().for_each(|tab| budget.attempt_sent(&config, now, tab));
        let mut retries = 0;
        for tab in &mut tabs {
            budget.attempt_failed(&config, now, Failure::of(down), tab);
            retries += u64::from(budget.may_retry(&config, now, down, tab).is_granted());
            budget.attempt_over(&config, now, tab);
        }
        assert_eq!(Some(retries), case["retries_in_all"].as_u64(), "{}", case["name"]);
        assert_eq!(u64::from(budget.places()), retries);
        // The retries fail too, and give their places back.
        let last = Failure { class: down, retried: true, last: true };
        tabs.iter_mut().for_each(|tab| budget.attempt_failed(&config, now, last, tab));
        assert_eq!(budget.places(), 0);
    }
    assert_eq!(seen, 10);
}
