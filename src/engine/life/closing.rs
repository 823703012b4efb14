//! The end of a run: what is left, counted from the records, for the audit.

use crate::engine::audit::Left;
use crate::engine::audit::ServiceLeft;
use crate::engine::caller::Flag;
use crate::engine::life::Life;
use crate::engine::life::asking::is_gone;
use crate::engine::life::attempt::Attempt;
use crate::engine::life::attempt::Stage;
use crate::engine::life::backing_off::BackingOff;
use crate::engine::observe::Observer;
use crate::units::SimTime;

impl<O: Observer> Life<'_, O> {
    /// Holds every conservation law against what is left at `end`.
    pub(super) fn close_audit(&mut self, end: SimTime) -> Result<(), String> {
        let mut left = Left {
            requests: (self.requests.len() - self.jobs.running) as u64 + self.jobs.stored
                - self.jobs.told,
            backing_off: self.edge_levels.iter().map(|level| u64::from(level.now)).sum(),
            back_off_integral: self.sum_of_levels(|level| level.integral(end)),
            back_off_stays: self.sum_of_levels(|level| level.stays(end)),
            services: vec![ServiceLeft::default(); self.servers.len()],
            calendar: self.calendar.counts(),
            pending: self.calendar.pending() as u64,
            retry_places: self.retry_places(),
            ledgers: self
                .effects
                .laws(self.requests.len() + self.attempts.len() + self.jobs.records.len()),
            jobs: self.jobs.laws(),
            results: [self.deferring.still_waiting(), 0],
            ..Left::default()
        };
        left.places = self.places();
        let rooms = self.states.iter().flat_map(|states| states.bulkheads.all());
        for room in rooms {
            left.bulkheads[0] += u64::from(room.bulkhead.inside());
            left.bulkheads[1] += u64::from(room.bulkhead.waiting());
        }
        for (index, (left, server)) in left.services.iter_mut().zip(&mut self.servers).enumerate() {
            server.end_window(end);
            let [present, waiting, _] = server.integrals(end);
            left.integrals = [present, waiting];
            left.counted = server.audit;
            let workers = self.plans.iter().map(|plan| plan.model.services[index].workers);
            left.sound = server.is_sound(workers.max().unwrap_or(0));
        }
        for slot in self.attempts.slots_in_use() {
            let attempt = &self.attempts[slot];
            let left_there = &mut left.services[self.target(attempt.edge)];
            let stay = end.since(attempt.arrived_at).as_nanos();
            match attempt.stage {
                Stage::Travelling(_) | Stage::Recalled(_) => left.travelling += 1,
                Stage::Waiting | Stage::Working | Stage::Calling { .. } => {
                    left_there.present += 1;
                    left_there.staying = left_there.staying.wrapping_add(stay);
                    if attempt.stage == Stage::Waiting {
                        left_there.waiting = left_there.waiting.wrapping_add(stay);
                    }
                }
                Stage::Deferred => left.results[1] += 1,
                Stage::Removed | Stage::Replying(_) | Stage::Over => {}
            }
        }
        self.audit.close(&left)
    }

    /// Places among the retries under way: as the budgets count them, and as the calls hold them.
    fn retry_places(&mut self) -> [u64; 2] {
        if self.plans.len() > 1 {
            return [0; 2]; // A `set` may have put another kind of budget in its place.
        }
        let budgets = self.states.iter().flat_map(|of| of.budgets.all());
        let taken = budgets.map(|budget| u64::from(budget.places())).sum();
        let calls = self.calls.slots_in_use();
        let held = |slot: u32| {
            let tabs = self.memories.get(slot as usize).map(|it| [it.tab, it.hedge_tab]);
            tabs.into_iter().flatten().filter(|tab| tab.holds_place()).count() as u64
        };
        [taken, calls.iter().map(|slot| held(*slot)).sum()]
    }

    /// Places held by calls, and by attempts whose callers have left; calls in a line.
    fn places(&mut self) -> [u64; 2] {
        let kept = self.kept.keys().filter(|attempt| {
            let Attempt { caller, stage, .. } = self.attempts[**attempt];
            is_gone(caller) && stage != Stage::Over
        });
        let mut places = [kept.count() as u64, 0];
        for slot in self.calls.slots_in_use() {
            let state = self.calls[slot].state;
            places[0] += u64::from(state.has(Flag::PLACE) || state.has(Flag::CALLED));
            places[1] += u64::from(state.has(Flag::IN_LINE));
        }
        places
    }

    fn sum_of_levels(&self, of: impl Fn(&BackingOff) -> u64) -> u64 {
        self.edge_levels.iter().map(of).fold(0, u64::wrapping_add)
    }
}
