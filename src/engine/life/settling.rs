//! An outcome walks the layers of a policy outwards: a retry follows, or the call is over.

use crate::engine::caller::Call;
use crate::engine::caller::Flag;
use crate::engine::caller::NOBODY;
use crate::engine::caller::Parent;
use crate::engine::caller::Pending;
use crate::engine::event::Event;
use crate::engine::event::Kind;
use crate::engine::life::LONGEST_CHAIN;
use crate::engine::life::Life;
use crate::engine::life::asking::gone;
use crate::engine::life::attempt::Stage;
use crate::engine::observe::Cause;
use crate::engine::observe::LimitKind;
use crate::engine::observe::Observer;
use crate::engine::observe::Reason;
use crate::engine::plan::EdgePlan;
use crate::engine::plan::RetryPlan;
use crate::policy::backoff::Past;
use crate::policy::budget::Answer;
use crate::policy::hint::Hint;
use crate::policy::outcome::Class;
use crate::policy::stack::Layer;
use crate::random::Purpose;
use crate::scenario::model::Cancellation;
use crate::units::Duration;
use crate::units::SimTime;

impl<'p, O: Observer> Life<'p, O> {
    /// The attempt that is out has an outcome.
    #[inline(always)]
    pub(super) fn settle_from_inside(&mut self, slot: u32, outcome: Result<(), Class>) {
        let call = &mut self.calls[slot];
        call.attempt = NOBODY;
        let layers = call.edge.layers.len();
        self.settle(slot, layers, outcome);
    }

    /// R10: an outcome walks the layers outwards, from below layer `from`.
    pub(super) fn settle(&mut self, slot: u32, from: usize, outcome: Result<(), Class>) {
        let call = &mut self.calls[slot];
        let (edge, parent) = (call.edge, call.parent);
        let decision = if edge.is_plain {
            let timer = std::mem::take(&mut call.timer);
            if timer != 0 {
                self.take_back_timer(edge, timer);
            }
            self.decide(slot, edge, outcome)
        } else {
            self.settle_layers(slot, edge, from, outcome)
        };
        let cause = match decision {
            Decision::Wait(wait) => return self.back_off(slot, edge, wait, outcome),
            Decision::End(cause) => cause,
        };
        self.end_call(slot, parent, outcome, cause);
    }

    /// A call is over; the cause, where a layer knows it.
    #[inline(always)]
    fn end_call(
        &mut self,
        slot: u32,
        parent: Parent,
        outcome: Result<(), Class>,
        cause: Option<Cause>,
    ) {
        self.calls.free(slot);
        match parent.slot() {
            Ok(request) => {
                let cause = |class| cause.unwrap_or(cause_of(class));
                self.end_request(request, outcome.map_err(cause));
            }
            Err(attempt) => self.handler_hears(attempt, outcome),
        }
    }

    /// The timer of an attempt is no longer awaited.
    #[inline(always)]
    fn take_back_timer(&mut self, edge: &EdgePlan, timer: u32) {
        let calls = &self.calls;
        let is_awaited = |event: Event| calls[event.slot()].timer == event.sequence();
        self.calendar.take_back(edge.ring, timer, is_awaited);
    }

    /// The walk outwards through any layers, up to a retry that is granted.
    #[inline(never)]
    fn settle_layers(
        &mut self,
        slot: u32,
        edge: &EdgePlan,
        from: usize,
        outcome: Result<(), Class>,
    ) -> Decision {
        let mut cause = None;
        for layer in edge.layers[..from].iter().rev() {
            match layer {
                Layer::AttemptTimeout => {
                    let timer = std::mem::take(&mut self.calls[slot].timer);
                    self.take_back_timer(edge, timer);
                }
                Layer::Breaker => self.settle_breaker(slot, outcome),
                Layer::Throttle => self.settle_throttle(slot, edge, outcome),
                Layer::Retry => {
                    let decision = self.decide(slot, edge, outcome);
                    if edge.hears_attempts {
                        self.tell_over(slot, edge);
                    }
                    match decision {
                        Decision::End(end) => cause = end,
                        wait @ Decision::Wait(_) => return wait,
                    }
                }
                Layer::Timeout => self.memories[slot as usize].timer = 0,
                Layer::Bulkhead => {
                    self.sample_limit(slot, edge, outcome);
                    self.leave_bulkhead(slot);
                }
            }
        }
        Decision::End(cause)
    }

    /// R10: what the retry layer makes of an outcome.
    #[inline(always)]
    fn decide(&mut self, slot: u32, edge: &EdgePlan, outcome: Result<(), Class>) -> Decision {
        let Some(retry) = &edge.retry else { return Decision::End(None) };
        if let Some(budget) = &retry.budget {
            self.tell_budget(slot, retry, budget, outcome);
        }
        let Err(class) = outcome else { return Decision::End(None) };
        self.audit.failures += 1;
        if !retry.on.contains(class) {
            let cause = cause_of(class);
            let not_local = cause == Cause::Attempts;
            return Decision::End(Some(if not_local { Cause::NotRetried } else { cause }));
        }
        let Call { key, state, parent, .. } = self.calls[slot];
        let tries = state.tries();
        if tries >= retry.max_attempts {
            return Decision::End(Some(Cause::Attempts));
        }
        let Some(wait) = self.wait_before_retry(slot, key, tries, retry, class) else {
            return Decision::End(Some(Cause::PushedBack));
        };
        let Some(wait) = self.fitting(slot, edge, parent, wait) else {
            return Decision::End(Some(Cause::Time));
        };
        if retry.is_bounded {
            return match self.within_bounds(slot, edge, retry, class, wait) {
                Ok(wait) => Decision::Wait(wait),
                Err(cause) => Decision::End(Some(cause)),
            };
        }
        Decision::Wait(wait)
    }

    /// The wait as far as the time of the call and the deadline of the request allow it; `None`
    /// where a try could not begin any more.
    #[inline(always)]
    fn fitting(
        &self,
        slot: u32,
        edge: &EdgePlan,
        parent: Parent,
        wait: Duration,
    ) -> Option<Duration> {
        let now = self.calendar.now();
        let mut wait = wait;
        if edge.timeout != Duration::MAX {
            wait = edge.timeout_rule.wait(wait, now, self.memories[slot as usize].ends_at)?;
        }
        let too_late = self.has_deadlines && now + wait >= self.deadline_of(parent);
        (!too_late).then_some(wait)
    }

    /// What else a retry depends on: the time since the call began, and the budget. The wait, which
    /// a budget may make longer, or why there is no retry.
    #[inline(never)]
    fn within_bounds(
        &mut self,
        slot: u32,
        edge: &EdgePlan,
        retry: &RetryPlan,
        class: Class,
        wait: Duration,
    ) -> Result<Duration, Cause> {
        if let Some(limit) = &retry.max_elapsed {
            let began_at = self.memories[slot as usize].began_at;
            if !limit.allows(self.calendar.now().since(began_at), wait) {
                return Err(Cause::Time);
            }
        }
        let Some(budget) = &retry.budget else { return Ok(wait) };
        if budget.config.asked_after_wait() {
            self.memories[slot as usize].pending = Some(Pending::Ask(class));
            return Ok(wait);
        }
        match self.withdraw(slot, budget, class) {
            Answer::Granted => Ok(wait),
            Answer::NotBefore(earliest) => {
                let wait = wait.max(earliest);
                let parent = self.calls[slot].parent;
                self.fitting(slot, edge, parent, wait).ok_or(Cause::Time)
            }
            Answer::Refused => Err(Cause::Budget),
            Answer::RefusedAfterWait => {
                self.memories[slot as usize].pending = Some(Pending::Refused(class));
                Ok(wait)
            }
        }
    }

    /// How long the next try is to wait; `None`: what the server said ends the call.
    #[inline(always)]
    fn wait_before_retry(
        &mut self,
        slot: u32,
        key: u64,
        tries: u32,
        retry: &RetryPlan,
        class: Class,
    ) -> Option<Duration> {
        let Some(window) = retry.windows.get(tries as usize - 1) else {
            return self.rare_wait(slot, tries, retry, class);
        };
        if retry.rigid {
            return Some(*window);
        }
        Some(retry.backoff.spread(*window, self.keys.draw(Purpose::Backoff, key, tries)))
    }

    /// The same where it takes more than a window: another kind of back-off, a late retry, a hint.
    #[inline(never)]
    fn rare_wait(
        &mut self,
        slot: u32,
        tries: u32,
        retry: &RetryPlan,
        class: Class,
    ) -> Option<Duration> {
        let Call { key, edge, .. } = self.calls[slot];
        let draw = self.keys.draw(Purpose::Backoff, key, tries);
        let hint = if retry.hint.listens() { self.hint(edge, key, tries, class) } else { None };
        let mut past = match self.memories.get(slot as usize) {
            Some(memory) if retry.remembers => memory.past,
            _ => Past::new(),
        };
        let wait = retry.hint.wait(retry.backoff.after(class), tries, &mut past, hint, draw);
        if retry.remembers {
            self.memories[slot as usize].past = past;
        }
        wait
    }

    /// What the service that answered with `class` says about when to come again.
    fn hint(&self, edge: &EdgePlan, key: u64, tries: u32, class: Class) -> Option<Hint> {
        let said = &self.service(edge.target).retry_after;
        let of_class = said.iter().find(|said| said.class == class)?;
        Some(match &of_class.after {
            Some(after) => {
                Hint::After(after.sample(self.keys.draw(Purpose::RetryAfter, key, tries)))
            }
            None => Hint::Never,
        })
    }

    /// Exactly one next try is scheduled.
    #[inline(always)]
    fn back_off(&mut self, slot: u32, edge: &EdgePlan, wait: Duration, outcome: Result<(), Class>) {
        let now = self.calendar.now();
        let timer = self.calendar.after(wait, Kind::RetryDue, slot);
        if wait.is_zero() {
            self.count_chain(slot, now);
        }
        let record = &mut self.calls[slot];
        record.timer = timer;
        record.state.set(Flag::BACKING_OFF);
        if let Err(class) = outcome {
            record.state.set_reason(Reason::after(class));
        }
        self.audit.granted += 1;
        self.observer.backs_off(now, edge.index, wait);
        self.edge_levels[edge.index].enter(now);
    }

    /// A try follows the last without a wait: so many in a row without a step in time are a loop.
    fn count_chain(&mut self, slot: u32, now: SimTime) {
        if let Some(memory) = self.memories.get_mut(slot as usize) {
            memory.chain = if memory.chained_at == now { memory.chain + 1 } else { 1 };
            memory.chained_at = now;
            if memory.chain > LONGEST_CHAIN {
                self.stopped_by = Some(LimitKind::NoProgress);
            }
        }
    }

    /// A back-off is over, or the time for which a throttle held a try back.
    pub(super) fn retry(&mut self, slot: u32) {
        let call = &mut self.calls[slot];
        call.timer = 0;
        if !call.state.take(Flag::BACKING_OFF) {
            return self.leave_throttle(slot);
        }
        self.edge_levels[call.edge.index].leave(self.calendar.now());
        if !call.edge.is_plain && self.is_refused_now(slot) {
            return;
        }
        let call = &mut self.calls[slot];
        call.state.next_try();
        let call = *call;
        self.audit.retried += 1;
        self.walk(slot, call, call.edge.retry_at + 1);
    }

    /// Is there still something to decide when the wait is over, and is it decided against the
    /// retry? Then the call is over.
    fn is_refused_now(&mut self, slot: u32) -> bool {
        let pending = self.memories.get_mut(slot as usize).and_then(|it| it.pending.take());
        let call = self.calls[slot];
        let budget = call.edge.retry.as_ref().and_then(|retry| retry.budget.as_ref());
        let class = match (pending, budget) {
            (Some(Pending::Refused(class)), _) => class,
            (Some(Pending::Ask(class)), Some(budget))
                if !self.withdraw(slot, budget, class).is_granted() =>
            {
                class
            }
            _ => return false,
        };
        self.audit.cut_short += 1;
        let outcome = Err(class);
        if let Decision::End(_) = self.settle_layers(slot, call.edge, call.edge.retry_at, outcome) {
            self.end_call(slot, call.parent, outcome, Some(Cause::Budget));
        }
        true
    }

    /// The time of an attempt has run out: the caller stops listening for it.
    pub(super) fn time_out_attempt(&mut self, slot: u32) {
        let call = self.calls[slot];
        self.observer.timed_out(self.calendar.now(), call.edge.index);
        self.calls[slot].timer = 0;
        self.abandon_attempt(slot, true);
        let at = call.edge.attempt_timeout_at;
        self.release_inside(slot, at + 1);
        self.settle(slot, at, Err(Class::Timeout));
    }

    /// The time of a whole call has run out.
    pub(super) fn time_out_call(&mut self, slot: u32) {
        let call = self.calls[slot];
        self.memories[slot as usize].timer = 0;
        self.abandon_attempt(slot, true);
        let at = call.edge.position(Layer::Timeout);
        self.release_inside(slot, at + 1);
        self.settle(slot, at, Err(Class::DeadlinePassed));
    }

    /// A call ends because whoever made it is no more, or was told to stop. `tell`: the callee
    /// hears of it.
    pub(super) fn abort_call(&mut self, slot: u32, tell: bool) {
        self.abandon_attempt(slot, tell);
        self.release_inside(slot, 0);
        self.calls.free(slot);
    }

    /// Nobody waits for the call's attempt any more. R9: the server learns of it only where it is
    /// told.
    pub(super) fn abandon_attempt(&mut self, slot: u32, tell: bool) {
        let attempt = std::mem::replace(&mut self.calls[slot].attempt, NOBODY);
        if attempt == NOBODY {
            return;
        }
        let edge = self.calls[slot].edge;
        self.keep_place(slot, attempt);
        let cancellation = self.servers[edge.target].settings.cancellation;
        let told = tell && cancellation != Cancellation::None;
        let replying = matches!(self.attempts[attempt].stage, Stage::Replying(_));
        self.attempts[attempt].caller = if told && !replying {
            let key = self.attempts[attempt].key;
            let latency = self.latency(edge, Purpose::CancelLatency, key);
            gone(self.calendar.after(latency, Kind::CancelArrives, attempt))
        } else {
            NOBODY
        };
    }

    /// Gives back what the layers from `from` inwards hold, without an outcome.
    pub(super) fn release_inside(&mut self, slot: u32, from: usize) {
        let call = self.calls[slot];
        for layer in call.edge.layers[from..].iter().rev() {
            match layer {
                Layer::AttemptTimeout => self.calls[slot].timer = 0,
                Layer::Timeout => self.memories[slot as usize].timer = 0,
                Layer::Breaker => self.leave_breaker(slot),
                Layer::Throttle => self.calls[slot].timer = 0,
                Layer::Bulkhead => self.leave_bulkhead(slot),
                Layer::Retry => {
                    self.leave_budget(slot, call.edge);
                    if self.calls[slot].state.take(Flag::BACKING_OFF) {
                        self.calls[slot].timer = 0;
                        self.audit.cut_short += 1;
                        self.edge_levels[call.edge.index].leave(self.calendar.now());
                    }
                }
            }
        }
    }
}

/// What the retry layer decides.
enum Decision {
    /// Another try, after this wait.
    Wait(Duration),
    /// The call ends; the cause, where the retry layer knows it.
    End(Option<Cause>),
}

/// Why a call fails whose last outcome nobody retries.
fn cause_of(class: Class) -> Cause {
    match class {
        Class::BreakerOpen => Cause::Breaker,
        Class::BulkheadFull => Cause::Bulkhead,
        Class::Throttled => Cause::Throttle,
        Class::DeadlinePassed => Cause::Time,
        _ => Cause::Attempts,
    }
}
