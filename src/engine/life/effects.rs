//! R8: what a request has done at a service, and what the service remembers of its keys.
//!
//! Where a model has writes, each request has a ledger: which of its calls have taken effect and
//! how often, and under which idempotency keys its attempts are known. Every attempt knows the
//! ledger of the request at the other end of the chain. Nothing but attempts of that request can
//! ever ask for what is in a ledger, so it is closed when the last of them is over: what a service
//! is said to keep for a day takes memory for as long as it can matter.
//!
//! Invariant: a key is unknown, in progress, or answered; who began it is the only one to end it.

use std::collections::BTreeMap;

use crate::engine::caller::Parent;
use crate::engine::life::Life;
use crate::engine::life::attempt::Attempt;
use crate::engine::life::keep_beside;
use crate::engine::observe::Observer;
use crate::engine::plan::Plan;
use crate::engine::slab::Linked;
use crate::engine::slab::Slab;
use crate::policy::outcome::Class;
use crate::scenario::model::Effect;
use crate::scenario::model::Errors;
use crate::scenario::model::ErrorsOf;
use crate::scenario::model::MadeOnce;
use crate::scenario::model::Model;
use crate::scenario::model::Operation;
use crate::scenario::model::Remembers;
use crate::scenario::model::Trigger;
use crate::units::Share;
use crate::units::SimTime;

/// The ledgers of a run.
#[derive(Default)]
pub(super) struct Effects {
    /// Does the model need them?
    pub(super) on: bool,
    ledgers: Slab<Ledger>,
    /// Beside the slabs of requests and of attempts.
    of_requests: Vec<u32>,
    of_attempts: Vec<Sent>,
    /// Entries of all ledgers together.
    entries: usize,
    /// Triggers that lose answers of a service: which share of them.
    pub(super) losing: Vec<(usize, Share)>,
    /// Triggers under which repetitions come with another body: at which service, which share.
    pub(super) other_bodies: Vec<(usize, Share)>,
    audit: Counts,
}

/// What the audit is told.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// Keys that came to be in progress.
    begun: u64,
    /// Of these: answered, or forgotten with a failure, by who began them.
    ended: u64,
    /// Taken over by another attempt after their time, without an answer.
    lapsed: u64,
    /// Still in progress when their ledger was closed.
    left: u64,
}

/// What one request has done.
struct Ledger {
    /// The key of the request: names the draws that are made once for it.
    root: u64,
    /// The request and the attempts that know this ledger.
    holders: u32,
    /// When its attempts were signed, where that is done once.
    signed_at: Option<SimTime>,
    /// How often each call site has taken effect.
    effects: BTreeMap<u16, u32>,
    keys: BTreeMap<(u16, Key), Known>,
}

impl Linked for Ledger {
    #[inline(always)]
    fn link(&mut self) -> &mut u32 {
        &mut self.holders
    }
}

/// A key, among those of one request and one call site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    /// There is only one.
    Request,
    /// One for each call.
    Call(u64),
}

/// What a service knows of a key.
#[derive(Clone, Copy, Debug)]
enum Known {
    /// An attempt is being worked on, or ended without an answer.
    InProgress { by: u64, until: SimTime },
    /// It was answered.
    Answered { outcome: Result<(), Class>, until: SimTime },
}

impl Known {
    const fn until(self) -> SimTime {
        match self {
            Self::InProgress { until, .. } | Self::Answered { until, .. } => until,
        }
    }
}

/// What an attempt carries besides its record.
#[derive(Clone, Copy, Debug)]
struct Sent {
    ledger: u32,
    key: Option<Key>,
    /// What its service makes of it, decided when a worker takes it up.
    course: Course,
}

/// What a service makes of an attempt.
#[derive(Clone, Copy, Debug)]
enum Course {
    /// It is worked on.
    Worked,
    /// Its key is known, and its answer repeated.
    Replayed(Result<(), Class>),
    /// Its key is in progress.
    Conflict(Class),
    /// Its key is known with another body.
    Mismatched,
    /// Its signature is too old.
    Stale(Class),
}

impl Sent {
    const NOTHING: Self = Self { ledger: 0, key: None, course: Course::Worked };
}

impl Effects {
    pub(super) fn new(plans: &[Plan]) -> Self {
        Self { on: plans.iter().any(|plan| needs_ledgers(plan.model)), ..Self::default() }
    }

    /// Memory held, in bytes.
    pub(super) fn bytes(&self) -> usize {
        /// About what an entry takes in a tree.
        const ENTRY: usize = 64;
        self.ledgers.bytes()
            + self.of_requests.capacity() * size_of::<u32>()
            + self.of_attempts.capacity() * size_of::<Sent>()
            + self.entries * ENTRY
    }

    /// The key of the request behind an attempt.
    pub(super) fn root_of(&self, attempt: u32) -> u64 {
        self.ledgers[self.of_attempts[attempt as usize].ledger].root
    }

    fn ledger(&mut self, attempt: u32) -> &mut Ledger {
        &mut self.ledgers[self.of_attempts[attempt as usize].ledger]
    }

    /// A request begins.
    pub(super) fn open(&mut self, request: u32, root: u64) {
        let (effects, keys) = (BTreeMap::new(), BTreeMap::new());
        let ledger =
            self.ledgers.insert(Ledger { root, holders: 1, effects, keys, signed_at: None });
        keep_beside(&mut self.of_requests, request, ledger);
    }

    /// A job is stored, whose executions share a ledger; signed once, or afresh in each attempt.
    pub(super) fn open_for_job(&mut self, root: u64, signed_at: Option<SimTime>) -> u32 {
        let (effects, keys) = (BTreeMap::new(), BTreeMap::new());
        self.ledgers.insert(Ledger { root, holders: 1, effects, keys, signed_at })
    }

    /// An execution of a job begins.
    pub(super) fn join(&mut self, request: u32, ledger: u32) {
        self.ledgers[ledger].holders += 1;
        keep_beside(&mut self.of_requests, request, ledger);
    }

    /// A request ends; its attempts may go on.
    pub(super) fn end_request(&mut self, request: u32) {
        self.let_go(self.of_requests[request as usize]);
    }

    /// An attempt is over.
    #[inline(never)]
    pub(super) fn end_attempt(&mut self, attempt: u32) {
        self.let_go(self.of_attempts[attempt as usize].ledger);
    }

    pub(super) fn let_go(&mut self, at: u32) {
        let ledger = &mut self.ledgers[at];
        ledger.holders -= 1;
        if ledger.holders == 0 {
            let keys = std::mem::take(&mut ledger.keys);
            let effects = std::mem::take(&mut ledger.effects);
            self.entries -= keys.len() + effects.len();
            self.audit.left += in_progress(&keys);
            self.ledgers.free(at);
        }
    }

    /// Every key has been ended by who began it, has lapsed, was left, or is in progress; and as
    /// many hold the ledgers as there are requests and attempts.
    pub(super) fn laws(&mut self, records: usize) -> [(&'static str, u64, u64); 2] {
        let Counts { begun, ended, lapsed, left } = self.audit;
        let (mut holders, mut open) = (0, 0);
        for slot in self.ledgers.slots_in_use() {
            holders += u64::from(self.ledgers[slot].holders);
            open += in_progress(&self.ledgers[slot].keys);
        }
        let records = if self.on { records as u64 } else { 0 };
        [
            (
                "keys begun = ended + lapsed + left + in progress",
                begun,
                ended + lapsed + left + open,
            ),
            ("ledgers held = requests + attempts", holders, records),
        ]
    }
}

/// Does anything depend on the request behind an attempt: writes, or errors of requests?
fn needs_ledgers(model: &Model) -> bool {
    let of_requests = |errors: &Errors| errors.of == ErrorsOf::Requests;
    let triggered = |trigger: &Trigger| match &trigger.effect {
        Effect::Errors { errors, .. } => of_requests(errors),
        _ => false,
    };
    model.edges.iter().any(|edge| edge.operation.writes())
        || model.services.iter().any(|service| service.replay_window.is_some())
        || model.services.iter().any(|service| service.errors.as_ref().is_some_and(of_requests))
        || model.triggers.iter().any(triggered)
}

fn in_progress(keys: &BTreeMap<(u16, Key), Known>) -> u64 {
    keys.values().filter(|known| matches!(known, Known::InProgress { .. })).count() as u64
}

impl<O: Observer> Life<'_, O> {
    /// An attempt gets a slot: what it carries is kept beside it.
    #[inline(never)]
    pub(super) fn keep_sent(&mut self, slot: u32, attempt: &Attempt) {
        let call = attempt.caller;
        let (outermost, parent) = self.outermost(call);
        let key = match self.model.edges[attempt.edge as usize].operation {
            Operation::Write(Some(MadeOnce::Request)) => Some(Key::Request),
            Operation::Write(Some(MadeOnce::Call)) => Some(Key::Call(self.calls[outermost].key)),
            // A key that is new in each attempt is never met again.
            Operation::Write(Some(MadeOnce::Attempt) | None) | Operation::Read => None,
        };
        let effects = &mut self.effects;
        let ledger = match parent.slot() {
            Ok(request) => effects.of_requests[request as usize],
            Err(attempt) => effects.of_attempts[attempt as usize].ledger,
        };
        effects.ledgers[ledger].holders += 1;
        if effects.of_attempts.len() <= slot as usize {
            effects.of_attempts.resize(slot as usize + 1, Sent::NOTHING);
        }
        effects.of_attempts[slot as usize] = Sent { ledger, key, course: Course::Worked };
    }

    /// The call around all that a call stands inside of, and who made it.
    fn outermost(&self, call: u32) -> (u32, Parent) {
        let mut call = call;
        while let Some(outer) = self.calls[call].parent.outer() {
            call = outer;
        }
        (call, self.calls[call].parent)
    }

    /// R8: a worker takes an attempt up. Is there anything to work on, or is its key known? Whether
    /// the body is the same is asked first: it is in the table as soon as the key is.
    #[inline(never)]
    pub(super) fn is_new(&mut self, slot: u32, service: usize) -> bool {
        let now = self.calendar.now();
        let Sent { key, .. } = self.effects.of_attempts[slot as usize];
        let signed_at = self.effects.ledger(slot).signed_at;
        if let (Some(window), Some(signed_at)) = (self.service(service).replay_window, signed_at)
            && now.since(signed_at) > window.lasts
        {
            self.effects.of_attempts[slot as usize].course = Course::Stale(window.answer);
            return false;
        }
        let (Some(settings), Some(key)) = (self.service(service).idempotency, key) else {
            return true;
        };
        let Attempt { edge, key: by, .. } = self.attempts[slot];
        let differs = !self.effects.other_bodies.is_empty() && self.has_other_body(service, by);
        let keys = &mut self.effects.ledger(slot).keys;
        let known = keys.get(&(edge, key)).copied();
        let course = match known {
            Some(known) if now < known.until() && differs => Course::Mismatched,
            Some(known) if now < known.until() => match known {
                Known::InProgress { .. } => Course::Conflict(settings.answer),
                Known::Answered { outcome, .. } => Course::Replayed(outcome),
            },
            _ => Course::Worked,
        };
        if let Course::Worked = course {
            keys.insert((edge, key), Known::InProgress { by, until: now + settings.lasts });
            self.effects.audit.begun += 1;
            self.effects.entries += usize::from(known.is_none());
            let lapsed = matches!(known, Some(Known::InProgress { .. }));
            self.effects.audit.lapsed += u64::from(lapsed);
        }
        self.effects.of_attempts[slot as usize].course = course;
        matches!(course, Course::Worked)
    }

    /// The answer to an attempt that nobody works on.
    #[inline(never)]
    pub(super) fn known_answer(&mut self, slot: u32, service: usize) -> Option<Result<(), Class>> {
        let now = self.calendar.now();
        match self.effects.of_attempts[slot as usize].course {
            Course::Worked => None,
            Course::Replayed(outcome) => {
                self.observer.replayed(now, service);
                Some(outcome)
            }
            Course::Conflict(class) => {
                self.observer.conflicted(now, service);
                Some(Err(class))
            }
            Course::Mismatched => {
                self.observer.mismatched(now, service);
                Some(Err(Class::Rejected))
            }
            Course::Stale(class) => {
                self.observer.stale_signature(now, service);
                Some(Err(class))
            }
        }
    }

    /// R8: the own work of an attempt has ended well: a write takes effect.
    #[inline(never)]
    pub(super) fn take_effect(&mut self, slot: u32, service: usize) {
        let edge = self.attempts[slot].edge;
        if !self.model.edges[edge as usize].operation.writes() {
            return;
        }
        let times = self.effects.ledger(slot).effects.entry(edge).or_insert(0);
        *times += 1;
        let times = *times;
        let audit = &mut self.servers[service].audit;
        audit.effects += 1;
        if times == 1 {
            audit.first_effects += 1;
            self.effects.entries += 1;
        } else {
            audit.duplicate_effects += 1;
        }
        self.observer.took_effect(self.calendar.now(), service, times);
    }

    /// A handler answers: the answer is stored under the key of its attempt, or the key forgotten.
    #[inline(never)]
    pub(super) fn store_answer(&mut self, slot: u32, service: usize, outcome: Result<(), Class>) {
        let now = self.calendar.now();
        let Sent { key: Some(key), course: Course::Worked, .. } =
            self.effects.of_attempts[slot as usize]
        else {
            return;
        };
        let Attempt { edge, key: of, .. } = self.attempts[slot];
        let settings = self.service(service).idempotency;
        let keys = &mut self.effects.ledger(slot).keys;
        match keys.get(&(edge, key)) {
            // Its time has not run out, or nobody has come since.
            Some(Known::InProgress { by, .. }) if *by == of => {}
            _ => return,
        }
        match settings {
            Some(settings) if outcome.is_ok() || settings.remembers == Remembers::Answers => {
                let until = now + settings.kept_for;
                keys.insert((edge, key), Known::Answered { outcome, until });
            }
            _ => {
                keys.remove(&(edge, key));
                self.effects.entries -= 1;
            }
        }
        self.effects.audit.ended += 1;
    }
}
