//! All that remains of a run: totals, time series, latencies.
//!
//! Series cover the whole run, warm-up included, in windows `[i·w, (i+1)·w)` since its start; the
//! measures of `storm.rs` cut the warm-up away. Totals count from the end of the warm-up.
//! Everything is a count or an integer sum, so records do not depend on the order of threads.

use serde::Serialize;

pub use crate::engine::observe::Cause;
pub use crate::engine::observe::DeadLetter;
pub use crate::engine::observe::Ending;
pub use crate::engine::observe::LimitKind;
pub use crate::engine::observe::Reason;
use crate::measure::deferred::DeferredCounts;
use crate::measure::jobs::JobRecord;
use crate::measure::jobs::QueueWindow;
use crate::stats::histogram::Histogram;
use crate::units::Duration;

/// What happened to a population in one window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PopulationWindow {
    /// Requests born, shed ones included.
    pub born: u32,
    /// Requests the operator shed at birth.
    pub shed: u32,
    /// Requests answered in time, by the moment of the verdict.
    pub ok: u32,
    /// Requests answered after their deadline, by the moment of the verdict.
    pub late: u32,
    /// Requests failed (shed ones not included), by the moment of the verdict.
    pub failed: u32,
    /// Requests *born* in this window that were later answered in time.
    pub born_ok: u32,
    /// Requests *born* in this window that later failed or were late (shed ones not included).
    pub born_lost: u32,
}

/// What happened at a service, all replicas together, in one window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ServiceWindow {
    /// Attempts that reached it and were the first of their call.
    pub first: u32,
    /// Attempts that reached it as a retry after a timeout.
    pub retry_after_timeout: u32,
    /// Attempts that reached it as a retry after a refusal.
    pub retry_after_refusal: u32,
    /// Attempts that reached it as a retry after an error.
    pub retry_after_error: u32,
    /// Attempts that reached it beside others of their call.
    pub hedge: u32,
    /// Attempts refused on arrival: down, full (answered or silent).
    pub refused: u32,
    /// Attempts answered well (the handler's calls included).
    pub completed_ok: u32,
    /// Attempts answered with an error, its own or one of a call below.
    pub completed_error: u32,
    /// Attempts that ended inside without an answer of the handler: crash, restart, flush, hang,
    /// cancellation, expiry in the queue.
    pub removed: u32,
    /// Nanoseconds that workers were busy (own work, and holding for calls if so configured).
    pub busy_ns: u64,
    /// The part of completed own work whose caller had left by the end of the work, in
    /// nanoseconds; booked in the window in which the work ends.
    pub wasted_ns: u64,
    /// Attempts waiting for a worker at the end of the window.
    pub waiting: u32,
    /// Attempts present at the end of the window: waiting, in service, out on calls.
    pub present: u32,
    /// Replicas that take up work at the end of the window (not down, not hung).
    pub replicas_up: u32,
    /// Replicas that crashed in the window.
    pub crashes: u32,
    /// Effects of writes.
    pub effects: u32,
    /// Effects beyond the first of a request and a call.
    pub duplicate_effects: u32,
    /// Writes (a request and a call) that took effect for the second time.
    pub duplicated: u32,
    /// Attempts answered from memory, their idempotency key being known.
    pub replays: u32,
    /// Attempts that met their own key in progress.
    pub conflicts: u32,
    /// Attempts whose key was known with another body.
    pub mismatches: u32,
}

impl ServiceWindow {
    /// Attempts that reached the service.
    pub const fn offered(&self) -> u32 {
        self.first + self.retries()
    }

    /// Attempts that reached the service, in the order of `Reason`.
    pub const fn by_reason(&self) -> [u32; Reason::COUNT] {
        [
            self.first,
            self.retry_after_timeout,
            self.retry_after_refusal,
            self.retry_after_error,
            self.hedge,
        ]
    }

    /// Attempts that reached the service and were not the first of their call: retries and hedges.
    pub const fn retries(&self) -> u32 {
        self.retry_after_timeout + self.retry_after_refusal + self.retry_after_error + self.hedge
    }
}

/// What happened on the caller's side of an edge in one window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EdgeWindow {
    /// Calls begun.
    pub calls: u32,
    /// Times the breaker refused.
    pub rejected_by_breaker: u32,
    /// Times the bulkhead refused.
    pub rejected_by_bulkhead: u32,
    /// Times the throttle refused.
    pub rejected_by_throttle: u32,
    /// Retries that the budget did not pay for.
    pub denied_by_budget: u32,
    /// Attempts that timed out.
    pub timeouts: u32,
    /// Calls waiting in a back-off at the end of the window.
    pub backing_off: u32,
    /// Breakers that are open or half-open at the end of the window.
    pub breakers_open: u32,
    /// Breakers in use at the end of the window.
    pub breakers: u32,
}

/// The time series of a run: one row per window, entities side by side.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Series {
    /// Width of a window.
    pub window: Duration,
    /// Windows before time 0.
    pub warm_up_windows: usize,
    /// Windows in all (fewer than planned when a limit ended the run).
    pub windows: usize,
    /// `[window · populations + population]`.
    pub populations: Vec<PopulationWindow>,
    /// `[window · services + service]`.
    pub services: Vec<ServiceWindow>,
    /// `[window · edges + edge]`.
    pub edges: Vec<EdgeWindow>,
    /// `[window · queues + queue]`: queues of jobs.
    pub queues: Vec<QueueWindow>,
    /// Attempts inside all services together at the end of each window.
    pub backlog: Vec<u32>,
}

impl Series {
    /// The windows of one population, in order.
    pub fn population(&self, id: usize) -> impl ExactSizeIterator<Item = &PopulationWindow> {
        let every = self.populations.len() / self.windows.max(1);
        self.populations.iter().skip(id).step_by(every.max(1))
    }

    /// The windows of one service, in order.
    pub fn service(&self, id: usize) -> impl ExactSizeIterator<Item = &ServiceWindow> {
        let every = self.services.len() / self.windows.max(1);
        self.services.iter().skip(id).step_by(every.max(1))
    }

    /// The windows of one edge, in order.
    pub fn edge(&self, id: usize) -> impl ExactSizeIterator<Item = &EdgeWindow> {
        let every = self.edges.len() / self.windows.max(1);
        self.edges.iter().skip(id).step_by(every.max(1))
    }

    /// The windows of one queue of jobs, in order.
    pub fn queue(&self, id: usize) -> impl ExactSizeIterator<Item = &QueueWindow> {
        let every = self.queues.len() / self.windows.max(1);
        self.queues.iter().skip(id).step_by(every.max(1))
    }

    /// Start of window `index` in seconds since the end of the warm-up (negative before it).
    pub fn start_s(&self, index: usize) -> f64 {
        (index as f64 - self.warm_up_windows as f64) * self.window.as_secs_f64()
    }
}

/// Verdicts of a population, for requests born at or after time 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verdicts {
    /// Requests born.
    pub born: u64,
    /// Answered in time.
    pub ok: u64,
    /// Answered after their deadline.
    pub late: u64,
    /// Still open at the end of the run.
    pub open: u64,
    /// Failed, by `Cause as usize`; shed requests are under `Cause::Shed`.
    pub failed: [u64; Cause::ALL.len()],
}

impl std::iter::Sum for Verdicts {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, verdicts| {
            sum.born += verdicts.born;
            sum.ok += verdicts.ok;
            sum.late += verdicts.late;
            sum.open += verdicts.open;
            for (sum, count) in sum.failed.iter_mut().zip(verdicts.failed) {
                *sum += count;
            }
            sum
        })
    }
}

/// Birth to verdict of the requests of one population, born at or after time 0, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Latencies {
    /// Of requests answered in time.
    pub ok: Histogram,
    /// Of requests that failed or came late (shed ones not included).
    pub failed: Histogram,
}

impl Latencies {
    /// Those of the failed, or those of the others.
    pub const fn of(&self, failed: bool) -> &Histogram {
        if failed { &self.failed } else { &self.ok }
    }

    /// Adds every value of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.ok.merge(&other.ok);
        self.failed.merge(&other.failed);
    }
}

/// All that remains of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRecord {
    /// Which replication it is; together with the seed it keys every draw.
    pub replication: u32,
    /// How it ended.
    pub ending: Ending,
    /// Events that happened (timers that were no longer wanted not counted).
    pub events: u64,
    /// A hash over time, kind and entity of every event: equal histories, equal hash.
    pub fingerprint: u64,
    /// Most attempts in flight at once.
    pub peak_attempts: u64,
    /// Verdicts, one entry per population.
    pub verdicts: Vec<Verdicts>,
    /// What became of deferred results, one entry per service.
    pub deferred: Vec<DeferredCounts>,
    /// The time series.
    pub series: Series,
    /// Birth to verdict of requests answered in time, born at or after time 0, in nanoseconds.
    pub latency_ok: Histogram,
    /// Birth to verdict of the others (shed ones not included).
    pub latency_failed: Histogram,
    /// The same, one entry per population.
    pub latencies: Vec<Latencies>,
    /// What became of jobs, one entry per queue of them.
    pub jobs: Vec<JobRecord>,
}
