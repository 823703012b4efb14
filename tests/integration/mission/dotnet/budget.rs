//! N31 to N37: ten tokens, failure by failure.

use stormlab::policy::budget::Budget;
use stormlab::policy::budget::BudgetConfig;
use stormlab::policy::budget::Failure;
use stormlab::policy::budget::Tab;
use stormlab::policy::outcome::Class;
use stormlab::scenario::model::Effect;
use stormlab::scenario::model::Model;
use stormlab::units::SimTime;

use crate::lab::diary;
use crate::lab::model;
use crate::lab::with_trigger;
use crate::mission::dotnet::lived;
use crate::mission::dotnet::variant;

const NOW: SimTime = SimTime::ZERO;

/// The budget of a variant.
fn config(name: &str) -> BudgetConfig {
    let model = variant("-tokens", name);
    let retry = model.policies[0].retry.as_ref().expect("it retries");
    retry.budget.as_ref().expect("it has a budget").config
}

/// A failed attempt, and whether it may be retried.
fn fails(budget: &mut Budget, config: &BudgetConfig) -> bool {
    let mut tab = Tab::NEW;
    budget.attempt_failed(config, NOW, Failure::of(Class::Unavailable), &mut tab);
    budget.may_retry(config, NOW, Class::Unavailable, &mut tab).is_granted()
}

/// [N31] One token less for each failure, a tenth more for each success, never below 0 nor above 10.
#[test]
fn n31_tokens_go_down_by_one_and_up_by_a_tenth() {
    let config = config("base");
    let mut budget = config.start(NOW);
    let mut tab = Tab::NEW;
    let mut tokens = vec![budget.balance(&config)];
    for _ in 0..12 {
        fails(&mut budget, &config);
        tokens.push(budget.balance(&config));
    }
    let expected: Vec<i64> = (0..=12).map(|failures| (10 - failures).max(0) * 1_000).collect();
    assert_eq!(tokens, expected);
    for successes in 1..=110 {
        budget.attempt_succeeded(&config, NOW, true, &mut tab);
        assert_eq!(budget.balance(&config), (successes * 100).min(10_000));
    }
}

/// [N32, a slip] The text says at least half full, the code more than half full: five single
/// failures are retried, or four; a call that fails has 4 attempts, the next one 2, or 1.
#[test]
fn n32_at_least_half_and_more_than_half() {
    let attempts = |name: &str| lived("-tokens", name).count(&["supplier", "reached"]);
    assert_eq!(["base", "at-least-half"].map(attempts), [20 + 4, 20 + 5]);
    assert_eq!(["sequence", "sequence-at-least-half"].map(attempts), [4 + 1, 4 + 2]);
    let granted = |name: &str| {
        let config = config(name);
        let mut budget = config.start(NOW);
        (0..20).take_while(|_| fails(&mut budget, &config)).count()
    };
    assert_eq!(["base", "at-least-half"].map(granted), [4, 5]);
}

/// [N33] From 5 tokens a failure is retried again after 11 successes, from none after 61.
#[test]
fn n33_retries_come_back_after_eleven_and_sixty_one_successes() {
    let attempts = |name: &str| lived("-tokens", name).count(&["supplier", "reached"]);
    assert_eq!(attempts("ten-successes"), 4 + 1 + 10 + 1);
    assert_eq!(attempts("eleven-successes"), 4 + 1 + 11 + 2);
    assert_eq!(attempts("sixty-successes"), 24 + 60 + 1);
    assert_eq!(attempts("sixty-one-successes"), 24 + 61 + 2);
}

/// [N36] The last attempt pays too, though no retry can follow it.
#[test]
fn n36_the_last_attempt_pays_without_need() {
    let attempts = |name: &str| lived("-tokens", name).count(&["supplier", "reached"]);
    assert_eq!(["sequence", "sequence-last-free"].map(attempts), [4 + 1, 4 + 2]);
}

/// Five failures at 10 s leave 5 tokens; then 11 calls that end as `policy` and `effect` make them;
/// then one failure at 100 s: is it retried?
fn is_retried_after(credit: &str, policy: &str, effect: Option<Effect>, service: &str) -> bool {
    let mut model: Model = model(&format!(
        "
run: {{ horizon: 5min, warm_up: 0s, window: 1s }}
clients:
  early: {{ arrivals: {{ burst: {{ count: 5, at: 10s }} }}, calls: supplier, policy: listed }}
  middle: {{ arrivals: {{ burst: {{ count: 11, at: 40s }} }}, calls: supplier, policy: listed }}
  late: {{ arrivals: {{ burst: {{ count: 1, at: 100s }} }}, calls: supplier, policy: listed }}
services: {{ supplier: {{ workers: 99, work: 0s{service} }} }}
policies:
  listed:
    retry:
      max_attempts: 2
      backoff: 1ms
      budget:
        token_bucket:
          {{ max_tokens: 10, token_ratio: 0.1, last_attempt: free, credit: {credit}, per: [] }}
    {policy}
"
    ));
    for at in [10_000, 100_000] {
        model = with_trigger(model, at, 10_000, Effect::Refuse(0));
    }
    if let Some(effect) = effect {
        model = with_trigger(model, 40_000, 10_000, effect);
    }
    diary(&model).lines(&["late>supplier"]).iter().any(|line| line.contains("backs-off"))
}

/// [N35, a slip] Whatever is not transient pays in: a 400, and an attempt that the total timeout
/// cuts. A strict budget takes successes alone.
#[test]
fn n35_what_is_not_transient_pays_in() {
    use stormlab::scenario::model::Errors;
    use stormlab::scenario::model::ErrorsOf;
    use stormlab::units::Share;
    let wrong = || {
        let share = Share::new(1.0).expect("a share");
        let errors = Errors { class: Class::Rejected, share, of: ErrorsOf::Attempts };
        Some(Effect::Errors { service: 0, errors })
    };
    let after = |credit: &str, policy: &str, effect| is_retried_after(credit, policy, effect, "");
    assert!(after("success", "", None), "eleven successes");
    assert_eq!(
        ["success", "answered", "ended"].map(|it| after(it, "", wrong())),
        [false, true, true]
    );
    let total = "timeout: 2s";
    let hangs = || Some(Effect::Hang(0));
    assert_eq!(
        ["success", "answered", "ended"].map(|it| after(it, total, hangs())),
        [false, false, true]
    );
}

/// [N35] So does a refusal by an inner breaker.
#[test]
fn n35_the_refusals_of_an_inner_breaker_pay_in() {
    let config = config("base");
    let with = |new| match config {
        BudgetConfig::TokenBucket {
            max_milli,
            ratio_milli,
            threshold_milli,
            counts,
            cost_milli,
            last_attempt_pays,
            asked,
            ..
        } => BudgetConfig::TokenBucket {
            max_milli,
            ratio_milli,
            threshold_milli,
            counts,
            cost_milli,
            last_attempt_pays,
            asked,
            credit: new,
        },
        other => other,
    };
    use stormlab::policy::budget::Credit;
    let left = |credit| {
        let config = with(credit);
        let mut budget = config.start(NOW);
        assert_eq!((0..5).filter(|_| fails(&mut budget, &config)).count(), 4);
        let refused = Failure { class: Class::BreakerOpen, retried: false, last: false };
        let mut tab = Tab::NEW;
        (0..10).for_each(|_| budget.attempt_failed(&config, NOW, refused, &mut tab));
        budget.balance(&config)
    };
    assert_eq!([Credit::Success, Credit::Answered, Credit::Ended].map(left), [5_000, 5_000, 6_000]);
}
