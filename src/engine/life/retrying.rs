//! The wait before another try, and the try: what the server said, the time that is left, the
//! budget.

use crate::engine::caller::Call;
use crate::engine::caller::Flag;
use crate::engine::caller::Parent;
use crate::engine::caller::Pending;
use crate::engine::event::Kind;
use crate::engine::life::LONGEST_CHAIN;
use crate::engine::life::Life;
use crate::engine::life::settling::Decision;
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
use crate::random::Purpose;
use crate::units::Duration;
use crate::units::SimTime;

impl<O: Observer> Life<'_, O> {
    /// The wait as far as the time of the call and the deadline of the request allow it; `None`
    /// where a try could not begin any more.
    #[inline(always)]
    pub(super) fn fitting(
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
    pub(super) fn within_bounds(
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
    pub(super) fn wait_before_retry(
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
    pub(super) fn rare_wait(
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
    pub(super) fn hint(&self, edge: &EdgePlan, key: u64, tries: u32, class: Class) -> Option<Hint> {
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
    pub(super) fn back_off(
        &mut self,
        slot: u32,
        edge: &EdgePlan,
        wait: Duration,
        outcome: Result<(), Class>,
    ) {
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
    pub(super) fn count_chain(&mut self, slot: u32, now: SimTime) {
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
    pub(super) fn is_refused_now(&mut self, slot: u32) -> bool {
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
}
