//! What one policy costs while the service it calls is down: measured by the engine.
//!
//! One population of one process calls one service, which refuses everything, or hangs, from the
//! first moment on. Calls come evenly at [`RATE`] for [`BIRTHS`], and each is followed to its end,
//! so that budgets, breakers and everything else that many calls share act as they do in a run.

use std::sync::atomic::AtomicBool;

use serde::Serialize;

use crate::engine;
use crate::engine::RunError;
use crate::engine::observe::Ending;
use crate::engine::observe::Observer;
use crate::engine::observe::Reason;
use crate::lint;
use crate::policy::outcome::Class;
use crate::policy::stack::Policy;
use crate::scenario;
use crate::scenario::model::Effect;
use crate::scenario::model::Model;
use crate::units::Duration;
use crate::units::SimTime;

/// Calls per second.
pub const RATE: u32 = 100;
/// For how long calls are born.
pub const BIRTHS: Duration = Duration::from_secs(120);
/// A system that costs more events than this has no end worth waiting for.
const MOST_EVENTS: u64 = 5_000_000;

/// A system with nothing but the policy in it; the policy is put in its place.
const SYSTEM: &str = "
schema: 1
name: outage
run: { horizon: 1h, warm_up: 0s, window: 1s, replications: 1 }
clients:
  callers:
    arrivals: { schedule: { process: constant, rates: [{ rate: 100/s }, { at: 2min, rate: 0/s }] } }
    calls: service
    policy: it
services: { service: { workers: 1, work: 0s } }
policies: { it: {} }
triggers: [{ at: 10min, lasts: 10min, service: service, effect: refuse }]
";

/// How a service is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Down {
    /// It refuses at once.
    Refusing,
    /// It never answers.
    Hanging,
}

/// What a policy costs in an outage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// Calls made.
    pub calls: u64,
    /// Attempts that reached the service.
    pub attempts: u64,
    /// Attempts that the callers' own policy stopped.
    pub rejections: u64,
    /// Attempts for each call; `None`: more than can be counted.
    pub attempts_per_call: Option<f64>,
    /// For how long they were counted.
    pub within: Duration,
    /// Did some calls not end by then?
    pub endless: bool,
}

/// Counts attempts and their ends.
#[derive(Debug, Default)]
struct Counter {
    cost: Cost,
}

impl Observer for Counter {
    fn call_began(&mut self, _: SimTime, _: usize) {
        self.cost.calls += 1;
    }
    fn reached(&mut self, _: SimTime, _: usize, _: Reason) {
        self.cost.attempts += 1;
    }
    fn rejected(&mut self, _: SimTime, _: usize, _: Class) {
        self.cost.rejections += 1;
    }
}

/// What `policy` costs while its service is down.
///
/// # Errors
/// When an invariant of the engine breaks, which is a bug.
pub fn cost(policy: &Policy, down: Down) -> Result<Cost, RunError> {
    let model = model(policy, down);
    let mut counter = Counter::default();
    let report = engine::observe(&model, 1, 0, &AtomicBool::new(false), &mut counter)?;
    let Counter { mut cost } = counter;
    let complete = report.ending == Ending::Complete;
    cost.within = model.run.horizon;
    cost.endless = !complete || !report.open.is_empty();
    cost.attempts_per_call = complete.then(|| cost.attempts as f64 / cost.calls.max(1) as f64);
    Ok(cost)
}

/// The system, down from the start, with a horizon that lets every call end that has an end.
fn model(policy: &Policy, down: Down) -> Model {
    let parsed = scenario::parse("outage", SYSTEM.as_bytes());
    let mut scenario = parsed.unwrap_or_else(|wrong| unreachable!("{wrong:?}"));
    let mut model = scenario.variants.swap_remove(0).model;
    let Some(place) = model.policies.iter().position(|known| known.name == "it") else {
        unreachable!("the system has its policy")
    };
    model.policies[place] = Policy { name: "it".to_owned(), ..policy.clone() };
    // Bulkheads hold calls back, so the last one may begin long after it was born.
    let longest = lint::longest_calls(&model).first().map(|call| call.span);
    let longest = longest.filter(|span| *span != Duration::MAX).unwrap_or(BIRTHS);
    let second = Duration::from_secs(1).as_nanos();
    let windows = BIRTHS.saturating_add(longest.scale(2.0)).as_nanos() / second + 1;
    // Windows are not looked at, and a few of them cost least.
    let window = Duration::from_nanos(windows.div_ceil(600).saturating_mul(second));
    model.run.horizon = Duration::from_nanos(window.as_nanos().saturating_mul(601));
    model.run.window = window;
    model.run.limits.events = MOST_EVENTS;
    for trigger in &mut model.triggers {
        (trigger.at, trigger.lasts) = (Duration::ZERO, model.run.horizon);
        if let (Effect::Refuse(service), Down::Hanging) = (trigger.effect, down) {
            trigger.effect = Effect::Hang(service);
        }
    }
    model
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::backoff::Backoff;
    use crate::policy::backoff::Jitter;
    use crate::policy::budget::BudgetConfig;
    use crate::policy::budget::DepositPoint;
    use crate::scenario::presets;

    fn per_call(policy: &Policy, down: Down) -> (f64, bool) {
        let cost = cost(policy, down).unwrap();
        // From 0 s to 120 s, both ends included.
        assert!(cost.calls.abs_diff(u64::from(RATE) * 120) <= 1, "{cost:?}");
        ((cost.attempts_per_call.unwrap() * 1e3).round() / 1e3, cost.endless)
    }

    #[test]
    fn a_cap_costs_what_it_says_and_a_budget_what_it_pays() {
        let base = Duration::from_millis(100);
        let backoff = Backoff::exponential(base, 2.0, Duration::MAX, Jitter::Full);
        let policy = Policy::plain("p").with_retry(4, backoff);
        assert_eq!(per_call(&policy, Down::Refusing), (4.0, false));
        assert_eq!(per_call(&policy, Down::Hanging), (1.0, true), "nobody gives up");
        let policy = policy.with_budget(BudgetConfig::Ratio {
            ratio_milli: 200,
            deposit: DepositPoint::Call,
            floor_milli_per_s: 0,
            cap_milli: 10_000,
            start_milli: 0,
        });
        assert_eq!(per_call(&policy, Down::Refusing), (1.2, false));
        let policy = Policy::plain("p").with_attempt_timeout(Duration::from_secs(1));
        assert_eq!(per_call(&policy, Down::Hanging), (1.0, false));
    }

    /// What the engine does and what is read off the policy are the same, timeouts included.
    #[test]
    fn presets_without_shared_state_cost_what_their_schedules_say() {
        let alone = |policy: &&Policy| {
            let budget = policy.retry.as_ref().is_some_and(|retry| retry.budget.is_some());
            !budget
                && policy.throttle.is_none()
                && policy.breaker.is_none()
                && policy.bulkhead.is_none()
        };
        let (mut compared, policies) = (0, presets::all().iter().map(|preset| &preset.policy));
        for policy in policies.filter(alone) {
            let schedule = lint::policy_schedule(policy);
            for (down, outage) in
                [(Down::Refusing, &schedule.refusing), (Down::Hanging, &schedule.hanging)]
            {
                let certain = outage.attempts.iter().all(|sent| sent.certain);
                if !certain || outage.ends == lint::End::Never || !schedule.whole {
                    continue;
                }
                let expected = outage.attempts.len() as f64;
                assert_eq!(per_call(policy, down), (expected, false), "{}", policy.name);
                compared += 1;
            }
        }
        let mut cut = Policy::plain("cut").with_attempt_timeout(Duration::from_secs(2));
        let base = Duration::from_millis(500);
        let backoff = Backoff::exponential(base, 2.0, Duration::MAX, Jitter::None);
        cut = cut.with_retry(4, backoff);
        for (timeout_ms, attempts) in [(9_500, 3.0), (9_501, 4.0)] {
            let policy = cut.clone().with_timeout(Duration::from_millis(timeout_ms));
            assert_eq!(lint::policy_schedule(&policy).hanging.attempts.len() as f64, attempts);
            assert_eq!(per_call(&policy, Down::Hanging), (attempts, false));
        }
        assert!(compared > 15, "{compared}");
    }

    #[test]
    fn what_retries_at_once_and_for_ever_has_no_end() {
        let mut policy = Policy::plain("p").with_retry(1, Backoff::NONE);
        policy.retry.as_mut().unwrap().max_attempts = None;
        let cost = cost(&policy, Down::Refusing).unwrap();
        assert_eq!((cost.attempts_per_call, cost.endless), (None, true));
    }
}
