//! Calls inside calls: another policy inside a policy, and attempts side by side.
//!
//! A policy whose attempts are not simply sent is made of parts. Each attempt of an outer part is a
//! call under the part inside it, with a record of its own; its outcome is the outcome of the
//! attempt. Of a hedge there are several such calls at a time: the first good answer ends them all.

use crate::engine::caller::Call;
use crate::engine::caller::CallState;
use crate::engine::caller::Memory;
use crate::engine::caller::NOBODY;
use crate::engine::caller::Parent;
use crate::engine::event::Kind;
use crate::engine::life::Life;
use crate::engine::life::keep_beside;
use crate::engine::life::settling::Decision;
use crate::engine::observe::Cause;
use crate::engine::observe::Observer;
use crate::engine::observe::Reason;
use crate::engine::plan::EdgePlan;
use crate::engine::plan::HedgePlan;
use crate::policy::backoff::Past;
use crate::policy::budget::Tab;
use crate::policy::hedge::Hedge;
use crate::policy::hedge::HedgeDelay;
use crate::policy::hedge::Next;
use crate::policy::hedge::PushBack;
use crate::policy::hint::Hint;
use crate::policy::outcome::Class;
use crate::random::Purpose;
use crate::random::mix;
use crate::units::Duration;

impl<'p, O: Observer> Life<'p, O> {
    /// R3: a call has come through the layers of a part that has another one inside it.
    #[inline(never)]
    pub(super) fn go_inside(&mut self, slot: u32, inside: &'p EdgePlan) {
        let call = self.calls[slot];
        // Its time runs from now on, whatever becomes of what is inside.
        self.set_attempt_timer(slot, call);
        if let Some(hedge) = &call.edge.hedge {
            self.memories[slot as usize].hedge = Hedge::START;
            self.memories[slot as usize].hedged_failure = None;
            self.pay_in_for_hedges(slot, hedge);
            self.set_hedge_timer(slot, hedge);
        }
        self.call_inside(slot, inside, call.state.reason(), Tab::NEW);
    }

    /// R2: one call of those inside is made. It may be over, and the one around it, when this
    /// returns.
    fn call_inside(&mut self, slot: u32, inside: &'p EdgePlan, reason: Reason, hedge_tab: Tab) {
        let outer = self.calls[slot];
        let nth = self.memories.get(slot as usize).map_or(1, |memory| memory.hedge.sent());
        let key = mix(mix(outer.key, u64::from(outer.state.tries())), u64::from(nth));
        let mut state = CallState::new(inside.tries_at_start);
        state.set_reason(reason);
        let parent = Parent::call(slot);
        let call = Call { key, edge: inside, parent, attempt: NOBODY, timer: 0, state };
        let child = self.calls.insert(call);
        if self.remembers {
            let made_at = self.calendar.now();
            let memory = Memory { beside: outer.attempt, made_at, hedge_tab, ..Memory::NEW };
            keep_beside(&mut self.memories, child, memory);
        }
        self.calls[slot].attempt = child;
        self.walk(child, call, 0);
    }

    /// R10: a call inside another is over; its slot is free already.
    #[inline(never)]
    pub(super) fn hear_inside(
        &mut self,
        slot: u32,
        child: u32,
        outcome: Result<(), Class>,
        cause: Option<Cause>,
    ) {
        let edge = self.calls[slot].edge;
        match &edge.hedge {
            None => {
                self.calls[slot].attempt = NOBODY;
                self.settle_around(slot, outcome, cause);
            }
            Some(hedge) => self.settle_hedged(slot, child, hedge, outcome, cause),
        }
    }

    /// What is inside has come to an outcome, which walks on outwards; the cause, where the call
    /// inside knew it.
    fn settle_around(&mut self, slot: u32, outcome: Result<(), Class>, cause: Option<Cause>) {
        let Call { edge, parent, .. } = self.calls[slot];
        match self.settle_layers(slot, edge, edge.layers.len(), outcome) {
            Decision::Wait(wait) => self.back_off(slot, edge, wait, outcome),
            Decision::End(end) => self.end_call(slot, parent, outcome, end.or(cause)),
        }
    }

    /// One of the calls side by side is over: another is sent, the others are awaited, or all of
    /// them have come to an outcome.
    fn settle_hedged(
        &mut self,
        slot: u32,
        child: u32,
        hedge: &HedgePlan,
        outcome: Result<(), Class>,
        cause: Option<Cause>,
    ) {
        self.unlink(slot, child);
        if matches!(outcome, Ok(()) | Err(Class::Timeout)) {
            self.learn_latency(slot, child, hedge);
        }
        self.tell_hedge_budget(slot, child, hedge, outcome);
        let mut cause = cause;
        let mut push_back = PushBack::None;
        let mut paid = None;
        if let Err(class) = outcome
            && hedge.config.on.contains(class)
        {
            self.memories[slot as usize].hedged_failure = Some(class);
            push_back = self.push_back(slot, hedge, class);
            let sends = push_back == PushBack::None
                && self.memories[slot as usize].hedge.may_send(&hedge.config);
            if sends {
                paid = self.hedge_is_paid(slot, hedge, class);
                if paid.is_none() {
                    push_back = PushBack::Stop;
                    cause = Some(Cause::Budget);
                }
            }
        }
        match self.memories[slot as usize].hedge.settle(&hedge.config, outcome, push_back) {
            Next::Send => self.send_hedge(slot, hedge, paid.unwrap_or(Tab::NEW)),
            Next::SendAfter(wait) => {
                self.calls[slot].timer = self.calendar.after(wait, Kind::HedgeDue, slot);
            }
            Next::Await => {}
            Next::Over(over) => {
                if over.is_ok() {
                    self.learn_from_losers(slot, hedge);
                }
                self.abandon_inside(slot, true);
                self.settle_around(slot, over, cause);
            }
        }
    }

    /// It is time for another attempt beside those that are out.
    #[inline(never)]
    pub(super) fn hedge(&mut self, slot: u32) {
        self.calls[slot].timer = 0;
        let Some(hedge) = &self.calls[slot].edge.hedge else { return };
        if !self.memories[slot as usize].hedge.may_send(&hedge.config) {
            return; // A server has said stop since the timer was set: nothing is paid.
        }
        let last = self.memories[slot as usize].hedged_failure.unwrap_or(Class::Timeout);
        if let Some(tab) = self.hedge_is_paid(slot, hedge, last) {
            if self.memories[slot as usize].hedge.due(&hedge.config) {
                self.send_hedge(slot, hedge, tab);
            }
            return;
        }
        let state = &mut self.memories[slot as usize].hedge;
        state.stop();
        if state.out() == 0 {
            self.settle_around(slot, Err(last), Some(Cause::Budget));
        }
    }

    /// Sends an attempt that the hedge has counted already.
    fn send_hedge(&mut self, slot: u32, hedge: &HedgePlan, tab: Tab) {
        self.set_hedge_timer(slot, hedge);
        if let Some(inside) = self.calls[slot].edge.inside.as_deref() {
            self.call_inside(slot, inside, Reason::Hedge, tab);
        }
    }

    /// The timer of the next hedge runs anew from every sending.
    fn set_hedge_timer(&mut self, slot: u32, hedge: &HedgePlan) {
        let wait = self.wait_for_hedge(slot, hedge);
        let timer = wait.map_or(0, |wait| self.calendar.after(wait, Kind::HedgeDue, slot));
        self.calls[slot].timer = timer;
    }

    /// How long after a sending the next is due, as far as is known; `None`: never.
    fn wait_for_hedge(&mut self, slot: u32, hedge: &HedgePlan) -> Option<Duration> {
        if !self.memories[slot as usize].hedge.may_send(&hedge.config) {
            return None;
        }
        let backoff = match hedge.config.delay {
            HedgeDelay::OnTimeout(_) => self.back_off_of_hedge(slot, hedge),
            _ => Duration::ZERO,
        };
        let late = hedge.latencies.as_ref().and_then(|latencies| {
            let index = latencies.index(self.instance_of(self.calls[slot].parent));
            let states = &mut self.states[self.calls[slot].edge.states];
            let now = self.calendar.now();
            states.latencies.get(index, || latencies.config.start(now)).estimate()
        });
        hedge.config.timer(backoff, late)
    }

    /// The back-off before another attempt, where one follows a timeout or a failure.
    fn back_off_of_hedge(&mut self, slot: u32, hedge: &HedgePlan) -> Duration {
        let key = self.calls[slot].key;
        let sent = self.memories[slot as usize].hedge.sent();
        let mut past = Past::new();
        hedge.backoff.wait(sent, &mut past, self.keys.draw(Purpose::Backoff, key, sent))
    }

    /// What a failure says about the next attempt: a wait that is ours, or the server's word.
    fn push_back(&mut self, slot: u32, hedge: &HedgePlan, class: Class) -> PushBack {
        let Call { key, edge, .. } = self.calls[slot];
        if hedge.obeys_hints {
            let sent = self.memories[slot as usize].hedge.sent();
            match self.hint(edge, key, sent, class) {
                Some(Hint::After(wait)) => return PushBack::Wait(wait),
                Some(Hint::Never) => return PushBack::Stop,
                None => {}
            }
        }
        match hedge.config.delay {
            HedgeDelay::OnTimeout(_) => PushBack::Wait(self.back_off_of_hedge(slot, hedge)),
            _ => PushBack::None,
        }
    }

    /// Who is still out when another has won was late: so late at least. Were they left out, what
    /// counts as late would come earlier with every hedge.
    fn learn_from_losers(&mut self, slot: u32, hedge: &HedgePlan) {
        let mut child = self.calls[slot].attempt;
        while hedge.latencies.is_some() && child != NOBODY {
            self.learn_latency(slot, child, hedge);
            child = self.memories[child as usize].beside;
        }
    }

    /// How long an attempt took is remembered where hedges go by it. Other failures than timeouts
    /// come fast, and would make everything else look late (Finagle).
    fn learn_latency(&mut self, slot: u32, child: u32, hedge: &HedgePlan) {
        let Some(latencies) = &hedge.latencies else { return };
        let now = self.calendar.now();
        let took = now.since(self.memories[child as usize].made_at);
        let index = latencies.index(self.instance_of(self.calls[slot].parent));
        let states = &mut self.states[self.calls[slot].edge.states];
        let of_late = states.latencies.get(index, || latencies.config.start(now));
        of_late.record(&latencies.config, now, took);
    }

    /// Takes a call that is over out of those inside.
    fn unlink(&mut self, slot: u32, child: u32) {
        let after = self.memories[child as usize].beside;
        if self.calls[slot].attempt == child {
            self.calls[slot].attempt = after;
            return;
        }
        let mut at = self.calls[slot].attempt;
        while at != NOBODY {
            let beside = &mut self.memories[at as usize].beside;
            if *beside == child {
                *beside = after;
                return;
            }
            at = *beside;
        }
    }

    /// Nobody waits for the calls inside any more. `tell`: the callee hears of it.
    #[inline(never)]
    pub(super) fn abandon_inside(&mut self, slot: u32, tell: bool) {
        let mut child = std::mem::replace(&mut self.calls[slot].attempt, NOBODY);
        let hedge = self.calls[slot].edge.hedge.as_ref();
        if hedge.is_some() {
            self.calls[slot].timer = 0;
        }
        while child != NOBODY {
            let beside = self.memories.get(child as usize).map_or(NOBODY, |it| it.beside);
            if let Some(hedge) = hedge {
                self.leave_hedge_budget(slot, child, hedge);
            }
            self.abort_call(child, tell);
            child = beside;
        }
    }
}
