//! Jobs on their way to a worker: stored, claimed when due, let through to their destination.
//!
//! R14: a process looks for due jobs at fixed moments, claims as many as it has room for under a
//! lease, and hands them to its workers in the order claimed. R15: a job is executed when its
//! worker finds it young enough, its destination free, and itself in working order.

use crate::engine::caller::Call;
use crate::engine::caller::CallState;
use crate::engine::caller::Memory;
use crate::engine::caller::NOBODY;
use crate::engine::caller::Parent;
use crate::engine::caller::Request;
use crate::engine::event::Kind;
use crate::engine::jobs::Claimed;
use crate::engine::jobs::Execution;
use crate::engine::jobs::Job;
use crate::engine::jobs::JobState;
use crate::engine::jobs::Parked;
use crate::engine::jobs::Process;
use crate::engine::jobs::Ready;
use crate::engine::jobs::first_look;
use crate::engine::life::Life;
use crate::engine::life::keep_beside;
use crate::engine::observe::Cause;
use crate::engine::observe::DeadLetter;
use crate::engine::observe::Observer;
use crate::engine::observe::Reason;
use crate::engine::observe::Return;
use crate::policy::backoff::Past;
use crate::policy::breaker::BreakerState;
use crate::random::Purpose;
use crate::random::mix;
use crate::scenario::model::ErrorsOf;
use crate::scenario::model::JobQueue;
use crate::scenario::model::JobsMeanwhile;
use crate::scenario::model::Returns;
use crate::scenario::model::WhenFullyInFlight;
use crate::scenario::model::WorkerErrors;
use crate::units::Duration;
use crate::units::SimTime;

impl<'p, O: Observer> Life<'p, O> {
    /// Every process of every queue looks for the first time.
    pub(super) fn send_processes_out(&mut self) {
        for (queue, settings) in self.model.queues.iter().enumerate() {
            for nth in 0..settings.processes {
                let number = self.jobs.queues[queue].first_process as u32 + nth;
                self.calendar.after(first_look(settings, nth), Kind::ProcessLooks, number);
            }
        }
    }

    /// The settings of a queue, as of now.
    #[inline]
    pub(super) fn queue(&self, queue: usize) -> &'p JobQueue {
        &self.plans[self.plan].model.queues[queue]
    }

    /// The queue of a job.
    #[inline]
    pub(super) fn queue_of(&self, job: &Job) -> usize {
        self.model.populations[job.population as usize].queue.unwrap_or(0)
    }

    /// R14: a request is born as a job.
    #[inline(never)]
    pub(super) fn store_job(&mut self, request: Request, key: u64, queue: usize) {
        let now = self.calendar.now();
        let signed_at = self.queue(queue).signed_once.then_some(now);
        let ledger = if self.effects.on { self.effects.open_for_job(key, signed_at) } else { 0 };
        let job = Job {
            key,
            born_at: request.born_at,
            due_at: now,
            failed_at: SimTime::NEVER,
            client: request.client,
            attempts: 0,
            executions: 0,
            claims: 0,
            claim: self.jobs.new_claim(),
            lease: 0,
            turn: 0,
            ledger,
            running: 0,
            population: request.population,
            process: 0,
            reason: Reason::First,
            state: JobState::AtRest,
            is_let_in: false,
            is_told: false,
        };
        let slot = self.jobs.records.insert(job);
        if self.queue(queue).retry.backoff.remembers() || self.queue(queue).retry.hint.remembers() {
            keep_beside(&mut self.jobs.pasts, slot, Past::new());
        }
        self.jobs.stored += 1;
        self.jobs.records[slot].turn = self.jobs.queues[queue].rest(now, now, slot);
        self.observer.enqueued(now, queue, request.population as usize);
    }

    /// R14: a process looks for jobs that are due.
    #[inline(never)]
    pub(super) fn look_for_jobs(&mut self, number: u32) {
        let queue = self.jobs.queue_of[number as usize];
        let process = number as usize - self.jobs.queues[queue].first_process;
        let settings = self.queue(queue);
        self.calendar.after(settings.claim.every, Kind::ProcessLooks, number);
        let is_stopped = self.jobs.queues[queue].processes[process].stopped > 0;
        if is_stopped || settings.claim.idles_when_open && self.is_behind_gate(queue, process) {
            return;
        }
        let it = &self.jobs.queues[queue].processes[process];
        let free = settings.workers.saturating_sub(it.busy);
        let room = free.saturating_add(settings.claim.prefetch);
        let room = room.saturating_sub(it.line.len() as u32);
        self.claim(queue, process, room.min(settings.claim.batch));
    }

    /// Is a breaker open through which this process calls for the queue?
    fn is_behind_gate(&mut self, queue: usize, process: usize) -> bool {
        let plan = &self.plans[self.plan];
        let now = self.calendar.now();
        let of_queue = self.model.populations.iter().filter(|it| it.queue == Some(queue));
        let mut breakers = of_queue.filter_map(|it| plan.edges[it.calls].breaker.as_ref());
        let states = &mut self.states[plan.states].breakers;
        breakers.any(|breaker| {
            let index = breaker.index(process as u32);
            let state = states.used_mut(index);
            state.is_some_and(|state| state.state(now) == BreakerState::Open)
        })
    }

    /// Claims at most so many jobs.
    fn claim(&mut self, queue: usize, process: usize, most: u32) {
        let now = self.calendar.now();
        let settings = self.queue(queue);
        let is_up = |(nth, it): (usize, &Process)| nth != process && it.stopped == 0;
        let mut processes = self.jobs.queues[queue].processes.iter().enumerate();
        let lone = !settings.elsewhere || !processes.any(is_up);
        let of_queue = &mut self.jobs.queues[queue];
        of_queue.look(now);
        // What one look has left over is there for the next, whoever looks, and no more.
        let between = settings.claim.every.as_nanos() / u64::from(settings.processes);
        of_queue.next_claim = of_queue.next_claim.max(now - Duration::from_nanos(between));
        let mut passed_over = Vec::new();
        let mut left = most;
        while left > 0 {
            let of_queue = &mut self.jobs.queues[queue];
            if settings.claim.rate.is_some() && of_queue.next_claim > now {
                break;
            }
            let Some(slot) = of_queue.take(settings.claim.order) else { break };
            let job = self.jobs.records[slot];
            if !lone && job.claims > 0 && !job.is_let_in && usize::from(job.process) == process {
                passed_over.push(slot);
                continue;
            }
            left -= 1;
            if let Some(rate) = settings.claim.rate {
                of_queue.next_claim = of_queue.next_claim + rate.interval();
            }
            of_queue.claimed += 1;
            let claim = self.jobs.new_claim();
            let lease = match settings.lease {
                Some(lease) => self.calendar.after(lease, Kind::LeaseEnds, slot),
                None => 0,
            };
            let record = &mut self.jobs.records[slot];
            record.state = JobState::Claimed;
            record.process = process as u16;
            record.claims += 1;
            (record.claim, record.lease) = (claim, lease);
            let claimed = Claimed { job: slot, claim, population: job.population };
            self.jobs.queues[queue].processes[process].line.push_back(claimed);
            self.observer.claimed(now, queue, job.due_at);
            self.events += 1;
            self.unlooked += 1;
        }
        for slot in passed_over {
            let due_at = self.jobs.records[slot].due_at;
            self.jobs.records[slot].turn = self.jobs.queues[queue].rest(now, due_at, slot);
        }
        self.jobs.wake(queue, process);
    }

    /// Whoever has something to go on with does. What follows from it is looked at in the same
    /// loop: nothing here recurs.
    #[inline(never)]
    pub(super) fn work_on_jobs(&mut self) {
        while let Some(ready) = self.jobs.ready.pop_front() {
            match ready {
                Ready::Process { queue, process } => {
                    self.jobs.queues[queue].processes[process].is_ready = false;
                    let workers = self.queue(queue).workers;
                    loop {
                        let it = &mut self.jobs.queues[queue].processes[process];
                        if it.stopped > 0 || it.busy >= workers {
                            break;
                        }
                        let Some(claimed) = it.line.pop_front() else { break };
                        self.take_up_job(queue, process, claimed);
                    }
                }
                Ready::Destination { queue, destination } => {
                    self.jobs.destinations[destination].is_ready = false;
                    self.let_in_to(queue, destination);
                }
            }
            if !self.called.is_empty() {
                self.let_in();
            }
        }
    }

    /// Does a claim still hold?
    pub(super) fn holds(&self, claimed: Claimed) -> bool {
        let job = &self.jobs.records[claimed.job];
        job.claim == claimed.claim && job.state == JobState::Claimed
    }

    /// R15: a worker takes a claimed job up.
    pub(super) fn take_up_job(&mut self, queue: usize, process: usize, claimed: Claimed) {
        if !self.holds(claimed) {
            return self.ask_in_vain(process, claimed);
        }
        let now = self.calendar.now();
        let settings = self.queue(queue);
        let slot = claimed.job;
        let job = self.jobs.records[slot];
        let age = now.since(job.born_at);
        let too_old = settings.retry.max_elapsed.is_some_and(|it| !it.allows(age, Duration::ZERO));
        if too_old || now >= self.useful_until(&job) {
            return self.end_job(slot, Some((DeadLetter::Age, Cause::Time)));
        }
        if self.jobs.has_destinations(&job) && !job.is_let_in {
            let destination = self.jobs.destination(&job);
            let it = &mut self.jobs.destinations[destination];
            match it.enter(now, &settings.destinations) {
                Ok(()) => {}
                Err(Parked::Suspended) if dies_suspended(settings) => {
                    return self.end_job(slot, Some((DeadLetter::Suspended, Cause::NotRetried)));
                }
                Err(Parked::Full)
                    if settings.destinations.when_full == WhenFullyInFlight::HoldsWorker =>
                {
                    it.held.push_back((claimed, process as u16));
                    self.jobs.queues[queue].processes[process].busy += 1;
                    return;
                }
                Err(why) => return self.park(slot, destination, why),
            }
        }
        self.jobs.records[slot].is_let_in = false;
        if let Some(errors) = &settings.worker_errors
            && self.worker_fails(&job, errors)
        {
            self.leave_destination(&job);
            return self.fail_in_worker(slot, errors);
        }
        self.jobs.queues[queue].processes[process].busy += 1;
        self.execute(queue, process, claimed);
    }

    /// Until when a job is worth executing.
    pub(super) fn useful_until(&self, job: &Job) -> SimTime {
        let span = self.plans[self.plan].model.populations[job.population as usize].deadline;
        job.born_at + span.unwrap_or(Duration::MAX)
    }

    /// R15: does the worker fail before it sends anything?
    fn worker_fails(&self, job: &Job, errors: &WorkerErrors) -> bool {
        let index = match errors.of {
            ErrorsOf::Attempts => job.claims,
            ErrorsOf::Requests => 0,
        };
        errors.share.happens(self.rare_draw(Purpose::WorkerError, job.key, index))
    }

    /// R15: a worker fails before it sends anything: the job comes back, now or with its lease.
    fn fail_in_worker(&mut self, slot: u32, errors: &WorkerErrors) {
        if errors.consumes_attempt && self.is_last_attempt(slot) {
            return self.end_job(slot, Some((DeadLetter::Attempts, Cause::Attempts)));
        }
        if let Returns::Due(pause) = errors.returns {
            let now = self.calendar.now();
            let due_at = self.jobs.records[slot].due_at;
            let due_at = if pause.is_zero() { due_at } else { now + pause };
            self.put_back(slot, due_at, Return::WorkerError);
        }
    }

    /// One more attempt counts against a job; was it the last?
    pub(super) fn is_last_attempt(&mut self, slot: u32) -> bool {
        let queue = self.queue_of(&self.jobs.records[slot]);
        let settings = self.queue(queue);
        let job = &mut self.jobs.records[slot];
        job.attempts = job.attempts.saturating_add(1);
        let most = settings.retry.max_attempts.filter(|_| settings.counter.is_none());
        most.is_some_and(|most| job.attempts >= most)
    }

    /// R15: one execution of a job: a call under the policy of its population.
    fn execute(&mut self, queue: usize, process: usize, claimed: Claimed) {
        let Claimed { job: slot, claim, .. } = claimed;
        let record = &mut self.jobs.records[slot];
        record.running += 1;
        record.executions += 1;
        let job = *record;
        self.jobs.running += 1;
        self.jobs.queues[queue].executing += 1;
        let request = self
            .open_execution(&job, Execution { job: slot, claim, process: process as u16, step: 0 });
        let edge = self.model.populations[job.population as usize].calls;
        let key = mix(job.key, u64::from(job.executions));
        self.call_because(Parent::request(request), edge, key, job.reason);
    }

    /// The request that makes the call of an execution.
    fn open_execution(&mut self, job: &Job, execution: Execution) -> u32 {
        let Job { born_at, client, population, .. } = *job;
        let request = self.requests.insert(Request { born_at, client, population, chain: 0 });
        if self.jobs.executions.len() <= request as usize {
            self.jobs.executions.resize(request as usize + 1, Execution::NONE);
        }
        self.jobs.executions[request as usize] = execution;
        if self.has_deadlines {
            let deadline = self.useful_until(job);
            keep_beside(&mut self.request_deadlines, request, deadline);
        }
        if self.effects.on {
            self.effects.join(request, job.ledger);
        }
        request
    }

    /// R15: a worker has asked the breaker for leave when it finds that the claim has been lost
    /// meanwhile: nothing is sent, and the leave is given back without an outcome.
    fn ask_in_vain(&mut self, process: usize, claimed: Claimed) {
        let population = &self.model.populations[claimed.population as usize];
        let edge = &self.plans[self.plan].edges[population.calls];
        if edge.breaker.is_none() {
            return;
        }
        let client = Request {
            born_at: self.calendar.now(),
            client: 0,
            population: claimed.population,
            chain: 0,
        };
        let request = self.requests.insert(client);
        if self.jobs.executions.len() <= request as usize {
            self.jobs.executions.resize(request as usize + 1, Execution::NONE);
        }
        self.jobs.executions[request as usize] =
            Execution { job: NOBODY, claim: 0, process: process as u16, step: 0 };
        let call = Call {
            key: 0,
            edge,
            parent: Parent::request(request),
            attempt: NOBODY,
            timer: 0,
            state: CallState::new(edge.tries_at_start),
        };
        let slot = self.calls.insert(call);
        keep_beside(&mut self.memories, slot, Memory::NEW);
        self.ask_breaker(slot, edge);
        self.leave_breaker(slot);
        self.calls.free(slot);
        self.jobs.executions[request as usize] = Execution::NONE;
        self.requests.free(request);
    }
}

/// Are the jobs of a suspended destination dead?
pub(super) fn dies_suspended(settings: &JobQueue) -> bool {
    settings.destinations.suspend.is_some_and(|it| it.jobs == JobsMeanwhile::DeadLetter)
}
