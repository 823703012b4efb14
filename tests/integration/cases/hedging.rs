//! Hedges that a budget pays for.

use stormlab::policy::budget::BudgetConfig;
use stormlab::policy::hedge::HedgeConfig;
use stormlab::policy::hedge::HedgeDelay;
use stormlab::policy::outcome::ClassSet;
use stormlab::policy::stack::Policy;
use stormlab::policy::stack::Scope;
use stormlab::policy::stack::Scoped;
use stormlab::units::Duration;

use crate::lab;
use crate::lab::Diary;

/// Calls every half second under a hedge after 50 ms that may have one hedge out at a time.
fn hedged(calls: u32, max_attempts: u32, server: &str) -> Diary {
    let bursts: Vec<_> = (0..u64::from(calls)).map(|call| (1, 500 * call)).collect();
    let mut model = lab::model(&format!(
        "run: {{ horizon: 5s, warm_up: 0s, window: 1s }}\n\
         clients: {{ web: {{ arrivals: {}, calls: shop, policy: p }} }}\n\
         policies: {{ p: {{ timeout: 5s }} }}\n\
         services: {{ shop: {server} }}\n",
        lab::bursts(&bursts)
    ));
    let delay = HedgeDelay::After(Duration::from_millis(50));
    let config = HedgeConfig { delay, max_attempts, on: ClassSet::TRANSIENT };
    let mut policy = Policy::plain("p").with_hedge(config);
    if let Some(hedge) = &mut policy.hedge {
        let config = BudgetConfig::Concurrent { limit: 1 };
        hedge.budget = Some(Scoped { config, per: Scope::DEFAULT });
    }
    let index = model.edges[0].policy;
    model.policies[index] = policy;
    lab::diary(&model)
}

/// A hedge that loses gives its place back, and so does one that wins.
#[test]
fn places_of_hedges_are_given_back_when_the_call_is_over() {
    let diary = hedged(4, 2, "{ workers: 9, work: 200ms, cancellation: full }");
    assert_eq!(diary.moments_ms(&["reached", "hedge"]), [50.0, 550.0, 1050.0, 1550.0]);
    assert_eq!(diary.count(&["denied"]), 0);
}

/// Each attempt side by side holds a place of its own: with one place there is one hedge, however
/// many attempts the call may have.
#[test]
fn each_attempt_side_by_side_holds_a_place_of_its_own() {
    let diary = hedged(2, 4, "{ workers: 9, work: 200ms }");
    assert_eq!(diary.moments_ms(&["reached", "hedge"]), [50.0, 550.0]);
    assert_eq!(diary.moments_ms(&["denied"]), [100.0, 600.0]);
}
