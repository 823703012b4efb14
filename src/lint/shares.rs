//! How often the state of a strategy exists: a budget of ten tokens kept by each of a thousand
//! clients is a budget of ten thousand.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::policy::stack::CallerScope;
use crate::policy::stack::Scope;
use crate::policy::stack::TargetScope;
use crate::policy::throttle::ThrottleConfig;
use crate::scenario::model::Caller;
use crate::scenario::model::Model;
use crate::scenario::model::PolicyId;

/// The state of one strategy of one policy, counted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Instances {
    /// `budget`, `throttle`, `breaker` or `bulkhead`.
    pub strategy: &'static str,
    /// Whose calls share one state.
    pub per: Scope,
    /// How many there are once everybody has called.
    pub count: u64,
    /// Tokens of all budgets together when full, or the retries that they pay for; attempts per
    /// second of all throttles with a rate; what all bulkheads together let through.
    pub sum: Option<f64>,
}

/// The stateful strategies of a policy.
pub(super) fn instances(model: &Model, policy: PolicyId) -> Vec<Instances> {
    let it = &model.policies[policy];
    let mut all = Vec::new();
    if let Some(budget) = it.retry.as_ref().and_then(|retry| retry.budget) {
        let count = count_instances(model, policy, budget.per);
        let sum = budget.config.reserve_retries().map(|retries| count as f64 * retries);
        all.push(Instances { strategy: "budget", per: budget.per, count, sum });
    }
    if let Some(throttle) = &it.throttle {
        let count = count_instances(model, policy, throttle.per);
        let sum = match throttle.config {
            ThrottleConfig::Rate(rate) => {
                Some(count as f64 * f64::from(rate.milli_per_s) / 1_000.0)
            }
            ThrottleConfig::FixedWindow(window) => {
                Some(count as f64 * f64::from(window.limit) / window.period.as_secs_f64())
            }
            _ => None,
        };
        all.push(Instances { strategy: "throttle", per: throttle.per, count, sum });
    }
    if let Some(breaker) = &it.breaker {
        let count = count_instances(model, policy, breaker.per);
        all.push(Instances { strategy: "breaker", per: breaker.per, count, sum: None });
    }
    if let Some(bulkhead) = &it.bulkhead {
        let count = count_instances(model, policy, bulkhead.per);
        let sum = Some(count as f64 * f64::from(bulkhead.config.limit));
        all.push(Instances { strategy: "bulkhead", per: bulkhead.per, count, sum });
    }
    all
}

/// How many states there are of a strategy of `policy` that is kept per `per`.
pub(super) fn count_instances(model: &Model, policy: PolicyId, per: Scope) -> u64 {
    // Groups of callers, each with what it calls; a group counts once per process where the
    // state is the caller's own.
    let mut states = BTreeSet::new();
    for edge in model.edges.iter().filter(|edge| edge.policy == policy) {
        let (group, processes) = match edge.caller {
            Caller::Population(i) => ((false, i), model.populations[i].size),
            Caller::Service(i) => ((true, i), model.services[i].replicas),
        };
        let (group, processes) = match per.caller {
            CallerScope::Caller => (Some(group), processes),
            CallerScope::Group => (Some(group), 1),
            CallerScope::All => (None, 1),
        };
        let target = (per.target == TargetScope::Target).then_some(edge.target);
        states.insert((group, target, processes));
    }
    states.iter().map(|(_, _, processes)| u64::from(*processes)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;

    #[test]
    fn state_is_counted_by_whose_calls_share_it() {
        #[track_caller]
        fn check(per: &str, expected: u64) {
            // Two populations call x; x (3 replicas) calls y and z, all under one policy.
            let text = format!(
                "{{schema: 1, name: t, clients: {{c: {{population: 1000, arrivals: {{poisson: 1/s}}, \
                 calls: x, policy: p}}, d: {{population: 10, arrivals: {{poisson: 1/s}}, calls: x, \
                 policy: p}}}}, services: {{x: {{replicas: 3, workers: 1, work: 1ms, calls: [{{to: y, \
                 policy: p}}, {{to: z, policy: p}}]}}, y: {{workers: 1, work: 1ms}}, z: {{workers: 1, \
                 work: 1ms}}}}, policies: {{p: {{bulkhead: {{limit: 10, per: {per}}}}}}}}}"
            );
            let scenario = scenario::parse("test", text.as_bytes()).unwrap();
            let found = instances(&scenario.variants[0].model, 0);
            assert_eq!((found[0].count, found[0].sum), (expected, Some(10.0 * expected as f64)));
        }
        check("[caller, target]", 1000 + 10 + 3 + 3);
        check("[caller]", 1000 + 10 + 3);
        check("[group, target]", 1 + 1 + 2);
        check("[group]", 3);
        check("[target]", 3);
        check("[]", 1);
    }
}
