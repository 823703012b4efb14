//! The answering side: replicas, queues, workers, and how they fail.
//!
//! A server is asked and answers with a value; it schedules nothing. Attempts are known to it by
//! their slot only.
//!
//! Invariant: busy workers ≤ workers (a trigger that takes workers away lets those in service
//! finish), waiting ≤ limit, and the integrals of what is present are exact integers.

mod level;

use std::collections::VecDeque;

use crate::engine::audit::ServiceAudit;
use crate::engine::observe::ServiceLevel;
use crate::engine::server::level::Level;
use crate::engine::trigger::TriggeredErrors;
use crate::policy::shedding::CoDelConfig;
use crate::policy::shedding::Standing;
use crate::scenario::model::QueueOrder;
use crate::scenario::model::Service;
use crate::scenario::model::WhenFull;
use crate::units::Duration;
use crate::units::SimTime;

/// What a replica does with an attempt that reaches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offer {
    /// A worker takes it up at once.
    Started,
    /// It waits.
    Queued,
    /// The replica is down: the caller hears `unavailable`.
    Down,
    /// The queue is full: the caller hears `overloaded`.
    Full,
    /// The queue is full or the replica hangs: the caller hears nothing.
    Swallowed,
}

/// One replica of a service.
#[derive(Debug)]
pub(super) struct Replica {
    /// Attempts that wait, in the order of arrival; removed ones stay until their turn comes.
    queue: VecDeque<u32>,
    /// Those of the queue that still wait.
    waiting: u32,
    busy: u32,
    present: u32,
    /// Reasons for which it is down (a crash, a restart); it is up at zero.
    down: u32,
    /// Triggers that make it refuse, and those that make it hang.
    refusing: u32,
    hanging: u32,
    /// How many times as long work takes, when it is not cold.
    slowdown: f64,
    cold_until: SimTime,
    /// Since when somebody waits.
    standing: Standing,
}

impl Replica {
    /// Up and warm, with nobody inside.
    fn new() -> Self {
        Self {
            queue: VecDeque::new(),
            waiting: 0,
            busy: 0,
            present: 0,
            down: 0,
            refusing: 0,
            hanging: 0,
            slowdown: 1.0,
            cold_until: SimTime::ZERO,
            standing: Standing::default(),
        }
    }

    /// Does it take up attempts?
    const fn is_up(&self) -> bool {
        self.down + self.refusing + self.hanging == 0
    }
}

/// A service during a run.
#[derive(Debug)]
pub(super) struct Server<'p> {
    /// As of now: the operator may change them.
    pub(super) settings: &'p Service,
    pub(super) audit: ServiceAudit,
    replicas: Vec<Replica>,
    level: Level,
    /// Workers of each replica that take up work.
    workers: u32,
    /// Triggers that make work slower: how many times, and on how many replicas.
    slowdowns: Vec<(f64, u32)>,
    worker_shares: Vec<f64>,
    /// Triggers that make work end in errors.
    pub(super) errors: Vec<TriggeredErrors>,
}

impl<'p> Server<'p> {
    pub(super) fn new(settings: &'p Service) -> Self {
        Self {
            settings,
            audit: ServiceAudit::default(),
            replicas: (0..settings.replicas).map(|_| Replica::new()).collect(),
            level: Level::default(),
            workers: settings.workers,
            slowdowns: Vec::new(),
            worker_shares: Vec::new(),
            errors: Vec::new(),
        }
    }

    /// The operator changes settings.
    pub(super) fn set(&mut self, settings: &'p Service) {
        self.settings = settings;
        self.count_workers();
    }

    /// A trigger makes the first so many replicas refuse.
    pub(super) fn refuse(&mut self, replicas: u32) {
        self.first(replicas).for_each(|at| at.refusing += 1);
    }

    /// Such a trigger is lifted.
    pub(super) fn accept(&mut self, replicas: u32) {
        self.first(replicas).for_each(|at| at.refusing -= 1);
    }

    /// A trigger makes the first so many replicas hang.
    pub(super) fn hang(&mut self, replicas: u32) {
        self.first(replicas).for_each(|at| at.hanging += 1);
    }

    /// Such a trigger is lifted.
    pub(super) fn come_to(&mut self, replicas: u32) {
        self.first(replicas).for_each(|at| at.hanging -= 1);
    }

    /// A trigger makes work take `factor` times as long on the first so many replicas.
    pub(super) fn slow_down(&mut self, factor: f64, replicas: u32) {
        self.slowdowns.push((factor, replicas));
        self.multiply_slowdowns();
    }

    /// Such a trigger is lifted.
    pub(super) fn speed_up(&mut self, factor: f64, replicas: u32) {
        remove_one(&mut self.slowdowns, &(factor, replicas));
        self.multiply_slowdowns();
    }

    fn multiply_slowdowns(&mut self) {
        for (nth, at) in (0..).zip(&mut self.replicas) {
            let strikes = |(_, replicas): &&(f64, u32)| nth < *replicas;
            at.slowdown = self.slowdowns.iter().filter(strikes).map(|(factor, _)| factor).product();
        }
    }

    fn first(&mut self, replicas: u32) -> impl Iterator<Item = &mut Replica> {
        self.replicas.iter_mut().take(replicas as usize)
    }

    /// A trigger leaves only a share of the workers. Of several the smallest share counts.
    pub(super) fn take_workers(&mut self, share: f64) {
        self.worker_shares.push(share);
        self.count_workers();
    }

    /// Such a trigger is lifted.
    pub(super) fn give_workers_back(&mut self, share: f64) {
        remove_one(&mut self.worker_shares, &share);
        self.count_workers();
    }

    fn count_workers(&mut self) {
        let share = self.worker_shares.iter().copied().fold(1.0, f64::min);
        self.workers = (f64::from(self.settings.workers) * share + 0.5) as u32;
    }

    /// An attempt reaches a replica. If it is to wait, `enqueue` follows.
    #[inline(always)]
    pub(super) fn offer(&mut self, now: SimTime, replica: u32) -> Offer {
        let at = &mut self.replicas[replica as usize];
        if !at.is_up() {
            return if at.hanging > 0 { Offer::Swallowed } else { Offer::Down };
        }
        if at.busy < self.workers {
            at.busy += 1;
            at.present += 1;
            self.level.change(now, 1, 0, 1);
            return Offer::Started;
        }
        let queue = &self.settings.queue;
        if queue.limit.is_some_and(|limit| at.waiting >= limit) {
            return match queue.when_full {
                WhenFull::Reply => Offer::Full,
                WhenFull::Drop => Offer::Swallowed,
            };
        }
        if at.waiting == 0 {
            at.standing.fill(now);
        }
        at.waiting += 1;
        at.present += 1;
        self.level.change(now, 1, 1, 0);
        Offer::Queued
    }

    /// The attempt to which `offer` said that it waits.
    #[inline(always)]
    pub(super) fn enqueue(&mut self, replica: u32, slot: u32) {
        self.replicas[replica as usize].queue.push_back(slot);
    }

    /// The slot whose turn it is, if a worker is free for it. It may have been removed meanwhile:
    /// then ask again, else take it up with `start`.
    #[inline(always)]
    pub(super) fn next(&mut self, now: SimTime, replica: u32) -> Option<u32> {
        let at = &mut self.replicas[replica as usize];
        if at.busy >= self.workers || at.down > 0 {
            return None;
        }
        match self.settings.queue.order {
            QueueOrder::Fifo => at.queue.pop_front(),
            QueueOrder::Lifo => at.queue.pop_back(),
            QueueOrder::AdaptiveLifo => {
                let interval = self.settings.queue.codel.unwrap_or(CoDelConfig::DEFAULT).interval;
                let stands = at.standing.stands(now, interval);
                if stands { at.queue.pop_back() } else { at.queue.pop_front() }
            }
        }
    }

    /// Has an attempt given by `next` waited longer than the queue's timeout?
    pub(super) fn is_stale(&self, now: SimTime, replica: u32, arrived_at: SimTime) -> bool {
        let standing = self.replicas[replica as usize].standing;
        let codel = &self.settings.queue.codel;
        codel.as_ref().is_some_and(|codel| standing.is_stale(codel, now, arrived_at))
    }

    /// The attempt given by `next` leaves the queue for a worker.
    #[inline(always)]
    pub(super) fn start(&mut self, now: SimTime, replica: u32) {
        let at = &mut self.replicas[replica as usize];
        at.waiting -= 1;
        at.busy += 1;
        self.level.change(now, 0, -1, 1);
    }

    /// The attempt given by `next` leaves the queue unserved.
    pub(super) fn expire(&mut self, now: SimTime, replica: u32) {
        let at = &mut self.replicas[replica as usize];
        at.waiting -= 1;
        at.present -= 1;
        self.level.change(now, -1, -1, 0);
    }

    /// An attempt that waits is removed; its slot stays in the queue until `next` gives it out.
    /// `true`: the queue is mostly such slots, and should be swept.
    pub(super) fn remove_waiting(&mut self, now: SimTime, replica: u32) -> bool {
        self.expire(now, replica);
        let at = &self.replicas[replica as usize];
        at.queue.len() > 64 && at.queue.len() as u32 > 4 * at.waiting
    }

    /// A worker comes free; the attempt it worked on stays present.
    #[inline(always)]
    pub(super) fn free_worker(&mut self, now: SimTime, replica: u32) {
        self.replicas[replica as usize].busy -= 1;
        self.level.change(now, 0, 0, -1);
    }

    /// An attempt leaves that neither waits nor has a worker.
    #[inline(always)]
    pub(super) fn leave(&mut self, now: SimTime, replica: u32) {
        self.replicas[replica as usize].present -= 1;
        self.level.change(now, -1, 0, 0);
    }

    /// An attempt has waited since `arrived_at` until now.
    #[inline(always)]
    pub(super) fn count_wait(&mut self, now: SimTime, arrived_at: SimTime) {
        let waited = now.since(arrived_at).as_nanos();
        self.audit.waited = self.audit.waited.wrapping_add(waited);
    }

    /// An attempt has been here since `arrived_at` until now.
    #[inline(always)]
    pub(super) fn count_stay(&mut self, now: SimTime, arrived_at: SimTime) {
        let stayed = now.since(arrived_at).as_nanos();
        self.audit.stayed = self.audit.stayed.wrapping_add(stayed);
    }

    /// An attempt leaves together with its worker.
    #[inline(always)]
    pub(super) fn leave_with_worker(&mut self, now: SimTime, replica: u32) {
        let at = &mut self.replicas[replica as usize];
        at.present -= 1;
        at.busy -= 1;
        self.level.change(now, -1, 0, -1);
    }

    /// Takes everything out of a replica's queue, removed slots included.
    pub(super) fn take_queue(&mut self, replica: u32) -> VecDeque<u32> {
        std::mem::take(&mut self.replicas[replica as usize].queue)
    }

    /// Puts a queue back that `take_queue` took.
    pub(super) fn put_queue(&mut self, replica: u32, queue: VecDeque<u32>) {
        self.replicas[replica as usize].queue = queue;
    }

    /// A replica goes down.
    pub(super) fn go_down(&mut self, replica: u32) {
        self.replicas[replica as usize].down += 1;
    }

    /// One reason to be down ends; if it was the last, the replica comes back, cold.
    pub(super) fn come_back(&mut self, now: SimTime, replica: u32, cold: Duration) {
        let at = &mut self.replicas[replica as usize];
        at.down -= 1;
        if at.down == 0 {
            at.cold_until = now + cold;
        }
    }

    /// How many times as long work takes that begins now.
    #[inline(always)]
    pub(super) fn work_factor(&self, now: SimTime, replica: u32) -> f64 {
        let at = &self.replicas[replica as usize];
        match self.settings.overload.and_then(|overload| overload.cold) {
            Some(cold) if now < at.cold_until => at.slowdown * cold.work_factor,
            _ => at.slowdown,
        }
    }

    /// Workers of each replica that take up work.
    pub(super) fn workers(&self) -> u32 {
        self.workers
    }

    /// Attempts present at a replica.
    #[inline(always)]
    pub(super) fn present(&self, replica: u32) -> u32 {
        self.replicas[replica as usize].present
    }

    /// How many replicas there are.
    pub(super) fn replica_count(&self) -> u32 {
        self.replicas.len() as u32
    }

    /// What is present now, with the integrals since the last window ended; starts the next one.
    pub(super) fn end_window(&mut self, now: SimTime) -> ServiceLevel {
        let replicas_up = self.replicas.iter().filter(|at| at.is_up()).count() as u32;
        self.level.end_window(now, replicas_up)
    }

    /// Everything present since the start, integrated: attempts, waiting, busy workers.
    pub(super) fn integrals(&self, now: SimTime) -> [u64; 3] {
        self.level.integrals(now)
    }

    /// What is present now: attempts, waiting, busy workers.
    pub(super) fn levels(&self) -> [u32; 3] {
        self.level.counts()
    }

    /// The level agrees with the replicas, and no bound is broken.
    ///
    /// `most_workers`: the operator may have taken workers away that still serve.
    pub(super) fn is_sound(&self, most_workers: u32) -> bool {
        let sum = |of: fn(&Replica) -> u32| self.replicas.iter().map(of).sum::<u32>();
        let bounds = self.replicas.iter().all(|replica| {
            replica.busy <= most_workers && replica.queue.len() as u32 >= replica.waiting
        });
        bounds && self.levels() == [sum(|r| r.present), sum(|r| r.waiting), sum(|r| r.busy)]
    }

    /// Memory held by queues, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.replicas.iter().map(|r| r.queue.capacity() * 4 + size_of::<Replica>()).sum()
    }
}

pub(super) fn remove_one<T: PartialEq>(list: &mut Vec<T>, item: &T) {
    if let Some(at) = list.iter().position(|other| other == item) {
        list.remove(at);
    }
}
