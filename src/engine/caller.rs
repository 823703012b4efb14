//! The asking side of a call: its record, and what it remembers.
//!
//! Like a server, this side is asked and answers; what follows is decided in `life.rs`.

use crate::engine::observe::Reason;
use crate::engine::plan::EdgePlan;
use crate::engine::slab::Linked;
use crate::policy::backoff::Past;
use crate::policy::breaker::Permit;
use crate::policy::budget::Tab;
use crate::policy::ejection::Chosen;
use crate::policy::hedge::Hedge;
use crate::policy::outcome::Class;
use crate::units::SimTime;

/// A call ends after so many tries even if its policy sets no limit.
pub(super) const MOST_TRIES: u32 = (1 << 24) - 1;
/// No slot.
pub(super) const NOBODY: u32 = u32::MAX;

/// A request under way: 16 bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) born_at: SimTime,
    pub(super) client: u32,
    pub(super) population: u16,
    /// Requests of the same user, each caused by the end of the last, without a step in time.
    pub(super) chain: u16,
}

impl Linked for Request {
    #[inline(always)]
    fn link(&mut self) -> &mut u32 {
        &mut self.client
    }
}

/// Who made a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parent(u32);

const BY_REQUEST: u32 = 1 << 31;
const BY_CALL: u32 = 1 << 30;

impl Parent {
    #[inline(always)]
    pub(super) const fn request(slot: u32) -> Self {
        Self(slot | BY_REQUEST)
    }

    #[inline(always)]
    pub(super) const fn attempt(slot: u32) -> Self {
        Self(slot)
    }

    /// A call whose policy has another one inside it, or a hedge.
    #[inline(always)]
    pub(super) const fn call(slot: u32) -> Self {
        Self(slot | BY_CALL)
    }

    /// The slot of the call around it, if there is one.
    #[inline(always)]
    pub(super) const fn outer(self) -> Option<u32> {
        if self.0 & BY_CALL != 0 { Some(self.0 & !BY_CALL) } else { None }
    }

    /// The slot of the request, or else of the attempt whose handler calls; there is no call
    /// around it.
    #[inline(always)]
    pub(super) const fn slot(self) -> Result<u32, u32> {
        if self.0 & BY_REQUEST != 0 { Ok(self.0 & !BY_REQUEST) } else { Err(self.0) }
    }
}

/// A call under way, from its first attempt to its outcome: 32 bytes.
#[derive(Clone, Copy)]
pub(super) struct Call<'p> {
    pub(super) key: u64,
    /// Whom it asks and how, under the plan with which it began.
    pub(super) edge: &'p EdgePlan,
    pub(super) parent: Parent,
    /// The attempt that is out, or `NOBODY`. Where policies stand inside one another or a hedge
    /// does: the call inside it, the latest of those side by side.
    pub(super) attempt: u32,
    /// The sequence number of the timer that is awaited: of the attempt, of the back-off, or of
    /// the next hedge.
    pub(super) timer: u32,
    pub(super) state: CallState,
}

impl Linked for Call<'_> {
    #[inline(always)]
    fn link(&mut self) -> &mut u32 {
        &mut self.attempt
    }
}

/// How far a call has come and what it holds, in 32 bits.
///
/// ```text
///  31          8  7      5  4          0
/// | tries       |  reason  |  flags     |
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CallState(u32);

/// What a call can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flag(u32);

impl Flag {
    /// A permit of the breaker.
    pub(super) const PERMIT: Self = Self(1);
    /// A place in the bulkhead.
    pub(super) const PLACE: Self = Self(2);
    /// A place in the bulkhead's queue.
    pub(super) const IN_LINE: Self = Self(4);
    /// It waits in a back-off.
    pub(super) const BACKING_OFF: Self = Self(8);
    /// A place in the bulkhead came free for it; it goes on before anything else happens.
    pub(super) const CALLED: Self = Self(16);
}

impl CallState {
    const REASON: u32 = 5;
    const REASON_MASK: u32 = 7 << Self::REASON;
    const TRIES: u32 = 8;
    /// By number; the last ones are never set.
    const REASONS: [Reason; 8] = {
        use Reason::{AfterError, AfterRefusal, AfterTimeout, First, Hedge};
        [First, AfterTimeout, AfterRefusal, AfterError, Hedge, Hedge, Hedge, Hedge]
    };

    /// Of a call that begins with try number `tries` and holds nothing.
    #[inline(always)]
    pub(super) const fn new(tries: u32) -> Self {
        Self(tries << Self::TRIES)
    }

    /// Tries so far, those included that the caller's own policy stopped.
    #[inline(always)]
    pub(super) const fn tries(self) -> u32 {
        self.0 >> Self::TRIES
    }

    /// The retry layer is reached: the first try.
    #[inline(always)]
    pub(super) const fn first_try(&mut self) {
        self.0 = self.0 & ((1 << Self::TRIES) - 1) | 1 << Self::TRIES;
    }

    /// One more try; there are at most `MOST_TRIES`.
    #[inline(always)]
    pub(super) const fn next_try(&mut self) {
        self.0 += 1 << Self::TRIES;
    }

    /// Why its next attempt is sent.
    #[inline(always)]
    pub(super) const fn reason(self) -> Reason {
        Self::REASONS[(self.0 >> Self::REASON & 7) as usize]
    }

    #[inline(always)]
    pub(super) const fn set_reason(&mut self, reason: Reason) {
        self.0 = self.0 & !Self::REASON_MASK | (reason as u32) << Self::REASON;
    }

    #[inline(always)]
    pub(super) const fn has(self, flag: Flag) -> bool {
        self.0 & flag.0 != 0
    }

    #[inline(always)]
    pub(super) const fn set(&mut self, flag: Flag) {
        self.0 |= flag.0;
    }

    /// Clears a flag and says whether it was set.
    #[inline(always)]
    pub(super) const fn take(&mut self, flag: Flag) -> bool {
        let had = self.has(flag);
        self.0 &= !flag.0;
        had
    }
}

/// Does a call wait behind the probe of a breaker?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BehindProbe {
    /// It does not.
    No,
    /// It does.
    Waiting,
    /// The probe is back; it asks again before anything else happens.
    Called,
}

/// What some policies make a call remember, beside its record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Memory {
    /// Of its waits.
    pub(super) past: Past,
    /// What it owes its budget.
    pub(super) tab: Tab,
    /// What is left to decide when its back-off is over.
    pub(super) pending: Option<Pending>,
    /// When its first try began.
    pub(super) began_at: SimTime,
    /// When the time of the whole call runs out.
    pub(super) ends_at: SimTime,
    /// The sequence number of that timer, zero when it is not awaited.
    pub(super) timer: u32,
    /// The breaker's permit, and since when it is held.
    pub(super) permit: Option<Permit>,
    pub(super) permitted_at: SimTime,
    /// Does it wait behind a breaker's probe?
    pub(super) behind_probe: BehindProbe,
    /// Tries in a row without a step in time, and when that was.
    pub(super) chain: u16,
    pub(super) chained_at: SimTime,
    /// When it came into a bulkhead whose limit adapts, and how many were in it then.
    pub(super) entered_at: SimTime,
    pub(super) in_flight: u32,
    /// The replica that its attempt went to, where some are left out and this one is to be judged.
    pub(super) chosen: Option<Chosen>,
    /// Attempts side by side, where it hedges.
    pub(super) hedge: Hedge,
    /// The last failure among them.
    pub(super) hedged_failure: Option<Class>,
    /// Of a call that a hedge sent: what it owes the budget that paid for it.
    pub(super) hedge_tab: Tab,
    /// Of a call inside another: the one that was made before it, and when this one was made.
    pub(super) beside: u32,
    pub(super) made_at: SimTime,
}

impl Memory {
    /// Of a call that has just begun.
    pub(super) const NEW: Self = Self {
        past: Past::new(),
        tab: Tab::NEW,
        pending: None,
        began_at: SimTime::ZERO,
        ends_at: SimTime::NEVER,
        timer: 0,
        permit: None,
        permitted_at: SimTime::ZERO,
        behind_probe: BehindProbe::No,
        chain: 0,
        chained_at: SimTime::NEVER,
        entered_at: SimTime::NEVER,
        in_flight: 0,
        hedge: Hedge::START,
        hedged_failure: None,
        hedge_tab: Tab::NEW,
        beside: NOBODY,
        chosen: None,
        made_at: SimTime::ZERO,
    };
}

/// What is left to decide, or to hear, when a wait is over; of a back-off with the failure that it
/// follows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pending {
    /// The budget is asked then.
    Ask(Class),
    /// It has refused; the call ends.
    Refused(Class),
    /// A throttle has turned it away, which it hears when its wait is over.
    Throttled,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_as_small_as_they_say() {
        assert_eq!((size_of::<Request>(), size_of::<Call<'_>>()), (16, 32));
    }

    #[test]
    fn tries_reason_and_flags_do_not_touch_each_other() {
        let mut state = CallState::new(MOST_TRIES - 1);
        state.next_try();
        state.set(Flag::CALLED);
        state.set(Flag::PERMIT);
        for reason in CallState::REASONS.into_iter().take(Reason::COUNT) {
            state.set_reason(reason);
            assert_eq!((state.tries(), state.reason()), (MOST_TRIES, reason));
            assert!(state.has(Flag::CALLED) && state.has(Flag::PERMIT));
            assert!(!state.has(Flag::PLACE));
        }
        assert!(state.take(Flag::PERMIT) && !state.take(Flag::PERMIT));
        state.first_try();
        assert_eq!((state.tries(), state.reason()), (1, Reason::Hedge));
    }
}
