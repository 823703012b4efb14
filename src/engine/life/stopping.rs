//! Processes that end and come back, and destinations that are suspended and resumed.

use crate::engine::caller::Parent;
use crate::engine::jobs::Execution;
use crate::engine::jobs::JobState;
use crate::engine::life::Life;
use crate::engine::observe::Cause;
use crate::engine::observe::DeadLetter;
use crate::engine::observe::Observer;
use crate::engine::observe::Return;
use crate::engine::trigger::Control;
use crate::scenario::model::Stop;
use crate::scenario::model::Suspend;

impl<O: Observer> Life<'_, O> {
    pub(super) fn suspend(&mut self, queue: usize, destination: usize, suspend: Suspend) {
        let now = self.calendar.now();
        let it = &mut self.jobs.destinations[destination];
        it.is_suspended = true;
        it.suspensions += 1;
        if let Some(lasts) = suspend.lasts {
            let nth = it.suspensions;
            let control = Control::SuspensionEnds { queue, destination, nth };
            self.agenda.add(now + lasts, control);
            self.control_at = self.control_at.min(now + lasts);
        }
        self.jobs.queues[queue].suspended += 1;
        self.jobs.wake_destination(queue, destination);
        self.observer.suspended(now, queue, true);
    }

    /// A destination is served again; `nth`: if it is still this suspension.
    pub(super) fn resume(&mut self, queue: usize, destination: usize, nth: Option<u32>) {
        let it = &mut self.jobs.destinations[destination];
        if !it.is_suspended || nth.is_some_and(|nth| nth != it.suspensions) {
            return;
        }
        (it.is_suspended, it.row) = (false, 0);
        self.jobs.queues[queue].suspended -= 1;
        self.jobs.wake_destination(queue, destination);
        self.observer.suspended(self.calendar.now(), queue, false);
    }

    /// All destinations of a queue are served again.
    pub(super) fn resume_all(&mut self, queue: usize) {
        for destination in 0..self.jobs.destinations.len() {
            let population = self.jobs.population_of(destination);
            if self.model.populations[population].queue == Some(queue) {
                self.resume(queue, destination, None);
            }
        }
    }

    /// Some processes of a queue end: the first so many.
    pub(super) fn stop_processes(&mut self, queue: usize, processes: u32, how: Stop) {
        let count = self.jobs.queues[queue].processes.len().min(processes as usize);
        let mut jobs = Vec::new();
        for it in &mut self.jobs.queues[queue].processes[..count] {
            it.stopped += 1;
            jobs.extend(it.line.drain(..).map(|it| (it.job, it.claim)));
        }
        for destination in 0..self.jobs.destinations.len() {
            let population = self.jobs.population_of(destination);
            if self.model.populations[population].queue != Some(queue) {
                continue;
            }
            let of_queue = &mut self.jobs.queues[queue].processes;
            self.jobs.destinations[destination].held.retain(|(claimed, holder)| {
                let stays = usize::from(*holder) >= count;
                if !stays {
                    of_queue[usize::from(*holder)].busy -= 1;
                    jobs.push((claimed.job, claimed.claim));
                }
                stays
            });
        }
        for call in self.calls.slots_in_use() {
            let Ok(request) = self.calls[call].parent.slot() else { continue };
            let is_cut = self.calls[call].parent == Parent::request(request)
                && self.jobs.execution(request).is_some_and(|it| {
                    usize::from(it.process) < count
                        && self.queue_of(&self.jobs.records[it.job]) == queue
                });
            if is_cut {
                jobs.push(self.cut_execution(call, request));
            }
        }
        for (slot, claim) in jobs {
            self.lose_process(slot, claim, how);
        }
    }

    /// An execution ends with its process.
    fn cut_execution(&mut self, call: u32, request: u32) -> (u32, u32) {
        self.abort_call(call, true);
        let Execution { job, claim, .. } = self.close_execution(request);
        let record = self.jobs.records[job];
        let queue = self.queue_of(&record);
        self.observer.executed(self.calendar.now(), queue, record.executions);
        (job, claim)
    }

    /// A job was with a process that is no more.
    fn lose_process(&mut self, slot: u32, claim: u32, how: Stop) {
        let job = self.jobs.records[slot];
        if job.claim != claim || job.state != JobState::Claimed {
            return self.release_job(slot);
        }
        let settings = self.queue(self.queue_of(&job));
        let counts = settings.worker_errors.is_some_and(|errors| errors.consumes_attempt);
        if counts && self.is_last_attempt(slot) {
            return self.end_job(slot, Some((DeadLetter::Attempts, Cause::Attempts)));
        }
        if how == Stop::Shutdown {
            self.put_back(slot, job.due_at, Return::Shutdown);
        }
    }

    /// They are back.
    pub(super) fn start_processes(&mut self, queue: usize, processes: u32) {
        let count = self.jobs.queues[queue].processes.len().min(processes as usize);
        for process in 0..count {
            self.jobs.queues[queue].processes[process].stopped -= 1;
            self.jobs.wake(queue, process);
        }
    }
}
