//! How often the state of a strategy exists: a budget of ten tokens kept by each of a thousand
//! clients is a budget of ten thousand.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::policy::stack::CallerScope;
use crate::policy::stack::HedgeDelay;
use crate::policy::stack::Policy;
use crate::policy::stack::Scope;
use crate::policy::stack::TargetScope;
use crate::policy::throttle::ThrottleConfig;
use crate::scenario::model::Caller;
use crate::scenario::model::Model;
use crate::scenario::model::PolicyId;

/// The state of one strategy of one policy, counted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Instances {
    /// `budget`, `hedge budget`, `latencies of the hedge`, `throttle`, `breaker` or `bulkhead`.
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
    let mut add = |strategy, per, sum_of: Option<f64>| {
        let count = count_instances(model, it, per);
        let sum = sum_of.map(|each| count as f64 * each);
        all.push(Instances { strategy, per, count, sum });
    };
    let budgets = [
        ("budget", it.retry.as_ref().and_then(|retry| retry.budget)),
        ("hedge budget", it.hedge.as_ref().and_then(|hedge| hedge.budget)),
    ];
    for (strategy, budget) in budgets {
        if let Some(budget) = budget {
            add(strategy, budget.per, budget.config.reserve_retries());
        }
    }
    if let Some(hedge) = &it.hedge
        && matches!(hedge.config.delay, HedgeDelay::AtPercentile(_))
    {
        add("latencies of the hedge", hedge.per, None);
    }
    if let Some(throttle) = &it.throttle {
        let rate = match throttle.config {
            ThrottleConfig::Rate(rate) => Some(f64::from(rate.milli_per_s) / 1_000.0),
            ThrottleConfig::FixedWindow(window) => {
                Some(f64::from(window.limit) / window.period.as_secs_f64())
            }
            _ => None,
        };
        add("throttle", throttle.per, rate);
    }
    if let Some(breaker) = &it.breaker {
        add("breaker", breaker.per, None);
    }
    if let Some(bulkhead) = &it.bulkhead {
        add("bulkhead", bulkhead.per, Some(f64::from(bulkhead.config.limit)));
    }
    all
}

/// How many states there are of a strategy of `policy` that is kept per `per`. Calls under another
/// policy that has it inside share them.
pub(super) fn count_instances(model: &Model, policy: &Policy, per: Scope) -> u64 {
    // Groups of callers, each with what it calls; a group counts once per process where the
    // state is the caller's own.
    let mut states = BTreeSet::new();
    let under = |id: PolicyId| model.policies[id].nested().any(|it| it.name == policy.name);
    for edge in model.edges.iter().filter(|edge| under(edge.policy)) {
        let (group, processes) = match edge.caller {
            Caller::Population(i) => ((false, i), model.processes_of(i)),
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

    #[test]
    fn a_policy_inside_others_has_one_state_for_all_who_come_to_it() {
        let text = "{schema: 1, name: t, clients: {c: {population: 10, arrivals: {poisson: 1/s}, \
             calls: x, policy: p}, d: {population: 5, arrivals: {poisson: 1/s}, calls: x, policy: \
             q}}, services: {x: {workers: 1, work: 1ms}}, policies: {p: {hedge: {after: \
             {percentile: 95%}, budget: {ratio: {share: 5%, deposit: call}}}, inner: q}, q: \
             {breaker: {consecutive: 5, open_for: 1s}}}}";
        let scenario = scenario::parse("test", text.as_bytes()).unwrap();
        let model = &scenario.variants[0].model;
        let found = |policy| -> Vec<_> {
            instances(model, policy).iter().map(|it| (it.strategy, it.count, it.sum)).collect()
        };
        let outer = [("hedge budget", 10, Some(1_000.0)), ("latencies of the hedge", 10, None)];
        assert_eq!(found(0), outer);
        assert_eq!(found(1), [("breaker", 15, None)]);
    }
}
