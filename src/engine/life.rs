//! The road a request takes, from birth to verdict.
//!
//! Read `step` from top to bottom to follow one request; every arm leads to a method named after
//! what it does. Requests are born and end in `life/bearing.rs`; the asking side of the road is in
//! `life/asking.rs` (and its choice of a replica where some are left out in
//! `life/ejecting.rs`), the way of an outcome back outwards in `life/settling.rs`, the wait for the
//! next try in `life/retrying.rs`, policies inside policies and attempts side by side in
//! `life/nesting.rs`; the answering side in `life/answering.rs` and, for what ends
//! there unanswered, `life/losing.rs`; results that come later in `life/deferring.rs`; disturbances and what people do are in `life/control.rs`. The
//! rules R1 to R17 of the model are marked where they are decided.
//!
//! A request that is a job waits in a queue first: `life/claiming.rs` stores and claims jobs,
//! `life/delivering.rs` lets them through to their destination, `life/executing.rs` hears what
//! became of them, `life/stopping.rs` ends processes and suspends destinations.

mod answering;
mod asking;
mod attempt;
mod backing_off;
mod bearing;
mod breaking;
mod bulkheads;
mod claiming;
mod closing;
mod control;
mod deferring;
mod delivering;
mod effects;
mod ejecting;
mod executing;
mod holding;
mod losing;
mod nesting;
mod retrying;
mod settling;
mod stopping;
mod striking;

use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

use crate::engine::RunError;
use crate::engine::RunReport;
use crate::engine::arrivals::Arrivals;
use crate::engine::audit::Audit;
use crate::engine::calendar::Calendar;
use crate::engine::caller::Call;
use crate::engine::caller::Memory;
use crate::engine::caller::Parent;
use crate::engine::caller::Request;
use crate::engine::event::Event;
use crate::engine::event::Kind;
use crate::engine::jobs::Jobs;
use crate::engine::life::attempt::Attempt;
use crate::engine::life::backing_off::BackingOff;
use crate::engine::life::bulkheads::Place;
use crate::engine::life::deferring::Deferring;
use crate::engine::life::effects::Effects;
use crate::engine::limits::Watch;
use crate::engine::observe::EdgeLevel;
use crate::engine::observe::Ending;
use crate::engine::observe::LimitKind;
use crate::engine::observe::Observer;
use crate::engine::observe::ServiceLevel;
use crate::engine::plan::Plan;
use crate::engine::server::Server;
use crate::engine::slab::Slab;
use crate::engine::strategies::Strategies;
use crate::engine::trigger::Agenda;
use crate::policy::budget::Tab;
use crate::random::Keys;
use crate::random::Purpose;
use crate::random::mix;
use crate::scenario::model::Arrivals as ArrivalsModel;
use crate::scenario::model::Model;
use crate::units::Share;
use crate::units::SimTime;

/// How often, in events, limits and the stop flag are looked at.
const LOOK_EVERY: u32 = 4096;
/// So many events that cause one another without a step in time are a loop.
pub(super) const LONGEST_CHAIN: u16 = 1000;

/// The key of the `step`-th call that a request or a handler makes. The keys of its attempts are
/// mixed from it, so it need not be mixed itself.
#[inline(always)]
const fn call_key(parent: u64, step: u16) -> u64 {
    parent.wrapping_add((step as u64 + 1).wrapping_mul(0xD1B5_4A32_D192_ED03))
}

/// Puts a value at `slot` of a list that lies beside a slab.
fn keep_beside<T: Copy>(list: &mut Vec<T>, slot: u32, value: T) {
    if list.len() <= slot as usize {
        list.resize(slot as usize + 1, value);
    }
    list[slot as usize] = value;
}

/// One run.
pub(super) struct Life<'p, O> {
    model: &'p Model,
    plans: &'p [Plan<'p>],
    /// The plan for calls that begin now.
    plan: usize,
    states: Vec<Strategies>,
    /// Calls for which a place in a bulkhead has come free just now.
    called: VecDeque<u32>,
    /// Places in bulkheads held by attempts whose callers have left, by attempt.
    kept: BTreeMap<u32, Place>,
    keys: Keys,
    calendar: Calendar,
    agenda: Agenda,
    /// The moment of the next control, as of now: a crash may bring it forward.
    control_at: SimTime,
    requests: Slab<Request>,
    calls: Slab<Call<'p>>,
    /// Beside `calls`, where any policy needs it.
    memories: Vec<Memory>,
    remembers: bool,
    /// Lent where calls remember nothing.
    no_tab: Tab,
    attempts: Slab<Attempt>,
    /// Beside `requests` and `attempts`, where any population has a deadline.
    request_deadlines: Vec<SimTime>,
    deadlines: Vec<SimTime>,
    has_deadlines: bool,
    /// Does any timeout end when a worker takes the attempt up?
    has_patience: bool,
    effects: Effects,
    pub(super) jobs: Jobs,
    deferring: Deferring,
    servers: Vec<Server<'p>>,
    arrivals: Vec<Option<Arrivals>>,
    born: Vec<u32>,
    /// What the keys of a population's requests are made from.
    population_keys: Vec<u64>,
    /// Requests so far of each closed-loop user; users of all populations in one row.
    asked: Vec<u32>,
    first_user: Vec<u32>,
    /// Users whose next request follows from the last without a step in time: how often in a row.
    chains: BTreeMap<u32, u16>,
    /// What the operator sheds of each population.
    shedding: Vec<Vec<(usize, Share)>>,
    /// The service each edge leads to.
    targets: Vec<u16>,
    /// Whose turn it is at the replicas behind each edge.
    turns: Vec<u32>,
    edge_levels: Vec<BackingOff>,
    service_snapshot: Vec<ServiceLevel>,
    edge_snapshot: Vec<EdgeLevel>,
    audit: Audit,
    fingerprint: u64,
    events: u64,
    /// Claims since limits and the stop flag were looked at: one look of a process may make many.
    unlooked: u32,
    peak_attempts: usize,
    stopped_by: Option<LimitKind>,
    observer: &'p mut O,
}

impl<'p, O: Observer> Life<'p, O> {
    pub(super) fn new(
        model: &'p Model,
        plans: &'p [Plan<'p>],
        keys: Keys,
        observer: &'p mut O,
    ) -> Self {
        let end = SimTime::ZERO + model.run.warm_up + model.run.horizon;
        let (services, edges) = (model.services.len(), model.edges.len());
        let mut life = Self {
            model,
            plans,
            plan: 0,
            states: Strategies::of_plans(plans),
            called: VecDeque::new(),
            kept: BTreeMap::new(),
            keys,
            calendar: Calendar::new(end, plans.iter().map(Plan::rings).max().unwrap_or(0)),
            agenda: Agenda::new(model),
            control_at: SimTime::ZERO,
            requests: Slab::default(),
            calls: Slab::default(),
            memories: Vec::new(),
            remembers: plans.iter().any(|plan| plan.remembers),
            no_tab: Tab::NEW,
            attempts: Slab::default(),
            request_deadlines: Vec::new(),
            deadlines: Vec::new(),
            has_deadlines: plans.iter().any(Plan::has_deadlines),
            has_patience: plans.iter().any(Plan::has_patience),
            effects: Effects::new(plans),
            jobs: Jobs::new(model),
            deferring: Deferring::new(plans),
            servers: model.services.iter().map(Server::new).collect(),
            arrivals: Vec::new(),
            born: vec![0; model.populations.len()],
            population_keys: (0..model.populations.len() as u64).map(|p| mix(1, p)).collect(),
            asked: Vec::new(),
            first_user: Vec::new(),
            chains: BTreeMap::new(),
            shedding: vec![Vec::new(); model.populations.len()],
            targets: model.edges.iter().map(|edge| edge.target as u16).collect(),
            turns: vec![0; edges],
            edge_levels: vec![BackingOff::default(); edges],
            service_snapshot: vec![ServiceLevel::default(); services],
            edge_snapshot: vec![EdgeLevel::default(); edges],
            audit: Audit::default(),
            fingerprint: 0,
            events: 0,
            unlooked: 0,
            peak_attempts: 0,
            stopped_by: None,
            observer,
        };
        life.set_out();
        life
    }

    /// Schedules the first birth of every population and the first thought of every user.
    fn set_out(&mut self) {
        self.send_processes_out();
        for (index, population) in self.model.populations.iter().enumerate() {
            self.first_user.push(self.asked.len() as u32);
            match &population.arrivals {
                ArrivalsModel::Open(open) => {
                    let arrivals = Arrivals::new(index, open, self.model, &self.keys);
                    self.schedule_birth(index, arrivals.next());
                    self.arrivals.push(Some(arrivals));
                }
                ArrivalsModel::Closed { think } => {
                    self.arrivals.push(None);
                    for user in 0..population.size {
                        let slot = self.asked.len() as u32;
                        self.asked.push(0);
                        let key = self.user_key(index, user, 0);
                        let wait = think.sample(self.keys.draw(Purpose::Think, key, 0));
                        self.calendar.after(wait, Kind::UserWakes, slot);
                    }
                }
            }
        }
    }

    /// Runs until the horizon, a limit, or the stop flag.
    pub(super) fn run(&mut self, stop: &AtomicBool) -> Result<RunReport, RunError> {
        let end = SimTime::ZERO + self.model.run.warm_up + self.model.run.horizon;
        let mut watch = Watch::start(&self.model.run.limits);
        let mut until_look = LOOK_EVERY;
        loop {
            self.control_at = self.agenda.next_at();
            // R13: all control of an instant comes before what follows from it.
            while self.control_at > self.calendar.now()
                && let Some(event) = self.calendar.next(self.control_at)
            {
                self.step(event);
                until_look -= 1;
                if until_look == 0 || self.unlooked > LOOK_EVERY {
                    (until_look, self.unlooked) = (LOOK_EVERY, 0);
                    if stop.load(Ordering::Relaxed) {
                        return Err(RunError::Interrupted);
                    }
                    self.look(&mut watch);
                }
                if self.stopped_by.is_some() {
                    return self.finish(self.calendar.now());
                }
            }
            let (at, control) = self.agenda.take();
            self.calendar.advance(at);
            self.control(control);
            if at >= end {
                return self.finish(end);
            }
            if self.agenda.next_at() > at {
                self.let_in();
                self.work_on_jobs();
            }
        }
    }

    /// One event. Whatever follows from it is scheduled, not done: nothing here recurs.
    #[inline(always)]
    fn step(&mut self, event: Event) {
        // Timers that are no longer awaited are recognised by their sequence number.
        let (slot, sequence) = (event.slot(), event.sequence());
        match event.kind() {
            Kind::Birth => {
                self.note(event);
                self.bear(slot as usize);
            }
            Kind::UserWakes => {
                self.note(event);
                self.wake(slot);
            }
            Kind::AttemptArrives => {
                self.note(event);
                self.arrive(slot);
            }
            Kind::WorkEnds if self.attempts[slot].awaits_end(sequence) => {
                self.note(event);
                self.end_work(slot);
            }
            Kind::ReplyArrives => {
                self.note(event);
                self.hear(slot);
            }
            Kind::AttemptTimesOut if self.calls[slot].timer == sequence => {
                self.note(event);
                self.time_out_attempt(slot);
            }
            Kind::CallTimesOut if self.memories[slot as usize].timer == sequence => {
                self.note(event);
                self.time_out_call(slot);
            }
            Kind::CancelArrives if self.attempts[slot].caller == asking::gone(sequence) => {
                self.note(event);
                self.hear_cancel(slot);
            }
            Kind::RetryDue if self.calls[slot].timer == sequence => {
                self.note(event);
                self.retry(slot);
            }
            Kind::HedgeDue if self.calls[slot].timer == sequence => {
                self.note(event);
                self.hedge(slot);
            }
            Kind::PatienceEnds if self.calls[slot].timer == sequence => {
                self.note(event);
                self.lose_patience(slot);
            }
            Kind::ProcessLooks => {
                self.note(event);
                self.look_for_jobs(slot);
            }
            Kind::LeaseEnds if self.jobs.records[slot].lease == sequence => {
                self.note(event);
                self.end_lease(slot);
            }
            Kind::RateAllows => {
                self.note(event);
                self.let_in_by_rate(slot);
            }
            Kind::ReadDue if self.is_read_due(slot, sequence) => {
                self.note(event);
                self.read_due(slot, sequence);
            }
            _ => return,
        }
        if !self.called.is_empty() {
            self.let_in();
        }
        if !self.jobs.ready.is_empty() {
            self.work_on_jobs();
        }
    }

    /// Counts an event and folds it into the fingerprint.
    #[inline(always)]
    fn note(&mut self, event: Event) {
        self.events += 1;
        let word = event.nanos() ^ u64::from(event.payload()) << 32;
        self.fingerprint =
            (self.fingerprint.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    /// Has a limit been reached?
    fn look(&mut self, watch: &mut Watch) {
        self.peak_attempts = self.peak_attempts.max(self.attempts.len());
        let in_flight = self.attempts.len().max(self.requests.len());
        let limits = &self.model.run.limits;
        if let Some(limit) =
            watch.look(limits, in_flight, self.jobs.at_rest(), &self.calendar, self.events, || {
                self.bytes()
            })
        {
            self.stopped_by = Some(limit);
        }
    }

    fn bytes(&self) -> usize {
        self.calendar.bytes()
            + self.requests.bytes()
            + self.calls.bytes()
            + self.attempts.bytes()
            + self.memories.capacity() * size_of::<Memory>()
            + (self.request_deadlines.capacity() + self.deadlines.capacity()) * 8
            + self.asked.capacity() * 4
            + self.effects.bytes()
            + self.jobs.bytes()
            + self.deferring.bytes()
            + self.servers.iter().map(Server::bytes).sum::<usize>()
            + self.states.iter().map(Strategies::bytes).sum::<usize>()
    }

    /// The last window, the audit, and what the run tells of itself.
    fn finish(&mut self, at: SimTime) -> Result<RunReport, RunError> {
        self.peak_attempts = self.peak_attempts.max(self.attempts.len());
        let ending = match self.stopped_by {
            None => Ending::Complete,
            Some(limit) => {
                self.end_window();
                Ending::Limit { limit, at }
            }
        };
        self.close_audit(at).map_err(RunError::Invariant)?;
        let open = self.open_requests();
        Ok(RunReport {
            ending,
            events: self.events,
            fingerprint: self.fingerprint,
            peak_attempts: self.peak_attempts as u64,
            open,
        })
    }

    /// Requests without a verdict.
    fn open_requests(&mut self) -> Vec<(usize, SimTime)> {
        let mut slots = self.requests.slots_in_use();
        slots.retain(|slot| self.jobs.execution(*slot).is_none());
        let of = |slot| {
            let request: Request = self.requests[slot];
            (request.population as usize, request.born_at)
        };
        let mut open: Vec<_> = slots.into_iter().map(of).collect();
        open.extend(self.jobs.open());
        open
    }
}

impl<O> Life<'_, O> {
    /// When the request or attempt behind a call has its deadline.
    #[inline(always)]
    fn deadline_of(&self, parent: Parent) -> SimTime {
        if !self.has_deadlines {
            return SimTime::NEVER;
        }
        match self.origin(parent).slot() {
            Ok(slot) => self.request_deadlines[slot as usize],
            Err(slot) => self.deadlines[slot as usize],
        }
    }

    /// The request or the attempt behind a call that may stand inside others.
    #[inline(always)]
    fn origin(&self, parent: Parent) -> Parent {
        let mut parent = parent;
        while let Some(outer) = parent.outer() {
            parent = self.calls[outer].parent;
        }
        parent
    }
}
