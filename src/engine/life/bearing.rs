//! Requests: how they are born, and how they end.

use crate::engine::caller::Parent;
use crate::engine::caller::Request;
use crate::engine::event::Kind;
use crate::engine::life::LONGEST_CHAIN;
use crate::engine::life::Life;
use crate::engine::life::call_key;
use crate::engine::life::keep_beside;
use crate::engine::observe::Cause;
use crate::engine::observe::LimitKind;
use crate::engine::observe::Observer;
use crate::engine::observe::Verdict;
use crate::random::Purpose;
use crate::random::mix;
use crate::scenario::model::Arrivals as ArrivalsModel;
use crate::units::Duration;
use crate::units::SimTime;

impl<O: Observer> Life<'_, O> {
    /// R1: a population bears its next request.
    pub(super) fn bear(&mut self, population: usize) {
        let number = self.born[population];
        self.born[population] += 1;
        if let Some(arrivals) = &mut self.arrivals[population] {
            arrivals.take(&self.keys);
            let next = arrivals.next();
            self.schedule_birth(population, next);
        }
        let key = mix(self.population_keys[population], u64::from(number));
        let size = self.model.populations[population].size;
        let client = if size == 1 {
            0
        } else {
            let draw = self.rare_draw(Purpose::Instance, key, 0);
            ((f64::from(size) * draw.get()) as u32).min(size - 1)
        };
        let born_at = self.calendar.now();
        self.begin(Request { born_at, client, population: population as u16, chain: 0 }, key);
    }

    /// R1: a closed-loop user asks.
    pub(super) fn wake(&mut self, user: u32) {
        let population = self.first_user.partition_point(|first| *first <= user) - 1;
        let client = user - self.first_user[population];
        self.asked[user as usize] += 1;
        let key = self.user_key(population, client, self.asked[user as usize]);
        let born_at = self.calendar.now();
        let chain = self.chains.remove(&user).unwrap_or(0);
        self.begin(Request { born_at, client, population: population as u16, chain }, key);
    }

    /// When a request that is born now has its deadline.
    fn deadline_of_newborn(&self, population: usize) -> SimTime {
        let span = self.plans[self.plan].model.populations[population].deadline;
        self.calendar.now() + span.unwrap_or(Duration::MAX)
    }

    /// R1: a request begins with the one call of its client, unless the operator sheds it.
    #[inline(always)]
    fn begin(&mut self, request: Request, key: u64) {
        let population = request.population as usize;
        let shares = &self.shedding[population];
        let shed = !shares.is_empty() && {
            let draw = self.rare_draw(Purpose::Shed, key, 0);
            shares.iter().any(|(_, share)| share.happens(draw))
        };
        self.audit.born += 1;
        self.observer.born(request.born_at, population, shed);
        if shed {
            self.audit.ended += 1;
            self.think(&request);
            return;
        }
        if self.jobs.on
            && let Some(queue) = self.model.populations[population].queue
        {
            return self.store_job(request, key, queue);
        }
        let edge = self.model.populations[population].calls;
        let slot = self.requests.insert(request);
        if self.has_deadlines {
            let deadline = self.deadline_of_newborn(population);
            keep_beside(&mut self.request_deadlines, slot, deadline);
        }
        if self.effects.on {
            self.effects.open(slot, key);
        }
        self.call(Parent::request(slot), edge, call_key(key, 0));
    }

    /// R12: the client's call is over, and with it the request.
    pub(super) fn end_request(&mut self, slot: u32, outcome: Result<(), Cause>) {
        let now = self.calendar.now();
        let request = self.requests[slot];
        self.requests.free(slot);
        if self.effects.on {
            self.effects.end_request(slot);
        }
        self.audit.ended += 1;
        let population = request.population as usize;
        let verdict = match outcome {
            Err(cause) => Verdict::Failed(cause),
            Ok(()) if self.has_deadlines && now > self.request_deadlines[slot as usize] => {
                Verdict::Late
            }
            Ok(()) => Verdict::Ok,
        };
        self.observer.ended(now, population, request.born_at, verdict);
        self.think(&request);
    }

    /// A closed-loop user thinks after its request.
    #[inline(always)]
    pub(super) fn think(&mut self, request: &Request) {
        let population = request.population as usize;
        let ArrivalsModel::Closed { think } = &self.model.populations[population].arrivals else {
            return;
        };
        let user = self.first_user[population] + request.client;
        let key = self.user_key(population, request.client, self.asked[user as usize]);
        let wait = think.sample(self.keys.draw(Purpose::Think, key, 0));
        if wait.is_zero() && request.born_at == self.calendar.now() {
            if request.chain >= LONGEST_CHAIN {
                self.stopped_by = Some(LimitKind::NoProgress);
            }
            self.chains.insert(user, request.chain + 1);
        }
        self.calendar.after(wait, Kind::UserWakes, user);
    }

    pub(super) fn schedule_birth(&mut self, population: usize, at: SimTime) {
        let wait = at.since(self.calendar.now());
        self.calendar.after(wait, Kind::Birth, population as u32);
    }

    pub(super) fn user_key(&self, population: usize, user: u32, nth: u32) -> u64 {
        mix(mix(self.population_keys[population], u64::from(user)), u64::from(nth))
    }
}
