//! Durable queues of jobs: who works on them, when a failed one comes again, when it is given up.
//!
//! A population that names a queue does not call: each of its requests is a job that is stored,
//! claimed by a worker once it is due, and *executed*, which is one call under the population's
//! policy. A job that failed goes back to the queue with a later due time and holds no worker
//! meanwhile. Its request ends when the job is done or dead.
//!
//! Source: the common shape of database-backed queues (claim due rows in batches under a lease), as
//! in the webhook producer and the ChokaQ processor that the scenarios of `mission` replay.

use serde::Serialize;

use crate::policy::outcome::Class;
use crate::policy::outcome::ClassSet;
use crate::policy::stack::Retry;
use crate::units::Duration;
use crate::units::Rate;
use crate::units::Share;

use super::ErrorsOf;

/// A durable queue of jobs and the processes that work on it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JobQueue {
    /// Its name in the scenario.
    pub name: String,
    /// Worker processes; at least 1. What policies keep per `caller` is kept by each process.
    pub processes: u32,
    /// Jobs that one process executes at once; at least 1.
    pub workers: u32,
    /// How jobs are claimed.
    pub claim: Claim,
    /// How long a claim holds: a job that has not ended by then is due again. `None`: for ever.
    pub lease: Option<Duration>,
    /// When a failed job comes again and when it is given up: `on` says which failures are tried
    /// again, `max_attempts` counts executions, `max_elapsed` is the age since birth. No budget.
    pub retry: Retry,
    /// What a refusal by the caller's own policy (`breaker_open`, `bulkhead_full`, `throttled`)
    /// does to a job: nothing was executed.
    pub refused: Refused,
    /// What is kept for each destination, which is an instance of the population.
    pub destinations: Destinations,
    /// Executions that end in the worker's own fault.
    pub worker_errors: Option<WorkerErrors>,
    /// A counter of failures outside the job, in place of `retry.max_attempts`.
    pub counter: Option<Counter>,
    /// What is checked when a consumer puts a job back or gives it up.
    pub requeue: Requeue,
    /// Is a job put back claimed by another process than the last, where there is one?
    pub elsewhere: bool,
    /// Is a job signed once, at birth? Otherwise each attempt is signed afresh.
    pub signed_once: bool,
}

/// How jobs are claimed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// Each process looks so often for due jobs; processes take turns within it.
    pub every: Duration,
    /// It takes at most so many at a time.
    pub batch: u32,
    /// So many claimed jobs may wait in a process for a worker.
    pub prefetch: u32,
    /// Which of the due jobs come first.
    pub order: ClaimOrder,
    /// The most claims per second of all processes together; `None`: without limit.
    pub rate: Option<Rate>,
    /// Does a process whose breaker is open leave the queue alone?
    pub idles_when_open: bool,
}

/// Which of the due jobs come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimOrder {
    /// Those due for longest.
    OldestDue,
    /// Those that fell due last.
    NewestDue,
}

/// What a refusal by the caller's own policy does to a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Refused {
    /// It is a failure as any other: `retry.on` decides.
    Fails,
    /// The job is dead.
    DeadLetter,
    /// It comes again after a fixed time.
    Postpone {
        /// How long.
        after: Duration,
        /// Is that an attempt?
        consumes_attempt: bool,
    },
}

/// What is kept for each destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Destinations {
    /// Executions under way to one destination; `None`: without limit.
    pub in_flight: Option<u32>,
    /// Where a job waits that finds them taken.
    pub when_full: WhenFullyInFlight,
    /// Executions per second to one destination, repetitions included.
    pub rate: Option<DeliveryRate>,
    /// When a destination is left alone.
    pub suspend: Option<Suspend>,
}

/// Where a job waits whose destination has no place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenFullyInFlight {
    /// In the queue: it is due again when a place comes free.
    #[default]
    Returns,
    /// In its worker, which does nothing else meanwhile.
    HoldsWorker,
}

/// A rate for each destination. A job that comes too early is due again at the next free moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DeliveryRate {
    /// Executions per second.
    pub rate: Rate,
    /// So many may come at once; at least 1.
    pub burst: u32,
}

/// When a destination is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Suspend {
    /// The failures that count. Any success ends the row; other failures leave it alone.
    pub on: ClassSet,
    /// The failure in a row, by number, that suspends; at least 1.
    pub at: u32,
    /// For how long; `None`: until the operator resumes it.
    pub lasts: Option<Duration>,
    /// What becomes of its jobs meanwhile.
    pub jobs: JobsMeanwhile,
}

/// What becomes of the jobs of a suspended destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JobsMeanwhile {
    /// They wait; their age goes on.
    Wait,
    /// Whichever is claimed is dead.
    DeadLetter,
}

/// Executions that end in the worker's own fault: not decodable, panic, crash.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WorkerErrors {
    /// How many.
    pub share: Share,
    /// Of executions, or of jobs, each of whose executions then ends so.
    pub of: ErrorsOf,
    /// When the job comes back.
    pub returns: Returns,
    /// Is it an attempt, or does it say nothing of the job?
    pub consumes_attempt: bool,
}

/// When a job comes back whose worker failed before it sent anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Returns {
    /// With the due time it had, later by a pause.
    Due(Duration),
    /// When its lease ends.
    WithLease,
}

/// A counter of failures outside the job.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Counter {
    /// What it counts.
    pub scope: CounterScope,
    /// The count at which a job is given up; at least 1.
    pub gives_up_at: u32,
    /// How long after its first increment it is forgotten; `None`: never.
    pub ttl: Option<Duration>,
    /// The share of counters whose maker dies between the increment and the setting of the ttl.
    pub without_ttl: Share,
}

/// What a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CounterScope {
    /// Failures of one job.
    Job,
    /// Failures of one job in the step of its handler that failed.
    JobStep,
    /// Failures of all jobs of one instance of the population.
    Entity,
    /// The processes, each with its own node, that have failed one job: a list without duplicates.
    Nodes,
    /// Failures of one id, where putting a job back gives it a new one.
    NewId,
}

/// What is checked when a consumer puts a job back or gives it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Requeue {
    /// That its claim still holds; otherwise what it has to say about a failure is not heard.
    CompareAndSet,
    /// Nothing.
    Blind,
}

/// How long a service takes a signature for fresh, and what it says to older ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ReplayWindow {
    /// The oldest signature that is taken.
    pub lasts: Duration,
    /// The answer to older ones.
    pub answer: Class,
}

impl JobQueue {
    /// Can a failed job come again?
    pub fn repeats(&self) -> bool {
        self.most_executions() != Some(1)
    }

    /// The most executions of one job, those left out that end in the worker's own fault; `None`:
    /// as many as its age allows. A counter is one of the job's executions only where it counts
    /// them all, and as long as its ttl lasts.
    pub fn most_executions(&self) -> Option<u32> {
        match self.counter {
            Some(counter) => (counter.scope == CounterScope::Job).then_some(counter.gives_up_at),
            None => self.retry.max_attempts,
        }
    }

    /// All waits of a job that is executed as often as it can be, at their longest; `None`: there
    /// is no end to them.
    pub fn longest_waits(&self) -> Option<Duration> {
        let retries = self.most_executions()?.saturating_sub(1);
        Some(self.retry.backoff.total_bounds(retries).1)
    }

    /// The most jobs that its processes claim in a second.
    pub fn claims_per_second(&self) -> f64 {
        let Claim { every, batch, prefetch, rate, .. } = self.claim;
        let room = self.workers.saturating_add(prefetch).min(batch);
        let looks = f64::from(room) * f64::from(self.processes) / every.as_secs_f64();
        rate.map_or(looks, |rate| looks.min(rate.as_per_second()))
    }

    /// The longest that executions of one job may follow one another, by the number of attempts or
    /// by age, whichever ends first; `None`: for ever. Executions themselves and waits for a worker
    /// or a destination come on top of the waits.
    pub fn longest_life(&self) -> Option<Duration> {
        let age = self.retry.max_elapsed.map(|limit| limit.after);
        self.longest_waits().into_iter().chain(age).min()
    }
}
