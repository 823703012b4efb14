//! The asking side: a call walks its policy inwards and is sent; a reply is heard.
//!
//! How an outcome walks back outwards is in `settling.rs`, what the policies hold on the way in
//! `holding.rs`.

use crate::engine::caller::Call;
use crate::engine::caller::CallState;
use crate::engine::caller::Flag;
use crate::engine::caller::Memory;
use crate::engine::caller::NOBODY;
use crate::engine::caller::Parent;
use crate::engine::caller::Pending;
use crate::engine::event::Kind;
use crate::engine::life::Life;
use crate::engine::life::attempt::Attempt;
use crate::engine::life::attempt::NOT_DRAWN;
use crate::engine::life::attempt::Stage;
use crate::engine::life::keep_beside;
use crate::engine::observe::Observer;
use crate::engine::observe::Reason;
use crate::engine::plan::EdgePlan;
use crate::policy::breaker::Answer;
use crate::policy::limiter::Entry;
use crate::policy::outcome::Class;
use crate::policy::stack::Layer;
use crate::policy::throttle::Passage;
use crate::policy::timeout::Running;
use crate::random::Purpose;
use crate::random::mix;
use crate::scenario::model::Balance;
use crate::units::Draw;
use crate::units::Duration;
use crate::units::SimTime;

const GONE: u32 = 1 << 31;

/// The `caller` of an attempt whose caller has left and has sent word of it, by the sequence
/// number of that word.
pub(super) const fn gone(sequence: u32) -> u32 {
    sequence | GONE
}

/// Has the caller of an attempt left?
#[inline(always)]
pub(super) const fn is_gone(caller: u32) -> bool {
    caller & GONE != 0
}

impl<'p, O: Observer> Life<'p, O> {
    /// R2: a client or a handler makes a call along an edge.
    pub(super) fn call(&mut self, parent: Parent, edge: usize, key: u64) {
        self.call_because(parent, edge, key, Reason::First);
    }

    /// The same for a call that is not the first of its kind: a job is executed again.
    #[inline(always)]
    pub(super) fn call_because(&mut self, parent: Parent, edge: usize, key: u64, reason: Reason) {
        let edge = &self.plans[self.plan].edges[edge];
        let mut state = CallState::new(edge.tries_at_start);
        state.set_reason(reason);
        let call = Call { key, edge, parent, attempt: NOBODY, timer: 0, state };
        let slot = self.calls.insert(call);
        if self.remembers {
            keep_beside(&mut self.memories, slot, Memory::NEW);
        }
        if let Err(attempt) = parent.slot() {
            self.attempts[attempt].awaits = slot;
        }
        self.observer.call_began(self.calendar.now(), edge.index);
        self.walk(slot, call, 0);
    }

    /// R3: a call walks its policy from layer `from` inwards; whoever comes through is sent.
    /// `call` is the record in `slot`, which has been read already.
    #[inline(always)]
    pub(super) fn walk(&mut self, slot: u32, call: Call<'p>, from: usize) {
        if call.edge.is_plain {
            self.send::<true>(slot, call);
        } else if self.walk_layers(slot, call.edge, from) {
            if call.edge.hears_attempts {
                self.tell_sent(slot, call.edge);
            }
            match call.edge.inside.as_deref() {
                Some(inside) => self.go_inside(slot, inside),
                None => self.send::<false>(slot, self.calls[slot]),
            }
        }
    }

    /// The walk through any layers; `false`: one of them held or rejected the call.
    #[inline(never)]
    pub(super) fn walk_layers(&mut self, slot: u32, edge: &EdgePlan, from: usize) -> bool {
        for (index, layer) in edge.layers.iter().enumerate().skip(from) {
            match layer {
                Layer::Bulkhead => match self.enter_bulkhead(slot, edge) {
                    Entry::Admitted => {
                        self.calls[slot].state.set(Flag::PLACE);
                        self.come_in(slot, edge);
                    }
                    Entry::Queued => {
                        self.calls[slot].state.set(Flag::IN_LINE);
                        self.set_patience(slot, edge);
                        return false;
                    }
                    Entry::Rejected => return self.reject(slot, index, Class::BulkheadFull),
                },
                Layer::Timeout => {
                    let memory = &mut self.memories[slot as usize];
                    memory.ends_at = self.calendar.now() + edge.timeout;
                    if edge.timeout_rule.running == Running::Cut {
                        memory.timer = self.calendar.after(edge.timeout, Kind::CallTimesOut, slot);
                    }
                }
                Layer::Retry => {
                    self.calls[slot].state.first_try();
                    self.pay_in(slot, edge);
                }
                Layer::Throttle => match self.ask_throttle(slot, edge) {
                    Passage::Pass => {}
                    Passage::After(wait) | Passage::AskAfter(wait) => {
                        self.calls[slot].timer = self.calendar.after(wait, Kind::RetryDue, slot);
                        return false;
                    }
                    Passage::Reject => return self.reject(slot, index, Class::Throttled),
                    Passage::RejectAfter(wait) => {
                        self.memories[slot as usize].pending = Some(Pending::Throttled);
                        self.calls[slot].timer = self.calendar.after(wait, Kind::RetryDue, slot);
                        return false;
                    }
                },
                Layer::Breaker => match self.ask_breaker(slot, edge) {
                    Answer::Granted(_) => {}
                    Answer::Refused => return self.reject(slot, index, Class::BreakerOpen),
                    Answer::Wait(_) => return false,
                },
                // Innermost of all: its time runs from when the attempt is sent.
                // A hedge divides the layers, and stands in neither part.
                Layer::AttemptTimeout | Layer::Hedge => {}
            }
        }
        true
    }

    /// A layer turned the call or the try away: an outcome, but not an attempt.
    pub(super) fn reject(&mut self, slot: u32, layer: usize, class: Class) -> bool {
        let edge = self.calls[slot].edge;
        self.observer.rejected(self.calendar.now(), edge.index, class);
        self.settle(slot, layer, Err(class));
        false
    }

    /// The time of an attempt begins to run.
    #[inline(always)]
    pub(super) fn set_attempt_timer(&mut self, slot: u32, call: Call<'p>) {
        let edge = call.edge;
        let timer = match (edge.constant_timeout, &edge.attempt_timeout) {
            (Some(span), _) => {
                self.calendar.after_in_ring(edge.ring, span, Kind::AttemptTimesOut, slot)
            }
            (None, Some(timeout)) => {
                let draw = self.rare_draw(Purpose::AttemptTimeout, call.key, call.state.tries());
                let span = timeout.span(call.state.tries(), draw);
                self.calendar.after(span, Kind::AttemptTimesOut, slot)
            }
            (None, None) => return,
        };
        self.calls[slot].timer = timer;
    }

    /// R4: an attempt is sent to one replica, and may be lost on the way. `PLAIN`: as its edge is.
    #[inline(always)]
    pub(super) fn send<const PLAIN: bool>(&mut self, slot: u32, call: Call<'p>) {
        let now = self.calendar.now();
        let Call { key, parent, edge, state, .. } = call;
        let deadline = self.deadline_of(parent);
        if now >= deadline {
            self.settle(slot, edge.layers.len(), Err(Class::DeadlinePassed));
            return;
        }
        let key = mix(key, u64::from(state.tries()));
        // Whoever may be left out is known before the attempt can be lost: its silence counts.
        let mut chosen = None;
        if !PLAIN && edge.ejection.is_some() {
            chosen = self.choose_among(slot, call, key);
            if chosen.is_none() {
                self.reject(slot, edge.layers.len(), Class::BreakerOpen);
                return;
            }
        }
        self.audit.sent += 1;
        if let Some(loss) = edge.loss
            && loss.happens(self.rare_draw(Purpose::Loss, key, 0))
        {
            self.audit.lost += 1;
            self.set_attempt_timer(slot, call);
            return;
        }
        let replica = match chosen {
            Some(replica) => replica,
            None => self.choose_replica(edge, parent, key),
        };
        let attempt = Attempt {
            key,
            arrived_at: now,
            luck_or_start: NOT_DRAWN,
            caller: slot,
            awaits: NOBODY,
            edge: edge.index as u16,
            replica,
            step: 0,
            stage: Stage::Travelling(state.reason()),
        };
        let latency = self.latency(edge, Purpose::Latency, key);
        if latency.is_zero() && self.is_quiet() {
            self.arrive_at_once(attempt, deadline, call);
        } else {
            self.set_attempt_timer(slot, call);
            let attempt = self.keep(attempt, deadline);
            self.calendar.after(latency, Kind::AttemptArrives, attempt);
        }
    }

    /// Gives an attempt a slot.
    #[inline(always)]
    pub(super) fn keep(&mut self, attempt: Attempt, deadline: SimTime) -> u32 {
        let slot = self.attempts.insert(attempt);
        if self.has_deadlines {
            keep_beside(&mut self.deadlines, slot, deadline);
        }
        if self.effects.on {
            self.keep_sent(slot, &attempt);
        }
        self.calls[attempt.caller].attempt = slot;
        slot
    }

    #[inline(always)]
    pub(super) fn choose_replica(&mut self, edge: &EdgePlan, parent: Parent, key: u64) -> u16 {
        if edge.replicas == 1 {
            return 0;
        }
        match self.servers[edge.target].settings.balance {
            Balance::RoundRobin => {
                let turn = self.turns[edge.index];
                self.turns[edge.index] = if turn + 1 == edge.replicas { 0 } else { turn + 1 };
                turn as u16
            }
            Balance::Random => {
                let draw = self.rare_draw(Purpose::Balance, key, 0);
                ((f64::from(edge.replicas) * draw.get()) as u32).min(edge.replicas - 1) as u16
            }
            Balance::ByDestination => (self.destination_of(parent) % edge.replicas) as u16,
            Balance::ByProcess => (self.instance_of(parent) % edge.replicas) as u16,
        }
    }

    #[inline(always)]
    pub(super) fn latency(&self, edge: &EdgePlan, purpose: Purpose, key: u64) -> Duration {
        match edge.constant_latency {
            Some(span) => span,
            None => self.drawn_latency(edge, purpose, key),
        }
    }

    #[inline(never)]
    pub(super) fn drawn_latency(&self, edge: &EdgePlan, purpose: Purpose, key: u64) -> Duration {
        edge.latency.sample(self.keys.draw(purpose, key, 0))
    }

    /// A draw that most models do not make. Inlined, each would make the road forty instructions
    /// longer for those that do not.
    #[inline(never)]
    pub(super) fn rare_draw(&self, purpose: Purpose, key: u64, index: u32) -> Draw {
        self.keys.draw(purpose, key, index)
    }

    /// R9: a reply reaches its caller, who may have left.
    pub(super) fn hear(&mut self, attempt: u32) {
        let Attempt { caller, stage, .. } = self.attempts[attempt];
        self.release_attempt(attempt);
        if is_gone(caller) {
            self.give_place_back(attempt);
            return;
        }
        if let Stage::Replying(outcome) = stage {
            self.settle_from_inside(caller, outcome);
        }
    }

    /// Does nothing else happen at this instant?
    #[inline(always)]
    pub(super) fn is_quiet(&self) -> bool {
        self.calendar.is_quiet() && self.called.is_empty()
    }
}
