//! Places in bulkheads: who comes in, who waits and for how long, and how a place is given back.

use crate::engine::caller::Flag;
use crate::engine::event::Kind;
use crate::engine::life::Life;
use crate::engine::observe::Observer;
use crate::engine::plan::EdgePlan;
use crate::engine::strategies::InLine;
use crate::engine::strategies::Room;
use crate::policy::limiter::BulkheadConfig;
use crate::policy::limiter::Entry;
use crate::policy::limiter::adaptive::Sample;
use crate::policy::limiter::bulkhead::Abandoned;
use crate::policy::outcome::Class;
use crate::policy::outcome::ClassSet;
use crate::policy::stack::Layer;
use crate::random::Purpose;
use crate::units::Duration;

/// Failures that are signs of load: an adaptive limit counts them as drops. It hears nothing of
/// any other failure.
const DROPS: ClassSet = ClassSet::of(&[
    Class::Timeout,
    Class::GatewayTimeout,
    Class::Overloaded,
    Class::RateLimited,
    Class::DeadlinePassed,
]);

/// A place in a bulkhead, held by an attempt whose caller has left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Which set of states, and which of them.
    states: usize,
    index: usize,
    /// The edge of the call, and which part of its policy it is.
    edge: usize,
    depth: usize,
    config: BulkheadConfig,
}

impl<'p, O: Observer> Life<'p, O> {
    /// Is there a place for a call or a try?
    pub(super) fn enter_bulkhead(&mut self, slot: u32, edge: &EdgePlan) -> Entry {
        let Some(bulkhead) = &edge.bulkhead else { return Entry::Admitted };
        let call = self.calls[slot];
        let index = bulkhead.index(self.instance_of(call.parent));
        let config = &bulkhead.config;
        let room = self.states[edge.states].bulkheads.get(index, Room::default);
        let entry = room.bulkhead.enter_within(room.limit(config), config.queue);
        if entry == Entry::Queued {
            room.line.push_back(InLine { slot, key: call.key });
        }
        entry
    }

    /// A call has come in: an adaptive limit will want to know how it went.
    #[inline]
    pub(super) fn come_in(&mut self, slot: u32, edge: &EdgePlan) {
        let Some(bulkhead) = &edge.bulkhead else { return };
        if bulkhead.config.adapts.is_none() {
            return;
        }
        let index = bulkhead.index(self.instance_of(self.calls[slot].parent));
        let room = self.states[edge.states].bulkheads.get(index, Room::default);
        let memory = &mut self.memories[slot as usize];
        memory.entered_at = self.calendar.now();
        memory.in_flight = room.bulkhead.inside();
    }

    /// A call gets in line: it waits so long and no longer.
    pub(super) fn set_patience(&mut self, slot: u32, edge: &EdgePlan) {
        if let Some(bulkhead) = &edge.bulkhead
            && bulkhead.config.max_wait != Duration::MAX
        {
            let timer = self.calendar.after(bulkhead.config.max_wait, Kind::PatienceEnds, slot);
            self.calls[slot].timer = timer;
        }
    }

    /// A call has waited long enough for a place.
    pub(super) fn lose_patience(&mut self, slot: u32) {
        let at = self.calls[slot].edge.position(Layer::Bulkhead);
        self.leave_bulkhead(slot);
        self.reject(slot, at, Class::BulkheadFull);
    }

    /// An adaptive limit hears how it went.
    pub(super) fn sample_limit(&mut self, slot: u32, edge: &EdgePlan, outcome: Result<(), Class>) {
        let Some(bulkhead) = &edge.bulkhead else { return };
        let Some(adapts) = &bulkhead.config.adapts else { return };
        let call = self.calls[slot];
        let dropped = match outcome {
            Ok(()) => false,
            Err(class) if DROPS.contains(class) => true,
            Err(_) => return,
        };
        if !call.state.has(Flag::PLACE) {
            return;
        }
        let draw = self.rare_draw(Purpose::LimitProbe, call.key, call.state.tries());
        let memory = &self.memories[slot as usize];
        let rtt = self.calendar.now().since(memory.entered_at);
        let sample = Sample { rtt, in_flight: memory.in_flight, dropped };
        let index = bulkhead.index(self.instance_of(call.parent));
        let room = self.states[edge.states].bulkheads.get(index, Room::default);
        let limit = room.adaptive.get_or_insert_with(|| adapts.start(draw));
        limit.update(adapts, sample, draw);
        let limit = limit.limit();
        while room.bulkhead.admit_within(limit) {
            self.called.extend(room.call_next(bulkhead.config.line, &mut self.calls));
        }
    }

    /// Gives back a place, or a place in the line; the next in line may go on.
    pub(super) fn leave_bulkhead(&mut self, slot: u32) {
        let call = self.calls[slot];
        let Some(bulkhead) = &call.edge.bulkhead else { return };
        let index = bulkhead.index(self.instance_of(call.parent));
        let states = call.edge.states;
        let record = &mut self.calls[slot];
        if record.state.take(Flag::IN_LINE) {
            record.timer = 0;
            let room = self.states[states].bulkheads.get(index, Room::default);
            room.bulkhead.leave_queue();
            // Its place in the line stays, and is passed over when its turn comes.
            if room.line.len() > 64 && room.line.len() > 4 * room.bulkhead.waiting() as usize {
                let calls = &self.calls;
                room.line.retain(|waiting| waiting.is_in_line(calls));
            }
            return;
        }
        let called = record.state.take(Flag::CALLED);
        if !record.state.take(Flag::PLACE) && !called {
            return;
        }
        let config = bulkhead.config;
        let (edge, depth) = (call.edge.index, call.edge.depth);
        self.vacate(Place { states, index, edge, depth, config });
    }

    /// A place falls free. Who may come in next is for the settings of now to say, where they
    /// share the bulkhead.
    fn vacate(&mut self, place: Place) {
        let now = self.plans[self.plan].edges[place.edge].segments().nth(place.depth);
        let of_now = now.filter(|now| now.states == place.states);
        let config = match of_now.and_then(|now| now.bulkhead.as_ref()) {
            Some(of_now) => &of_now.config,
            None => &place.config,
        };
        let room = self.states[place.states].bulkheads.get(place.index, Room::default);
        room.bulkhead.leave_place();
        if room.bulkhead.admit_within(room.limit(config)) {
            self.called.extend(room.call_next(config.line, &mut self.calls));
        }
    }

    /// A caller gives up an attempt: where nothing can interrupt the work, its place stays taken.
    #[inline]
    pub(super) fn keep_place(&mut self, slot: u32, attempt: u32) {
        let call = self.calls[slot];
        if let Some(bulkhead) = &call.edge.bulkhead
            && bulkhead.config.abandoned == Abandoned::KeepsPlace
            && self.calls[slot].state.take(Flag::PLACE)
        {
            let index = bulkhead.index(self.instance_of(call.parent));
            let EdgePlan { states, index: edge, depth, .. } = *call.edge;
            let config = bulkhead.config;
            self.kept.insert(attempt, Place { states, index, edge, depth, config });
        }
    }

    /// The work of an attempt whose caller has left is over: the place that it kept falls free.
    #[inline(never)]
    pub(super) fn give_place_back(&mut self, attempt: u32) {
        if let Some(place) = self.kept.remove(&attempt) {
            self.vacate(place);
        }
    }

    /// The operator may have made bulkheads wider: who waits for a place goes on.
    pub(super) fn widen_bulkheads(&mut self) {
        let plan = &self.plans[self.plan];
        for of in plan.edges.iter().flat_map(EdgePlan::segments) {
            let Some(bulkhead) = &of.bulkhead else { continue };
            for index in bulkhead.indices(plan.instances(of.index)) {
                let states = &mut self.states[plan.states];
                let Some(room) = states.bulkheads.used_mut(index) else { continue };
                while room.bulkhead.admit_within(room.limit(&bulkhead.config)) {
                    let next = room.call_next(bulkhead.config.line, &mut self.calls);
                    self.called.extend(next);
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
            self.come_in(slot, call.edge);
            let at = call.edge.position(Layer::Bulkhead);
            self.walk(slot, call, at + 1);
        }
    }
}
