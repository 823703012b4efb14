//! `queues`: defaults filled in, settings that fit one another, and who feeds them.

use crate::policy::backoff::Backoff;
use crate::policy::hint::HintConfig;
use crate::policy::stack::Retry;
use crate::scenario::defaults;
use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::Problems;
use crate::scenario::diagnostic::quoted;
use crate::scenario::file::Named;
use crate::scenario::file::Written;
use crate::scenario::file::WrittenQueue;
use crate::scenario::model::Effect;
use crate::scenario::model::JobQueue;
use crate::scenario::model::QueueId;
use crate::scenario::model::Stop;
use crate::scenario::validate::Names;
use crate::scenario::validate::policies;

/// Processes of all queues together: each has its own workers, and its state of policies.
const MOST_PROCESSES: u64 = 100_000;
/// Instances of a population for each of which a queue keeps a state: about a hundred bytes.
const MOST_DESTINATIONS: u32 = 1_000_000;

/// Every queue of the file, in order; one that has no workers is left out.
pub(super) fn queues(written: &Written<'_>, problems: &mut Problems) -> Vec<JobQueue> {
    let processes = |queue: &Named<WrittenQueue>| {
        queue.it.processes.map_or(defaults::PROCESSES, |processes| processes.value)
    };
    let all: u64 = written.queues.iter().map(|queue| u64::from(processes(queue))).sum();
    if let Some(first) = written.queues.first()
        && all > MOST_PROCESSES
    {
        problems.push_with(
            first.name.place,
            format!("the queues have {all} processes; {MOST_PROCESSES} are allowed"),
            "fewer processes with more `workers` each come close",
        );
    }
    written.queues.iter().filter_map(|queue| meant(queue, problems)).collect()
}

fn meant(named: &Named<WrittenQueue>, problems: &mut Problems) -> Option<JobQueue> {
    let it = &named.it;
    let retry = retry(named, problems);
    Some(JobQueue {
        name: named.name.value.clone(),
        processes: it.processes.map_or(defaults::PROCESSES, |count| count.value),
        workers: it.workers?.value,
        claim: it.claim,
        lease: it.lease,
        retry,
        refused: it.refused.map_or(defaults::REFUSED, |refused| refused.value),
        destinations: it.destinations,
        worker_errors: it.worker_errors,
        counter: it.counter.map(|counter| counter.value),
        requeue: it.requeue.map_or(defaults::REQUEUE, |word| word.value),
        elsewhere: it.elsewhere.map_or(defaults::ELSEWHERE, |switch| switch.value),
        signed_once: it.signed_once.map_or(defaults::SIGNED_ONCE, |switch| switch.value),
    })
}

/// When a job comes again. Without a word about it no job does; a counter takes the place of the
/// number of attempts.
fn retry(named: &Named<WrittenQueue>, problems: &mut Problems) -> Retry {
    let counter = named.it.counter.as_ref();
    let Some(written) = &named.it.retry else {
        return Retry {
            max_attempts: counter.is_none().then_some(defaults::EXECUTIONS),
            backoff: Backoff::NONE,
            on: defaults::RETRIED,
            hint: HintConfig::IGNORE,
            budget: None,
            max_elapsed: None,
        };
    };
    let mut retry = policies::meant_retry(&written.value, problems);
    // What is wrong with a budget has been said where it is read.
    retry.budget = None;
    if let Some(counter) = counter {
        let numbered = written.value.max_attempts.flatten().is_some();
        if numbered || retry.backoff.most_retries().is_some() {
            problems.push_with(
                counter.place,
                format!(
                    "a `counter` gives jobs up in place of `max_attempts`, and {} has both",
                    quoted(&named.name.value)
                ),
                "set `retry: { max_attempts: unlimited }` or leave the number out; a `table` of \
                 waits that `ends` is a number of attempts, too",
            );
        }
        retry.max_attempts = None;
    }
    retry
}

/// The queue that each population feeds, if it does.
pub(super) fn feeds(
    written: &Written<'_>,
    names: &Names<'_>,
    problems: &mut Problems,
) -> Vec<Option<QueueId>> {
    let mut feeds = Vec::new();
    for client in &written.clients {
        let queue = client.it.queue.as_ref().and_then(|queue| names.queues.find(queue, problems));
        let keeps = queue.and_then(|queue| written.queues.get(queue)).is_some_and(|queue| {
            let it = queue.it.destinations;
            it.in_flight.is_some() || it.rate.is_some() || it.suspend.is_some()
        });
        if let Some(size) = client.it.population
            && keeps
            && size.value > MOST_DESTINATIONS
        {
            problems.push_with(
                size.place,
                format!("{} destinations, for each of which something is kept", size.value),
                format!("accepted are up to {MOST_DESTINATIONS} where a queue has `destinations`"),
            );
        }
        feeds.push(queue);
    }
    feeds
}

/// Some processes of a queue go away: are there so many?
pub(super) fn stop(
    queue: QueueId,
    (how, processes): (Stop, u32),
    written: &Written<'_>,
    place: Place,
    problems: &mut Problems,
) -> Effect {
    let named = &written.queues[queue];
    let all = named.it.processes.map_or(defaults::PROCESSES, |processes| processes.value);
    if processes > all {
        let name = quoted(&named.name.value);
        problems.push_with(
            place,
            format!("{name} has {all} {}", if all == 1 { "process" } else { "processes" }),
            format!("accepted are 1 to {all}"),
        );
    }
    Effect::Stop { queue, processes, how }
}
