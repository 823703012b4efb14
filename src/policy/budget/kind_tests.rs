//! Golden values of each kind, and what none of them may ever do.

use super::*;
use crate::policy::budget::counter::CounterConfig;
use crate::policy::budget::counter::TtlFrom;
use crate::policy::budget::elapsed::ElapsedLimit;
use crate::policy::budget::quota::Costs;
use crate::policy::budget::quota::QuotaConfig;
use crate::policy::budget::quota::Refund;
use crate::policy::budget::slots::ActiveShare;
use crate::policy::budget::window::WindowConfig;
use crate::policy::budget::window::WindowRule;
use crate::policy::outcome::ClassSet;
use crate::policy::throttle::rate::RateConfig;
use crate::policy::throttle::rate::WhenEmpty;
use proptest::collection::vec;
use proptest::prelude::*;

const DOWN: Class = Class::Unavailable;
const ZERO: SimTime = SimTime::ZERO;

fn at(millis: u64) -> SimTime {
    SimTime::from_nanos(millis * 1_000_000)
}

/// Attempts of one call whose every attempt fails.
fn attempts(budget: &mut Budget, config: &BudgetConfig, most: u32) -> u32 {
    let mut tab = Tab::NEW;
    for attempt in 1..=most {
        let failure = Failure { class: DOWN, retried: true, last: attempt == most };
        budget.attempt_failed(config, ZERO, failure, &mut tab);
        if attempt == most || !budget.may_retry(config, ZERO, DOWN, &mut tab).is_granted() {
            return attempt;
        }
    }
    most
}

/// Mission (c): ten tokens, four attempts. The last attempt of a call pays as well; where it does
/// not, a token more is left.
#[test]
fn the_pipeline_with_a_bucket_of_ten() {
    let config = BudgetConfig::token_bucket(10_000, 100, 5_000, ClassSet::TRANSIENT);
    let mut budget = config.start(ZERO);
    let calls: Vec<_> =
        (0..3).map(|_| (attempts(&mut budget, &config, 4), budget.balance(&config))).collect();
    assert_eq!(calls, [(4, 6_000), (1, 5_000), (1, 4_000)]);

    // From five tokens it takes eleven successes in a row until a failure is retried.
    let retried_after = |successes: u32| {
        let mut budget = config.start(ZERO);
        let mut tab = Tab::NEW;
        (0..5).for_each(|_| budget.attempt_failed(&config, ZERO, Failure::of(DOWN), &mut tab));
        (0..successes).for_each(|_| budget.attempt_succeeded(&config, ZERO, true, &mut tab));
        attempts(&mut budget, &config, 2) == 2
    };
    assert_eq!((1..100).find(|successes| retried_after(*successes)), Some(11));

    let mut free = config;
    if let BudgetConfig::TokenBucket { last_attempt_pays, .. } = &mut free {
        *last_attempt_pays = false;
    }
    let mut budget = free.start(ZERO);
    let calls: Vec<_> =
        (0..3).map(|_| (attempts(&mut budget, &free, 4), budget.balance(&free))).collect();
    assert_eq!(calls, [(4, 7_000), (2, 5_000), (1, 4_000)]);
}

/// google-cloud-gax: 100 tokens, ten a failure, none at 50 or below; any other answer gives one.
#[test]
fn five_failures_stop_retries_and_one_answer_restores_them() {
    let config = BudgetConfig::TokenBucket {
        max_milli: 100_000,
        ratio_milli: 1_000,
        threshold_milli: 50_000,
        counts: ClassSet::TRANSIENT,
        cost_milli: 10_000,
        last_attempt_pays: true,
        credit: Credit::Answered,
        asked: Asked::BeforeWait,
    };
    let mut budget = config.start(ZERO);
    assert_eq!(attempts(&mut budget, &config, 100), 5);
    assert!(budget.is_exhausted(&config, ZERO, DOWN));
    let denied = Failure { class: Class::Denied, retried: false, last: false };
    budget.attempt_failed(&config, ZERO, denied, &mut Tab::default());
    assert_eq!(budget.balance(&config), 51_000);
    assert!(!budget.is_exhausted(&config, ZERO, DOWN));
}

/// AWS, from 2026: two retries and a success give the last cost back; an earlier one is lost.
#[test]
fn a_quota_gives_the_last_cost_back() {
    let throttled = ClassSet::of(&[Class::RateLimited]);
    let quota = |refund| {
        let costs = Costs::all(14).with(throttled, 5);
        let waits_when_refused = false;
        BudgetConfig::Quota(QuotaConfig {
            capacity: 500,
            costs,
            reward: 1,
            refund,
            waits_when_refused,
        })
    };
    let config = quota(Refund::Call);
    let (mut budget, mut tab) = (config.start(ZERO), Tab::NEW);
    let mut seen = Vec::new();
    for class in [DOWN, DOWN, Class::RateLimited] {
        assert!(budget.may_retry(&config, ZERO, class, &mut tab).is_granted());
        seen.push(budget.balance(&config));
    }
    budget.attempt_succeeded(&config, ZERO, false, &mut tab);
    seen.push(budget.balance(&config));
    budget.attempt_succeeded(&config, ZERO, true, &mut Tab::default());
    seen.push(budget.balance(&config));
    assert_eq!(seen, [486, 472, 467, 472, 473]);

    // The client of the AWS SDK for Rust keeps the last cost, for whichever call succeeds next.
    let config = quota(Refund::Client);
    let mut budget = config.start(ZERO);
    assert!(budget.may_retry(&config, ZERO, DOWN, &mut Tab::default()).is_granted());
    budget.attempt_succeeded(&config, ZERO, true, &mut Tab::default());
    assert_eq!(budget.balance(&config), 500);
}

/// Ratios as each rule has them: deposit, withdrawal, reserve.
#[test]
fn what_each_rule_makes_of_a_ratio() {
    #[track_caller]
    fn check(rule: WindowRule, ratio_milli: u32, expected: (i64, i64, i64)) {
        let (deposit, ttl) = (DepositPoint::Call, Duration::from_secs(10));
        let config = WindowConfig::new(rule, ratio_milli, deposit, ttl, 10);
        assert_eq!(config.amounts(), expected);
        assert_eq!(config.reserve_retries(), 100);
    }
    check(WindowRule::Exact, 300, (300, 1_000, 100_000));
    check(WindowRule::Finagle, 300, (1_000, 3_333, 333_300));
    check(WindowRule::Tower, 300, (1, 3, 300));
    check(WindowRule::Tower, 600, (1, 1, 100));
    check(WindowRule::Tower, 2_000, (1_000, 500, 50_000));
    check(WindowRule::Finagle, 0, (0, 1, 100));
}

/// The exact rule forgets what is ten slots old, on the border of a slot.
#[test]
fn an_exact_window_forgets_in_tenths() {
    let (rule, ttl) = (WindowRule::Exact, Duration::from_secs(10));
    let config = BudgetConfig::Window(WindowConfig::new(rule, 1_000, DepositPoint::Call, ttl, 0));
    let granted_at = |millis| {
        let mut budget = config.start(ZERO);
        budget.call_started(&config, at(1_999));
        !budget.is_exhausted(&config, at(millis), DOWN)
    };
    assert!(granted_at(1_999) && granted_at(10_999));
    assert!(!granted_at(11_000));
}

/// Under a tenth: one retry for the first ten calls, two from the eleventh on.
#[test]
fn a_client_ratio_stays_below_its_share() {
    let config = BudgetConfig::ClientRatio { share_milli: 100, window: Duration::from_secs(120) };
    let mut budget = config.start(ZERO);
    let retries: Vec<_> = (0..1_000)
        .map(|_| {
            budget.call_started(&config, ZERO);
            attempts(&mut budget, &config, 3) - 1
        })
        .collect();
    assert_eq!(retries[..11], [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(retries.iter().sum::<u32>(), 100);
}

/// What was sent within the interval counts although it is over; what is still out counts anyway.
#[test]
fn an_interval_lets_what_is_over_count() {
    let interval = Duration::from_secs(1);
    let config = BudgetConfig::ActiveShare(ActiveShare { share_milli: 1_000, least: 0, interval });
    let mut budget = config.start(ZERO);
    let (mut long, mut short) = (Tab::NEW, Tab::NEW);
    budget.attempt_sent(&config, at(0), &mut long);
    budget.attempt_sent(&config, at(500), &mut short);
    budget.attempt_over(&config, at(501), &mut short);
    let granted = |millis| {
        let mut copy = budget.clone();
        (0..9)
            .filter(|_| copy.may_retry(&config, at(millis), DOWN, &mut Tab::default()).is_granted())
            .count()
    };
    assert_eq!([600, 1_499, 1_500, 9_000].map(granted), [2, 2, 1, 1]);
    budget.attempt_over(&config, at(9_000), &mut long);
    assert!(budget.is_exhausted(&config, at(9_000), DOWN));
}

#[test]
fn elapsed_time_with_the_wait_and_without() {
    #[track_caller]
    fn check(counts_wait: bool, elapsed: u64, wait: u64, expected: bool) {
        let limit = ElapsedLimit { after: Duration::from_secs(900), counts_wait };
        let span = Duration::from_secs;
        assert_eq!(limit.allows(span(elapsed), span(wait)), expected);
    }
    check(true, 0, 900, true);
    check(true, 1, 900, false);
    check(true, 0, 1_800, false); // C35: a hint of half an hour.
    check(true, 5, u64::MAX, false);
    check(false, 0, 1_800, true);
    check(false, 899, 1_800, true);
    check(false, 900, 0, false);
}

fn every_kind() -> Vec<BudgetConfig> {
    let (ttl, point) = (Duration::from_millis(700), DepositPoint::Final);
    let rate =
        |when_empty| BudgetConfig::Rate(RateConfig { milli_per_s: 333, burst: 3, when_empty });
    let active =
        |interval| BudgetConfig::ActiveShare(ActiveShare { share_milli: 300, least: 1, interval });
    let quota = |refund, waits_when_refused| {
        BudgetConfig::Quota(QuotaConfig {
            capacity: 40,
            costs: Costs::all(7),
            reward: 1,
            refund,
            waits_when_refused,
        })
    };
    let counter = |ttl_from| BudgetConfig::Counter(CounterConfig { limit: 2, ttl, ttl_from });
    vec![
        BudgetConfig::token_bucket(10_000, 100, 5_000, ClassSet::TRANSIENT),
        quota(Refund::Call, false),
        quota(Refund::Client, true),
        BudgetConfig::Window(WindowConfig::new(WindowRule::Exact, 200, point, ttl, 3)),
        BudgetConfig::Window(WindowConfig::new(WindowRule::Finagle, 200, point, ttl, 3)),
        BudgetConfig::Window(WindowConfig::new(WindowRule::Tower, 200, point, ttl, 3)),
        BudgetConfig::Concurrent { limit: 3 },
        active(Duration::ZERO),
        active(ttl),
        BudgetConfig::ClientRatio { share_milli: 100, window: ttl },
        rate(WhenEmpty::Refuse),
        rate(WhenEmpty::Wait),
        counter(TtlFrom::First),
        counter(TtlFrom::Last),
    ]
}

/// The ten-thousandth question is answered like any other.
#[test]
fn no_kind_gives_way_in_the_long_run() {
    for config in every_kind() {
        let mut budget = config.start(ZERO);
        for _ in 0..10_000 {
            let failure = Failure { class: DOWN, retried: true, last: false };
            budget.attempt_failed(&config, ZERO, failure, &mut Tab::default());
            let answer = budget.may_retry(&config, ZERO, DOWN, &mut Tab::default());
            assert!(!matches!(answer, Answer::NotBefore(Duration::MAX)), "{config:?}");
        }
        let lends =
            matches!(config, BudgetConfig::Rate(rate) if rate.when_empty == WhenEmpty::Wait);
        assert_eq!(budget.is_exhausted(&config, ZERO, DOWN), !lends, "{config:?}");
    }
}

proptest! {
    /// Calls that come, fail, succeed and leave in any order, under settings that may change to
    /// another kind: places are those that calls hold, bounds hold, and nothing overflows.
    #[test]
    fn places_are_given_back_whatever_happens(
        steps in vec((0..8usize, 0..6u8, 0u64..2_000_000_000), 0..400),
        kind in 0..14usize,
        other in 0..14usize,
        change_after in 0..800usize,
    ) {
        let kinds = every_kind();
        let mut tabs = [Tab::NEW; 8];
        let mut now = ZERO;
        let mut budget = kinds[kind].start(now);
        for (index, (call, step, pause)) in steps.into_iter().enumerate() {
            let config = if index < change_after { &kinds[kind] } else { &kinds[other] };
            let tab = &mut tabs[call];
            match step {
                0 => {
                    budget.call_started(config, now);
                    budget.call_abandoned(config, now, tab);
                    *tab = Tab::NEW;
                    budget.attempt_sent(config, now, tab);
                }
                1 => {
                    budget.attempt_succeeded(config, now, true, tab);
                    budget.attempt_over(config, now, tab);
                }
                2 | 3 => {
                    budget.attempt_failed(config, now, Failure::of(DOWN), tab);
                    let _ = budget.may_retry(config, now, DOWN, tab);
                    budget.attempt_over(config, now, tab);
                }
                4 => budget.call_abandoned(config, now, tab),
                _ => now = SimTime::from_nanos(now.as_nanos() + pause),
            }
            if index < change_after {
                let held = tabs.iter().filter(|tab| tab.holds_place()).count();
                prop_assert_eq!(budget.places() as usize, held);
                if let BudgetConfig::Concurrent { limit } = config {
                    prop_assert!(budget.places() <= *limit);
                }
                if let BudgetConfig::Quota(quota) = config {
                    prop_assert!(budget.balance(config) <= i64::from(quota.capacity));
                }
            }
        }
    }
}
