//! A queue at run time: the order of due times, its processes, and what it counts.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::collections::BinaryHeap;

use crate::engine::jobs::Counters;
use crate::engine::jobs::Job;
use crate::engine::jobs::Process;
use crate::engine::observe::QueueLevel;
use crate::scenario::model::ClaimOrder;
use crate::scenario::model::JobQueue;
use crate::units::SimTime;

/// A queue at run time.
pub(in crate::engine) struct Queue {
    /// Jobs not due yet, as far as anybody has looked: due time, turn, job.
    later: BinaryHeap<Reverse<(SimTime, u32, u32)>>,
    /// Of these, those that have been withdrawn since, by turn and job.
    withdrawn: BTreeSet<(u32, u32)>,
    /// Jobs due.
    due: BTreeSet<(SimTime, u32, u32)>,
    turns: u32,
    /// Its processes are these of all.
    pub(in crate::engine) first_process: usize,
    pub(in crate::engine) processes: Vec<Process>,
    /// When the next claim is free, where claims have a rate.
    pub(in crate::engine) next_claim: SimTime,
    pub(in crate::engine) parked: u64,
    pub(in crate::engine) claimed: u64,
    pub(in crate::engine) executing: u64,
    pub(in crate::engine) suspended: u32,
    pub(in crate::engine) counters: Counters,
}

impl Queue {
    pub(super) fn new(settings: &JobQueue, first_process: usize) -> Self {
        let processes = (0..settings.processes).map(|_| Process::default()).collect();
        Self {
            later: BinaryHeap::new(),
            withdrawn: BTreeSet::new(),
            due: BTreeSet::new(),
            turns: 0,
            first_process,
            processes,
            next_claim: SimTime::ZERO,
            parked: 0,
            claimed: 0,
            executing: 0,
            suspended: 0,
            counters: Counters::default(),
        }
    }

    /// Puts a job into the order of due times; its turn among those due at the same moment.
    pub(in crate::engine) fn rest(&mut self, now: SimTime, due_at: SimTime, job: u32) -> u32 {
        self.turns = self.turns.wrapping_add(1);
        if due_at <= now {
            self.due.insert((due_at, self.turns, job));
        } else {
            self.later.push(Reverse((due_at, self.turns, job)));
        }
        self.turns
    }

    /// What has fallen due is in the order of what is due.
    pub(in crate::engine) fn look(&mut self, now: SimTime) {
        while let Some(Reverse(first)) = self.later.peek().copied()
            && first.0 <= now
        {
            self.later.pop();
            if !self.withdrawn.remove(&(first.1, first.2)) {
                self.due.insert(first);
            }
        }
    }

    /// The next job that is due, if any is.
    pub(in crate::engine) fn take(&mut self, order: ClaimOrder) -> Option<u32> {
        let next = match order {
            ClaimOrder::OldestDue => self.due.pop_first(),
            ClaimOrder::NewestDue => self.due.pop_last(),
        };
        next.map(|(.., job)| job)
    }

    /// A job leaves the order of due times otherwise than by being claimed.
    pub(in crate::engine) fn withdraw(&mut self, job: u32, record: &Job) {
        if !self.due.remove(&(record.due_at, record.turn, job)) {
            self.withdrawn.insert((record.turn, job));
        }
    }

    pub(in crate::engine) fn at_rest(&self) -> usize {
        self.due.len() + self.later.len() - self.withdrawn.len()
    }

    /// What is in it now.
    pub(in crate::engine) fn level(&mut self, now: SimTime) -> QueueLevel {
        self.look(now);
        QueueLevel {
            at_rest: self.at_rest() as u64,
            due: self.due.len() as u64,
            oldest_due: self.due.first().map(|(due_at, ..)| *due_at),
            parked: self.parked,
            claimed: self.claimed,
            executing: self.executing,
            suspended: self.suspended,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        /// About what an entry takes in a tree.
        const ENTRY: usize = 32;
        (self.later.capacity() * size_of::<(SimTime, u32, u32)>())
            + (self.due.len() + self.withdrawn.len()) * ENTRY
            + self.counters.bytes()
    }
}
