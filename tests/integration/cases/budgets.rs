//! Faults of budgets, quotas and throttles.

use stormlab::policy::budget::BudgetConfig;
use stormlab::policy::budget::DepositPoint;
use stormlab::policy::budget::Failure;
use stormlab::policy::budget::Tab;
use stormlab::policy::budget::quota::Costs;
use stormlab::policy::budget::quota::QuotaConfig;
use stormlab::policy::budget::quota::Refund;
use stormlab::policy::budget::slots::ActiveShare;
use stormlab::policy::budget::window::WindowConfig;
use stormlab::policy::budget::window::WindowRule;
use stormlab::policy::outcome::Class;
use stormlab::policy::outcome::ClassSet;
use stormlab::policy::throttle::rate::RateConfig;
use stormlab::policy::throttle::rate::WhenEmpty;
use stormlab::scenario::model::Effect;
use stormlab::units::Duration;
use stormlab::units::SimTime;

use crate::lab::Diary;
use crate::lab::diary;
use crate::lab::model;
use crate::lab::with_trigger;

/// `calls` at once, from `population` clients, to a service 5 ms away that refuses for 100 s.
fn outage(population: u32, calls: u32, policy: &str) -> Diary {
    let calm = model(&format!(
        "
run: {{ horizon: 100s, warm_up: 0s, window: 1s }}
clients:
  web:
    population: {population}
    arrivals: {{ burst: {{ count: {calls}, at: 1s }} }}
    calls: server
    policy: p
services: {{ server: {{ workers: 1, work: 1ms }} }}
links: {{ default: {{ latency: 5ms }} }}
policies: {{ p: {policy} }}
"
    ));
    diary(&with_trigger(calm, 0, 100_000, Effect::Refuse(0)))
}

/// A policy with this budget and back-off, and so many attempts.
fn retry(attempts: &str, backoff: &str, budget: &str) -> String {
    format!(
        "{{ retry: {{ max_attempts: {attempts}, backoff: {backoff}, budget: {{ {budget} }} }} }}"
    )
}

/// A share of what is active: a lone request counts itself, and waiting retries do not add to what
/// they are a share of.
#[test]
fn c43_retries_in_back_off_count_on_one_side_only() {
    let retries = |calls, share: &str| {
        let budget = format!("active_share: {{ share: {share}, min: 0 }}");
        let diary = outage(1, calls, &retry("3", "25ms", &budget));
        (diary.count(&["backs-off"]), diary.count(&["server", "after-refusal"]))
    };
    assert_eq!(retries(1, "100%"), (2, 2), "one after the other, each time");
    // The failure after i others finds i retries waiting beside 1000 − i attempts, itself included:
    // they are granted until i ≥ ⌊0.2 (1000 − i)⌋. When these fail in their turn, they are all
    // that is active, and a fifth of it is less than what is still under way.
    assert_eq!(retries(1_000, "20%"), (166, 166));
}

/// Six requests fail at once where three retries may be under way: three are retried, three fail
/// fast.
#[test]
fn c45_a_small_population_shares_three_retries() {
    let diary = outage(1, 6, &retry("2", "1s", "concurrent: { limit: 3 }"));
    assert_eq!(diary.count(&["backs-off"]), 3);
    assert_eq!(diary.moments_ms(&["ended", "budget"]), [1_010.0; 3]);
    assert_eq!(diary.moments_ms(&["ended", "attempts"]), [2_020.0; 3]);
    // A place is held through the wait and the attempt: who comes meanwhile is refused, and the
    // retry itself asks anew with its own place given back.
    let diary = outage(1, 6, &retry("3", "1s", "concurrent: { limit: 3 }"));
    assert_eq!(diary.count(&["backs-off"]), 6);
}

/// Ten tokens and one more each second, asked for by a hundred callers at any time: 70 retries in a
/// minute.
#[test]
fn c47_a_bucket_refills_at_its_rate() {
    let config = BudgetConfig::Rate(RateConfig {
        milli_per_s: 1_000,
        burst: 10,
        when_empty: WhenEmpty::Refuse,
    });
    let (mut tab, down) = (Tab::NEW, Class::Unavailable);
    let mut budget = config.start(SimTime::ZERO);
    let mut sent = 0;
    for tick in 0..=600u64 {
        let now = SimTime::ZERO + Duration::from_millis(100 * tick);
        for _ in 0..100 {
            sent += u64::from(budget.may_retry(&config, now, down, &mut tab).is_granted());
        }
        assert_eq!(sent, 10 + tick / 10, "after {} ms", 100 * tick);
    }
    assert_eq!(sent, 70);
}

/// 101 failures that are not retried leave the retry of one that is.
#[test]
fn c49_failures_that_are_not_retried_cost_nothing() {
    let (now, down) = (SimTime::ZERO, Class::Unavailable);
    let quota = QuotaConfig {
        capacity: 500,
        costs: Costs::all(5),
        reward: 1,
        refund: Refund::Call,
        waits_when_refused: false,
    };
    let (rule, ttl) = (WindowRule::Exact, Duration::from_secs(10));
    let active = ActiveShare { share_milli: 0, least: 1, interval: Duration::ZERO };
    for config in [
        BudgetConfig::token_bucket(10_000, 100, 5_000, ClassSet::TRANSIENT),
        BudgetConfig::Quota(quota),
        BudgetConfig::Window(WindowConfig::new(rule, 200, DepositPoint::Success, ttl, 1)),
        BudgetConfig::Concurrent { limit: 1 },
        BudgetConfig::ActiveShare(active),
    ] {
        let mut budget = config.start(now);
        for _ in 0..101 {
            let mut tab = Tab::NEW;
            budget.call_started(&config, now);
            budget.attempt_sent(&config, now, &mut tab);
            let wrong = Failure { class: Class::Rejected, retried: false, last: false };
            budget.attempt_failed(&config, now, wrong, &mut tab);
            budget.attempt_over(&config, now, &mut tab);
        }
        let mut tab = Tab::NEW;
        budget.attempt_failed(&config, now, Failure::of(down), &mut tab);
        assert!(budget.may_retry(&config, now, down, &mut tab).is_granted(), "{config:?}");
    }
}

/// Fifty clients with a quota of 500 each have 5,000 free retries, with one quota 100.
#[test]
fn c51_whose_quota_it_is_decides_how_many_retries_there_are() {
    let retries = |per: &str| {
        let budget = format!("quota: {{ capacity: 500, cost: 5, per: {per} }}");
        outage(50, 20_000, &retry("2", "none", &budget)).count(&["backs-off"])
    };
    assert_eq!(retries("[caller, target]"), 5_000);
    assert_eq!(retries("[group, target]"), 100);
}

/// An absolute throttle is no percentage: one call that may go on for ever is retried four times
/// of ten tokens.
#[test]
fn c53_an_absolute_throttle_is_no_percentage() {
    let retries = |tokens: u32| {
        let budget = format!("token_bucket: {{ max_tokens: {tokens}, token_ratio: 0.1 }}");
        outage(1, 1, &retry("unlimited", "1ms", &budget)).count(&["backs-off"])
    };
    assert_eq!((retries(10), retries(100), retries(1_000)), (4, 49, 499));
}

/// Two requests a second under a share of 20 % and a minimum of 10/s: ten retries a second are
/// made. A failure that the policy does not name is not retried, whatever the budget.
#[test]
fn c55_a_minimum_carries_low_traffic() {
    let outcome = |on: &str, rule: &str| {
        let calm = model(&format!(
            "
run: {{ horizon: 60s, warm_up: 0s, window: 1s }}
clients: {{ web: {{ arrivals: {{ constant: 2/s }}, calls: server, policy: p }} }}
services: {{ server: {{ workers: 1, work: 1ms }} }}
policies:
  p:
    attempt_timeout: 10ms
    retry:
      max_attempts: 6
      on: {on}
      backoff: none
      budget: {{ window: {{ share: 20%, deposit: success, min_per_second: 10, rule: {rule} }} }}
"
        ));
        let diary = diary(&with_trigger(calm, 0, 60_000, Effect::Hang(0)));
        let calls = diary.count(&["calls"]);
        (diary.count(&["backs-off"]), diary.count(&["denied"]), calls)
    };
    for rule in ["exact", "finagle"] {
        let (retries, denied, calls) = outcome("timeout", rule);
        assert_eq!((retries, denied), (5 * calls, 0), "{rule}");
    }
    // Calls that come on the ends of its slots: there tower forgets a slot too late.
    let (retries, denied, _) = outcome("timeout", "tower");
    assert!(retries >= 9 * 60 && denied > 0, "{retries} retries, {denied} denied");
    assert_eq!(outcome("unavailable", "exact").0, 0);
}

#[test]
fn c57_a_share_with_a_minimum() {
    let envoy = ActiveShare { share_milli: 200, least: 3, interval: Duration::ZERO };
    assert_eq!([25, 2, 0, 15, 19, 20].map(|active| envoy.limit(active)), [5, 3, 3, 3, 3, 4]);
}
