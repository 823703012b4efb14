//! Has a scenario simulated long enough after its trigger to call a run stuck?
//!
//! Slow is not stuck. A finding needs at least the longest of: twenty attempt timeouts, ten fluid
//! drain times, twice the largest back-off waits, four hold times. The fluid model treats load and
//! capacity as flows: what piles up while capacity is short drains at the rate that is spare
//! afterwards, retries of a ratio budget included.
//!
//! Approximations, all stated: a timeout or wait without a bound counts with its mean; back-off
//! waits of one path are added up layer by layer; where attempts are unlimited, the longest of the
//! first ten waits counts; a worker that is held counts as busy for the undisturbed time of its calls; closed
//! clients ask as if answers came at once.
//! Source: fluid limits of queues; docs/model.md, "Judging a run".

use crate::policy::budget::BudgetConfig;
use crate::policy::stack::Policy;
use crate::policy::stack::Retry;
use crate::scenario::model::Arrivals;
use crate::scenario::model::Effect;
use crate::scenario::model::Model;
use crate::scenario::model::Service;
use crate::scenario::model::ServiceId;
use crate::units::Duration;
use crate::units::SECOND;

/// Retries that are looked at where a policy does not limit them.
const LOOK_AHEAD: u32 = 10;
/// Retries whose waits are added up one by one.
const MOST_RETRIES: u32 = 500;

/// The run ends too soon after its trigger to tell slow from stuck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HorizonTooShort {
    /// The horizon that would do.
    pub needed: Duration,
}

/// Is the horizon of `model` long enough for a finding? Without a trigger every horizon is.
///
/// # Errors
/// `HorizonTooShort` with the horizon that would do.
pub fn horizon_rule(model: &Model) -> Result<(), HorizonTooShort> {
    let Some((_, lifted)) = model.trigger_span() else { return Ok(()) };
    let needed = lifted.saturating_add(needed_after_trigger(model));
    if model.run.horizon >= needed { Ok(()) } else { Err(HorizonTooShort { needed }) }
}

/// The longest of the four times, rounded up to a whole second.
fn needed_after_trigger(model: &Model) -> Duration {
    let timeouts = longest_retried_timeout(model).scale(20.0);
    let drain = fluid_drain(model).scale(10.0);
    let waits = longest_waits(model).scale(2.0);
    let holds = model.run.recovery.hold.scale(4.0);
    let longest = timeouts.max(drain).max(waits).max(holds);
    Duration::from_secs(longest.as_nanos().div_ceil(SECOND))
}

/// T: the longest attempt timeout of a policy that retries; zero where there is none.
pub fn longest_retried_timeout(model: &Model) -> Duration {
    let retries =
        |policy: &&Policy| policy.retry.as_ref().is_some_and(|retry| retries_of(retry) > 0);
    let used = model.edges.iter().map(|edge| &model.policies[edge.policy]);
    used.filter(retries)
        .filter_map(|policy| policy.attempt_timeout.as_ref())
        .map(|timeout| timeout.after.largest().unwrap_or_else(|| timeout.after.mean()))
        .max()
        .unwrap_or(Duration::ZERO)
}

/// The most retries of one call; `u32::MAX` when there is no limit.
fn retries_of(retry: &Retry) -> u32 {
    retry.max_attempts.map_or(u32::MAX, |attempts| attempts.saturating_sub(1))
}

/// The largest waits between the attempts of one call, added up, within its total timeout.
fn waits_of(policy: &Policy) -> Duration {
    let Some(retry) = &policy.retry else { return Duration::ZERO };
    let longest = |k| match retry.backoff.bounds(k).1 {
        Duration::MAX => retry.backoff.mean(k),
        bound => bound,
    };
    let sum = match retries_of(retry) {
        u32::MAX => (1..=LOOK_AHEAD).map(longest).max().unwrap_or(Duration::ZERO),
        retries => {
            // Beyond a few hundred retries a schedule sits on its cap.
            let told = (1..=retries.min(MOST_RETRIES)).map(longest);
            let sum = told.fold(Duration::ZERO, Duration::saturating_add);
            let rest = retries.saturating_sub(MOST_RETRIES);
            sum.saturating_add(longest(MOST_RETRIES).scale(f64::from(rest)))
        }
    };
    sum.min(policy.timeout.unwrap_or(Duration::MAX))
}

/// The largest waits along one path of calls.
fn longest_waits(model: &Model) -> Duration {
    fn below(model: &Model, edge: usize) -> Duration {
        let calls = &model.services[model.edges[edge].target].calls;
        let deepest = calls.iter().map(|call| below(model, *call)).max();
        waits_of(model.policy_of(edge)).saturating_add(deepest.unwrap_or(Duration::ZERO))
    }
    let paths = model.populations.iter().map(|population| {
        let waits = below(model, population.calls);
        waits.min(population.deadline.unwrap_or(Duration::MAX))
    });
    paths.max().unwrap_or(Duration::ZERO)
}

/// The longest time a service needs, as a flow, to drain what the triggers piled up.
fn fluid_drain(model: &Model) -> Duration {
    let Some((_, lifted)) = model.trigger_span() else { return Duration::ZERO };
    let rates: Vec<f64> =
        (0..model.populations.len()).map(|id| rate_at(model, id, lifted)).collect();
    let drains = (0..model.services.len()).map(|id| drain_of(model, id, &rates));
    Duration::from_secs_f64(drains.fold(0.0, f64::max))
}

/// Arrivals per second of a population at a moment after time 0, triggers aside.
fn rate_at(model: &Model, population: usize, at: Duration) -> f64 {
    let clients = &model.populations[population];
    match &clients.arrivals {
        Arrivals::Closed { think } => {
            let think = think.mean().as_secs_f64();
            if think > 0.0 { f64::from(clients.size) / think } else { 0.0 }
        }
        Arrivals::Open(open) => {
            let at = model.run.warm_up.saturating_add(at);
            let segment = open.segments.iter().find(|part| part.from <= at && at < part.until);
            segment.map_or(0.0, |part| {
                let (start, end) = (part.start.as_per_second(), part.end.as_per_second());
                let length = part.until.saturating_sub(part.from).as_secs_f64();
                start + (end - start) * at.saturating_sub(part.from).as_secs_f64() / length
            })
        }
    }
}

/// Seconds that one service needs; zero where the fluid model has no answer, because the service
/// is overloaded without any trigger.
fn drain_of(model: &Model, service: ServiceId, rates: &[f64]) -> f64 {
    let visits = |population: usize| visits(model, model.populations[population].calls, service);
    let parts: Vec<f64> = rates.iter().enumerate().map(|(id, rate)| rate * visits(id)).collect();
    let load: f64 = parts.iter().sum();
    let capacity = capacity(model, &model.services[service]);
    if load <= 0.0 || load >= capacity {
        return 0.0;
    }
    // What piles up, and for how long capacity is short. Where some replicas are struck, the same
    // happens to each of them: what piles up and what is spare are as much smaller.
    let piles_up = |extra: f64| -> f64 {
        let excess = |effect: &Effect| match effect {
            Effect::Refuse(id) | Effect::Hang(id) | Effect::Restart(id) if *id == service => {
                load * (1.0 + extra)
            }
            Effect::Slow { service: id, factor } if *id == service => {
                load * (1.0 + extra) - capacity / factor
            }
            Effect::Workers { service: id, share } if *id == service => {
                load * (1.0 + extra) - capacity * share.get()
            }
            Effect::Surge { population, factor } => {
                (load + parts[*population] * (factor - 1.0)) * (1.0 + extra) - capacity
            }
            _ => 0.0,
        };
        let piles = model
            .triggers
            .iter()
            .map(|trigger| excess(&trigger.effect).max(0.0) * trigger.lasts.as_secs_f64());
        piles.sum()
    };
    let plain = piles_up(0.0) / (capacity - load);
    let extra = budget_ratio(model, service);
    let spare = capacity - load * (1.0 + extra);
    if extra <= 0.0 || spare <= 0.0 {
        return plain;
    }
    let timeout = longest_retried_timeout(model).as_secs_f64();
    plain.max((piles_up(extra) - capacity * timeout) / spare)
}

/// How often one request of a call along `edge` visits `service`, retries aside.
fn visits(model: &Model, edge: usize, service: ServiceId) -> f64 {
    let target = model.edges[edge].target;
    let below: f64 =
        model.services[target].calls.iter().map(|call| visits(model, *call, service)).sum();
    below + if target == service { 1.0 } else { 0.0 }
}

/// Attempts per second that a service can complete when nothing is wrong.
fn capacity(model: &Model, service: &Service) -> f64 {
    let workers = f64::from(service.replicas) * f64::from(service.workers);
    let own = service.work.mean().as_secs_f64();
    let calls: f64 = service.calls.iter().map(|call| undisturbed(model, *call)).sum();
    let busy = if service.holds_worker { own + calls } else { own };
    if busy > 0.0 { workers / busy } else { f64::INFINITY }
}

/// Seconds that one call takes when nobody waits.
fn undisturbed(model: &Model, edge: usize) -> f64 {
    let edge = &model.edges[edge];
    let target = &model.services[edge.target];
    let below: f64 = target.calls.iter().map(|call| undisturbed(model, *call)).sum();
    2.0 * edge.link.latency.mean().as_secs_f64() + target.work.mean().as_secs_f64() + below
}

/// The largest share of retries that ratio budgets of callers of `service` pay for; zero when
/// none has one.
fn budget_ratio(model: &Model, service: ServiceId) -> f64 {
    let edges = model.edges.iter().filter(|edge| edge.target == service);
    let budgets = edges.filter_map(|edge| model.policies[edge.policy].retry.as_ref()?.budget);
    budgets.fold(0.0, |largest, budget| match budget.config {
        BudgetConfig::Ratio { ratio_milli: milli, .. }
        | BudgetConfig::ClientRatio { share_milli: milli, .. } => {
            largest.max(f64::from(milli) / 1e3)
        }
        BudgetConfig::Window(window) => largest.max(window.ratio()),
        _ => largest,
    })
}

#[cfg(test)]
mod tests {
    use crate::measure::fixture::model;
    use crate::policy::backoff::Growth;
    use crate::policy::budget::DepositPoint;
    use crate::policy::stack::Scope;
    use crate::policy::stack::Scoped;
    use crate::random::Distribution;
    use crate::scenario::model::Trigger;
    use crate::units::Rate;

    use super::*;

    /// Oracle R-39: 700/s against 1,000/s, 10 s of outage, a budget of 20 %, a timeout of 1 s.
    fn outage(budget: bool) -> Model {
        let mut model = model();
        let Arrivals::Open(open) = &mut model.populations[0].arrivals else { unreachable!() };
        open.segments[0].start = Rate::per_second(700.0).unwrap();
        open.segments[0].end = open.segments[0].start;
        model.services[0].work = Distribution::constant(Duration::from_millis(1));
        model.policies[0].retry.as_mut().unwrap().budget = budget.then_some(Scoped {
            config: BudgetConfig::Ratio {
                ratio_milli: 200,
                deposit: DepositPoint::Call,
                floor_milli_per_s: 0,
                cap_milli: 140_000,
                start_milli: 0,
            },
            per: Scope::DEFAULT,
        });
        model
    }

    #[test]
    fn the_fluid_drain_follows_the_closed_form() {
        #[track_caller]
        fn check(model: &Model, expected: f64) {
            assert!((fluid_drain(model).as_secs_f64() - expected).abs() < 1e-6);
        }
        check(&outage(false), 10.0 * 700.0 / 300.0);
        check(&outage(true), 46.25); // (700 · 1.2 · 10 − 1,000 · 1) / (1,000 − 840).
        let mut half = outage(false);
        half.triggers[0].effect = Effect::Slow { service: 0, factor: 2.0 };
        check(&half, 10.0 * 200.0 / 300.0);
        half.triggers[0].effect = Effect::Surge { population: 0, factor: 2.0 };
        check(&half, 10.0 * 400.0 / 300.0);
        half.services[0].workers = 0; // Overloaded: no fluid answer.
        check(&half, 0.0);
    }

    #[test]
    fn the_longest_of_the_four_times_counts() {
        #[track_caller]
        fn check(change: impl Fn(&mut Model), needed_s: u64) {
            let mut model = model();
            change(&mut model);
            assert_eq!(needed_after_trigger(&model), Duration::from_secs(needed_s));
        }
        let seconds = Duration::from_secs;
        // 2,000/s against 4,000/s: 10 s drain in 10 s.
        check(|_| (), 100);
        check(|model| model.run.recovery.hold = seconds(50), 200);
        check(
            |model| {
                let timeout = model.policies[0].attempt_timeout.as_mut().unwrap();
                timeout.after = Distribution::constant(seconds(8));
            },
            160,
        );
        let retry = |model: &mut Model, attempts| {
            let retry = model.policies[0].retry.as_mut().unwrap();
            retry.backoff.growth = Growth::Constant(seconds(60));
            retry.max_attempts = attempts;
        };
        check(|model| retry(model, Some(4)), 360);
        check(|model| retry(model, Some(1)), 100);
        check(|model| retry(model, None), 120);
    }

    #[test]
    fn the_rule_names_the_horizon_that_would_do() {
        let mut model = model();
        assert_eq!(horizon_rule(&model), Ok(()));
        model.run.horizon = Duration::from_secs(209);
        let needed = Duration::from_secs(210);
        assert_eq!(horizon_rule(&model), Err(HorizonTooShort { needed }));
        model.triggers = vec![Trigger { at: Duration::ZERO, ..model.triggers[0].clone() }];
        assert_eq!(horizon_rule(&model), Ok(()));
        model.triggers.clear();
        assert_eq!(horizon_rule(&model), Ok(()));
    }
}
