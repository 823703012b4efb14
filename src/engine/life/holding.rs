//! What policies with state hold for a call: places in bulkheads, money of budgets; and how it is
//! given back. Permits of breakers are in `breaking.rs`.

use crate::engine::caller::Flag;
use crate::engine::caller::InLine;
use crate::engine::caller::Parent;
use crate::engine::caller::Room;
use crate::engine::life::Life;
use crate::engine::observe::Observer;
use crate::engine::plan::EdgePlan;
use crate::engine::plan::Shared;
use crate::policy::budget::BudgetConfig;
use crate::policy::limiter::Entry;
use crate::policy::outcome::Class;
use crate::policy::stack::Layer;

impl<'p, O: Observer> Life<'p, O> {
    /// A call begins its first try: budgets that calls pay for are paid.
    #[inline(always)]
    pub(super) fn pay_in(&mut self, slot: u32, edge: &EdgePlan) {
        if let Some(retry) = &edge.retry
            && let Some(budget) = &retry.budget
        {
            let index = budget.index(self.instance_of(self.calls[slot].parent));
            let states = &mut self.states[edge.states];
            let now = self.calendar.now();
            states.budget(index, &budget.config).call_started(&budget.config, now);
        }
    }

    /// The budget hears of every outcome.
    pub(super) fn tell_budget(
        &mut self,
        slot: u32,
        budget: &Shared<BudgetConfig>,
        outcome: Result<(), Class>,
    ) {
        let now = self.calendar.now();
        let call = self.calls[slot];
        let index = budget.index(self.instance_of(call.parent));
        let states = &mut self.states[call.edge.states];
        let state = states.budget(index, &budget.config);
        match outcome {
            Ok(()) => state.attempt_succeeded(&budget.config, now, call.state.tries() == 1),
            Err(class) => state.attempt_failed(&budget.config, now, class),
        }
    }

    /// Does the budget pay for a retry?
    pub(super) fn withdraw(&mut self, slot: u32, budget: &Shared<BudgetConfig>) -> bool {
        let now = self.calendar.now();
        let call = self.calls[slot];
        let index = budget.index(self.instance_of(call.parent));
        let states = &mut self.states[call.edge.states];
        let paid = states.budget(index, &budget.config).may_retry(&budget.config, now);
        if !paid {
            self.observer.denied(now, call.edge.index);
        }
        paid
    }

    pub(super) fn enter_bulkhead(&mut self, slot: u32, edge: &EdgePlan) -> Entry {
        let Some(bulkhead) = &edge.bulkhead else { return Entry::Admitted };
        let call = self.calls[slot];
        let index = bulkhead.index(self.instance_of(call.parent));
        let states = &mut self.states[call.edge.states];
        let room = states.bulkheads.get(index, Room::default);
        let entry = room.bulkhead.enter(&bulkhead.config);
        if entry == Entry::Queued {
            room.line.push_back(InLine { slot, key: call.key });
        }
        entry
    }

    /// Gives back a place, or a place in the line; the next in line may go on.
    pub(super) fn leave_bulkhead(&mut self, slot: u32) {
        let call = self.calls[slot];
        let Some(bulkhead) = &call.edge.bulkhead else { return };
        let index = bulkhead.index(self.instance_of(call.parent));
        // Who may come in next is for the settings of now to say, where they share the bulkhead.
        let states = call.edge.states;
        let now = &self.plans[self.plan].edges[call.edge.index];
        let config = match &now.bulkhead {
            Some(of_now) if now.states == states => &of_now.config,
            _ => &bulkhead.config,
        };
        let room = self.states[states].bulkheads.get(index, Room::default);
        let state = &mut self.calls[slot].state;
        if state.take(Flag::IN_LINE) {
            room.bulkhead.leave_queue();
            // Its place in the line stays, and is passed over when its turn comes.
            if room.line.len() > 64 && room.line.len() > 4 * room.bulkhead.waiting() as usize {
                let calls = &self.calls;
                room.line.retain(|waiting| waiting.is_in_line(calls));
            }
            return;
        }
        let called = state.take(Flag::CALLED);
        if !state.take(Flag::PLACE) && !called {
            return;
        }
        if room.bulkhead.leave(config) {
            self.called.extend(room.call_next(&mut self.calls));
        }
    }

    /// The operator may have made bulkheads wider: who waits for a place goes on.
    pub(super) fn widen_bulkheads(&mut self) {
        let plan = &self.plans[self.plan];
        for (edge, of) in plan.edges.iter().enumerate() {
            let Some(bulkhead) = &of.bulkhead else { continue };
            for index in bulkhead.indices(plan.instances(edge)) {
                let states = &mut self.states[plan.states];
                let Some(room) = states.bulkheads.used_mut(index) else { continue };
                while room.bulkhead.admit_waiting(&bulkhead.config) {
                    self.called.extend(room.call_next(&mut self.calls));
                }
            }
        }
    }

    /// Calls that were given a place in a bulkhead go on, in the order in which they were called.
    pub(super) fn let_in(&mut self) {
        while let Some(slot) = self.called.pop_front() {
            let state = &mut self.calls[slot].state;
            if !state.take(Flag::CALLED) {
                self.go_on_behind_probe(slot); // Or it was given up meanwhile.
                continue;
            }
            state.set(Flag::PLACE);
            let call = self.calls[slot];
            let at = call.edge.position(Layer::Bulkhead);
            self.walk(slot, call, at + 1);
        }
    }

    /// The instance of the caller's group that makes a call.
    #[inline(always)]
    pub(super) fn instance_of(&self, parent: Parent) -> u32 {
        match parent.slot() {
            Ok(request) => self.requests[request].client,
            Err(attempt) => u32::from(self.attempts[attempt].replica),
        }
    }
}
