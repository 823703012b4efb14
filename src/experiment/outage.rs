//! What one policy costs while the service it calls is down: measured by the engine.
//!
//! One population of one process calls one service, which refuses everything, or hangs, from the
//! first moment on. Calls come evenly at [`RATE`] for [`BIRTHS`], so that budgets, breakers and
//! everything else that many calls share act as they do in a run. Attempts are counted for
//! [`COUNTED`], the first hour of the outage, whatever the policy: policies are then comparable, and
//! further attempts of a call never lower its cost. Calls that are still open by then are counted.
//!
//! Invariant: what is added to a policy's attempts beyond the hour changes nothing; what is not
//! counted to the end of the hour has no `attempts_per_call`, only `at_least`.

mod one;

pub use one::OneCall;
pub use one::OneCalls;
pub use one::one_calls;

use std::sync::atomic::AtomicBool;

use serde::Serialize;

use crate::engine;
use crate::engine::RunError;
use crate::engine::observe::Ending;
use crate::engine::observe::LimitKind;
use crate::engine::observe::Observer;
use crate::engine::observe::Reason;
use crate::lint;
use crate::lint::Attempts;
use crate::lint::End;
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
/// For how long attempts are counted, from the beginning of the outage.
pub const COUNTED: Duration = Duration::from_secs(3_600);
/// Calls in all, give or take one.
const CALLS: u64 = RATE as u64 * BIRTHS.as_nanos() / Duration::from_secs(1).as_nanos();
/// A policy that costs more events than this within the hour is not counted to its end.
pub const MOST_EVENTS: u64 = 20_000_000;
/// What a few windows cost, of which nobody looks at any, is nothing.
const WINDOW: Duration = Duration::from_secs(6);

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
    /// Attempts for each call; `None` where a limit ended the count.
    pub attempts_per_call: Option<f64>,
    /// Attempts for each call at the least: the same, where no limit ended the count.
    pub at_least: f64,
    /// For how long they were counted.
    pub within: Duration,
    /// Calls that had not ended by then.
    pub open_calls: u64,
    /// What ended the count before its time.
    pub limit: Option<LimitKind>,
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
    let (within, limit) = match report.ending {
        Ending::Complete => (model.run.horizon, None),
        Ending::Limit { limit, at } => (at.since(SimTime::ZERO), Some(limit)),
    };
    (cost.within, cost.limit) = (within, limit);
    cost.open_calls = report.open.len() as u64;
    // Where the count ends early, calls may be yet to come: their attempts are not known.
    let calls = if limit.is_some() { cost.calls.max(CALLS) } else { cost.calls.max(1) };
    cost.at_least = cost.attempts as f64 / calls as f64;
    cost.attempts_per_call = limit.is_none().then_some(cost.at_least);
    let paper = limit.filter(|limit| *limit == LimitKind::NoProgress);
    Ok(paper.and_then(|_| on_paper(policy, down)).unwrap_or(cost))
}

/// The cost of a policy whose attempts the engine does not follow, since too many come at one
/// instant: where calls share nothing, and nothing but the number of attempts ends them within the
/// hour, each makes exactly so many.
fn on_paper(policy: &Policy, down: Down) -> Option<Cost> {
    let retry = policy.retry.as_ref()?;
    let shares = policy.throttle.is_some()
        || policy.breaker.is_some()
        || policy.bulkhead.is_some()
        || retry.budget.is_some();
    let nests = policy.hedge.is_some() || policy.inner.is_some();
    if shares || nests || policy.timeout.is_some() || retry.max_elapsed.is_some() {
        return None;
    }
    let schedule = lint::policy_schedule(policy);
    let outage = match down {
        Down::Refusing => schedule.refusing,
        Down::Hanging => schedule.hanging,
    };
    let ends = outage.ends_by.is_some_and(|by| by <= COUNTED.saturating_sub(BIRTHS));
    let Attempts::AtMost(each) = outage.most_attempts else { return None };
    (outage.ends == End::Attempts && ends).then(|| Cost {
        calls: CALLS,
        attempts: CALLS.saturating_mul(each),
        attempts_per_call: Some(each as f64),
        at_least: each as f64,
        within: COUNTED,
        ..Cost::default()
    })
}

/// The system, down from the start for as long as attempts are counted.
fn model(policy: &Policy, down: Down) -> Model {
    let parsed = scenario::parse("outage", SYSTEM.as_bytes());
    let mut scenario = parsed.unwrap_or_else(|wrong| unreachable!("{wrong:?}"));
    let mut model = scenario.variants.swap_remove(0).model;
    let Some(place) = model.policies.iter().position(|known| known.name == "it") else {
        unreachable!("the system has its policy")
    };
    model.policies[place] = Policy { name: "it".to_owned(), ..policy.clone() };
    (model.run.horizon, model.run.window) = (COUNTED, WINDOW);
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
    use crate::policy::backoff::Growth;
    use crate::policy::backoff::Jitter;
    use crate::policy::budget::BudgetConfig;
    use crate::policy::budget::DepositPoint;
    use crate::scenario::presets;

    /// Attempts a call, and whether calls were still open when the hour ended.
    fn per_call(policy: &Policy, down: Down) -> (f64, bool) {
        let cost = cost(policy, down).unwrap();
        // From 0 s to 120 s, both ends included.
        assert!(cost.calls.abs_diff(CALLS) <= 1, "{cost:?}");
        let per_call = cost.attempts_per_call.unwrap();
        assert_eq!((cost.at_least, cost.within), (per_call, COUNTED));
        ((per_call * 1e3).round() / 1e3, cost.open_calls > 0)
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
                let beyond = outage.ends_by.is_none_or(|by| by > COUNTED.saturating_sub(BIRTHS));
                if !certain || beyond || !schedule.whole {
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

    /// Waits of 100 ms, 200 ms, …: retry k comes (2^k − 1) · 100 ms after the first attempt, so the
    /// fifteenth, after 3,276.7 s, is the last within the hour, and every call makes it.
    #[test]
    fn more_attempts_never_cost_less() {
        let backoff =
            Backoff::exponential(Duration::from_millis(100), 2.0, Duration::MAX, Jitter::None);
        let of = |attempts| {
            per_call(&Policy::plain("p").with_retry(attempts, backoff.clone()), Down::Refusing)
        };
        assert_eq!((of(5), of(15)), ((5.0, false), (15.0, false)));
        for attempts in [16, 17, 36, 37, 38, 40, 10_000] {
            assert_eq!(of(attempts), (16.0, attempts > 16), "{attempts}");
        }
    }

    #[test]
    fn what_goes_on_beyond_the_hour_is_open_then() {
        let sqs = &presets::find("sqs").unwrap().policy;
        // At 0, 30 s, …, 3,600 s for a call born at 0; one less for each 30 s that it is younger.
        let (attempts, open) = per_call(sqs, Down::Refusing);
        assert!((attempts - 118.5).abs() < 0.02 && open, "{attempts}");
    }

    /// The engine follows a thousand events at one instant, and no more.
    #[test]
    fn thousands_of_attempts_at_one_instant_are_counted_on_paper() {
        let of = |attempts| {
            let policy = Policy::plain("p").with_retry(attempts, Backoff::NONE);
            (per_call(&policy, Down::Refusing), cost(&policy, Down::Refusing).unwrap().limit)
        };
        for attempts in [900, 1_100, 10_000, 1_000_000] {
            assert_eq!(of(attempts), ((f64::from(attempts), false), None));
        }
        let policy = Policy::plain("p").with_retry(10_000, Backoff::NONE);
        let policy = policy.with_budget(BudgetConfig::Concurrent { limit: 1_000 });
        let shared = cost(&policy, Down::Refusing).unwrap();
        assert_eq!(shared.limit, Some(LimitKind::NoProgress), "a budget may refuse: {shared:?}");
    }

    #[test]
    fn what_cannot_be_counted_names_its_limit_and_what_is_certain() {
        let mut policy = Policy::plain("p").with_retry(1, Backoff::NONE);
        policy.retry.as_mut().unwrap().max_attempts = None;
        let endless = cost(&policy, Down::Refusing).unwrap();
        assert!(endless.attempts_per_call.is_none() && endless.limit.is_some(), "{endless:?}");

        policy.retry.as_mut().unwrap().backoff =
            Backoff { growth: Growth::Constant(Duration::from_millis(200)), ..Backoff::NONE };
        let busy = cost(&policy, Down::Refusing).unwrap();
        assert_eq!((busy.attempts_per_call, busy.limit), (None, Some(LimitKind::Events)));
        assert!(busy.within < COUNTED && busy.at_least > 100.0, "{busy:?}");
    }
}
