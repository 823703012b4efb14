//! The asking side: a call walks its policy inwards, its outcome walks back outwards.

use crate::engine::caller::Call;
use crate::engine::caller::Flags;
use crate::engine::caller::InLine;
use crate::engine::caller::Memory;
use crate::engine::caller::NOBODY;
use crate::engine::caller::Parent;
use crate::engine::caller::Room;
use crate::engine::event::Kind;
use crate::engine::life::Attempt;
use crate::engine::life::LONGEST_CHAIN;
use crate::engine::life::Life;
use crate::engine::life::Stage;
use crate::engine::observe::Cause;
use crate::engine::observe::LimitKind;
use crate::engine::observe::Observer;
use crate::engine::observe::Reason;
use crate::engine::plan::EdgePlan;
use crate::engine::plan::RetryPlan;
use crate::engine::plan::Shared;
use crate::policy::breaker::Breaker;
use crate::policy::breaker::Settled;
use crate::policy::budget::BudgetConfig;
use crate::policy::limiter::Entry;
use crate::policy::outcome::Class;
use crate::policy::stack::Layer;
use crate::random::Purpose;
use crate::random::mix;
use crate::scenario::model::Balance;
use crate::scenario::model::Cancellation;
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
        let edge = &self.plans[self.plan].edges[edge];
        let call = Call {
            key,
            edge,
            parent,
            attempt: NOBODY,
            timer: 0,
            tries: edge.tries_at_start,
            flags: Flags::default(),
            reason: Reason::First,
        };
        let slot = self.calls.insert(call);
        if self.remembers {
            if self.memories.len() <= slot as usize {
                self.memories.resize(slot as usize + 1, Memory::NEW);
            }
            self.memories[slot as usize] = Memory::NEW;
        }
        if let Err(attempt) = parent.slot() {
            self.attempts[attempt].child = slot;
        }
        self.observer.call_began(self.calendar.now(), edge.index);
        self.walk(slot, call, 0);
    }

    /// R3: a call walks its policy from layer `from` inwards; whoever comes through is sent.
    /// `call` is the record in `slot`, which has been read already.
    #[inline(always)]
    fn walk(&mut self, slot: u32, call: Call<'p>, from: usize) {
        if call.edge.is_plain {
            self.send(slot, call);
        } else if self.walk_layers(slot, call.edge, from) {
            self.send(slot, self.calls[slot]);
        }
    }

    /// The walk through any layers; `false`: one of them held or rejected the call.
    #[inline(never)]
    fn walk_layers(&mut self, slot: u32, edge: &EdgePlan, from: usize) -> bool {
        for (index, layer) in edge.layers.iter().enumerate().skip(from) {
            match layer {
                Layer::Bulkhead => match self.enter_bulkhead(slot, edge) {
                    Entry::Admitted => self.calls[slot].flags.set(Flags::PLACE),
                    Entry::Queued => {
                        self.calls[slot].flags.set(Flags::IN_LINE);
                        return false;
                    }
                    Entry::Rejected => return self.reject(slot, index, Class::BulkheadFull),
                },
                Layer::Timeout => {
                    let timer = self.calendar.after(edge.timeout, Kind::CallTimesOut, slot);
                    let memory = &mut self.memories[slot as usize];
                    memory.ends_at = self.calendar.now() + edge.timeout;
                    memory.timer = timer;
                }
                Layer::Retry => {
                    self.calls[slot].tries = 1;
                    self.pay_in(slot, edge);
                }
                Layer::Breaker => {
                    if !self.ask_breaker(slot, edge) {
                        return self.reject(slot, index, Class::BreakerOpen);
                    }
                }
                // Innermost of all: its time runs from when the attempt is sent.
                Layer::AttemptTimeout => {}
            }
        }
        true
    }

    /// A layer turned the call or the try away: an outcome, but not an attempt.
    fn reject(&mut self, slot: u32, layer: usize, class: Class) -> bool {
        let edge = self.calls[slot].edge;
        self.observer.rejected(self.calendar.now(), edge.index, class);
        self.settle(slot, layer, Err(class));
        false
    }

    /// A call begins its first try: budgets that calls pay for are paid.
    #[inline(always)]
    fn pay_in(&mut self, slot: u32, edge: &EdgePlan) {
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
    fn ask_breaker(&mut self, slot: u32, edge: &EdgePlan) -> bool {
        let Some(breaker) = &edge.breaker else { return true };
        let index = breaker.index(self.instance_of(self.calls[slot].parent));
        let states = &mut self.states[edge.states];
        let state = states.breakers.get(index, Breaker::default);
        let permit = state.admit(&breaker.config, self.calendar.now());
        self.memories[slot as usize].permit = permit;
        if permit.is_some() {
            self.calls[slot].flags.set(Flags::PERMIT);
        }
        permit.is_some()
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
                let draw = self.rare_draw(Purpose::AttemptTimeout, call.key, call.tries);
                self.calendar.after(timeout.after.sample(draw), Kind::AttemptTimesOut, slot)
            }
            (None, None) => return,
        };
        self.calls[slot].timer = timer;
    }

    /// R4: an attempt is sent to one replica, and may be lost on the way.
    #[inline(always)]
    fn send(&mut self, slot: u32, call: Call<'p>) {
        let now = self.calendar.now();
        let Call { key, parent, tries, edge, reason, .. } = call;
        let deadline = self.deadline_of(parent);
        if now >= deadline {
            self.settle(slot, edge.layers.len(), Err(Class::DeadlinePassed));
            return;
        }
        self.audit.sent += 1;
        let key = mix(key, u64::from(tries));
        if let Some(loss) = edge.loss
            && loss.happens(self.rare_draw(Purpose::Loss, key, 0))
        {
            self.audit.lost += 1;
            self.set_attempt_timer(slot, call);
            return;
        }
        let replica = self.choose_replica(edge, key);
        let attempt = Attempt {
            key,
            arrived_at: now,
            started_at: now,
            caller: slot,
            child: NOBODY,
            work_ends: 0,
            edge: edge.index as u16,
            service: edge.target as u16,
            replica,
            step: 0,
            stage: Stage::Travelling,
            holds_worker: false,
            reason,
            failure: None,
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
            if self.deadlines.len() <= slot as usize {
                self.deadlines.resize(slot as usize + 1, SimTime::NEVER);
            }
            self.deadlines[slot as usize] = deadline;
        }
        self.calls[attempt.caller].attempt = slot;
        slot
    }

    #[inline(always)]
    fn choose_replica(&mut self, edge: &EdgePlan, key: u64) -> u16 {
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
    fn drawn_latency(&self, edge: &EdgePlan, purpose: Purpose, key: u64) -> Duration {
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
        let Attempt { caller, failure, .. } = self.attempts[attempt];
        self.release_attempt(attempt);
        if is_gone(caller) {
            return;
        }
        self.settle_from_inside(caller, failure.map_or(Ok(()), Err));
    }

    /// The attempt that is out has an outcome.
    #[inline(always)]
    pub(super) fn settle_from_inside(&mut self, slot: u32, outcome: Result<(), Class>) {
        let call = &mut self.calls[slot];
        call.attempt = NOBODY;
        let layers = call.edge.layers.len();
        self.settle(slot, layers, outcome);
    }

    /// Does nothing else happen at this instant?
    #[inline(always)]
    pub(super) fn is_quiet(&self) -> bool {
        self.calendar.is_quiet() && self.called.is_empty()
    }

    /// R10: an outcome walks the layers outwards, from below layer `from`.
    pub(super) fn settle(&mut self, slot: u32, from: usize, outcome: Result<(), Class>) {
        let call = &mut self.calls[slot];
        let (edge, parent) = (call.edge, call.parent);
        let decision = if edge.is_plain {
            let timer = std::mem::take(&mut call.timer);
            if timer != 0 {
                self.calendar.take_back(edge.ring, timer);
            }
            self.decide(slot, edge, outcome)
        } else {
            self.settle_layers(slot, edge, from, outcome)
        };
        let cause = match decision {
            Decision::Wait(wait) => return self.back_off(slot, edge, wait, outcome),
            Decision::End(cause) => cause,
        };
        self.calls.free(slot);
        match parent.slot() {
            Ok(request) => {
                let cause = |class| cause.unwrap_or(cause_of(class));
                self.end_request(request, outcome.map_err(cause));
            }
            Err(attempt) => self.handler_hears(attempt, outcome),
        }
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
                    self.calendar.take_back(edge.ring, timer);
                }
                Layer::Breaker => self.settle_breaker(slot, outcome),
                Layer::Retry => match self.decide(slot, edge, outcome) {
                    Decision::End(end) => cause = end,
                    wait @ Decision::Wait(_) => return wait,
                },
                Layer::Timeout => self.memories[slot as usize].timer = 0,
                Layer::Bulkhead => self.leave_bulkhead(slot),
            }
        }
        Decision::End(cause)
    }

    /// R10: what the retry layer makes of an outcome.
    #[inline(always)]
    fn decide(&mut self, slot: u32, edge: &EdgePlan, outcome: Result<(), Class>) -> Decision {
        let Some(retry) = &edge.retry else { return Decision::End(None) };
        if let Some(budget) = &retry.budget {
            self.tell_budget(slot, budget, outcome);
        }
        let Err(class) = outcome else { return Decision::End(None) };
        self.audit.failures += 1;
        if !retry.on.contains(class) {
            let cause = cause_of(class);
            let not_local = cause == Cause::Attempts;
            return Decision::End(Some(if not_local { Cause::NotRetried } else { cause }));
        }
        let Call { key, tries, parent, .. } = self.calls[slot];
        if tries >= retry.max_attempts {
            return Decision::End(Some(Cause::Attempts));
        }
        let wait = self.wait_before_retry(slot, key, tries, retry);
        let at = self.calendar.now() + wait;
        let too_late = (edge.timeout != Duration::MAX
            && at >= self.memories[slot as usize].ends_at)
            || (self.has_deadlines && at >= self.deadline_of(parent));
        if too_late {
            return Decision::End(Some(Cause::Time));
        }
        if let Some(budget) = &retry.budget
            && !self.withdraw(slot, budget)
        {
            return Decision::End(Some(Cause::Budget));
        }
        Decision::Wait(wait)
    }

    /// How long the next try is to wait.
    #[inline(always)]
    fn wait_before_retry(
        &mut self,
        slot: u32,
        key: u64,
        tries: u32,
        retry: &RetryPlan,
    ) -> Duration {
        let known = retry.windows.get(tries as usize - 1);
        if let Some(window) = known
            && retry.rigid
        {
            return *window;
        }
        let draw = self.keys.draw(Purpose::Backoff, key, tries);
        match known {
            Some(window) => retry.backoff.spread(*window, draw),
            None if retry.decorrelated => {
                let memory = &mut self.memories[slot as usize];
                let wait = retry.backoff.wait(tries, memory.previous_wait, draw);
                memory.previous_wait = Some(wait);
                wait
            }
            None => retry.backoff.wait(tries, None, draw),
        }
    }

    /// The budget hears of every outcome.
    fn tell_budget(
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
            Ok(()) => state.attempt_succeeded(&budget.config, now, call.tries == 1),
            Err(class) => state.attempt_failed(&budget.config, now, class),
        }
    }

    /// Does the budget pay for a retry?
    fn withdraw(&mut self, slot: u32, budget: &Shared<BudgetConfig>) -> bool {
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
        record.flags.set(Flags::BACKING_OFF);
        if let Err(class) = outcome {
            record.reason = Reason::after(class);
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

    /// A back-off is over.
    pub(super) fn retry(&mut self, slot: u32) {
        let call = &mut self.calls[slot];
        call.timer = 0;
        call.tries += 1;
        call.flags.take(Flags::BACKING_OFF);
        let call = *call;
        self.audit.retried += 1;
        self.edge_levels[call.edge.index].leave(self.calendar.now());
        self.walk(slot, call, call.edge.retry_at + 1);
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
    fn abandon_attempt(&mut self, slot: u32, tell: bool) {
        let attempt = std::mem::replace(&mut self.calls[slot].attempt, NOBODY);
        if attempt == NOBODY {
            return;
        }
        let edge = self.calls[slot].edge;
        let cancellation = self.servers[edge.target].settings.cancellation;
        let told = tell && cancellation != Cancellation::None;
        self.attempts[attempt].caller = if told && self.attempts[attempt].stage != Stage::Replying {
            let key = self.attempts[attempt].key;
            let latency = self.latency(edge, Purpose::CancelLatency, key);
            gone(self.calendar.after(latency, Kind::CancelArrives, attempt))
        } else {
            NOBODY
        };
    }

    /// Gives back what the layers from `from` inwards hold, without an outcome.
    fn release_inside(&mut self, slot: u32, from: usize) {
        let call = self.calls[slot];
        for layer in call.edge.layers[from..].iter().rev() {
            match layer {
                Layer::AttemptTimeout => self.calls[slot].timer = 0,
                Layer::Timeout => self.memories[slot as usize].timer = 0,
                Layer::Breaker => self.settle_permit(slot, Settled::Ignored),
                Layer::Bulkhead => self.leave_bulkhead(slot),
                Layer::Retry => {
                    if self.calls[slot].flags.take(Flags::BACKING_OFF) {
                        self.calls[slot].timer = 0;
                        self.audit.cut_short += 1;
                        self.edge_levels[call.edge.index].leave(self.calendar.now());
                    }
                }
            }
        }
    }

    fn settle_breaker(&mut self, slot: u32, outcome: Result<(), Class>) {
        let call = self.calls[slot];
        let Some(breaker) = &call.edge.breaker else { return };
        let settled = breaker.config.judge(outcome.err());
        self.settle_permit(slot, settled);
    }

    fn settle_permit(&mut self, slot: u32, settled: Settled) {
        if !self.calls[slot].flags.take(Flags::PERMIT) {
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

    fn enter_bulkhead(&mut self, slot: u32, edge: &EdgePlan) -> Entry {
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
    fn leave_bulkhead(&mut self, slot: u32) {
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
        let flags = &mut self.calls[slot].flags;
        if flags.take(Flags::IN_LINE) {
            room.bulkhead.leave_queue();
            // Its place in the line stays, and is passed over when its turn comes.
            if room.line.len() > 64 && room.line.len() > 4 * room.bulkhead.waiting() as usize {
                let calls = &self.calls;
                room.line.retain(|waiting| waiting.is_in_line(calls));
            }
            return;
        }
        let called = flags.take(Flags::CALLED);
        if !flags.take(Flags::PLACE) && !called {
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
            let flags = &mut self.calls[slot].flags;
            if !flags.take(Flags::CALLED) {
                continue; // It was given up meanwhile.
            }
            flags.set(Flags::PLACE);
            let call = self.calls[slot];
            let at = call.edge.position(Layer::Bulkhead);
            self.walk(slot, call, at + 1);
        }
    }

    /// The instance of the caller's group that makes a call.
    #[inline(always)]
    fn instance_of(&self, parent: Parent) -> u32 {
        match parent.slot() {
            Ok(request) => self.requests[request].client,
            Err(attempt) => u32::from(self.attempts[attempt].replica),
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
        Class::DeadlinePassed => Cause::Time,
        _ => Cause::Attempts,
    }
}
