//! Queues of jobs on paper: how often a job is executed at most, and for how long it lives.

use serde::Serialize;

use crate::lint::explain::in_words;
use crate::lint::longest::longest_calls;
use crate::lint::worst_case;
use crate::lint::worst_case::Attempts;
use crate::lint::worst_case::WaitRow;
use crate::scenario::model::CounterScope;
use crate::scenario::model::Destinations;
use crate::scenario::model::JobQueue;
use crate::scenario::model::Model;
use crate::scenario::model::QueueId;
use crate::scenario::model::WhenFullyInFlight;
use crate::units::Duration;

/// What a queue comes to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueueCase {
    /// Its name.
    pub queue: String,
    /// The populations that feed it.
    pub fed_by: Vec<String>,
    /// The jobs per second that come in while all is well.
    pub rate_rps: f64,
    /// The most jobs per second that its processes claim.
    pub claims_rps: f64,
    /// Jobs that its workers execute at once.
    pub workers: u64,
    /// The most executions of one job, by attempts and by age.
    pub executions: Attempts,
    /// The waits of a job that ends by its attempts, at their longest; `None`: it never does.
    pub life_by_attempts: Option<Duration>,
    /// The same on average.
    pub mean_life_by_attempts: Option<Duration>,
    /// The age at which it is given up; `None`: at none.
    pub life_by_age: Option<Duration>,
    /// What counts its failures in place of attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counter: Option<CounterCase>,
    /// Its back-off and what it makes of hints in words, where they are not the plainest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_in_words: Option<String>,
    /// The waits before its first repetitions.
    pub schedule: Vec<WaitRow>,
    /// Has it more waits than these?
    #[serde(skip)]
    pub goes_on: bool,
    /// Destinations, where anything is kept for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destinations: Option<DestinationCase>,
}

/// A counter outside the jobs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CounterCase {
    /// What it counts.
    pub scope: CounterScope,
    /// The count at which a job is given up.
    pub gives_up_at: u32,
}

/// What destinations are let to have.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DestinationCase {
    /// How many there are.
    pub count: u64,
    /// Executions to one of them at once.
    pub in_flight: Option<u32>,
    /// Executions per second to one of them by its limits, when every answer takes the longest that
    /// the policy waits for; `None`: no limit.
    pub least_rps: Option<f64>,
    /// Does a full one hold the workers of others?
    pub starves_others: bool,
}

/// Every queue of a model.
pub(super) fn queue_cases(model: &Model) -> Vec<QueueCase> {
    (0..model.queues.len()).map(|id| queue_case(model, id)).collect()
}

fn queue_case(model: &Model, id: QueueId) -> QueueCase {
    let it = &model.queues[id];
    let feeders =
        || (0..model.populations.len()).filter(|i| model.populations[*i].queue == Some(id));
    let schedule = worst_case::schedule(&it.retry.backoff, it.most_executions());
    let most = it.most_executions();
    QueueCase {
        queue: it.name.clone(),
        fed_by: feeders().map(|i| model.populations[i].name.clone()).collect(),
        rate_rps: feeders().map(|i| model.healthy_rate(i)).sum(),
        claims_rps: it.claims_per_second(),
        workers: u64::from(it.processes) * u64::from(it.workers),
        executions: executions(it),
        life_by_attempts: it.longest_waits(),
        mean_life_by_attempts: most.map(|most| it.retry.backoff.total(most.saturating_sub(1)).mean),
        life_by_age: it.retry.max_elapsed.map(|limit| limit.after),
        counter: it
            .counter
            .map(|counter| CounterCase { scope: counter.scope, gives_up_at: counter.gives_up_at }),
        waits_in_words: in_words(&it.retry),
        goes_on: most.is_none_or(|most| most as usize > schedule.len() + 1),
        schedule,
        destinations: destinations(model, id),
    }
}

/// The most executions of one job: as many as its attempts allow, and as fit into its life when
/// every wait is at its shortest.
pub(super) fn executions(queue: &JobQueue) -> Attempts {
    // More than that is as good as without end.
    const MOST: u32 = 1 << 24;
    let by_attempts = queue.most_executions();
    let by_age = queue.retry.max_elapsed.and_then(|limit| {
        let fits = |retries: u32| queue.retry.backoff.total_bounds(retries).0 <= limit.after;
        let (mut fit, mut beyond) = (0, MOST);
        if fits(MOST) {
            return None;
        }
        while beyond - fit > 1 {
            let middle = fit + (beyond - fit) / 2;
            if fits(middle) { fit = middle } else { beyond = middle }
        }
        Some(fit + 1)
    });
    let most = by_attempts.into_iter().chain(by_age).min();
    most.map_or(Attempts::Unlimited, |most| Attempts::AtMost(most.into()))
}

/// The destinations of a queue, where anything is kept for them.
fn destinations(model: &Model, id: QueueId) -> Option<DestinationCase> {
    let it = &model.queues[id].destinations;
    if *it == Destinations::default() {
        return None;
    }
    let feeders = || model.populations.iter().filter(|population| population.queue == Some(id));
    let calls = longest_calls(model);
    let longest = feeders().map(|population| calls[population.calls]);
    let longest = longest.max_by_key(|call| call.span);
    let by_places = it.in_flight.zip(longest).and_then(|(places, call)| {
        let bounded = !call.open_ended && !call.span.is_zero() && call.span != Duration::MAX;
        bounded.then(|| f64::from(places) / call.span.as_secs_f64())
    });
    let by_rate = it.rate.map(|rate| rate.rate.as_per_second());
    Some(DestinationCase {
        count: feeders().map(|population| u64::from(population.size)).sum(),
        in_flight: it.in_flight,
        least_rps: by_places.into_iter().chain(by_rate).reduce(f64::min),
        starves_others: it.in_flight.is_some() && it.when_full == WhenFullyInFlight::HoldsWorker,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::worst_case::tests::model;

    /// The case of a queue with these settings.
    fn case(settings: &str) -> QueueCase {
        let text = format!(
            "{{schema: 1, name: t, clients: {{c: {{population: 50, arrivals: {{poisson: 2/s}}, calls: \
             x, policy: p, queue: q}}}}, services: {{x: {{workers: 1, work: 1ms}}}}, policies: {{p: \
             {{attempt_timeout: 15s, breaker: {{consecutive: 5, open_for: 1s}}}}}}, queues: {{q: \
             {{workers: 4, processes: 3, {settings}}}}}}}"
        );
        queue_case(&model(&text), 0)
    }

    const TABLE: &str = "backoff: {exponential: {base: 1min, cap: 1h}}";

    const fn minutes(minutes: u64) -> Duration {
        Duration::from_secs(minutes * 60)
    }

    #[test]
    fn w6_w15_sixteen_attempts_last_ten_hours_and_not_seventy_two() {
        let it = case(&format!("retry: {{max_attempts: 16, {TABLE}, max_elapsed: 72h}}"));
        assert_eq!(
            (it.executions, it.life_by_attempts),
            (Attempts::AtMost(16), Some(minutes(603)))
        );
        assert_eq!(it.life_by_age, Some(minutes(72 * 60)));
        let waits: Vec<_> = it.schedule.iter().map(|row| row.largest).collect();
        let hours = [60; 9];
        let expected: Vec<_> = [1, 2, 4, 8, 16, 32].into_iter().chain(hours).map(minutes).collect();
        assert_eq!(waits, expected);
        // Equal jitter takes a quarter off (W8): 452.25 min are 7.54 h.
        let it = case(&format!("retry: {{max_attempts: 16, {TABLE}, jitter: equal}}"));
        assert_eq!(it.life_by_attempts, Some(minutes(603)));
        let mean = it.mean_life_by_attempts.unwrap().as_secs_f64() / 3_600.0;
        assert!((mean - 7.5375).abs() < 1e-3, "{mean}");
    }

    #[test]
    fn w16_an_age_of_seventy_two_hours_takes_seventy_seven_attempts() {
        let endless = "max_attempts: unlimited, max_elapsed: 72h";
        let it = case(&format!("retry: {{{endless}, {TABLE}}}"));
        assert_eq!((it.executions, it.life_by_attempts), (Attempts::AtMost(77), None));
        // Every wait may be half as long.
        let it = case(&format!("retry: {{{endless}, {TABLE}, jitter: equal}}"));
        assert_eq!(it.executions, Attempts::AtMost(149));
        assert_eq!(case(&format!("retry: {{{endless}}}")).executions, Attempts::Unlimited);
    }

    #[test]
    fn k1_k22_three_retries_wait_twenty_one_seconds_without_jitter() {
        let life = |attempts: u32, start: u32, jitter: &str| {
            let backoff = format!("{{exponential: {{base: 3s, start: {start}}}, cap: 1h}}");
            let retry = format!("max_attempts: {attempts}, backoff: {backoff}, jitter: {jitter}");
            case(&format!("retry: {{{retry}}}")).life_by_attempts.unwrap().as_secs_f64()
        };
        let added = "{added: {most: 1s, clipped: true}}";
        assert_eq!([life(4, 0, "none"), life(4, 0, added)], [21.0, 24.0]);
        // The shipped default: three executions, from 6 s on.
        assert_eq!([life(3, 1, "none"), life(3, 1, added)], [18.0, 20.0]);
    }

    #[test]
    fn w24_a_destination_that_hangs_gets_its_places_over_the_timeout() {
        let it =
            case("destinations: {in_flight: 10, when_full: holds_worker}").destinations.unwrap();
        assert!((it.least_rps.unwrap() - 10.0 / 15.0).abs() < 1e-12);
        assert_eq!((it.count, it.in_flight, it.starves_others), (50, Some(10), true));
        let it = case("destinations: {in_flight: 10, rate: 0.5/s}").destinations.unwrap();
        assert_eq!((it.least_rps, it.starves_others), (Some(0.5), false));
        assert_eq!(case("lease: 1min").destinations, None);
    }

    #[test]
    fn a_counter_of_the_job_ends_it_and_others_do_not() {
        let it = case("counter: {gives_up_at: 2}, retry: {backoff: 1min}");
        assert_eq!((it.executions, it.life_by_attempts), (Attempts::AtMost(2), Some(minutes(1))));
        let it = case("counter: {scope: entity, gives_up_at: 2}, retry: {backoff: 1min}");
        assert_eq!((it.executions, it.life_by_attempts), (Attempts::Unlimited, None));
        assert_eq!(it.counter.map(|it| it.gives_up_at), Some(2));
    }

    #[test]
    fn what_is_claimed_stands_against_what_comes_in() {
        let it = case("claim: {every: 2s, batch: 100}");
        assert_eq!((it.rate_rps, it.claims_rps, it.workers), (2.0, 6.0, 12)); // 3 × 4 each 2 s
        assert_eq!(case("claim: {every: 2s, batch: 3, prefetch: 9}").claims_rps, 4.5);
        assert_eq!(case("claim: {every: 2s, rate: 1/s}").claims_rps, 1.0);
    }

    #[test]
    fn executions_multiply_attempts_and_processes_keep_the_state() {
        let text = "{schema: 1, name: t, clients: {c: {population: 50, arrivals: {poisson: 2/s}, calls: \
                    x, policy: p, queue: q}}, services: {x: {workers: 1, work: 10ms}}, policies: {p: \
                    {retry: {max_attempts: 2}, breaker: {consecutive: 5, open_for: 1s}}}, queues: {q: \
                    {workers: 4, processes: 3, retry: {max_attempts: 16}}}}";
        let model = model(text);
        let load = &crate::lint::load::loads(&model)[0];
        assert_eq!(load.attempts_per_request, Attempts::AtMost(32));
        assert!((load.load_all_attempts.unwrap() - 2.0 * 32.0 * 0.01).abs() < 1e-12);
        assert_eq!(crate::lint::shares::instances(&model, 0)[0].count, 3);
    }
}
