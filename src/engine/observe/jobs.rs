//! What observers hear of jobs in queues.

use serde::Serialize;

use crate::units::SimTime;

/// Why a job goes back to its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Return {
    /// It failed and is tried again.
    Retry,
    /// The caller's own policy refused it; nothing was executed.
    Postponed,
    /// Its worker failed before anything was sent.
    WorkerError,
    /// Its lease ended before it did.
    LeaseEnded,
    /// Its process was shut down.
    Shutdown,
    /// Its destination had no place, or was suspended.
    Parked,
    /// It came before the rate of its destination allowed it.
    Rate,
}

impl Return {
    /// How many there are.
    pub const COUNT: usize = 7;
}

/// Why a job is dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum DeadLetter {
    /// The failure is of a class that is not tried again.
    Permanent,
    /// Its attempts are used up.
    Attempts,
    /// It is too old.
    Age,
    /// The breaker was open, or another part of the caller's policy refused it.
    Refused,
    /// Its destination was suspended.
    Suspended,
    /// Its counter of failures says so.
    Counter,
    /// The server asked not to be tried again.
    PushedBack,
}

impl DeadLetter {
    /// Every reason, in the order of the documentation.
    pub const ALL: [Self; 7] = [
        Self::Permanent,
        Self::Attempts,
        Self::Age,
        Self::Refused,
        Self::Suspended,
        Self::Counter,
        Self::PushedBack,
    ];

    /// The name used in scenarios and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Permanent => "permanent",
            Self::Attempts => "attempts",
            Self::Age => "age",
            Self::Refused => "refused",
            Self::Suspended => "suspended",
            Self::Counter => "counter",
            Self::PushedBack => "pushed_back",
        }
    }
}

/// How a job ended, told once for each job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobEnd {
    /// The index of its queue.
    pub queue: usize,
    /// When its request was born.
    pub born_at: SimTime,
    /// When it failed for the first time, if it did.
    pub failed_at: Option<SimTime>,
    /// How often it was executed: calls begun for it, those refused by the caller's own policy
    /// left out.
    pub executions: u32,
    /// `None`: done.
    pub dead: Option<DeadLetter>,
}

/// What is in a queue of jobs at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueLevel {
    /// Jobs at rest that are due or will be.
    pub at_rest: u64,
    /// Of these, those that are due.
    pub due: u64,
    /// When the job was due that has been due for longest, if any is.
    pub oldest_due: Option<SimTime>,
    /// Jobs that wait for their destination.
    pub parked: u64,
    /// Jobs claimed: in a worker, waiting for one, or left by a process that died.
    pub claimed: u64,
    /// Of these, those that a worker executes.
    pub executing: u64,
    /// Destinations suspended.
    pub suspended: u32,
}
