//! Jobs: what is stored of each, what lies in their queues, and who works on them.
//!
//! Like a server, this side keeps the books and answers; what follows is decided in
//! `life/claiming.rs`, `life/executing.rs` and `life/returning.rs`. A job at rest costs its record
//! and a place in the order of due times, and no event: processes look for it.
//!
//! Invariant: a job is at rest, parked, claimed or over; it is in the order of its queue exactly
//! when it is at rest.

mod counters;
mod destinations;
mod queue;

use std::collections::VecDeque;

use crate::engine::caller::NOBODY;
use crate::engine::caller::Request;
pub(super) use crate::engine::jobs::counters::Counters;
pub(super) use crate::engine::jobs::destinations::Destination;
pub(super) use crate::engine::jobs::destinations::Parked;
use crate::engine::jobs::queue::Queue;
use crate::engine::observe::QueueLevel;
use crate::engine::observe::Reason;
use crate::engine::slab::Linked;
use crate::engine::slab::Slab;
use crate::policy::backoff::Past;
use crate::scenario::model::JobQueue;
use crate::scenario::model::Model;
use crate::units::Duration;
use crate::units::SimTime;

/// A job that is not over: 80 bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) key: u64,
    pub(super) born_at: SimTime,
    /// When it is, or was, to be claimed.
    pub(super) due_at: SimTime,
    /// When it failed for the first time, or `SimTime::NEVER`.
    pub(super) failed_at: SimTime,
    /// The instance of the population it comes from: its destination.
    pub(super) client: u32,
    /// Attempts that count against it.
    pub(super) attempts: u32,
    /// How often it was claimed, and executed.
    pub(super) claims: u32,
    pub(super) executions: u32,
    /// Goes up with each claim and each return: whoever holds an older number has lost it.
    pub(super) claim: u32,
    /// The sequence number of the end of its lease, zero when it is not awaited.
    pub(super) lease: u32,
    /// Its place among those due at the same moment.
    pub(super) turn: u32,
    /// The ledger of its effects.
    pub(super) ledger: u32,
    /// Executions under way, those included that have lost their claim.
    pub(super) running: u32,
    pub(super) population: u16,
    /// The process that claimed it last.
    pub(super) process: u16,
    /// Why its next call is made.
    pub(super) reason: Reason,
    pub(super) state: JobState,
    /// It holds a place at its destination although it is at rest.
    pub(super) is_let_in: bool,
    /// It has ended once, and everybody has been told.
    pub(super) is_told: bool,
}

impl Linked for Job {
    #[inline(always)]
    fn link(&mut self) -> &mut u32 {
        &mut self.attempts
    }
}

/// Where a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JobState {
    /// In the order of due times.
    AtRest,
    /// Waiting for its destination.
    Parked,
    /// In a process.
    Claimed,
    /// Done or dead.
    Over,
}

/// An execution of a job, beside the request that makes its call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Execution {
    pub(super) job: u32,
    /// The claim under which it runs.
    pub(super) claim: u32,
    pub(super) process: u16,
    /// The step of the handler that failed last, from 1.
    pub(super) step: u16,
}

impl Execution {
    /// Of a request that is no execution.
    pub(super) const NONE: Self = Self { job: NOBODY, claim: 0, process: 0, step: 0 };
}

/// A claimed job in the line of a process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claimed {
    pub(super) job: u32,
    pub(super) claim: u32,
    pub(super) population: u16,
}

/// Who has something to go on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ready {
    /// A process with a free worker, or with jobs in its line.
    Process { queue: usize, process: usize },
    /// A destination with a free place.
    Destination { queue: usize, destination: usize },
}

/// A process that works on a queue.
#[derive(Debug, Default)]
pub(super) struct Process {
    /// Stops that are on.
    pub(super) stopped: u32,
    /// Workers that execute a job or hold one back.
    pub(super) busy: u32,
    /// Claimed jobs that wait for a worker.
    pub(super) line: VecDeque<Claimed>,
    /// It is to be looked at before anything else happens.
    pub(super) is_ready: bool,
}

/// The queues of jobs of a run.
#[derive(Default)]
pub(super) struct Jobs {
    /// Does the model have any?
    pub(super) on: bool,
    pub(super) records: Slab<Job>,
    /// Beside the slab of jobs, where a back-off remembers.
    pub(super) pasts: Vec<Past>,
    /// Beside the slab of requests.
    pub(super) executions: Vec<Execution>,
    /// Requests that are executions.
    pub(super) running: usize,
    pub(super) queues: Vec<Queue>,
    /// The queue of each process, by the number that its events carry.
    pub(super) queue_of: Vec<usize>,
    /// The first destination of each population, and the destinations of all.
    pub(super) first_destination: Vec<usize>,
    pub(super) destinations: Vec<Destination>,
    /// Which populations have destinations.
    destined: Vec<bool>,
    /// The queue of each population; the first where it has none.
    queue_by_population: Vec<usize>,
    /// Which populations feed a queue.
    feeds: Vec<bool>,
    /// To be looked at before anything else happens.
    pub(super) ready: VecDeque<Ready>,
    claims: u32,
    pub(super) levels: Vec<QueueLevel>,
    /// Jobs stored, and those whose requests have ended.
    pub(super) stored: u64,
    pub(super) told: u64,
}

impl Jobs {
    pub(super) fn new(model: &Model) -> Self {
        let mut jobs = Self { on: !model.queues.is_empty(), ..Self::default() };
        for (index, settings) in model.queues.iter().enumerate() {
            jobs.queues.push(Queue::new(settings, jobs.queue_of.len()));
            jobs.queue_of.extend((0..settings.processes).map(|_| index));
        }
        jobs.levels = vec![QueueLevel::default(); model.queues.len()];
        for population in &model.populations {
            jobs.first_destination.push(jobs.destinations.len());
            let settings = population.queue.map(|queue| &model.queues[queue].destinations);
            let destined = settings.is_some_and(|it| {
                it.in_flight.is_some() || it.rate.is_some() || it.suspend.is_some()
            });
            jobs.destined.push(destined);
            jobs.feeds.push(population.queue.is_some());
            jobs.queue_by_population.push(population.queue.unwrap_or(0));
            if destined {
                jobs.destinations.extend((0..population.size).map(|_| Destination::default()));
            }
        }
        jobs
    }

    /// The index of a job's destination.
    pub(super) fn destination(&self, job: &Job) -> usize {
        self.first_destination[job.population as usize] + job.client as usize
    }

    /// Is anything kept for its destination?
    pub(super) fn has_destinations(&self, job: &Job) -> bool {
        self.destined[job.population as usize]
    }

    /// The population of a destination.
    pub(super) fn population_of(&self, destination: usize) -> usize {
        self.first_destination.partition_point(|first| *first <= destination) - 1
    }

    /// A number that no claim has had.
    pub(super) fn new_claim(&mut self) -> u32 {
        self.claims = self.claims.wrapping_add(1);
        self.claims
    }

    /// The process that executes a job, or the client that asks by itself.
    pub(super) fn process_of(&self, request: u32, asker: &Request) -> u32 {
        let execution = self.executions.get(request as usize);
        match execution.filter(|_| self.is_fed_by(asker.population)) {
            Some(execution) => u32::from(execution.process),
            None => asker.client,
        }
    }

    /// Do the requests of a population wait in a queue?
    fn is_fed_by(&self, population: u16) -> bool {
        self.feeds[population as usize]
    }

    /// The execution that a request is, if it is one.
    #[inline]
    pub(super) fn execution(&self, request: u32) -> Option<Execution> {
        self.executions.get(request as usize).copied().filter(|it| it.job != NOBODY)
    }

    /// A process is to be looked at before anything else happens.
    pub(super) fn wake(&mut self, queue: usize, process: usize) {
        let it = &mut self.queues[queue].processes[process];
        if !it.is_ready {
            it.is_ready = true;
            self.ready.push_back(Ready::Process { queue, process });
        }
    }

    /// A destination is to be looked at before anything else happens, if anybody waits for it.
    pub(super) fn wake_destination(&mut self, queue: usize, destination: usize) {
        let it = &mut self.destinations[destination];
        let waited_for = !it.held.is_empty() || !it.parked.is_empty();
        if waited_for && !it.is_ready {
            it.is_ready = true;
            self.ready.push_back(Ready::Destination { queue, destination });
        }
    }

    pub(super) fn at_rest(&self) -> u64 {
        self.queues.iter().map(|queue| queue.at_rest() as u64 + queue.parked).sum()
    }

    /// Memory held, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.records.bytes()
            + self.pasts.capacity() * size_of::<Past>()
            + self.executions.capacity() * size_of::<Execution>()
            + self.destinations.capacity() * size_of::<Destination>()
            + self.queues.iter().map(Queue::bytes).sum::<usize>()
    }

    /// What is in each queue now.
    pub(super) fn measure_levels(&mut self, now: SimTime) {
        for (level, queue) in self.levels.iter_mut().zip(&mut self.queues) {
            *level = queue.level(now);
        }
        // Those who wait for their destination are due, too.
        for (index, it) in self.destinations.iter().enumerate() {
            let Some((due_at, ..)) = it.parked.first() else { continue };
            let queue = self.queue_by_population[self.population_of(index)];
            let oldest = &mut self.levels[queue].oldest_due;
            *oldest = Some(oldest.map_or(*due_at, |other| other.min(*due_at)));
        }
    }

    /// Jobs whose requests are open: population, and when they were born.
    pub(super) fn open(&mut self) -> Vec<(usize, SimTime)> {
        let slots = self.records.slots_in_use();
        let open = slots.into_iter().map(|slot| &self.records[slot]).filter(|job| !job.is_told);
        open.map(|job| (job.population as usize, job.born_at)).collect()
    }

    /// Every job is at rest, parked, claimed or over; as many as the queues count.
    pub(super) fn laws(&mut self) -> Vec<(&'static str, u64, u64)> {
        let mut by_state = [0_u64; 4];
        let (mut running, mut open) = (0, 0);
        for slot in self.records.slots_in_use() {
            let job = &self.records[slot];
            by_state[job.state as usize] += 1;
            running += u64::from(job.running);
            open += u64::from(!job.is_told);
        }
        let sum = |of: fn(&Queue) -> u64| self.queues.iter().map(of).sum::<u64>();
        vec![
            ("jobs stored = ended + open", self.stored, self.told + open),
            ("jobs at rest", by_state[0], sum(|queue| queue.at_rest() as u64)),
            ("jobs parked", by_state[1], sum(|queue| queue.parked)),
            ("jobs claimed", by_state[2], sum(|queue| queue.claimed)),
            ("executions under way", running, self.running as u64),
            ("executions by queue", running, sum(|queue| queue.executing)),
        ]
    }
}

/// When process `nth` of a queue looks first: processes take turns within the interval.
pub(super) fn first_look(settings: &JobQueue, nth: u32) -> Duration {
    let every = settings.claim.every.as_nanos();
    Duration::from_nanos(every / u64::from(settings.processes) * u64::from(nth))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_as_small_as_it_says() {
        assert_eq!(size_of::<Job>(), 80);
    }
}
