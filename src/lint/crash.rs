//! When a service crashes under its load: on paper, at the worst.
//!
//! A replica that has an `overload` threshold crashes with that many attempts present, waiting ones
//! and those out on calls included. In the worst case every attempt allowed is used and every call
//! takes its longest; the threshold is then met in the end if attempts come faster than they leave,
//! or if enough of them are out on calls at once. The rate from which on that happens is given as a
//! rate without retries, the number that a scenario states.
//!
//! Flows, as in `load.rs`: chance can meet a threshold at a lower rate, and a trigger that keeps
//! workers from working can meet it at any.

use serde::Serialize;

use crate::scenario::model::Cancellation;
use crate::scenario::model::Service;
use crate::units::Duration;

/// A threshold, and what it takes to meet it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Crash {
    /// Attempts present at one replica at which it crashes.
    pub crashes_at: u32,
    /// How long the workers of a replica need for that many attempts; `None` when work takes no
    /// time.
    pub work: Option<Duration>,
    /// The most attempts that workers and queue let in; `None` when nothing bounds them.
    pub most_inside: Option<u64>,
    /// The least rate without retries at which every attempt used meets the threshold; `None` when
    /// no rate does. Zero: any rate does.
    pub met_from_rps: Option<f64>,
    /// The same while the replicas are cold.
    pub met_from_cold_rps: Option<f64>,
    /// How long the excess takes to fill an empty service up to the threshold, every attempt used;
    /// `None` where it is not met, and where attempts are unlimited.
    pub fills_in: Option<Duration>,
}

/// What keeps a service busy at the worst.
pub(super) struct Busy {
    /// Attempts per second without retries.
    pub(super) rate_rps: f64,
    /// Attempts for each of these when all are used; infinite when they are unlimited.
    pub(super) attempts_per_first: f64,
    /// The longest that the calls of one handler can take, one after another.
    pub(super) longest_calls: Duration,
    /// The shortest attempt timeout of its callers.
    pub(super) patience: Option<Duration>,
}

/// The threshold of a service; `None` where it has none.
pub(super) fn crash(service: &Service, busy: &Busy) -> Option<Crash> {
    let overload = service.overload?;
    let crashes_at = overload.crashes_at?;
    let replicas = f64::from(service.replicas);
    let level = replicas * f64::from(crashes_at);
    let most_inside = most_inside(service);
    let out_of_reach = most_inside.is_some_and(|most| most < u64::from(crashes_at));
    // Attempts per second from which on the threshold is met, by how much slower work is.
    let attempts_rps = |slower: f64| {
        let work = service.work.mean().as_secs_f64() * slower;
        let stay = work + busy.longest_calls.as_secs_f64();
        let kept = if service.holds_worker { stay } else { work };
        let workers = f64::from(service.workers) * replicas;
        let overtaken = if kept > 0.0 { workers / kept } else { f64::INFINITY };
        let out = if service.calls.is_empty() { f64::INFINITY } else { level / stay };
        // Attempts whose callers leave, and are told of, stay no longer than patience.
        let told = busy.patience.filter(|_| service.cancellation != Cancellation::None);
        let least = told.map_or(0.0, |patience| level / patience.as_secs_f64());
        overtaken.min(out).max(least)
    };
    let met_from = |slower: f64| {
        let rate = attempts_rps(slower) / busy.attempts_per_first;
        (!out_of_reach && rate.is_finite()).then_some(rate)
    };
    let met_from_rps = met_from(1.0);
    let excess = busy.rate_rps * busy.attempts_per_first - attempts_rps(1.0);
    let met = met_from_rps.is_some_and(|rate| busy.rate_rps > rate);
    Some(Crash {
        crashes_at,
        work: (service.work.mean() > Duration::ZERO).then(|| {
            let each = service.work.mean().as_secs_f64() / f64::from(service.workers);
            Duration::from_secs_f64(f64::from(crashes_at) * each)
        }),
        most_inside,
        met_from_rps,
        met_from_cold_rps: overload.cold.and_then(|cold| met_from(cold.work_factor)),
        fills_in: (met && excess.is_finite()).then(|| Duration::from_secs_f64(level / excess)),
    })
}

/// Workers and places in the queue; attempts out on calls have neither, unless workers wait for
/// them.
fn most_inside(service: &Service) -> Option<u64> {
    let bounded = service.holds_worker || service.calls.is_empty();
    let limit = service.queue.limit.filter(|_| bounded)?;
    Some(u64::from(limit) + u64::from(service.workers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint;

    /// 25/s over a layer of four attempts over a database of five workers of 20 ms.
    fn crash_of(database: &str) -> Crash {
        let text = format!(
            "{{schema: 1, name: t, clients: {{c: {{arrivals: {{poisson: 25/s}}, calls: shop}}}}, \
             services: {{shop: {{workers: 10, work: 1ms, calls: [{{to: db, policy: p}}]}}, \
             db: {{workers: 5, work: 20ms, {database}}}}}, \
             policies: {{p: {{attempt_timeout: 2s, retry: {{max_attempts: 16}}}}}}}}"
        );
        let parsed = crate::scenario::parse("test", text.as_bytes());
        let scenario = parsed.unwrap_or_else(|problems| panic!("{}", problems[0]));
        let services = lint::explanation(&scenario, "base").unwrap().services;
        assert_eq!(services[0].crash, None);
        services[1].crash.unwrap()
    }

    #[test]
    fn a_threshold_is_met_where_all_attempts_exceed_the_capacity() {
        let found = crash_of(
            "queue: {limit: 1000}, overload: {crashes_at: {connections: 400}, restarts_after: 20s, \
             cold: {work_factor: 2, lasts: 30s}}",
        );
        assert_eq!(found.work, Some(Duration::from_millis(1_600)));
        assert_eq!(found.most_inside, Some(1_005));
        assert_eq!(found.met_from_rps, Some(250.0 / 16.0));
        assert_eq!(found.met_from_cold_rps, Some(125.0 / 16.0));
        // 400 at 25 × 16 − 250 = 150/s.
        let seconds = found.fills_in.unwrap().as_secs_f64();
        assert!((seconds - 400.0 / 150.0).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn a_short_queue_keeps_a_threshold_out_of_reach() {
        let overload = "overload: {crashes_at: {connections: 400}, restarts_after: 20s}";
        let found = crash_of(&format!("queue: {{limit: 394}}, {overload}"));
        assert_eq!(
            (found.most_inside, found.met_from_rps, found.fills_in),
            (Some(399), None, None)
        );
        assert!(crash_of(&format!("queue: {{limit: 395}}, {overload}")).met_from_rps.is_some());
    }

    #[test]
    fn callers_that_are_heard_leaving_take_their_attempts_along() {
        // 800 within the 2 s that a caller waits are 400/s, although 250/s is all it can do.
        let found = crash_of(
            "cancellation: full, \
             overload: {crashes_at: {connections: 800}, restarts_after: 20s}",
        );
        assert_eq!(found.met_from_rps, Some(25.0));
        assert_eq!(found.fills_in, None);
    }

    #[test]
    fn attempts_out_on_calls_are_present() {
        let text = "{schema: 1, name: t, clients: {c: {arrivals: {poisson: 10/s}, calls: shop}}, \
             services: {shop: {workers: 10, work: 0s, holds_worker: false, calls: [{to: db, policy: p}], \
             overload: {crashes_at: {connections: 60}, restarts_after: 20s}}, \
             db: {workers: 5, work: 20ms}}, \
             policies: {p: {attempt_timeout: 2s, retry: {max_attempts: 2, jitter: none, \
             backoff: {constant: 1s}}}}}";
        let scenario = crate::scenario::parse("test", text.as_bytes()).unwrap();
        let found = lint::explanation(&scenario, "base").unwrap().services[0].crash.unwrap();
        // Each is out for at most 2 + 1 + 2 s, so 12/s keep 60 inside.
        assert_eq!((found.most_inside, found.met_from_rps), (None, Some(12.0)));
    }
}
