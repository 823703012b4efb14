//! An outcome walks the layers of a policy outwards: a retry follows, or the call is over.

use crate::engine::caller::Call;
use crate::engine::caller::Flag;
use crate::engine::caller::NOBODY;
use crate::engine::caller::Parent;
use crate::engine::event::Event;
use crate::engine::event::Kind;
use crate::engine::life::Life;
use crate::engine::life::asking::gone;
use crate::engine::life::attempt::Stage;
use crate::engine::observe::Cause;
use crate::engine::observe::Observer;
use crate::engine::plan::EdgePlan;
use crate::policy::outcome::Class;
use crate::policy::stack::Layer;
use crate::random::Purpose;
use crate::scenario::model::Cancellation;
use crate::units::Duration;

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
    pub(super) fn end_call(
        &mut self,
        slot: u32,
        parent: Parent,
        outcome: Result<(), Class>,
        cause: Option<Cause>,
    ) {
        self.calls.free(slot);
        if let Some(outer) = parent.outer() {
            return self.hear_inside(outer, slot, outcome, cause);
        }
        match parent.slot() {
            Ok(request) => {
                let cause = |class| cause.unwrap_or(cause_of(class));
                if self.jobs.on && self.jobs.execution(request).is_some() {
                    let cause = outcome.err().map_or(Cause::Attempts, cause);
                    return self.end_execution(request, outcome, cause);
                }
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
    pub(super) fn settle_layers(
        &mut self,
        slot: u32,
        edge: &EdgePlan,
        from: usize,
        outcome: Result<(), Class>,
    ) -> Decision {
        if edge.ejection.is_some() {
            self.judge_replica(slot, edge, outcome);
        }
        let mut cause = None;
        for layer in edge.layers[..from].iter().rev() {
            match layer {
                Layer::AttemptTimeout => {
                    let timer = std::mem::take(&mut self.calls[slot].timer);
                    self.take_back_timer(edge, timer);
                }
                Layer::Breaker => self.settle_breaker(slot, outcome),
                Layer::Hedge => {}
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

    /// The time of an attempt has run out: the caller stops listening for it.
    pub(super) fn time_out_attempt(&mut self, slot: u32) {
        let call = self.calls[slot];
        let rescued = self.rescue(slot);
        if rescued.is_none() {
            self.observer.timed_out(self.calendar.now(), call.edge.index);
        }
        self.calls[slot].timer = 0;
        self.abandon_attempt(slot, true);
        let at = call.edge.attempt_timeout_at;
        self.release_inside(slot, at + 1);
        self.settle(slot, at, rescued.unwrap_or(Err(Class::Timeout)));
    }

    /// The time of a whole call has run out.
    pub(super) fn time_out_call(&mut self, slot: u32) {
        let call = self.calls[slot];
        self.memories[slot as usize].timer = 0;
        let rescued = self.rescue(slot);
        self.abandon_attempt(slot, true);
        let at = call.edge.position(Layer::Timeout);
        self.release_inside(slot, at + 1);
        self.settle(slot, at, rescued.unwrap_or(Err(Class::DeadlinePassed)));
    }

    /// A call ends because whoever made it is no more, or was told to stop. `tell`: the callee
    /// hears of it.
    pub(super) fn abort_call(&mut self, slot: u32, tell: bool) {
        self.abandon_attempt(slot, tell);
        self.release_inside(slot, 0);
        if self.calls[slot].edge.ejection.is_some() {
            self.forget_replica(slot);
        }
        self.calls.free(slot);
    }

    /// Nobody waits for the call's attempt any more. R9: the server learns of it only where it is
    /// told.
    pub(super) fn abandon_attempt(&mut self, slot: u32, tell: bool) {
        if self.calls[slot].edge.inside.is_some() {
            return self.abandon_inside(slot, tell);
        }
        let attempt = std::mem::replace(&mut self.calls[slot].attempt, NOBODY);
        if attempt == NOBODY {
            return;
        }
        if self.attempts[attempt].stage == Stage::Deferred {
            return self.leave_key(attempt);
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
                Layer::Hedge => {}
                Layer::Throttle => self.calls[slot].timer = 0,
                Layer::Bulkhead => self.leave_bulkhead(slot),
                Layer::Retry => {
                    let waits = self.calls[slot].state.take(Flag::BACKING_OFF);
                    self.leave_budget(slot, call.edge, !waits && call.state.tries() > 0);
                    if waits {
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
pub(super) enum Decision {
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
