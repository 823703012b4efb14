//! R9: results that come later, under a key: they are written, told of, looked for, and read.
//!
//! An attempt whose reply is deferred is a submit. That it was taken is answered at once and not
//! simulated; a refusal is heard as any other. When the job is over its result is written under
//! the key of the attempt, and the attempt waits there, its server done with it, until the caller
//! has read the result or waits no longer. A read before the result is there finds nothing and
//! changes nothing, so none is scheduled. What ends with its replica (a crash, a restart, a hang)
//! never has a result, and the caller, whose submit was taken long ago, hears nothing of it.
//!
//! Invariant: every result that is written is read to the end, outlived by the caller's timer, left
//! unread, or waited for.

use crate::engine::caller::NOBODY;
use crate::engine::event::Kind;
use crate::engine::life::Life;
use crate::engine::life::asking::is_gone;
use crate::engine::life::attempt::Attempt;
use crate::engine::life::attempt::Stage;
use crate::engine::observe::Deferral;
use crate::engine::observe::Observer;
use crate::engine::observe::WaitEnd;
use crate::engine::plan::EdgePlan;
use crate::engine::plan::Plan;
use crate::policy::deferred::Key;
use crate::policy::deferred::ReadKind;
use crate::policy::deferred::Reading;
use crate::policy::deferred::Reply;
use crate::policy::outcome::Class;
use crate::random::Purpose;
use crate::scenario::model::Deferred;
use crate::scenario::model::Told;
use crate::units::Duration;
use crate::units::SimTime;

/// The results of a run.
#[derive(Default)]
pub(super) struct Deferring {
    /// Does the model have any?
    pub(super) on: bool,
    /// Beside the slab of attempts.
    waits: Vec<Wait>,
    /// Results written, and of these those whose wait is over.
    written: u64,
    over: u64,
}

/// The wait for a result that has been written.
#[derive(Clone, Copy, Debug)]
struct Wait {
    key: Key,
    written_at: SimTime,
    /// Reads so far: numbers their draws.
    reads: u32,
    /// The sequence numbers of the word that it is there and of the next look; 0: not awaited.
    word: u32,
    look: u32,
    /// The caller's timer has run out, and its last read was in vain.
    timed_out: bool,
}

impl Wait {
    const NONE: Self = Self {
        key: Key::EMPTY,
        written_at: SimTime::ZERO,
        reads: 0,
        word: 0,
        look: 0,
        timed_out: false,
    };
}

impl Deferring {
    pub(super) fn new(plans: &[Plan]) -> Self {
        let mut edges = plans.iter().flat_map(|plan| &plan.edges);
        Self { on: edges.any(|edge| edge.deferred.is_some()), ..Self::default() }
    }

    /// Memory held, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.waits.capacity() * size_of::<Wait>()
    }

    /// Results that are waited for, by the counts.
    pub(super) const fn still_waiting(&self) -> u64 {
        self.written - self.over
    }
}

impl<'p, O: Observer> Life<'p, O> {
    /// Is this attempt a submit? A call keeps the plan under which it began.
    #[inline(never)]
    pub(super) fn is_deferred(&self, attempt: &Attempt) -> bool {
        self.edge_of(attempt).deferred.is_some()
    }

    fn edge_of(&self, attempt: &Attempt) -> &'p EdgePlan {
        if is_gone(attempt.caller) {
            self.edge(attempt.edge)
        } else {
            self.calls[attempt.caller].edge
        }
    }

    /// A job ends without the answer of its handler. Work that its service turned away has failed;
    /// work that ended with its replica has no result.
    #[inline(never)]
    pub(super) fn end_submitted(&mut self, slot: u32, class: Class) {
        if class == Class::ConnectionLost {
            self.forget(slot);
        } else {
            self.write_result(slot, Err(class));
        }
    }

    /// A job is over: its result is written, and the caller told of it.
    #[inline(never)]
    pub(super) fn write_result(&mut self, slot: u32, outcome: Result<(), Class>) {
        let now = self.calendar.now();
        let attempt = self.attempts[slot];
        let service = self.target(attempt.edge);
        let edge = self.edge_of(&attempt);
        let Some(deferred) = &edge.deferred else { unreachable!("only submits have results") };
        let reply = self.form(deferred, attempt.key, outcome);
        let malformed = matches!(reply, Reply::Malformed(_));
        self.deferring.written += 1;
        self.observer.deferred(now, service, Deferral::Written { malformed });
        self.attempts[slot].stage = Stage::Deferred;
        let wait = Wait { key: Key::holding(reply), written_at: now, ..Wait::NONE };
        keep_wait(&mut self.deferring.waits, slot, wait);
        if is_gone(attempt.caller) {
            return self.leave_key(slot);
        }
        if let Some(notification) = &deferred.notification {
            let lost = notification.loss.happens(self.rare_draw(
                Purpose::NotificationLoss,
                attempt.key,
                0,
            )) || self.answer_is_lost(service, attempt.key);
            if !lost {
                let draw = self.rare_draw(Purpose::Notification, attempt.key, 0);
                let latency = notification.latency.sample(draw);
                let word = self.calendar.after(latency, Kind::ReadDue, slot);
                self.deferring.waits[slot as usize].word = word;
            }
        }
        self.look_again(slot, deferred, 0);
    }

    /// The reply as it is written.
    fn form(&self, deferred: &Deferred, key: u64, outcome: Result<(), Class>) -> Reply {
        let fault = (!deferred.malformed.is_never())
            .then(|| deferred.malformed.fault(self.rare_draw(Purpose::ReplyForm, key, 0)));
        match (fault.flatten(), outcome) {
            (Some(fault), _) => Reply::Malformed(fault),
            (None, Ok(())) => Reply::Done,
            (None, Err(class)) => Reply::Failed(match deferred.failures {
                Told::Class => class,
                Told::Nothing => Class::Internal,
            }),
        }
    }

    /// The caller will look at the next of its moments that is at least `least` away.
    fn look_again(&mut self, slot: u32, deferred: &Deferred, least: u64) {
        let Some(every) = deferred.poll else { return };
        let taken_at = self.attempts[slot].arrived_at;
        let (gone, every) = (self.calendar.now().since(taken_at).as_nanos(), every.as_nanos());
        let nth = gone.saturating_add(least).div_ceil(every).max(1);
        let wait = Duration::from_nanos(nth.saturating_mul(every).saturating_sub(gone));
        let look = self.calendar.after(wait, Kind::ReadDue, slot);
        self.deferring.waits[slot as usize].look = look;
    }

    /// Is this read still awaited?
    #[inline(never)]
    pub(super) fn is_read_due(&self, slot: u32, sequence: u32) -> bool {
        let wait = self.deferring.waits[slot as usize];
        self.attempts[slot].stage == Stage::Deferred
            && (wait.word == sequence || wait.look == sequence)
    }

    /// The caller has been told of its result, or looks for it.
    pub(super) fn read_due(&mut self, slot: u32, sequence: u32) {
        let looked = self.deferring.waits[slot as usize].look == sequence;
        if let Some(outcome) = self.read(slot) {
            let caller = self.attempts[slot].caller;
            self.release_attempt(slot);
            return self.settle_from_inside(caller, outcome);
        }
        // Where nothing is left to read, no look will find anything.
        let wait = &mut self.deferring.waits[slot as usize];
        if wait.key.is_empty() {
            (wait.word, wait.look) = (0, 0);
        } else if looked {
            let edge = self.calls[self.attempts[slot].caller].edge;
            if let Some(deferred) = &edge.deferred {
                self.look_again(slot, deferred, 1);
            }
        }
    }

    /// The caller reads; `None`: it waits on.
    fn read(&mut self, slot: u32) -> Option<Result<(), Class>> {
        let now = self.calendar.now();
        let Attempt { key, caller, edge, .. } = self.attempts[slot];
        let service = self.target(edge);
        let deferred = self.calls[caller].edge.deferred.as_deref()?;
        let before = self.deferring.waits[slot as usize];
        let failed = deferred.read_errors.and_then(|errors| {
            let draw = self.rare_draw(Purpose::ReadError, key, before.reads);
            errors.share.happens(draw).then_some(errors.value)
        });
        let wait = &mut self.deferring.waits[slot as usize];
        wait.reads += 1;
        let reading = wait.key.read(deferred.read, deferred.consumer, failed);
        let taken = !before.key.is_empty() && wait.key.is_empty();
        let (why, outcome) = match reading {
            Reading::Done => (WaitEnd::Done, Ok(())),
            Reading::Failed(class) => (WaitEnd::Failed, Err(class)),
            Reading::FalseSuccess => (WaitEnd::FalseSuccess, Ok(())),
            Reading::Nothing | Reading::Misread => {
                if reading == Reading::Misread {
                    self.observer.deferred(now, service, Deferral::Misread);
                }
                if taken {
                    debug_assert_eq!(deferred.read, ReadKind::Destructive);
                    self.observer.deferred(now, service, Deferral::Destroyed);
                }
                return None;
            }
        };
        self.end_wait(slot, why);
        Some(outcome)
    }

    /// The wait for a result that was written is over.
    fn end_wait(&mut self, slot: u32, why: WaitEnd) {
        let now = self.calendar.now();
        let service = self.target(self.attempts[slot].edge);
        let idle = now.since(self.deferring.waits[slot as usize].written_at);
        self.deferring.over += 1;
        self.observer.deferred(now, service, Deferral::Ended { why, idle });
    }

    /// The caller's timer has run out: it reads once more before it gives up. `None`: in vain.
    #[inline(always)]
    pub(super) fn rescue(&mut self, call: u32) -> Option<Result<(), Class>> {
        if self.deferring.on { self.read_once_more(call) } else { None }
    }

    #[inline(never)]
    fn read_once_more(&mut self, call: u32) -> Option<Result<(), Class>> {
        let mut call = call;
        while self.calls[call].edge.inside.is_some() {
            call = self.calls[call].attempt;
            if call == NOBODY {
                return None;
            }
        }
        let edge = self.calls[call].edge;
        edge.deferred.as_ref()?;
        let slot = self.calls[call].attempt;
        if slot == NOBODY {
            self.give_up(edge.target, WaitEnd::Vanished);
            return None;
        }
        match self.attempts[slot].stage {
            Stage::Deferred => {}
            Stage::Replying(_) => return None,
            _ => {
                self.give_up(edge.target, WaitEnd::RanOut);
                return None;
            }
        }
        let outcome = self.read(slot);
        if outcome.is_some() {
            self.release_attempt(slot);
            self.calls[call].attempt = NOBODY;
        } else {
            self.deferring.waits[slot as usize].timed_out = true;
        }
        outcome
    }

    /// A timer ends the wait for a result that is not there.
    fn give_up(&mut self, service: usize, why: WaitEnd) {
        let idle = Duration::ZERO;
        self.observer.deferred(self.calendar.now(), service, Deferral::Ended { why, idle });
    }

    /// Nobody waits for a result any more that has been written.
    #[inline(never)]
    pub(super) fn leave_key(&mut self, slot: u32) {
        let timed_out = self.deferring.waits[slot as usize].timed_out;
        self.end_wait(slot, if timed_out { WaitEnd::Overwritten } else { WaitEnd::Unread });
        if is_gone(self.attempts[slot].caller) {
            self.give_place_back(slot);
        }
        self.release_attempt(slot);
    }
}

/// Puts a wait beside its attempt; slots in between have none.
fn keep_wait(waits: &mut Vec<Wait>, slot: u32, wait: Wait) {
    if waits.len() <= slot as usize {
        waits.resize(slot as usize + 1, Wait::NONE);
    }
    waits[slot as usize] = wait;
}
