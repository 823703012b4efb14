//! Ratios over a window: tower against its recordings; Finagle and Linkerd by hand.

use stormlab::policy::budget::Answer;
use stormlab::policy::budget::Budget;
use stormlab::policy::budget::BudgetConfig;
use stormlab::policy::budget::DepositPoint;
use stormlab::policy::budget::Failure;
use stormlab::policy::budget::Tab;
use stormlab::policy::budget::window::WindowConfig;
use stormlab::policy::budget::window::WindowRule;
use stormlab::policy::outcome::Class;
use stormlab::units::Duration;
use stormlab::units::SimTime;

use crate::conformance::trace::cases;
use crate::conformance::trace::number;

const DOWN: Class = Class::Unavailable;

fn window(rule: WindowRule, ratio: f64, ttl_ms: u64, min_per_s: u32) -> WindowConfig {
    let milli = (ratio * 1_000.0).round() as u32;
    let ttl = Duration::from_millis(ttl_ms);
    WindowConfig::new(rule, milli, DepositPoint::Success, ttl, min_per_s)
}

fn at(millis: f64) -> SimTime {
    SimTime::from_nanos((millis * 1e6).round() as u64)
}

fn deposit(budget: &mut Budget, config: &BudgetConfig, now: SimTime) {
    budget.attempt_succeeded(config, now, true, &mut Tab::default());
}

fn withdraw(budget: &mut Budget, config: &BudgetConfig, now: SimTime) -> bool {
    budget.may_retry(config, now, DOWN, &mut Tab::default()) == Answer::Granted
}

#[test]
fn tower_settings() {
    for case in cases("tower/budget-settings.json") {
        let ttl = number(&case["ttl_ms"]) as u64;
        let least = number(&case["min_per_sec"]) as u32;
        let config = window(WindowRule::Tower, number(&case["ratio"]), ttl, least);
        let (deposit, withdrawal, reserve) = config.amounts();
        let theirs = ["deposit", "withdraw", "start_balance"].map(|key| case[key].as_i64());
        assert_eq!([Some(deposit), Some(withdrawal), Some(reserve)], theirs, "{case}");
        let config = BudgetConfig::Window(config);
        let mut budget = config.start(SimTime::ZERO);
        let at_once = (0..2_000).filter(|_| withdraw(&mut budget, &config, SimTime::ZERO)).count();
        assert_eq!(Some(at_once as u64), case["withdrawals_at_once"].as_u64(), "{case}");
    }
}

#[test]
fn tower_budget() {
    for case in cases("tower/budget.json") {
        let ttl = number(&case["ttl_ms"]) as u64;
        let least = number(&case["min_per_sec"]) as u32;
        let config = window(WindowRule::Tower, number(&case["ratio"]), ttl, least);
        let config = BudgetConfig::Window(config);
        let mut budget = config.start(SimTime::ZERO);
        assert_eq!(Some(budget.balance(&config)), case["start_balance"].as_i64());
        for step in case["steps"].as_array().expect("steps") {
            let now = at(number(&step[0]));
            if step[1] == "deposit" {
                deposit(&mut budget, &config, now);
            } else {
                let allowed = withdraw(&mut budget, &config, now);
                assert_eq!(Some(allowed), step[2].as_bool(), "{}: {step}", case["name"]);
            }
            assert_eq!(Some(budget.balance(&config)), step[3].as_i64(), "{}: {step}", case["name"]);
        }
    }
}

/// By hand, after `RetryBudget.scala` and `WindowedAdder.scala`: 100 retries at once, none for ten
/// seconds, then the same 100.
#[test]
fn finagle_reserve_by_hand() {
    let settings = window(WindowRule::Finagle, 0.2, 10_000, 10);
    assert_eq!(settings.amounts(), (1_000, 5_000, 500_000));
    let config = BudgetConfig::Window(settings);
    let mut budget = config.start(at(0.0));
    let mut granted = Vec::new();
    for second in 0..=12 {
        let now = at(1e3 * f64::from(second));
        granted.push((0..200).filter(|_| withdraw(&mut budget, &config, now)).count());
    }
    assert_eq!(granted, [100, 0, 0, 0, 0, 0, 0, 0, 0, 0, 100, 0, 0]);
}

/// By hand: a fifth of the deposits of the last ten seconds beside the reserve; a slice that nobody
/// touches passes by, and one that is begun late lasts a second from then on.
#[test]
fn finagle_window_by_hand() {
    let config = BudgetConfig::Window(window(WindowRule::Finagle, 0.2, 10_000, 0));
    let mut budget = config.start(at(0.0));
    (0..10).for_each(|_| deposit(&mut budget, &config, at(0.0)));
    assert!(withdraw(&mut budget, &config, at(0.0)));
    assert_eq!(budget.balance(&config), 5_000);
    // 1.5 s later a new slice begins; the next ones end 1 s after it, not at whole seconds.
    deposit(&mut budget, &config, at(1_500.0));
    deposit(&mut budget, &config, at(2_499.0));
    deposit(&mut budget, &config, at(2_500.0));
    assert_eq!(budget.balance(&config), 8_000);
    // Nine slices and the one being written: what was put in at 0 goes with the slice of 10.5 s.
    deposit(&mut budget, &config, at(9_500.0));
    assert_eq!(budget.balance(&config), 9_000);
    deposit(&mut budget, &config, at(10_500.0));
    assert_eq!(budget.balance(&config), 10_000 - 5_000);
    assert!(withdraw(&mut budget, &config, at(10_500.0)));
    assert!(!withdraw(&mut budget, &config, at(10_500.0)));
    // A pause of a whole window empties it; what was withdrawn is forgotten as well.
    assert!(!withdraw(&mut budget, &config, at(60_000.0)));
    assert_eq!(budget.balance(&config), 0);
}

/// By hand: a ServiceProfile deposits for each final answer, which a failure that is retried is
/// not, and withdraws for each retry.
#[test]
fn linkerd_deposits_final_answers_by_hand() {
    let ttl = Duration::from_secs(10);
    let config = WindowConfig::new(WindowRule::Tower, 200, DepositPoint::Final, ttl, 0);
    let config = BudgetConfig::Window(config);
    let (now, mut tab) = (SimTime::ZERO, Tab::NEW);
    let mut budget = config.start(now);
    let mut balances = Vec::new();
    budget.call_started(&config, now);
    balances.push(budget.balance(&config));
    budget.attempt_failed(&config, now, Failure::of(DOWN), &mut tab);
    balances.push(budget.balance(&config));
    let denied = Failure { class: Class::Denied, retried: false, last: false };
    (0..4).for_each(|_| budget.attempt_failed(&config, now, denied, &mut tab));
    balances.push(budget.balance(&config));
    assert!(!withdraw(&mut budget, &config, now), "four fifths of a retry");
    deposit(&mut budget, &config, now);
    balances.push(budget.balance(&config));
    assert!(withdraw(&mut budget, &config, now));
    balances.push(budget.balance(&config));
    assert_eq!(balances, [0, 0, 4, 5, 0]);
}
