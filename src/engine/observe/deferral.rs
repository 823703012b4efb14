//! What the engine tells of deferred results.

use crate::units::Duration;

/// What happens to the deferred result of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deferral {
    /// It is written under its key.
    Written {
        /// It does not keep the contract.
        malformed: bool,
    },
    /// The caller saw it, took it for none, and waits on.
    Misread,
    /// A read took it away, and the caller waits on.
    Destroyed,
    /// The caller waits no longer.
    Ended {
        /// Why.
        why: WaitEnd,
        /// How long the result had been there.
        idle: Duration,
    },
}

/// How the wait for a deferred result ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum WaitEnd {
    /// It was read, and was a good one.
    Done,
    /// It was read, and was a failure.
    Failed,
    /// It was read and taken for a good one, which it was not.
    FalseSuccess,
    /// The caller's timer ended the wait, though the result had been written.
    Overwritten,
    /// The caller's timer ended the wait while the job was still under way.
    RanOut,
    /// The caller's timer ended the wait for a job that had been lost.
    Vanished,
    /// Nobody was there to read it, or whoever was has left.
    Unread,
}

impl WaitEnd {
    /// How many there are.
    pub const COUNT: usize = 7;
}
