//! Jobs whose execution is over: done, put back for another time, or dead.
//!
//! R16: an outcome is heard once, by whoever still holds the claim. A refusal by the caller's own
//! policy is no execution. R17: a failure is tried again if its class, the attempts, the counter
//! and the age allow it; whatever does not makes a dead letter, and says which it was.

use crate::engine::caller::Request;
use crate::engine::jobs::Execution;
use crate::engine::jobs::Job;
use crate::engine::jobs::JobState;
use crate::engine::life::Life;
use crate::engine::life::asking::is_gone;
use crate::engine::observe::Cause;
use crate::engine::observe::DeadLetter;
use crate::engine::observe::JobEnd;
use crate::engine::observe::Observer;
use crate::engine::observe::Reason;
use crate::engine::observe::Return;
use crate::engine::observe::Verdict;
use crate::policy::backoff::Past;
use crate::policy::outcome::Class;
use crate::random::Purpose;
use crate::scenario::model::JobQueue;
use crate::scenario::model::Refused;
use crate::scenario::model::Requeue;
use crate::units::Duration;
use crate::units::SimTime;

impl<O: Observer> Life<'_, O> {
    /// R16: the call of an execution is over.
    #[inline(never)]
    pub(super) fn end_execution(&mut self, request: u32, outcome: Result<(), Class>, cause: Cause) {
        let now = self.calendar.now();
        let execution = self.close_execution(request);
        let Execution { job: slot, claim, .. } = execution;
        let job = self.jobs.records[slot];
        let queue = self.queue_of(&job);
        let settings = self.queue(queue);
        let is_heard = job.claim == claim && job.state == JobState::Claimed
            || settings.requeue == Requeue::Blind;
        let refused =
            matches!(outcome, Err(Class::BreakerOpen | Class::BulkheadFull | Class::Throttled));
        if refused {
            self.jobs.records[slot].executions -= 1;
        } else {
            self.observer.executed(now, queue, job.executions);
            self.tell_destination(&job, settings, outcome);
        }
        match outcome {
            Ok(()) if job.state == JobState::Over => {}
            Ok(()) => self.end_job(slot, None),
            Err(_) if !is_heard => {}
            Err(class) => self.fail_job(slot, execution, class, cause),
        }
        self.release_job(slot);
    }

    /// The worker and the place of an execution are free, and its request is no more.
    pub(super) fn close_execution(&mut self, request: u32) -> Execution {
        let none = Execution::NONE;
        let execution = std::mem::replace(&mut self.jobs.executions[request as usize], none);
        self.requests.free(request);
        if self.effects.on {
            self.effects.end_request(request);
        }
        self.jobs.running -= 1;
        let record = &mut self.jobs.records[execution.job];
        record.running -= 1;
        let job = *record;
        let queue = self.queue_of(&job);
        let process = usize::from(execution.process);
        let of_queue = &mut self.jobs.queues[queue];
        of_queue.executing -= 1;
        of_queue.processes[process].busy -= 1;
        self.jobs.wake(queue, process);
        self.leave_destination(&job);
        execution
    }

    /// An execution, or a job that was let in, gives its place at its destination back.
    pub(super) fn leave_destination(&mut self, job: &Job) {
        if !self.jobs.has_destinations(job) {
            return;
        }
        let destination = self.jobs.destination(job);
        self.jobs.destinations[destination].in_flight -= 1;
        let queue = self.queue_of(job);
        self.jobs.wake_destination(queue, destination);
    }

    /// R17: what an outcome says of the destination.
    fn tell_destination(&mut self, job: &Job, settings: &JobQueue, outcome: Result<(), Class>) {
        let Some(suspend) = settings.destinations.suspend else { return };
        if !self.jobs.has_destinations(job) {
            return;
        }
        let destination = self.jobs.destination(job);
        let it = &mut self.jobs.destinations[destination];
        match outcome {
            Ok(()) => it.row = 0,
            Err(class) if suspend.on.contains(class) => {
                it.row = it.row.saturating_add(1);
                if it.row >= suspend.at && !it.is_suspended {
                    self.suspend(self.queue_of(job), destination, suspend);
                }
            }
            Err(_) => {}
        }
    }

    /// R17: a failure is tried again, or the job is dead.
    fn fail_job(&mut self, slot: u32, execution: Execution, class: Class, cause: Cause) {
        let now = self.calendar.now();
        let job = self.jobs.records[slot];
        let settings = self.queue(self.queue_of(&job));
        let is_refusal =
            matches!(class, Class::BreakerOpen | Class::BulkheadFull | Class::Throttled);
        match settings.refused {
            Refused::DeadLetter if is_refusal => {
                return self.end_job(slot, Some((DeadLetter::Refused, cause)));
            }
            Refused::Postpone { after, consumes_attempt } if is_refusal => {
                if consumes_attempt && self.is_last_attempt(slot) {
                    return self.end_job(slot, Some((DeadLetter::Attempts, Cause::Attempts)));
                }
                return self.put_back(slot, now + after, Return::Postponed);
            }
            _ => {}
        }
        if job.failed_at == SimTime::NEVER {
            self.jobs.records[slot].failed_at = now;
        }
        let is_last = self.is_last_attempt(slot);
        if !settings.retry.on.contains(class) {
            let cause = if is_refusal { cause } else { Cause::NotRetried };
            return self.end_job(slot, Some((DeadLetter::Permanent, cause)));
        }
        if self.is_counted_out(&job, execution, settings) {
            return self.end_job(slot, Some((DeadLetter::Counter, Cause::Attempts)));
        }
        if is_last {
            return self.end_job(slot, Some((DeadLetter::Attempts, Cause::Attempts)));
        }
        let Some(wait) = self.wait_of_job(slot, settings, class) else {
            return self.end_job(slot, Some((DeadLetter::PushedBack, Cause::PushedBack)));
        };
        let age = now.since(job.born_at);
        let too_old = settings.retry.max_elapsed.is_some_and(|it| !it.allows(age, wait));
        if too_old || now + wait >= self.useful_until(&job) {
            return self.end_job(slot, Some((DeadLetter::Age, Cause::Time)));
        }
        self.jobs.records[slot].reason = Reason::after(class);
        self.put_back(slot, now + wait, Return::Retry);
    }

    /// Does the counter of failures end the job?
    fn is_counted_out(&mut self, job: &Job, execution: Execution, settings: &JobQueue) -> bool {
        let Some(counter) = &settings.counter else { return false };
        let now = self.calendar.now();
        let draw = self.rare_draw(Purpose::CounterDies, job.key, job.executions);
        let queue = self.queue_of(job);
        let counters = &mut self.jobs.queues[queue].counters;
        let of = Job { process: execution.process, ..*job };
        let keeps_ttl = || !counter.without_ttl.happens(draw);
        counters.count(counter, now, &of, execution.step, keeps_ttl) >= counter.gives_up_at
    }

    /// The handler that executes a job fails in one of its steps.
    #[inline(never)]
    pub(super) fn note_failed_step(&mut self, attempt: u32, step: u16) {
        let caller = self.attempts[attempt].caller;
        if is_gone(caller) {
            return;
        }
        if let Ok(request) = self.origin(self.calls[caller].parent).slot()
            && let Some(execution) = self.jobs.executions.get_mut(request as usize)
        {
            execution.step = step + 1;
        }
    }

    /// How long a job waits before it comes again; `None`: never, said the server.
    fn wait_of_job(&mut self, slot: u32, settings: &JobQueue, class: Class) -> Option<Duration> {
        let job = self.jobs.records[slot];
        let retry = &settings.retry;
        let draw = self.keys.draw(Purpose::Backoff, job.key, job.attempts);
        let edge = self.model.populations[job.population as usize].calls;
        let edge = &self.plans[self.plan].edges[edge];
        let hint =
            if retry.hint.listens() { self.hint(edge, job.key, job.attempts, class) } else { None };
        let remembered = self.jobs.pasts.get(slot as usize).copied();
        let mut past = remembered.unwrap_or(Past::new());
        let wait = retry.hint.wait(retry.backoff.after(class), job.attempts, &mut past, hint, draw);
        if remembered.is_some() {
            self.jobs.pasts[slot as usize] = past;
        }
        wait
    }

    /// The lease of a job has ended before it did: it is due again.
    pub(super) fn end_lease(&mut self, slot: u32) {
        let due_at = self.jobs.records[slot].due_at;
        self.put_back(slot, due_at, Return::LeaseEnded);
    }

    /// A job goes back into the order of due times.
    pub(super) fn put_back(&mut self, slot: u32, due_at: SimTime, why: Return) {
        let now = self.calendar.now();
        let queue = self.queue_of(&self.jobs.records[slot]);
        if self.jobs.records[slot].state == JobState::Over {
            self.observer.reopened(now, queue, true);
        }
        self.take_out(slot);
        let record = &mut self.jobs.records[slot];
        (record.state, record.due_at) = (JobState::AtRest, due_at);
        match why {
            // Nobody has heard what became of the execution that is lost.
            Return::LeaseEnded if record.executions > 0 => record.reason = Reason::AfterTimeout,
            Return::Shutdown if record.executions > 0 => record.reason = Reason::AfterRefusal,
            _ => {}
        }
        record.turn = self.jobs.queues[queue].rest(now, due_at, slot);
        self.observer.returned(now, queue, why, due_at);
    }

    /// R17: a job is done or dead, and its request ends.
    pub(super) fn end_job(&mut self, slot: u32, dead: Option<(DeadLetter, Cause)>) {
        let now = self.calendar.now();
        let job = self.jobs.records[slot];
        // Where nobody compares, what another consumer has put back stays, and runs again.
        let stays = matches!(job.state, JobState::AtRest | JobState::Parked)
            && self.queue(self.queue_of(&job)).requeue == Requeue::Blind;
        if !stays {
            self.take_out(slot);
            self.jobs.records[slot].state = JobState::Over;
        }
        let record = &mut self.jobs.records[slot];
        let was_told = std::mem::replace(&mut record.is_told, true);
        let job = *record;
        let queue = self.queue_of(&job);
        if was_told {
            self.observer.reopened(now, queue, false);
        } else {
            self.jobs.told += 1;
            self.audit.ended += 1;
            let verdict = match dead {
                Some((_, cause)) => Verdict::Failed(cause),
                None if now > self.useful_until(&job) => Verdict::Late,
                None => Verdict::Ok,
            };
            let failed_at = (job.failed_at != SimTime::NEVER).then_some(job.failed_at);
            self.observer.job_ended(
                now,
                &JobEnd {
                    queue,
                    born_at: job.born_at,
                    failed_at,
                    executions: job.executions,
                    dead: dead.map(|(reason, _)| reason),
                },
            );
            let Job { born_at, client, population, .. } = job;
            self.observer.ended(now, population as usize, born_at, verdict);
            self.think(&Request { born_at, client, population, chain: 0 });
        }
        if stays && dead.is_some() {
            self.observer.reopened(now, queue, true);
        }
        self.release_job(slot);
    }

    /// A job leaves wherever it is; whoever had a claim to it has lost it.
    fn take_out(&mut self, slot: u32) {
        let job = self.jobs.records[slot];
        let queue = self.queue_of(&job);
        match job.state {
            JobState::AtRest => {
                self.jobs.queues[queue].withdraw(slot, &job);
                if job.is_let_in {
                    self.leave_destination(&job);
                }
            }
            JobState::Parked => {
                let destination = self.jobs.destination(&job);
                let parked = &mut self.jobs.destinations[destination].parked;
                parked.remove(&(job.due_at, job.turn, slot));
                self.jobs.queues[queue].parked -= 1;
            }
            JobState::Claimed => {
                self.jobs.queues[queue].claimed -= 1;
                if job.is_let_in {
                    self.leave_destination(&job);
                }
            }
            JobState::Over => {}
        }
        let claim = self.jobs.new_claim();
        let record = &mut self.jobs.records[slot];
        (record.claim, record.lease, record.is_let_in) = (claim, 0, false);
    }

    /// The record of a job goes once it is over and nobody executes it any more.
    pub(super) fn release_job(&mut self, slot: u32) {
        let job = self.jobs.records[slot];
        if job.state != JobState::Over || job.running > 0 {
            return;
        }
        let queue = self.queue_of(&job);
        if let Some(counter) = &self.queue(queue).counter {
            self.jobs.queues[queue].counters.forget(counter, &job);
        }
        if self.effects.on {
            self.effects.let_go(job.ledger);
        }
        // Freed once: whoever comes next finds another state.
        self.jobs.records[slot].running = u32::MAX;
        self.jobs.records.free(slot);
    }
}
