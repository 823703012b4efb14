//! What policies with state hold for a call: permits of breakers, money of budgets; and how it is
//! given back. Places in bulkheads are in `bulkheads.rs`.

use crate::engine::caller::Flag;
use crate::engine::caller::Parent;
use crate::engine::life::Life;
use crate::engine::observe::Observer;
use crate::engine::plan::EdgePlan;
use crate::engine::plan::Shared;
use crate::policy::breaker::Breaker;
use crate::policy::breaker::Settled;
use crate::policy::budget::BudgetConfig;
use crate::policy::outcome::Class;

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

    /// Does the breaker let a call or a try through?
    pub(super) fn ask_breaker(&mut self, slot: u32, edge: &EdgePlan) -> bool {
        let Some(breaker) = &edge.breaker else { return true };
        let index = breaker.index(self.instance_of(self.calls[slot].parent));
        let states = &mut self.states[edge.states];
        let state = states.breakers.get(index, Breaker::default);
        let permit = state.admit(&breaker.config, self.calendar.now());
        self.memories[slot as usize].permit = permit;
        if permit.is_some() {
            self.calls[slot].state.set(Flag::PERMIT);
        }
        permit.is_some()
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

    pub(super) fn settle_breaker(&mut self, slot: u32, outcome: Result<(), Class>) {
        let call = self.calls[slot];
        let Some(breaker) = &call.edge.breaker else { return };
        let settled = breaker.config.judge(outcome.err());
        self.settle_permit(slot, settled);
    }

    pub(super) fn settle_permit(&mut self, slot: u32, settled: Settled) {
        if !self.calls[slot].state.take(Flag::PERMIT) {
            return;
        }
        let now = self.calendar.now();
        let call = self.calls[slot];
        let Some(breaker) = &call.edge.breaker else { return };
        let index = breaker.index(self.instance_of(call.parent));
        let Some(permit) = self.memories[slot as usize].permit.take() else { return };
        let states = &mut self.states[call.edge.states];
        let state = states.breakers.get(index, Breaker::default);
        state.settle(&breaker.config, permit, now, settled);
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
