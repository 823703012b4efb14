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
