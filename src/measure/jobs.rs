//! What became of the jobs of one queue in one run: ends, repetitions, lags, and what is left.
//!
//! Totals count from the end of the warm-up: whatever is told of one job counts where the job was
//! stored by then, events where they happened by then. Windows cover the whole run.
//!
//! Invariant: of the jobs stored, done + dead + left = stored; `left` is not kept, since jobs of
//! the warm-up may be among those at rest.

use serde::Serialize;

use crate::engine::observe::DeadLetter;
use crate::engine::observe::JobEnd;
use crate::engine::observe::QueueLevel;
use crate::engine::observe::Return;
use crate::stats::histogram::Histogram;
use crate::units::SimTime;

/// What happened in a queue of jobs in one window, and what was in it at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QueueWindow {
    /// Jobs stored.
    pub stored: u32,
    /// Claims.
    pub claims: u32,
    /// Executions that ended, those refused by the caller's own policy left out.
    pub executions: u32,
    /// Jobs put back for another time.
    pub returned: u32,
    /// Jobs done.
    pub done: u32,
    /// Jobs given up.
    pub dead: u32,
    /// Jobs at rest at the end of the window, due or not.
    pub at_rest: u64,
    /// Of these, those that are due.
    pub due: u64,
    /// Jobs that wait for their destination at the end of the window.
    pub parked: u64,
    /// Jobs claimed at the end of the window.
    pub claimed: u64,
    /// Of these, those that a worker executes.
    pub executing: u64,
    /// Destinations suspended at the end of the window.
    pub suspended: u32,
    /// How long the oldest job that is due has been so, in nanoseconds; 0 where none is.
    pub oldest_due_ns: u64,
}

/// What became of the jobs of a queue, from time 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JobCounts {
    /// Jobs stored.
    pub stored: u64,
    /// Jobs done.
    pub done: u64,
    /// Jobs given up, by `DeadLetter as usize`.
    pub dead: [u64; DeadLetter::ALL.len()],
    /// Claims.
    pub claims: u64,
    /// Executions that ended, those refused by the caller's own policy left out.
    pub executions: u64,
    /// Executions of the jobs that were given up.
    pub executions_of_dead: u64,
    /// Jobs put back, by `Return as usize`.
    pub returns: [u64; Return::COUNT],
    /// Jobs that had ended and were put back by another consumer.
    pub reopened: u64,
    /// Jobs that ended once more.
    pub ended_again: u64,
    /// Times that a destination was suspended.
    pub suspensions: u64,
    /// When the first job was given up, in nanoseconds from time 0.
    pub first_dead_ns: Option<u64>,
    /// The longest that the oldest job due had been so at the end of a window, in nanoseconds.
    pub oldest_due_ns: u64,
    /// Most jobs at rest and parked at the end of a window.
    pub most_at_rest: u64,
    /// Jobs at rest at the end of the run.
    pub at_rest: u64,
    /// Jobs that wait for their destination at the end of the run.
    pub parked: u64,
    /// Jobs claimed at the end of the run.
    pub claimed: u64,
    /// Destinations suspended at the end of the run.
    pub suspended: u64,
}

impl JobCounts {
    /// Jobs given up, whatever the reason.
    pub fn all_dead(&self) -> u64 {
        self.dead.iter().sum()
    }

    /// A count per job stored; `None` where none was.
    pub fn per_job(&self, count: u64) -> Option<f64> {
        (self.stored > 0).then(|| count as f64 / self.stored as f64)
    }

    /// Executions per job given up; `None` where none was.
    pub fn executions_per_dead_letter(&self) -> Option<f64> {
        let dead = self.all_dead();
        (dead > 0).then(|| self.executions_of_dead as f64 / dead as f64)
    }

    /// The share of executions that jobs took which were given up; `None` where none was executed.
    /// Where executions take alike long it is their share of the workers' time.
    pub fn useless_share(&self) -> Option<f64> {
        (self.executions > 0).then(|| self.executions_of_dead as f64 / self.executions as f64)
    }

    /// What workers write to the storage: each claim, each return, each end. A lease that ends is
    /// no write, nor is the storing itself, which is the producer's.
    pub fn storage_writes(&self) -> u64 {
        let returns: u64 = self.returns.iter().sum();
        let written = returns - self.returns[Return::LeaseEnded as usize];
        self.claims + written + self.done + self.all_dead() + self.ended_again
    }
}

/// Spans of time of the jobs of a queue, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobSpans {
    /// From birth to the end of those done.
    pub lateness: Histogram,
    /// From the first failure to the end of those given up.
    pub to_dead_letter: Histogram,
    /// From falling due to the claim.
    pub claim_lag: Histogram,
}

impl JobSpans {
    /// Adds every value of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.lateness.merge(&other.lateness);
        self.to_dead_letter.merge(&other.to_dead_letter);
        self.claim_lag.merge(&other.claim_lag);
    }
}

/// What remains of a queue of jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobRecord {
    /// Counts.
    pub counts: JobCounts,
    /// Spans of time.
    pub spans: JobSpans,
}

/// Listens for one queue.
#[derive(Clone, Debug)]
pub(super) struct JobRecorder {
    start: SimTime,
    pub(super) window: QueueWindow,
    pub(super) record: JobRecord,
}

impl JobRecorder {
    pub(super) fn new(start: SimTime) -> Self {
        Self { start, window: QueueWindow::default(), record: JobRecord::default() }
    }

    fn counts(&self, at: SimTime) -> u64 {
        u64::from(at >= self.start)
    }

    pub(super) fn enqueued(&mut self, now: SimTime) {
        self.window.stored += 1;
        self.record.counts.stored += self.counts(now);
    }

    pub(super) fn claimed(&mut self, now: SimTime, due_at: SimTime) {
        self.window.claims += 1;
        if now >= self.start {
            self.record.counts.claims += 1;
            self.record.spans.claim_lag.record(now.since(due_at).as_nanos());
        }
    }

    pub(super) fn executed(&mut self, now: SimTime) {
        self.window.executions += 1;
        self.record.counts.executions += self.counts(now);
    }

    pub(super) fn returned(&mut self, now: SimTime, why: Return) {
        self.window.returned += 1;
        self.record.counts.returns[why as usize] += self.counts(now);
    }

    pub(super) fn ended(&mut self, now: SimTime, end: &JobEnd) {
        self.window.done += u32::from(end.dead.is_none());
        self.window.dead += u32::from(end.dead.is_some());
        if end.born_at < self.start {
            return;
        }
        let JobRecord { counts, spans } = &mut self.record;
        let Some(reason) = end.dead else {
            counts.done += 1;
            spans.lateness.record(now.since(end.born_at).as_nanos());
            return;
        };
        counts.dead[reason as usize] += 1;
        counts.executions_of_dead += u64::from(end.executions);
        counts.first_dead_ns.get_or_insert(now.since(self.start).as_nanos());
        if let Some(failed_at) = end.failed_at {
            spans.to_dead_letter.record(now.since(failed_at).as_nanos());
        }
    }

    pub(super) fn reopened(&mut self, now: SimTime, put_back: bool) {
        let counted = self.counts(now);
        let counts = &mut self.record.counts;
        *(if put_back { &mut counts.reopened } else { &mut counts.ended_again }) += counted;
    }

    pub(super) fn suspended(&mut self, now: SimTime, is: bool) {
        self.record.counts.suspensions += self.counts(now) * u64::from(is);
    }

    pub(super) fn window_ends(&mut self, now: SimTime, level: &QueueLevel) -> QueueWindow {
        let mut window = std::mem::take(&mut self.window);
        window.at_rest = level.at_rest;
        window.due = level.due;
        window.parked = level.parked;
        window.claimed = level.claimed;
        window.executing = level.executing;
        window.suspended = level.suspended;
        window.oldest_due_ns = level.oldest_due.map_or(0, |due| now.since(due).as_nanos());
        let counts = &mut self.record.counts;
        (counts.at_rest, counts.parked) = (level.at_rest, level.parked);
        (counts.claimed, counts.suspended) = (level.claimed, level.suspended.into());
        if now > self.start {
            counts.oldest_due_ns = counts.oldest_due_ns.max(window.oldest_due_ns);
            counts.most_at_rest = counts.most_at_rest.max(level.at_rest + level.parked);
        }
        window
    }
}

#[cfg(test)]
mod tests;
