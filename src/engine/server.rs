//! The answering side: replicas, queues, workers, and how they fail.
//!
//! A server is asked and answers with a value; it schedules nothing. Attempts are known to it by
//! their slot only.
//!
//! Invariant: busy workers ≤ workers (a trigger that takes workers away lets those in service
//! finish), waiting ≤ limit, and the integrals of what is present are exact integers.

use std::collections::VecDeque;

use crate::engine::observe::ServiceLevel;
use crate::scenario::model::Errors;
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
#[derive(Debug, Default)]
pub(super) struct Replica {
    /// Attempts that wait, in the order of arrival; removed ones stay until their turn comes.
    queue: VecDeque<u32>,
    /// Those of the queue that still wait.
    waiting: u32,
    busy: u32,
    present: u32,
    /// Reasons for which it is down (a crash, a restart); it is up at zero.
    down: u32,
    cold_until: SimTime,
}

/// A service during a run.
#[derive(Debug)]
pub(super) struct Server {
    replicas: Vec<Replica>,
    level: Level,
    /// Triggers that make it refuse.
    pub(super) refusing: u32,
    /// Triggers that make it hang.
    pub(super) hanging: u32,
    /// Triggers that slow it down, each a factor.
    pub(super) slowdowns: Vec<f64>,
    /// Triggers that take workers away: the smallest share counts.
    pub(super) worker_shares: Vec<f64>,
    /// Triggers that make work end in errors.
    pub(super) errors: Vec<Errors>,
}

impl Server {
    pub(super) fn new(replicas: u32) -> Self {
        Self {
            replicas: (0..replicas).map(|_| Replica::default()).collect(),
            level: Level::default(),
            refusing: 0,
            hanging: 0,
            slowdowns: Vec::new(),
            worker_shares: Vec::new(),
            errors: Vec::new(),
        }
    }

    /// An attempt reaches a replica.
    #[inline(always)]
    pub(super) fn offer(
        &mut self,
        now: SimTime,
        service: &Service,
        replica: u32,
        slot: u32,
    ) -> Offer {
        let workers = self.workers(service);
        let hangs = self.hanging > 0;
        let refuses = self.refusing > 0;
        let at = &mut self.replicas[replica as usize];
        if hangs {
            return Offer::Swallowed;
        }
        if refuses || at.down > 0 {
            return Offer::Down;
        }
        if at.busy < workers {
            at.busy += 1;
            at.present += 1;
            self.level.change(now, 1, 0, 1);
            return Offer::Started;
        }
        if service.queue.limit.is_some_and(|limit| at.waiting >= limit) {
            return match service.queue.when_full {
                WhenFull::Reply => Offer::Full,
                WhenFull::Drop => Offer::Swallowed,
            };
        }
        at.queue.push_back(slot);
        at.waiting += 1;
        at.present += 1;
        self.level.change(now, 1, 1, 0);
        Offer::Queued
    }

    /// The slot whose turn it is, if a worker is free for it. It may have been removed meanwhile:
    /// then say so with `skip`, else take it up with `start`.
    #[inline(always)]
    pub(super) fn next(&mut self, service: &Service, replica: u32) -> Option<u32> {
        let workers = self.workers(service);
        let at = &mut self.replicas[replica as usize];
        if at.queue.is_empty() || at.busy >= workers || at.down > 0 {
            return None;
        }
        match service.queue.order {
            QueueOrder::Fifo => at.queue.pop_front(),
            QueueOrder::Lifo => at.queue.pop_back(),
        }
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
    pub(super) fn work_factor(&self, now: SimTime, service: &Service, replica: u32) -> f64 {
        let slow: f64 = self.slowdowns.iter().product();
        match service.overload.and_then(|overload| overload.cold) {
            Some(cold) if now < self.replicas[replica as usize].cold_until => {
                slow * cold.work_factor
            }
            _ => slow,
        }
    }

    /// Workers of each replica that take up work.
    #[inline(always)]
    pub(super) fn workers(&self, service: &Service) -> u32 {
        if self.worker_shares.is_empty() {
            return service.workers;
        }
        let share = self.worker_shares.iter().copied().fold(1.0, f64::min);
        (f64::from(service.workers) * share + 0.5) as u32
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
        let up = |replica: &&Replica| replica.down == 0;
        let replicas_up = if self.hanging + self.refusing > 0 {
            0
        } else {
            self.replicas.iter().filter(up).count() as u32
        };
        self.level.end_window(now, replicas_up)
    }

    /// Everything present since the start, integrated: attempts, waiting, busy workers.
    pub(super) fn integrals(&self) -> [u128; 3] {
        self.level.total
    }

    /// What is present now: attempts, waiting, busy workers.
    pub(super) fn levels(&self) -> [u32; 3] {
        [self.level.present, self.level.waiting, self.level.busy]
    }

    /// The level agrees with the replicas, and no bound is broken.
    pub(super) fn is_sound(&self, service: &Service) -> bool {
        let sum = |of: fn(&Replica) -> u32| self.replicas.iter().map(of).sum::<u32>();
        let bounds = self.replicas.iter().all(|replica| {
            replica.busy <= service.workers
                && service.queue.limit.is_none_or(|limit| replica.waiting <= limit)
                && replica.queue.len() as u32 >= replica.waiting
        });
        bounds && self.levels() == [sum(|r| r.present), sum(|r| r.waiting), sum(|r| r.busy)]
    }

    /// Memory held by queues, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.replicas.iter().map(|r| r.queue.capacity() * 4 + size_of::<Replica>()).sum()
    }
}

/// How much is present, and its integral over time.
#[derive(Debug, Default)]
struct Level {
    present: u32,
    waiting: u32,
    busy: u32,
    changed_at: SimTime,
    window: [u64; 3],
    total: [u128; 3],
}

impl Level {
    #[inline(always)]
    fn change(&mut self, now: SimTime, present: i32, waiting: i32, busy: i32) {
        self.integrate(now);
        self.present = self.present.wrapping_add_signed(present);
        self.waiting = self.waiting.wrapping_add_signed(waiting);
        self.busy = self.busy.wrapping_add_signed(busy);
    }

    #[inline(always)]
    fn integrate(&mut self, now: SimTime) {
        let span = now.since(self.changed_at).as_nanos();
        self.window[0] += u64::from(self.present) * span;
        self.window[1] += u64::from(self.waiting) * span;
        self.window[2] += u64::from(self.busy) * span;
        self.changed_at = now;
    }

    fn end_window(&mut self, now: SimTime, replicas_up: u32) -> ServiceLevel {
        self.integrate(now);
        let [present_ns, waiting_ns, busy_ns] = std::mem::take(&mut self.window);
        for (total, part) in self.total.iter_mut().zip([present_ns, waiting_ns, busy_ns]) {
            *total += u128::from(part);
        }
        ServiceLevel {
            waiting: self.waiting,
            present: self.present,
            busy: self.busy,
            replicas_up,
            busy_ns,
            present_ns,
            waiting_ns,
        }
    }
}
