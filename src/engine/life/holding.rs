//! What policies with state hold for a call: money of budgets, leave of throttles; and how it is
//! given back. Permits of breakers are in `breaking.rs`, places in bulkheads in `bulkheads.rs`.

use crate::engine::caller::Parent;
use crate::engine::caller::Pending;
use crate::engine::life::Life;
use crate::engine::life::asking::is_gone;
use crate::engine::observe::Observer;
use crate::engine::plan::EdgePlan;
use crate::engine::plan::HedgePlan;
use crate::engine::plan::RetryPlan;
use crate::engine::plan::Shared;
use crate::policy::budget::Answer;
use crate::policy::budget::Budget;
use crate::policy::budget::BudgetConfig;
use crate::policy::budget::Failure;
use crate::policy::budget::Tab;
use crate::policy::outcome::Class;
use crate::policy::stack::Layer;
use crate::policy::throttle::Passage;
use crate::random::Purpose;
use crate::units::Draw;
use crate::units::SimTime;

impl<'p, O: Observer> Life<'p, O> {
    /// A call begins its first try: budgets that calls pay for are paid.
    #[inline(always)]
    pub(super) fn pay_in(&mut self, slot: u32, edge: &EdgePlan) {
        if let Some(memory) = self.memories.get_mut(slot as usize) {
            memory.began_at = self.calendar.now();
        }
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
        retry: &RetryPlan,
        budget: &Shared<BudgetConfig>,
        outcome: Result<(), Class>,
    ) {
        let now = self.calendar.now();
        let tries = self.calls[slot].state.tries();
        let (state, tab) = self.budget_of(slot, budget);
        match outcome {
            Ok(()) => state.attempt_succeeded(&budget.config, now, tries == 1, tab),
            Err(class) => {
                let retried = retry.on.contains(class);
                let last = tries >= retry.max_attempts;
                let failure = Failure { class, retried, last };
                state.attempt_failed(&budget.config, now, failure, tab);
            }
        }
    }

    /// Does the budget pay for a retry?
    pub(super) fn withdraw(
        &mut self,
        slot: u32,
        budget: &Shared<BudgetConfig>,
        class: Class,
    ) -> Answer {
        let now = self.calendar.now();
        let edge = self.calls[slot].edge.index;
        let (state, tab) = self.budget_of(slot, budget);
        let answer = state.may_retry(&budget.config, now, class, tab);
        if !answer.is_granted() {
            self.observer.denied(now, edge);
        }
        answer
    }

    /// The budget hears of an attempt sent.
    #[inline(never)]
    pub(super) fn tell_sent(&mut self, slot: u32, edge: &EdgePlan) {
        let now = self.calendar.now();
        if let Some(budget) = edge.budget() {
            let (state, tab) = self.budget_of(slot, budget);
            state.attempt_sent(&budget.config, now, tab);
        }
    }

    /// The budget hears that an attempt is over.
    #[inline(never)]
    pub(super) fn tell_over(&mut self, slot: u32, edge: &EdgePlan) {
        let now = self.calendar.now();
        if let Some(budget) = edge.budget() {
            let (state, tab) = self.budget_of(slot, budget);
            state.attempt_over(&budget.config, now, tab);
        }
    }

    /// A hedged call begins: budgets that calls pay for are paid.
    pub(super) fn pay_in_for_hedges(&mut self, slot: u32, hedge: &HedgePlan) {
        self.with_hedge_budget(slot, hedge, |budget, config, now| budget.call_started(config, now));
    }

    /// The budget of a hedge hears of the outcome of one of its attempts.
    pub(super) fn tell_hedge_budget(
        &mut self,
        slot: u32,
        child: u32,
        hedge: &HedgePlan,
        outcome: Result<(), Class>,
    ) {
        let sent = self.memories[slot as usize].hedge.sent();
        let (on, last) = (hedge.config.on, sent >= hedge.config.max_attempts);
        let mut tab = self.memories[child as usize].hedge_tab;
        self.with_hedge_budget(slot, hedge, |budget, config, now| match outcome {
            Ok(()) => budget.attempt_succeeded(config, now, sent == 1, &mut tab),
            Err(class) => {
                let failure = Failure { class, retried: on.contains(class), last };
                budget.attempt_failed(config, now, failure, &mut tab);
            }
        });
    }

    /// Does the budget of a hedge pay for another attempt? If so, what that one owes it.
    pub(super) fn hedge_is_paid(
        &mut self,
        slot: u32,
        hedge: &HedgePlan,
        class: Class,
    ) -> Option<Tab> {
        let mut tab = Tab::NEW;
        let granted = self.with_hedge_budget(slot, hedge, |budget, config, now| {
            budget.may_retry(config, now, class, &mut tab).is_granted()
        });
        if granted.unwrap_or(true) {
            return Some(tab);
        }
        self.observer.denied(self.calendar.now(), self.calls[slot].edge.index);
        None
    }

    /// One of the attempts side by side is given up: what it holds of the budget is given back.
    pub(super) fn leave_hedge_budget(&mut self, slot: u32, child: u32, hedge: &HedgePlan) {
        let mut tab = self.memories[child as usize].hedge_tab;
        self.with_hedge_budget(slot, hedge, |budget, config, now| {
            budget.call_abandoned(config, now, &mut tab);
        });
    }

    /// Asks or tells the budget of a hedge something, if there is one.
    fn with_hedge_budget<T>(
        &mut self,
        slot: u32,
        hedge: &HedgePlan,
        ask: impl FnOnce(&mut Budget, &BudgetConfig, SimTime) -> T,
    ) -> Option<T> {
        let budget = hedge.budget.as_ref()?;
        let call = self.calls[slot];
        let index = budget.index(self.instance_of(call.parent));
        let state = self.states[call.edge.states].budget(index, &budget.config);
        Some(ask(state, &budget.config, self.calendar.now()))
    }

    /// What a call holds of its budget is given back. `cut`: it has an attempt under way.
    pub(super) fn leave_budget(&mut self, slot: u32, edge: &EdgePlan, cut: bool) {
        let now = self.calendar.now();
        let Some(budget) = edge.budget() else { return };
        let (state, tab) = self.budget_of(slot, budget);
        if cut {
            state.attempt_cut(&budget.config);
        }
        if budget.config.keeps_tabs() {
            state.call_abandoned(&budget.config, now, tab);
            self.memories[slot as usize].pending = None;
        }
    }

    /// The budget of a call, and what the call keeps of it.
    #[inline(always)]
    fn budget_of(&mut self, slot: u32, budget: &Shared<BudgetConfig>) -> (&mut Budget, &mut Tab) {
        let call = self.calls[slot];
        let index = budget.index(self.instance_of(call.parent));
        let state = self.states[call.edge.states].budget(index, &budget.config);
        // Budgets of which nobody keeps a tab do not look at it.
        let tab = match self.memories.get_mut(slot as usize) {
            Some(memory) => &mut memory.tab,
            None => &mut self.no_tab,
        };
        (state, tab)
    }

    /// Does the throttle let a call or a try through?
    #[inline(never)]
    pub(super) fn ask_throttle(&mut self, slot: u32, edge: &EdgePlan) -> Passage {
        let Some(throttle) = &edge.throttle else { return Passage::Pass };
        let call = self.calls[slot];
        let index = throttle.index(self.instance_of(call.parent));
        let tries = call.state.tries();
        let draw = if throttle.config.draws() {
            self.keys.draw(Purpose::Throttle, call.key, tries)
        } else {
            Draw::MIDDLE
        };
        let state = self.states[edge.states].throttle(index, &throttle.config);
        state.ask(&throttle.config, self.calendar.now(), draw, tries > 1)
    }

    /// The throttle hears how what it let through ended.
    pub(super) fn settle_throttle(
        &mut self,
        slot: u32,
        edge: &EdgePlan,
        outcome: Result<(), Class>,
    ) {
        let Some(throttle) = &edge.throttle else { return };
        let index = throttle.index(self.instance_of(self.calls[slot].parent));
        let state = self.states[edge.states].throttle(index, &throttle.config);
        state.settle(&throttle.config, self.calendar.now(), outcome.err());
    }

    /// The time for which a throttle held a call or a try back is over.
    #[inline(never)]
    pub(super) fn leave_throttle(&mut self, slot: u32) {
        let call = self.calls[slot];
        let asks_again = call.edge.throttle.as_ref().is_some_and(|it| it.config.asks_again());
        let at = call.edge.position(Layer::Throttle);
        if let Some(Pending::Throttled) = self.memories[slot as usize].pending {
            self.memories[slot as usize].pending = None;
            self.reject(slot, at, Class::Throttled);
            return;
        }
        self.walk(slot, call, if asks_again { at } else { at + 1 });
    }

    /// The instance of the caller's group that makes a call.
    #[inline(always)]
    pub(super) fn instance_of(&self, parent: Parent) -> u32 {
        match self.origin(parent).slot() {
            Ok(request) if self.jobs.on => self.jobs.process_of(request, &self.requests[request]),
            Ok(request) => self.requests[request].client,
            Err(attempt) => u32::from(self.attempts[attempt].replica),
        }
    }

    /// The instance of the population behind a call, however deep.
    pub(super) fn destination_of(&self, parent: Parent) -> u32 {
        let mut parent = parent;
        loop {
            match self.origin(parent).slot() {
                Ok(request) => return self.requests[request].client,
                // Whoever asked may have left; a handler that still works asks for nobody then.
                Err(attempt) => match self.attempts[attempt].caller {
                    caller if is_gone(caller) => return 0,
                    caller => parent = self.calls[caller].parent,
                },
            }
        }
    }
}
