//! Attempts that end inside a service without its answer: cancelled, expired, flushed, lost in a
//! crash.

use crate::engine::caller::NOBODY;
use crate::engine::life::Life;
use crate::engine::life::asking::is_gone;
use crate::engine::life::attempt::Attempt;
use crate::engine::life::attempt::Stage;
use crate::engine::observe::Observer;
use crate::policy::outcome::Class;
use crate::scenario::model::Cancellation;

impl<O: Observer> Life<'_, O> {
    /// R9: the word that the caller left reaches the server.
    pub(super) fn hear_cancel(&mut self, slot: u32) {
        let now = self.calendar.now();
        let Attempt { edge, stage, replica, .. } = self.attempts[slot];
        let service = self.target(edge);
        let replica = u32::from(replica);
        let full = self.service(service).cancellation == Cancellation::Full;
        self.attempts[slot].caller = NOBODY;
        match stage {
            Stage::Travelling(reason) => self.attempts[slot].stage = Stage::Recalled(reason),
            Stage::Waiting => {
                let crowded = self.servers[service].remove_waiting(now, replica);
                self.waited(slot, service);
                self.remove(slot, service);
                self.attempts[slot].stage = Stage::Removed;
                if crowded {
                    self.sweep_queue(service, replica);
                }
            }
            Stage::Working if full => {
                let started_at = self.attempts[slot].started_at();
                self.observer.worked(now, service, now.since(started_at), true);
                self.leave(slot, service, true);
                self.drop_attempt(slot, service);
                self.take_next(service, replica);
            }
            Stage::Calling { holds_worker } if full => {
                self.stop_handler(slot, true);
                self.leave(slot, service, holds_worker);
                self.drop_attempt(slot, service);
                if holds_worker {
                    self.take_next(service, replica);
                }
            }
            _ => {}
        }
    }

    /// Frees the slots of removed attempts in a queue at once.
    fn sweep_queue(&mut self, service: usize, replica: u32) {
        let mut queue = self.servers[service].take_queue(replica);
        queue.retain(|slot| {
            let waits = self.attempts[*slot].stage != Stage::Removed;
            if !waits {
                self.release_attempt(*slot);
            }
            waits
        });
        self.servers[service].put_queue(replica, queue);
    }

    /// R5: too many attempts are present, and the replica goes down with all of them.
    pub(super) fn crash(&mut self, service: usize, replica: u32) {
        self.observer.crashed(self.calendar.now(), service);
        self.lose(service, replica, Some(Class::ConnectionLost));
        self.take_down(service, replica);
    }

    /// Everything inside a replica ends at this instant; callers hear of it, or nothing.
    pub(super) fn lose(&mut self, service: usize, replica: u32, class: Option<Class>) {
        let queue = self.servers[service].take_queue(replica);
        for slot in queue {
            if self.attempts[slot].stage == Stage::Removed {
                self.release_attempt(slot);
            } else {
                self.servers[service].expire(self.calendar.now(), replica);
                self.waited(slot, service);
                self.end_inside(slot, service, class);
            }
        }
        // Attempts in service and out on calls are not listed anywhere: this is rare, a look at
        // every slot is not dear.
        for slot in 0..self.attempts.slots() {
            let Attempt { edge, stage, replica: at, .. } = self.attempts[slot];
            let with_worker = match stage {
                Stage::Working => true,
                Stage::Calling { holds_worker } => holds_worker,
                _ => continue,
            };
            if self.target(edge) != service || u32::from(at) != replica {
                continue;
            }
            if stage == Stage::Working {
                let now = self.calendar.now();
                let started_at = self.attempts[slot].started_at();
                let wasted = !self.is_awaited(slot);
                self.observer.worked(now, service, now.since(started_at), wasted);
            } else {
                self.stop_handler(slot, class.is_some());
            }
            self.leave(slot, service, with_worker);
            self.end_inside(slot, service, class);
        }
    }

    /// Takes what waits out of every queue of a service; callers hear `overloaded`.
    pub(super) fn flush(&mut self, service: usize) {
        for replica in 0..self.servers[service].replica_count() {
            for slot in self.servers[service].take_queue(replica) {
                if self.attempts[slot].stage == Stage::Removed {
                    self.release_attempt(slot);
                } else {
                    self.servers[service].expire(self.calendar.now(), replica);
                    self.waited(slot, service);
                    self.end_inside(slot, service, Some(Class::Overloaded));
                }
            }
        }
    }

    /// Free workers of every replica take up what waits.
    pub(super) fn take_all(&mut self, service: usize) {
        for replica in 0..self.servers[service].replica_count() {
            for _ in 0..self.servers[service].workers() {
                self.take_next(service, replica);
            }
        }
    }

    /// An attempt that has left the service's counts ends without an answer of the handler.
    pub(super) fn end_inside(&mut self, slot: u32, service: usize, class: Option<Class>) {
        self.remove(slot, service);
        match class {
            Some(class) if self.deferring.on && self.is_deferred(&self.attempts[slot]) => {
                self.end_submitted(slot, class);
            }
            Some(class) => self.reply(slot, Err(class)),
            None => self.forget(slot),
        }
    }

    /// As `end_inside`, for an attempt nobody waits for, or whose caller is told nothing.
    pub(super) fn drop_attempt(&mut self, slot: u32, service: usize) {
        self.end_inside(slot, service, None);
    }

    pub(super) fn remove(&mut self, slot: u32, service: usize) {
        self.servers[service].audit.removed += 1;
        if is_gone(self.attempts[slot].caller) {
            self.give_place_back(slot);
        }
        let arrived_at = self.attempts[slot].arrived_at;
        self.observer.removed(self.calendar.now(), service, arrived_at);
        self.servers[service].count_stay(self.calendar.now(), arrived_at);
    }

    /// The call that a handler waits for is given up.
    pub(super) fn stop_handler(&mut self, slot: u32, tell: bool) {
        let child = std::mem::replace(&mut self.attempts[slot].awaits, NOBODY);
        if child != NOBODY {
            self.abort_call(child, tell);
        }
    }

    pub(super) fn leave(&mut self, slot: u32, service: usize, with_worker: bool) {
        let (now, replica) = (self.calendar.now(), u32::from(self.attempts[slot].replica));
        if with_worker {
            self.servers[service].leave_with_worker(now, replica);
        } else {
            self.servers[service].leave(now, replica);
        }
    }

    /// Books the time an attempt has waited that leaves the queue unserved.
    pub(super) fn waited(&mut self, slot: u32, service: usize) {
        let arrived_at = self.attempts[slot].arrived_at;
        self.servers[service].count_wait(self.calendar.now(), arrived_at);
    }

    /// Does anybody still wait for what this attempt does? A caller may itself be the work of a
    /// caller that left: only a request at the other end of the chain counts.
    pub(super) fn is_awaited(&self, slot: u32) -> bool {
        let mut slot = slot;
        loop {
            let caller = self.attempts[slot].caller;
            if is_gone(caller) {
                return false;
            }
            match self.origin(self.calls[caller].parent).slot() {
                Ok(_) => return true,
                Err(attempt) => slot = attempt,
            }
        }
    }
}
