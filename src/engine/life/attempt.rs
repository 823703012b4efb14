//! An attempt at a service, from its sending to its reply, or to the end of abandoned work.

use crate::engine::observe::Reason;
use crate::engine::slab::Linked;
use crate::policy::outcome::Class;
use crate::units::SimTime;

/// One attempt: 40 bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt {
    /// Names its draws.
    pub(super) key: u64,
    pub(super) arrived_at: SimTime,
    /// While it waits: the random bits that decide its work, drawn ahead, or `NOT_DRAWN`. From
    /// then on: when its work began, in nanoseconds.
    pub(super) luck_or_start: u64,
    /// The call that waits for it; see `asking::is_gone` for when nobody does.
    pub(super) caller: u32,
    /// While it works: the sequence number of the end of the work. While it calls: the call that
    /// it waits for, or `NOBODY`.
    pub(super) awaits: u32,
    pub(super) edge: u16,
    pub(super) replica: u16,
    /// Which of the handler's calls is under way.
    pub(super) step: u16,
    pub(super) stage: Stage,
}

/// In place of random bits: nothing drawn yet. Were it drawn, it would only be drawn again.
pub(super) const NOT_DRAWN: u64 = 0;

/// Where an attempt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// On the way to a server.
    Travelling(Reason),
    /// On the way to a server that has heard already that the caller left.
    Recalled(Reason),
    Waiting,
    /// It was taken out of the queue, where its slot still stands.
    Removed,
    Working,
    Calling {
        holds_worker: bool,
    },
    /// On the way back; what the reply carries.
    Replying(Result<(), Class>),
    /// It is over at the server, and its result is under its key: see `deferring.rs`.
    Deferred,
    /// Its slot is free.
    Over,
}

impl Linked for Attempt {
    #[inline(always)]
    fn link(&mut self) -> &mut u32 {
        &mut self.awaits
    }
}

impl Attempt {
    /// When its work began, if it has.
    #[inline(always)]
    pub(super) fn started_at(&self) -> SimTime {
        SimTime::from_nanos(self.luck_or_start)
    }

    /// Is this the end of its work that is awaited?
    #[inline(always)]
    pub(super) fn awaits_end(&self, sequence: u32) -> bool {
        self.awaits == sequence && self.stage == Stage::Working
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_is_as_small_as_it_says() {
        assert_eq!(size_of::<Attempt>(), 40);
    }
}
