//! Cases from the field (C), oracles (R), and the invariant of the header.

use super::*;
use crate::policy::budget::purse::TOKEN;
use crate::policy::outcome::ClassSet;
use crate::units::SECOND;
use proptest::collection::vec;
use proptest::prelude::*;

const DOWN: Class = Class::Unavailable;

fn bucket(tokens: u32) -> BudgetConfig {
    let max = tokens * TOKEN;
    BudgetConfig::token_bucket(max, 100, max / 2, ClassSet::TRANSIENT)
}

fn ratio(
    ratio_milli: u32,
    deposit: DepositPoint,
    floor_milli_per_s: u32,
    cap_milli: u32,
) -> BudgetConfig {
    let start_milli = if ratio_milli > 0 { 0 } else { cap_milli };
    BudgetConfig::Ratio { ratio_milli, deposit, floor_milli_per_s, cap_milli, start_milli }
}

fn at(millis: u64) -> SimTime {
    SimTime::from_nanos(millis * 1_000_000)
}

fn fail(budget: &mut Budget, config: &BudgetConfig, now: SimTime, class: Class) {
    budget.attempt_failed(config, now, Failure::of(class), &mut Tab::default());
}

fn asks(budget: &mut Budget, config: &BudgetConfig, now: SimTime) -> bool {
    budget.may_retry(config, now, DOWN, &mut Tab::default()).is_granted()
}

/// Retries of one call whose every attempt fails.
fn failing_call(
    budget: &mut Budget,
    config: &BudgetConfig,
    now: SimTime,
    max_attempts: u32,
) -> u32 {
    budget.call_started(config, now);
    let mut tab = Tab::NEW;
    for attempt in 1.. {
        budget.attempt_failed(config, now, Failure::of(DOWN), &mut tab);
        if attempt == max_attempts || !budget.may_retry(config, now, DOWN, &mut tab).is_granted() {
            return attempt - 1;
        }
    }
    unreachable!("a budget runs out")
}

#[test]
fn r6_retries_ever_sent_through_a_half_full_bucket() {
    #[track_caller]
    fn check(max_attempts: u32, expected: u32) {
        let config = bucket(10);
        let mut budget = config.start(at(0));
        let sent: u32 =
            (0..100).map(|_| failing_call(&mut budget, &config, at(0), max_attempts)).sum();
        assert_eq!(sent, expected, "at most {max_attempts} attempts");
        assert_eq!(budget.balance(&config), 0);
    }
    check(2, 2);
    check(3, 3);
    check(4, 3);
    check(5, 4);
}

#[test]
fn r6_successes_from_an_empty_bucket_until_a_failure_is_retried() {
    let config = bucket(10);
    let mut empty = config.start(at(0));
    (0..20).for_each(|_| fail(&mut empty, &config, at(0), DOWN));
    let retried_after = |successes: u32| {
        let mut budget = empty.clone();
        (0..successes)
            .for_each(|_| budget.attempt_succeeded(&config, at(0), true, &mut Tab::default()));
        fail(&mut budget, &config, at(0), DOWN);
        asks(&mut budget, &config, at(0))
    };
    assert_eq!((1..200).find(|successes| retried_after(*successes)), Some(61));
}

#[test]
fn c53_an_absolute_throttle_is_no_percentage() {
    #[track_caller]
    fn check(tokens: u32, expected: u32) {
        let config = bucket(tokens);
        let mut budget = config.start(at(0));
        assert_eq!(failing_call(&mut budget, &config, at(0), u32::MAX), expected);
        assert_eq!(failing_call(&mut budget, &config, at(0), u32::MAX), 0);
    }
    check(10, 4);
    check(100, 49);
    check(1_000, 499);
}

#[test]
fn only_failures_that_count_take_tokens() {
    let config = bucket(10);
    let mut budget = config.start(at(0));
    fail(&mut budget, &config, at(0), Class::Rejected);
    assert_eq!(budget.balance(&config), 10_000);
    fail(&mut budget, &config, at(0), DOWN);
    assert_eq!(budget.balance(&config), 9_000);
    (0..11).for_each(|_| budget.attempt_succeeded(&config, at(0), false, &mut Tab::default()));
    assert_eq!(budget.balance(&config), 10_000, "ten tenths are one, and the bucket is full");
}

/// 100 calls a second for 600 s after 60 s to settle, every attempt refused.
#[test]
fn r5_amplification_of_a_ratio_budget_in_a_total_outage() {
    #[track_caller]
    fn check(floor: u32, expected: f64) {
        let config = ratio(200, DepositPoint::Call, floor, 20_000);
        let mut budget = config.start(at(0));
        let call = |i: u64| failing_call(&mut budget, &config, at(10 * i), 4);
        let retries: u32 = (0..66_000).map(call).skip(6_000).sum();
        let amplification = 1.0 + f64::from(retries) / 60_000.0;
        assert!((amplification / expected - 1.0).abs() < 0.005, "{amplification}");
    }
    check(0, 1.2);
    check(10_000, 1.3);
}

#[test]
fn when_a_budget_is_paid_decides_what_it_allows() {
    #[track_caller]
    fn check(deposit: DepositPoint, after: [i64; 4]) {
        let config = ratio(200, deposit, 0, 10_000);
        let mut budget = config.start(at(0));
        let mut seen = Vec::new();
        budget.call_started(&config, at(0));
        seen.push(budget.balance(&config));
        fail(&mut budget, &config, at(0), DOWN);
        seen.push(budget.balance(&config));
        budget.attempt_succeeded(&config, at(0), false, &mut Tab::default());
        seen.push(budget.balance(&config));
        budget.attempt_succeeded(&config, at(0), true, &mut Tab::default());
        seen.push(budget.balance(&config));
        assert_eq!(seen, after, "{deposit:?}");
    }
    check(DepositPoint::Call, [200, 200, 200, 200]);
    check(DepositPoint::Success, [0, 0, 200, 400]);
    check(DepositPoint::FirstSuccess, [0, 0, 0, 200]);
}

#[test]
fn c47_a_steady_income_gives_seventy_retries_in_a_minute() {
    let config = ratio(0, DepositPoint::Call, 1_000, 10_000);
    let mut budget = config.start(at(0));
    let mut sent = 0;
    for tick in 0..=600 {
        for _ in 0..100 {
            sent += u32::from(asks(&mut budget, &config, at(100 * tick)));
        }
        assert_eq!(sent, 10 + (tick / 10) as u32, "after {} ms", 100 * tick);
    }
    assert_eq!(sent, 70);
}

#[test]
fn c51_fifty_budgets_are_not_one() {
    let config = ratio(0, DepositPoint::Call, 0, 100_000);
    let drain =
        |mut budget: Budget| (0..10_000).filter(|_| asks(&mut budget, &config, at(0))).count();
    assert_eq!(drain(config.start(at(0))), 100);
    assert_eq!((0..50).map(|_| drain(config.start(at(0)))).sum::<usize>(), 5_000);
}

/// 333 thousandths a second, asked for at awkward moments: nothing is lost to rounding.
#[test]
fn a_steady_income_does_not_drift() {
    let config = ratio(0, DepositPoint::Call, 333, u32::MAX);
    let mut budget = Budget(State::Purse(Purse::new(0, at(0))));
    let mut now = 0;
    let mut paid = 0;
    for i in 0..1_000_000u64 {
        now += 1_001_001 + i % 7;
        paid += u64::from(asks(&mut budget, &config, SimTime::from_nanos(now)));
        let earned = now * 333;
        let State::Purse(purse) = &budget.0 else { panic!() };
        assert_eq!(u64::from(purse.balance) + paid * 1_000, earned / SECOND);
        assert_eq!(u64::from(purse.remainder), earned % SECOND);
    }
    assert_eq!(paid, now * 333 / SECOND / 1_000);
}

#[test]
fn a_budget_is_small() {
    assert!(size_of::<Budget>() <= 24);
    assert!(size_of::<Tab>() <= 12);
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Call,
    Success(bool),
    Failure,
    Ask,
    Pass(u32),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        Just(Step::Call),
        any::<bool>().prop_map(Step::Success),
        Just(Step::Failure),
        Just(Step::Ask),
        (0u32..2_000_000_000).prop_map(Step::Pass),
    ];
    vec(step, 0..2_000)
}

proptest! {
    /// In whatever order things happen, retries stay within what was paid in, and the balance
    /// within its bounds.
    #[test]
    fn a_budget_is_never_overdrawn(
        steps in steps(),
        point in 0..3usize,
        (share, floor, cap, start) in (0u32..2_000, 0u32..5_000, 1_000u32..20_000, 0u32..20_000),
    ) {
        let deposit =
            [DepositPoint::Call, DepositPoint::Success, DepositPoint::FirstSuccess][point];
        let config = BudgetConfig::Ratio {
            ratio_milli: share, deposit, floor_milli_per_s: floor, cap_milli: cap, start_milli: start,
        };
        let mut now = SimTime::ZERO;
        let mut budget = config.start(now);
        let (mut deposits, mut retries) = (0u128, 0u128);
        for step in steps {
            match step {
                Step::Call => budget.call_started(&config, now),
                Step::Success(first) => budget.attempt_succeeded(&config, now, first, &mut Tab::default()),
                Step::Failure => fail(&mut budget, &config, now, DOWN),
                Step::Ask => retries += u128::from(asks(&mut budget, &config, now)),
                Step::Pass(nanos) => now = SimTime::from_nanos(now.as_nanos() + u64::from(nanos)),
            }
            deposits += u128::from(match (step, deposit) {
                (Step::Call, DepositPoint::Call)
                | (Step::Success(_), DepositPoint::Success)
                | (Step::Success(true), DepositPoint::FirstSuccess) => share,
                _ => 0,
            });
            let income = u128::from(now.as_nanos()) * u128::from(floor) / u128::from(SECOND);
            let paid_in = u128::from(start.min(cap)) + deposits + income;
            let State::Purse(purse) = &budget.0 else { panic!() };
            prop_assert!(retries * u128::from(TOKEN) + u128::from(purse.balance) <= paid_in);
            prop_assert!(purse.balance <= cap && purse.remainder < SECOND as u32);
        }
    }

    /// A half-full bucket never leaves its bounds, and allows what its rule says.
    #[test]
    fn a_bucket_stays_between_empty_and_full(steps in steps()) {
        let config = bucket(10);
        let mut budget = config.start(SimTime::ZERO);
        let mut expected = 10_000i64;
        for step in steps {
            match step {
                Step::Success(first) => {
                    budget.attempt_succeeded(&config, SimTime::ZERO, first, &mut Tab::default());
                    expected = (expected + 100).min(10_000);
                }
                Step::Failure => {
                    fail(&mut budget, &config, SimTime::ZERO, DOWN);
                    expected = (expected - 1_000).max(0);
                }
                Step::Call => budget.call_started(&config, SimTime::ZERO),
                Step::Ask | Step::Pass(_) => {
                    prop_assert_eq!(asks(&mut budget, &config, SimTime::ZERO), expected > 5_000);
                }
            }
            prop_assert_eq!(budget.balance(&config), expected);
        }
    }
}
