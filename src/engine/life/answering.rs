//! The answering side: an attempt arrives, waits, is worked on, calls further, and is answered.

use crate::engine::caller::Call;
use crate::engine::caller::NOBODY;
use crate::engine::caller::Parent;
use crate::engine::event::Kind;
use crate::engine::life::Life;
use crate::engine::life::asking::is_gone;
use crate::engine::life::attempt::Attempt;
use crate::engine::life::attempt::NOT_DRAWN;
use crate::engine::life::attempt::Stage;
use crate::engine::life::call_key;
use crate::engine::observe::Observer;
use crate::engine::plan::EdgePlan;
use crate::engine::server::Offer;
use crate::policy::outcome::Class;
use crate::random::Purpose;
use crate::scenario::model::Service;
use crate::scenario::model::WhenFull;
use crate::units::Draw;
use crate::units::Duration;
use crate::units::SimTime;

impl<'p, O: Observer> Life<'p, O> {
    /// R5: an attempt reaches a replica, which starts it, queues it, or turns it away.
    pub(super) fn arrive(&mut self, slot: u32) {
        let now = self.calendar.now();
        let attempt = &mut self.attempts[slot];
        attempt.arrived_at = now;
        let attempt = *attempt;
        match self.offer(&attempt) {
            Ok(offer) => self.let_into(slot, offer, &attempt),
            Err(Some(class)) => self.reply(slot, Err(class)),
            Err(None) => self.forget(slot),
        }
    }

    /// The same for an attempt that had no way to go, at an instant at which nothing else happens:
    /// one that is turned away never needs a slot.
    #[inline(always)]
    pub(super) fn arrive_at_once(&mut self, attempt: Attempt, deadline: SimTime, call: Call<'p>) {
        let edge = call.edge;
        match self.offer(&attempt) {
            Ok(offer) => {
                self.set_attempt_timer(attempt.caller, call);
                let slot = self.keep(attempt, deadline);
                self.let_into(slot, offer, &attempt);
            }
            Err(Some(class)) if edge.loss.is_none() => {
                self.settle(attempt.caller, edge.layers.len(), Err(class));
            }
            Err(Some(class)) => {
                self.set_attempt_timer(attempt.caller, call);
                let slot = self.keep(attempt, deadline);
                self.reply(slot, Err(class));
            }
            // The caller hears nothing, and waits on.
            Err(None) => self.set_attempt_timer(attempt.caller, call),
        }
    }

    /// Is an attempt let in, or what does its caller hear?
    #[inline(always)]
    fn offer(&mut self, attempt: &Attempt) -> Result<Offer, Option<Class>> {
        let now = self.calendar.now();
        let service = self.target(attempt.edge);
        let (reason, recalled) = match attempt.stage {
            Stage::Recalled(reason) => (reason, true),
            Stage::Travelling(reason) => (reason, false),
            _ => unreachable!("an attempt arrives once"),
        };
        self.observer.reached(now, service, reason);
        let server = &mut self.servers[service];
        let offer =
            if recalled { Offer::Swallowed } else { server.offer(now, u32::from(attempt.replica)) };
        let refusal = match offer {
            Offer::Started | Offer::Queued => {
                server.audit.admitted += 1;
                return Ok(offer);
            }
            Offer::Down => Some(Class::Unavailable),
            Offer::Full => Some(Class::Overloaded),
            Offer::Swallowed => None,
        };
        server.audit.refused += 1;
        self.observer.refused(now, service, refusal);
        Err(refusal)
    }

    /// An attempt that is let in is worked on or waits; too many, and the replica crashes.
    #[inline(always)]
    fn let_into(&mut self, slot: u32, offer: Offer, attempt: &Attempt) {
        let (service, replica) = (self.target(attempt.edge), u32::from(attempt.replica));
        if offer == Offer::Started {
            self.work(slot, service);
        } else {
            self.servers[service].enqueue(replica, slot);
            self.wait(slot, service, attempt.key);
        }
        let server = &self.servers[service];
        if let Some(overload) = &server.settings.overload
            && overload.crashes_at.is_some_and(|limit| server.present(replica) >= limit)
        {
            self.crash(service, replica);
        }
    }

    /// R5: an attempt waits. What decides its work is drawn meanwhile: no worker waits for that.
    #[inline(always)]
    fn wait(&mut self, slot: u32, service: usize, key: u64) {
        let bits = match self.service(service).work.as_constant() {
            Some(_) => NOT_DRAWN,
            None => self.keys.bits(Purpose::Work, key, 0),
        };
        let attempt = &mut self.attempts[slot];
        attempt.stage = Stage::Waiting;
        attempt.luck_or_start = bits;
    }

    /// R7: a worker takes an attempt up.
    #[inline(always)]
    fn work(&mut self, slot: u32, service: usize) {
        let now = self.calendar.now();
        let is_new = !self.effects.on || self.is_new(slot, service);
        let server = &mut self.servers[service];
        let attempt = &mut self.attempts[slot];
        let work = &server.settings.work;
        let span = match work.as_constant() {
            Some(span) => span,
            None if attempt.luck_or_start != NOT_DRAWN => {
                work.sample(Draw::from_bits(attempt.luck_or_start))
            }
            None => work.sample(self.keys.draw(Purpose::Work, attempt.key, 0)),
        };
        let factor = server.work_factor(now, u32::from(attempt.replica));
        let span = if factor == 1.0 { span } else { span.scale(factor) };
        let span = if is_new { span } else { Duration::ZERO };
        server.count_wait(now, attempt.arrived_at);
        self.observer.started(now, service, attempt.arrived_at);
        attempt.stage = Stage::Working;
        attempt.luck_or_start = now.as_nanos();
        attempt.awaits = self.calendar.after(span, Kind::WorkEnds, slot);
        if self.has_patience {
            self.end_patience(slot);
        }
    }

    /// Patience ends when the waiting does.
    fn end_patience(&mut self, slot: u32) {
        let caller = self.attempts[slot].caller;
        if !is_gone(caller) && self.calls[caller].edge.patience {
            self.calls[caller].timer = 0;
        }
    }

    /// A worker that came free takes up the next attempt, if one waits.
    #[inline(always)]
    pub(super) fn take_next(&mut self, service: usize, replica: u32) {
        let now = self.calendar.now();
        loop {
            let server = &mut self.servers[service];
            let Some(slot) = server.next(now, replica) else { return };
            if self.attempts[slot].stage == Stage::Removed {
                self.release_attempt(slot);
                continue;
            }
            if server.settings.queue.codel.is_some() && self.is_stale(slot, service) {
                self.servers[service].expire(self.calendar.now(), replica);
                self.waited(slot, service);
                let heard = match self.service(service).queue.when_full {
                    WhenFull::Reply => Some(Class::Overloaded),
                    WhenFull::Drop => None,
                };
                self.end_inside(slot, service, heard);
                continue;
            }
            let server = &mut self.servers[service];
            if server.settings.queue.drop_expired && self.is_expired(slot) {
                self.servers[service].expire(self.calendar.now(), replica);
                self.waited(slot, service);
                self.drop_attempt(slot, service);
                continue;
            }
            self.servers[service].start(self.calendar.now(), replica);
            return self.work(slot, service);
        }
    }

    /// R6: has an attempt whose turn has come waited too long to be worth serving?
    fn is_stale(&self, slot: u32, service: usize) -> bool {
        let Attempt { arrived_at, replica, .. } = self.attempts[slot];
        self.servers[service].is_stale(self.calendar.now(), u32::from(replica), arrived_at)
    }

    /// R6: has the caller left, or the deadline passed?
    fn is_expired(&self, slot: u32) -> bool {
        let late = self.has_deadlines && self.calendar.now() >= self.deadlines[slot as usize];
        late || is_gone(self.attempts[slot].caller)
    }

    /// R7: a worker ends its own work on an attempt; an error, calls, or the answer follow.
    pub(super) fn end_work(&mut self, slot: u32) {
        let now = self.calendar.now();
        let attempt = self.attempts[slot];
        let service = self.target(attempt.edge);
        let settings = self.service(service);
        let wasted = !self.is_awaited(slot);
        self.observer.worked(now, service, now.since(attempt.started_at()), wasted);
        if self.effects.on
            && let Some(outcome) = self.known_answer(slot, service)
        {
            return self.answer(slot, service, true, outcome);
        }
        if let Some(class) = self.error(settings, service, slot) {
            return self.answer(slot, service, true, Err(class));
        }
        if self.effects.on {
            self.take_effect(slot, service);
        }
        if settings.calls.is_empty() {
            return self.answer(slot, service, true, Ok(()));
        }
        self.attempts[slot].stage = Stage::Calling { holds_worker: settings.holds_worker };
        if !settings.holds_worker {
            self.free_worker(slot, service);
        }
        self.call_next(slot, settings);
    }

    /// Does the work end in an error, of the service's own or of a trigger?
    #[inline(always)]
    fn error(&self, settings: &Service, service: usize, slot: u32) -> Option<Class> {
        let replica = u32::from(self.attempts[slot].replica);
        if let Some(errors) = &settings.errors
            && self.strikes(errors, slot, service, 0, (Purpose::ServiceError, 0))
        {
            return Some(errors.class);
        }
        let triggered = self.servers[service].errors.iter().zip(0..);
        triggered
            .filter(|(it, _)| replica < it.replicas)
            .filter(|(it, nth)| {
                let which = 1 + it.trigger;
                self.strikes(&it.errors, slot, service, which, (Purpose::TriggerError, *nth))
            })
            .map(|(it, _)| it.errors.class)
            .next()
    }

    /// R7: the handler makes its next call.
    fn call_next(&mut self, slot: u32, settings: &Service) {
        let Attempt { key, step, .. } = self.attempts[slot];
        let edge = settings.calls[step as usize];
        self.call(Parent::attempt(slot), edge, call_key(key, step));
    }

    /// A call that a handler waited for is over. R11: a failure is passed on under its class for
    /// the world above, or as the call's `answers` say; otherwise the handler goes on.
    pub(super) fn handler_hears(&mut self, slot: u32, outcome: Result<(), Class>) {
        let Attempt { edge, step, stage, .. } = self.attempts[slot];
        let holds_worker = stage == Stage::Calling { holds_worker: true };
        let service = self.target(edge);
        let settings = self.service(service);
        self.attempts[slot].awaits = NOBODY;
        self.attempts[slot].step = step + 1;
        if self.jobs.on && outcome.is_err() {
            self.note_failed_step(slot, step);
        }
        match outcome {
            Ok(()) if usize::from(step) + 1 < settings.calls.len() => {
                self.call_next(slot, settings);
            }
            Ok(()) => self.answer(slot, service, holds_worker, Ok(())),
            Err(class) => {
                let call = &self.model.edges[settings.calls[usize::from(step)]];
                self.answer(slot, service, holds_worker, Err(call.answer_to(class)));
            }
        }
    }

    /// R9: a handler answers, and the attempt leaves the service.
    fn answer(&mut self, slot: u32, service: usize, with_worker: bool, outcome: Result<(), Class>) {
        let now = self.calendar.now();
        let attempt = self.attempts[slot];
        if self.effects.on {
            self.store_answer(slot, service, outcome);
        }
        let server = &mut self.servers[service];
        server.audit.answered += 1;
        server.count_stay(now, attempt.arrived_at);
        self.observer.answered(now, service, attempt.arrived_at, outcome.is_ok());
        let replica = u32::from(attempt.replica);
        if with_worker {
            server.leave_with_worker(now, replica);
            self.take_next(service, replica);
        } else {
            server.leave(now, replica);
        }
        if self.deferring.on && self.is_deferred(&attempt) {
            return self.write_result(slot, outcome);
        }
        if !self.effects.losing.is_empty() && self.answer_is_lost(service, attempt.key) {
            return self.forget(slot);
        }
        self.reply_last(slot, attempt, outcome);
    }

    /// A reply, as the last thing that an event leads to: without a way to go, and when nothing
    /// else happens at this instant, it is heard at once.
    #[inline(always)]
    fn reply_last(&mut self, slot: u32, attempt: Attempt, outcome: Result<(), Class>) {
        let edge = self.edge(attempt.edge);
        let no_way = edge.constant_latency == Some(Duration::ZERO) && edge.loss.is_none();
        if no_way && !is_gone(attempt.caller) && self.is_quiet() {
            self.release_attempt(slot);
            self.settle_from_inside(attempt.caller, outcome);
        } else {
            self.reply(slot, outcome);
        }
    }

    /// R9: a reply sets out, and may be lost. Nobody waits for it: the attempt is over.
    pub(super) fn reply(&mut self, slot: u32, outcome: Result<(), Class>) {
        let Attempt { caller, edge, key, .. } = self.attempts[slot];
        if is_gone(caller) {
            self.release_attempt(slot);
            self.give_place_back(slot);
            return;
        }
        let edge = self.edge(edge);
        if let Some(loss) = edge.loss
            && loss.happens(self.rare_draw(Purpose::ReplyLoss, key, 0))
        {
            self.forget(slot);
            return;
        }
        let attempt = &mut self.attempts[slot];
        attempt.stage = Stage::Replying(outcome);
        let latency = self.latency(edge, Purpose::ReplyLatency, key);
        self.calendar.after(latency, Kind::ReplyArrives, slot);
    }

    /// The caller will never hear of an attempt; it does not know, and waits on.
    pub(super) fn forget(&mut self, slot: u32) {
        let caller = self.attempts[slot].caller;
        if !is_gone(caller) {
            self.calls[caller].attempt = NOBODY;
        } else {
            self.give_place_back(slot);
        }
        self.release_attempt(slot);
    }

    fn free_worker(&mut self, slot: u32, service: usize) {
        let replica = u32::from(self.attempts[slot].replica);
        self.servers[service].free_worker(self.calendar.now(), replica);
        self.take_next(service, replica);
    }

    /// The service that an edge leads to.
    #[inline(always)]
    pub(super) fn target(&self, edge: u16) -> usize {
        self.targets[edge as usize] as usize
    }

    /// An edge, as of now.
    #[inline(always)]
    pub(super) fn edge(&self, edge: u16) -> &'p EdgePlan {
        &self.plans[self.plan].edges[edge as usize]
    }

    #[inline(always)]
    pub(super) fn release_attempt(&mut self, slot: u32) {
        if self.effects.on {
            self.effects.end_attempt(slot);
        }
        self.attempts[slot].stage = Stage::Over;
        self.attempts.free(slot);
    }

    /// The settings of a service, as of now.
    #[inline(always)]
    pub(super) fn service(&self, service: usize) -> &'p Service {
        self.servers[service].settings
    }
}
