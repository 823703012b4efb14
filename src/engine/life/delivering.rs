//! R15: jobs before their destination: who waits for a place, for the rate, or for the end of a
//! suspension, and who comes in next.

use crate::engine::event::Kind;
use crate::engine::jobs::JobState;
use crate::engine::jobs::Parked;
use crate::engine::life::Life;
use crate::engine::life::claiming::dies_suspended;
use crate::engine::observe::Cause;
use crate::engine::observe::DeadLetter;
use crate::engine::observe::Observer;
use crate::engine::observe::Return;

impl<O: Observer> Life<'_, O> {
    /// R15: a job waits in the queue for its destination.
    pub(super) fn park(&mut self, slot: u32, destination: usize, why: Parked) {
        let now = self.calendar.now();
        let queue = self.queue_of(&self.jobs.records[slot]);
        let claim = self.jobs.new_claim();
        let record = &mut self.jobs.records[slot];
        (record.state, record.claim, record.lease) = (JobState::Parked, claim, 0);
        let job = *record;
        let of_queue = &mut self.jobs.queues[queue];
        of_queue.claimed -= 1;
        of_queue.parked += 1;
        let it = &mut self.jobs.destinations[destination];
        it.parked.insert((job.due_at, job.turn, slot));
        let why = match why {
            Parked::Rate(wait) => {
                if !std::mem::replace(&mut it.is_awaited, true) {
                    self.calendar.after(wait, Kind::RateAllows, destination as u32);
                }
                Return::Rate
            }
            Parked::Full | Parked::Suspended => Return::Parked,
        };
        self.observer.returned(now, queue, why, job.due_at);
    }

    /// The rate of a destination allows another execution.
    pub(super) fn let_in_by_rate(&mut self, destination: u32) {
        let destination = destination as usize;
        self.jobs.destinations[destination].is_awaited = false;
        let population = self.jobs.population_of(destination);
        let queue = self.model.populations[population].queue.unwrap_or(0);
        self.jobs.wake_destination(queue, destination);
    }

    /// R15: those who wait for a destination come in as far as it lets them.
    pub(super) fn let_in_to(&mut self, queue: usize, destination: usize) {
        let now = self.calendar.now();
        let settings = self.queue(queue);
        loop {
            let it = &mut self.jobs.destinations[destination];
            if it.held.is_empty() && it.parked.is_empty() {
                return;
            }
            match it.enter(now, &settings.destinations) {
                Ok(()) => {}
                Err(Parked::Suspended) if dies_suspended(settings) => {
                    return self.bury_waiting(queue, destination);
                }
                Err(Parked::Rate(wait)) => {
                    if !std::mem::replace(&mut it.is_awaited, true) {
                        self.calendar.after(wait, Kind::RateAllows, destination as u32);
                    }
                    return;
                }
                Err(Parked::Full | Parked::Suspended) => return,
            }
            if let Some((claimed, process)) = it.held.pop_front() {
                let process = usize::from(process);
                // Its worker takes it up again: it may have grown too old meanwhile.
                self.jobs.queues[queue].processes[process].busy -= 1;
                if self.holds(claimed) {
                    self.jobs.records[claimed.job].is_let_in = true;
                } else {
                    self.jobs.destinations[destination].in_flight -= 1;
                }
                self.take_up_job(queue, process, claimed);
                self.jobs.wake(queue, process);
            } else if let Some(slot) = it.take_parked(settings.claim.order) {
                let of_queue = &mut self.jobs.queues[queue];
                of_queue.parked -= 1;
                let record = &mut self.jobs.records[slot];
                (record.state, record.is_let_in) = (JobState::AtRest, true);
                record.turn = of_queue.rest(now, record.due_at, slot);
            }
        }
    }

    /// R15: a destination is suspended whose jobs are dead then: those that wait for it, too.
    fn bury_waiting(&mut self, queue: usize, destination: usize) {
        let suspended = Some((DeadLetter::Suspended, Cause::NotRetried));
        while let Some((.., slot)) = self.jobs.destinations[destination].parked.first().copied() {
            self.end_job(slot, suspended);
        }
        while let Some((claimed, process)) = self.jobs.destinations[destination].held.pop_front() {
            let process = usize::from(process);
            self.jobs.queues[queue].processes[process].busy -= 1;
            self.jobs.wake(queue, process);
            if self.holds(claimed) {
                self.end_job(claimed.job, suspended);
            }
        }
    }
}
