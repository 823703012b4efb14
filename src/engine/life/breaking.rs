//! Circuit breakers: permits, the callers that wait behind a probe, and what the breaker is told.

use crate::engine::caller::BehindProbe;
use crate::engine::caller::Flag;
use crate::engine::life::Life;
use crate::engine::observe::Observer;
use crate::engine::plan::EdgePlan;
use crate::engine::strategies::BehindOne;
use crate::policy::breaker::Answer;
use crate::policy::breaker::Breaker;
use crate::policy::breaker::Permit;
use crate::policy::breaker::Report;
use crate::policy::breaker::Settled;
use crate::policy::outcome::Class;
use crate::policy::stack::Layer;
use crate::random::Keys;
use crate::random::Purpose;
use crate::units::Draw;
use crate::units::Duration;

/// What decides the random part of each opening of the breaker of an index.
pub(super) fn opening(keys: &Keys, index: usize) -> impl Fn(u32) -> Draw {
    move |nth| keys.draw(Purpose::BreakerOpening, index as u64, nth)
}

impl<O: Observer> Life<'_, O> {
    /// Does the breaker let a call or a try through?
    pub(super) fn ask_breaker(&mut self, slot: u32, edge: &EdgePlan) -> Answer {
        let Some(breaker) = &edge.breaker else { return Answer::Refused };
        let call = self.calls[slot];
        let index = breaker.index(self.instance_of(call.parent));
        let now = self.calendar.now();
        let states = &mut self.states[edge.states];
        let state = states.breakers.get(index, Breaker::default);
        let answer = state.ask(&breaker.config, now, &opening(&self.keys, index));
        let memory = &mut self.memories[slot as usize];
        match answer {
            Answer::Granted(permit) => {
                (memory.permit, memory.permitted_at) = (Some(permit), now);
                self.calls[slot].state.set(Flag::PERMIT);
            }
            Answer::Refused => {}
            Answer::Wait(epoch) => {
                memory.behind_probe = BehindProbe::Waiting;
                let line = states.behind_probes.entry(index).or_default();
                line.push_back(BehindOne { epoch, slot, key: call.key });
            }
        }
        answer
    }

    pub(super) fn settle_breaker(&mut self, slot: u32, outcome: Result<(), Class>) {
        let call = self.calls[slot];
        let Some(breaker) = &call.edge.breaker else { return };
        self.settle_permit(slot, breaker.config.judge(outcome.err()));
    }

    /// A call ends that holds a permit or waits behind a probe, without an outcome.
    pub(super) fn leave_breaker(&mut self, slot: u32) {
        if self.calls[slot].state.has(Flag::PERMIT) {
            let breaker = self.calls[slot].edge.breaker.as_ref();
            let settled = breaker.map_or(Settled::Ignored, |it| it.config.judge_cancelled());
            self.settle_permit(slot, settled);
        } else {
            // Its place in the line stays, and is passed over.
            self.memories[slot as usize].behind_probe = BehindProbe::No;
        }
    }

    fn settle_permit(&mut self, slot: u32, settled: Settled) {
        if !self.calls[slot].state.take(Flag::PERMIT) {
            return;
        }
        let now = self.calendar.now();
        let call = self.calls[slot];
        let Some(breaker) = &call.edge.breaker else { return };
        let index = breaker.index(self.instance_of(call.parent));
        let memory = &mut self.memories[slot as usize];
        let Some(permit) = memory.permit.take() else { return };
        let took = if breaker.config.times_calls() {
            now.since(memory.permitted_at)
        } else {
            Duration::ZERO
        };
        let states = &mut self.states[call.edge.states];
        let state = states.breakers.get(index, Breaker::default);
        let report = Report { settled, took };
        state.report(&breaker.config, permit, now, report, &opening(&self.keys, index));
        if permit.is_probe() && breaker.config.makes_wait() {
            self.call_behind(call.edge.states, index, permit);
        }
    }

    /// Whoever waited for this probe asks again, in order.
    fn call_behind(&mut self, states: usize, index: usize, probe: Permit) {
        let Some(line) = self.states[states].behind_probes.get_mut(&index) else { return };
        let (calls, memories, called) = (&self.calls, &mut self.memories, &mut self.called);
        line.retain(|one| {
            let memory = &mut memories[one.slot as usize];
            let is_there =
                calls[one.slot].key == one.key && memory.behind_probe == BehindProbe::Waiting;
            let waits_on = is_there && one.epoch != probe.epoch();
            if is_there && !waits_on {
                memory.behind_probe = BehindProbe::Called;
                called.push_back(one.slot);
            }
            waits_on
        });
        if line.is_empty() {
            self.states[states].behind_probes.remove(&index);
        }
    }

    /// A call whose probe is back goes on: it asks the breaker again.
    pub(super) fn go_on_behind_probe(&mut self, slot: u32) {
        if !self.remembers {
            return;
        }
        let memory = &mut self.memories[slot as usize];
        if memory.behind_probe == BehindProbe::Called {
            memory.behind_probe = BehindProbe::No;
            let call = self.calls[slot];
            self.walk(slot, call, call.edge.position(Layer::Breaker));
        }
    }
}
