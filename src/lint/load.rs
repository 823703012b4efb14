//! Load against capacity, without retries and with all of them: the fluid checks.
//!
//! λ is the mean arrival rate before the first trigger, μ the rate of
//! one worker in good health, c the workers of all replicas, n the attempts allowed.

use serde::Serialize;

use crate::lint::crash::Busy;
use crate::lint::crash::Crash;
use crate::lint::crash::crash;
use crate::lint::long_run::within_budget;
use crate::lint::longest::LongestCall;
use crate::lint::longest::longest_calls;
use crate::lint::worst_case::Attempts;
use crate::lint::worst_case::attempts_per_call;
use crate::lint::worst_case::attempts_per_request;
use crate::lint::worst_case::callers_first;
use crate::lint::worst_case::executions;
use crate::lint::worst_case::patience_with;
use crate::scenario::model::Caller;
use crate::scenario::model::EdgeId;
use crate::scenario::model::Effect;
use crate::scenario::model::Model;
use crate::scenario::model::QueueOrder;
use crate::scenario::model::Service;
use crate::scenario::model::ServiceId;
use crate::units::Duration;

/// What the load of a service can become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadClass {
    /// n λ < c μ: no storm state exists here.
    Safe,
    /// λ < c μ ≤ n λ: enough while nothing fails.
    Vulnerable,
    /// λ ≥ c μ: too much on a good day.
    Overloaded,
}

/// The load of one service on paper.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServiceLoad {
    /// Which.
    pub service: String,
    /// The most attempts of one request here, over all populations.
    pub attempts_per_request: Attempts,
    /// Attempts per second without retries.
    pub rate_rps: f64,
    /// Attempts per second that it can complete; `None` when its work takes no time.
    pub capacity_rps: Option<f64>,
    /// Utilisation without retries: λ / c μ.
    pub utilisation: f64,
    /// Load with all attempts used: n λ / c μ; `None` when they are unlimited.
    pub load_all_attempts: Option<f64>,
    /// Load when every retry that budgets pay for in the long run is made; equal to the above
    /// where no call on the way has a budget.
    pub load_within_budgets: Option<f64>,
    /// What follows from the first two.
    pub class: LoadClass,
    /// The longest wait in a full queue, K / c μ; `None` when the queue has no limit.
    pub full_queue_wait: Option<Duration>,
    /// The shortest attempt timeout of its callers.
    pub patience: Option<Duration>,
    /// Can waiting alone outlast that patience?
    pub waiting_can_time_out: bool,
    /// Until the backlog of the worst trigger here is worked off without retries; `None` where no
    /// trigger strikes that lets attempts wait, and where the service is overloaded anyway.
    pub drain: Option<Duration>,
    /// What waiting for calls can take, where workers do that.
    pub holding: Option<Holding>,
    /// What it takes to crash it, where it has a threshold.
    pub crash: Option<Crash>,
}

/// Workers that wait for the calls of their handler.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Holding {
    /// The longest that the calls of one handler can take, one after another.
    pub longest: LongestCall,
    /// Workers that would be busy if every handler took that long, retries from above aside: rate ×
    /// time; `None` when a call can go on for ever.
    pub workers_needed: Option<f64>,
    /// The workers there are.
    pub workers: u64,
}

/// The load of every service.
pub(super) fn loads(model: &Model) -> Vec<ServiceLoad> {
    let once = rates(model, |_, _| 1.0);
    let jobs = |edge: EdgeId| match model.edges[edge].caller {
        Caller::Population(id) => executions(model, id).as_f64(),
        Caller::Service(_) => 1.0,
    };
    let all =
        rates(model, |edge, _| jobs(edge) * attempts_per_call(model.policy_of(edge)).as_f64());
    let paid = rates(model, |edge, calls| jobs(edge) * within_budget(model, edge, calls));
    let per_request: Vec<_> =
        (0..model.populations.len()).map(|i| attempts_per_request(model, i)).collect();
    let busy = worker_times(model);
    let longest = longest_calls(model);
    (0..model.services.len())
        .map(|i| {
            let service = &model.services[i];
            let workers = f64::from(service.workers) * f64::from(service.replicas);
            let capacity = (busy[i] > 0.0).then(|| workers / busy[i]);
            let load = |rate: f64| capacity.map_or(0.0, |capacity| rate / capacity);
            let (utilisation, with_all) = (load(once[i]), load(all[i]));
            let class = if utilisation >= 1.0 {
                LoadClass::Overloaded
            } else if with_all >= 1.0 {
                LoadClass::Vulnerable
            } else {
                LoadClass::Safe
            };
            let full_queue_wait = service.queue.limit.map(|limit| {
                let room = f64::from(limit) + f64::from(service.workers);
                Duration::from_secs_f64(room * busy[i] / f64::from(service.workers))
            });
            let patience = patience_with(model, i);
            let fits = match (full_queue_wait, patience) {
                (_, None) => true,
                (Some(wait), Some(patience)) => {
                    wait < patience && service.queue.order == QueueOrder::Fifo
                }
                (None, Some(_)) => false,
            };
            let finite = |load: f64| load.is_finite().then_some(load);
            ServiceLoad {
                service: service.name.clone(),
                attempts_per_request: per_request
                    .iter()
                    .map(|at| at[i])
                    .max()
                    .unwrap_or(Attempts::AtMost(0)),
                rate_rps: once[i],
                capacity_rps: capacity,
                utilisation,
                load_all_attempts: finite(with_all),
                load_within_budgets: finite(load(paid[i])),
                class,
                full_queue_wait,
                patience,
                waiting_can_time_out: !fits,
                drain: capacity.and_then(|capacity| drain(model, i, once[i], capacity)),
                holding: holding(model, i, once[i], &longest),
                crash: crash(
                    service,
                    &Busy {
                        rate_rps: once[i],
                        attempts_per_first: if once[i] > 0.0 { all[i] / once[i] } else { 1.0 },
                        longest_calls: calls_in_a_row(service, &longest).span,
                        patience,
                    },
                ),
            }
        })
        .collect()
}

/// Attempts per second at each service when a call of an edge makes `factor` attempts; the second
/// argument of `factor` is the rate of calls along the edge, above 0.
fn rates(model: &Model, factor: impl Fn(EdgeId, f64) -> f64) -> Vec<f64> {
    let mut at = vec![0.0; model.services.len()];
    for (i, population) in model.populations.iter().enumerate() {
        let calls = model.healthy_rate(i);
        if calls > 0.0 {
            at[model.edges[population.calls].target] += calls * factor(population.calls, calls);
        }
    }
    for service in callers_first(model) {
        for edge in &model.services[service].calls {
            let calls: f64 = at[service];
            if calls > 0.0 {
                at[model.edges[*edge].target] += calls * factor(*edge, calls);
            }
        }
    }
    at
}

/// Seconds that one attempt keeps a worker busy in good health: its own work and, where the worker
/// waits for them, the calls it makes.
fn worker_times(model: &Model) -> Vec<f64> {
    let mut sojourn = vec![0.0; model.services.len()];
    let mut busy = vec![0.0; model.services.len()];
    for i in callers_first(model).into_iter().rev() {
        let service = &model.services[i];
        let work = service.work.mean().as_secs_f64();
        let calls: f64 = service
            .calls
            .iter()
            .map(|id| &model.edges[*id])
            .map(|edge| 2.0 * edge.link.latency.mean().as_secs_f64() + sojourn[edge.target])
            .sum();
        sojourn[i] = work + calls;
        busy[i] = if service.holds_worker { work + calls } else { work };
    }
    busy
}

/// The calls of one handler at their longest, one after another.
fn calls_in_a_row(service: &Service, longest_calls: &[LongestCall]) -> LongestCall {
    let calls = service.calls.iter().map(|edge| longest_calls[*edge]);
    calls.fold(LongestCall::NOTHING, LongestCall::then)
}

/// What waiting for its calls can take of a service; `None` where workers do not wait, or for nobody.
fn holding(
    model: &Model,
    id: ServiceId,
    rate: f64,
    longest_calls: &[LongestCall],
) -> Option<Holding> {
    let service = &model.services[id];
    if !service.holds_worker || service.calls.is_empty() {
        return None;
    }
    let longest = calls_in_a_row(service, longest_calls);
    let busy = service.work.mean().as_secs_f64() + longest.span.as_secs_f64();
    Some(Holding {
        longest,
        workers_needed: (longest.span < Duration::MAX).then_some(rate * busy),
        workers: u64::from(service.workers) * u64::from(service.replicas),
    })
}

/// How long the backlog of the worst trigger takes to drain without retries. Only triggers under
/// which attempts wait leave one: who is refused or never answered does not wait here. Where it
/// strikes some replicas, each of those drains as all would.
fn drain(model: &Model, service: ServiceId, rate: f64, capacity: f64) -> Option<Duration> {
    if rate >= capacity {
        return None;
    }
    let left = |effect: &Effect| match *effect {
        Effect::Slow { service: i, factor } if i == service => Some(1.0 / factor),
        Effect::Workers { service: i, share } if i == service => Some(share.get()),
        _ => None,
    };
    let it = &model.services[service];
    let room =
        it.queue.limit.map_or(f64::INFINITY, |limit| f64::from(limit) * f64::from(it.replicas));
    model
        .triggers
        .iter()
        .filter_map(|trigger| left(&trigger.effect).map(|left| (trigger.lasts, left)))
        .map(|(lasts, left)| {
            let piled_up = lasts.as_secs_f64() * (rate - left * capacity).max(0.0);
            let backlog = piled_up.min(room);
            Duration::from_secs_f64(backlog / (capacity - rate))
        })
        .max()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::scenario;

    /// A client at 25/s over one layer over a database, with the given settings.
    pub(crate) fn loads_of(work: &str, queue: &str, policy: &str) -> Vec<ServiceLoad> {
        loads_under("hang", false, work, queue, policy)
    }

    /// The same under a trigger of one's own, the layer holding its workers or not.
    fn loads_under(
        effect: &str,
        holds: bool,
        work: &str,
        queue: &str,
        policy: &str,
    ) -> Vec<ServiceLoad> {
        let text = format!(
            "{{schema: 1, name: t, run: {{horizon: 2h}}, clients: {{c: {{population: 1000, arrivals: \
             {{poisson: 25/s}}, calls: shop}}}}, services: {{shop: {{replicas: 4, workers: 10, \
             holds_worker: {holds}, work: 1ms, calls: [{{to: db, policy: p}}]}}, db: {{workers: 5, \
             work: {work}, queue: {queue}}}}}, policies: {{p: {policy}}}, triggers: [{{at: 1h, \
             lasts: 20s, service: db, effect: {effect}}}]}}"
        );
        let parsed = scenario::parse("test", text.as_bytes());
        loads(&parsed.unwrap_or_else(|problems| panic!("{}", problems[0])).variants[0].model)
    }

    #[test]
    fn load_is_classed_without_and_with_all_attempts() {
        #[track_caller]
        fn check(work: &str, attempts: &str, class: LoadClass, utilisation: f64, all: Option<f64>) {
            let db = &loads_of(work, "{}", &format!("{{retry: {{max_attempts: {attempts}}}}}"))[1];
            assert_eq!(db.class, class);
            assert!((db.utilisation - utilisation).abs() < 1e-9, "{db:?}");
            assert_eq!(db.load_all_attempts.map(|load| (load * 1e6).round()), all.map(|l| l * 1e6));
        }
        // Capacity 250/s.
        check("20ms", "4", LoadClass::Safe, 0.1, Some(0.4));
        check("20ms", "10", LoadClass::Vulnerable, 0.1, Some(1.0));
        check("20ms", "unlimited", LoadClass::Vulnerable, 0.1, None);
        check("200ms", "1", LoadClass::Overloaded, 1.0, Some(1.0));
    }

    #[test]
    fn a_queue_that_outlasts_patience_is_named() {
        #[track_caller]
        fn check(queue: &str, expected: bool) {
            assert_eq!(
                loads_of("20ms", queue, "{attempt_timeout: 2s}")[1].waiting_can_time_out,
                expected
            );
        }
        // K / c μ: (494 + 5) × 20 ms / 5 = 1.996 s.
        check("{limit: 494}", false);
        check("{limit: 495}", true);
        check("{limit: 10, order: lifo}", true);
        check("{}", true);
    }

    #[test]
    fn a_backlog_drains_at_what_is_spare_where_attempts_wait() {
        #[track_caller]
        fn check(effect: &str, queue: &str, expected: Option<f64>) {
            let loads = loads_under(effect, false, "20ms", queue, "{}");
            let drain = loads[1].drain.map(|drain| (drain.as_secs_f64() * 1e6).round());
            assert_eq!(drain, expected.map(|seconds| (seconds * 1e6).round()));
            assert_eq!(loads[0].drain, None);
        }
        // 20 s × 25/s = 500, at 225/s to spare.
        check("{workers: 0%}", "{}", Some(500.0 / 225.0));
        check("{workers: 0%}", "{limit: 90}", Some(90.0 / 225.0));
        check("{slow: 20}", "{}", Some(250.0 / 225.0));
        for effect in ["refuse", "hang", "restart"] {
            check(effect, "{}", None);
        }
    }

    #[test]
    fn workers_that_wait_for_calls_are_counted_at_the_worst() {
        let holding = |holds, policy: &str| {
            let loads = loads_under("hang", holds, "20ms", "{}", policy);
            assert_eq!(loads[1].holding, None, "it calls nobody");
            loads[0].holding
        };
        let policy = "{attempt_timeout: 2s, retry: {max_attempts: 3, backoff: {constant: 1s}, jitter: none}}";
        let found = holding(true, policy).unwrap();
        // Three attempts of 2 s and two waits of 1 s, 1 ms of its own, 25 times a second.
        assert!((found.workers_needed.unwrap() - 25.0 * 8.001).abs() < 1e-6, "{found:?}");
        assert_eq!(found.workers, 40);
        assert_eq!(holding(false, policy), None);
        let for_ever = "{attempt_timeout: 2s, retry: {max_attempts: unlimited}}";
        assert_eq!(holding(true, for_ever).unwrap().workers_needed, None);
    }

    #[test]
    fn a_worker_that_waits_for_its_callee_is_busy_meanwhile() {
        let text = "{schema: 1, name: t, clients: {c: {arrivals: {poisson: 1/s}, calls: a}}, services: \
             {a: {workers: 1, work: 1ms, calls: [{to: b}]}, b: {workers: 1, work: 5ms}}, links: \
             {default: {latency: 2ms}}}";
        let scenario = scenario::parse("test", text.as_bytes()).unwrap();
        // 1 ms of its own, 2 × 2 ms on the way, 5 ms below.
        let capacity = loads(&scenario.variants[0].model)[0].capacity_rps.unwrap();
        assert!((capacity - 100.0).abs() < 1e-9);
    }
}
