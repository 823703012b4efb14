//! What the engine tells, and the trait that listens.
//!
//! The engine decides, observers only count; none of them can change a run. Calls are resolved at
//! compile time, and what an observer leaves out costs nothing.

mod deferral;
mod jobs;
mod levels;

pub use deferral::Deferral;
pub use deferral::WaitEnd;
pub use jobs::DeadLetter;
pub use jobs::JobEnd;
pub use jobs::QueueLevel;
pub use jobs::Return;
pub use levels::EdgeLevel;
pub use levels::ServiceLevel;

use serde::Serialize;

use crate::policy::outcome::Class;
use crate::units::Duration;
use crate::units::SimTime;

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Cause {
    /// The last attempt allowed failed.
    Attempts,
    /// A total timeout or the deadline ran out, or the next wait would not have fitted.
    Time,
    /// The retry budget did not pay for another attempt.
    Budget,
    /// The breaker refused and nobody retried that.
    Breaker,
    /// The bulkhead refused and nobody retried that.
    Bulkhead,
    /// The failure is of a class that is not retried.
    NotRetried,
    /// The operator shed it at birth.
    Shed,
    /// The caller's own throttle turned it away and nobody retried that.
    Throttle,
    /// The server asked not to be tried again, or not as soon as the caller was willing to wait.
    PushedBack,
}

impl Cause {
    /// Every cause, in the order of the documentation.
    pub const ALL: [Self; 9] = [
        Self::Attempts,
        Self::Time,
        Self::Budget,
        Self::Breaker,
        Self::Bulkhead,
        Self::NotRetried,
        Self::Shed,
        Self::Throttle,
        Self::PushedBack,
    ];

    /// The name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Attempts => "attempts",
            Self::Time => "time",
            Self::Budget => "budget",
            Self::Breaker => "breaker",
            Self::Bulkhead => "bulkhead",
            Self::NotRetried => "not_retried",
            Self::Shed => "shed",
            Self::Throttle => "throttle",
            Self::PushedBack => "pushed_back",
        }
    }
}

/// Why an attempt was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Reason {
    /// It is the first of its call.
    First,
    /// The one before it timed out.
    AfterTimeout,
    /// The one before it was turned away: down, full, rate limited, connection lost, or stopped
    /// by the caller's own breaker or bulkhead.
    AfterRefusal,
    /// The one before it was answered with an error.
    AfterError,
    /// Others of its call are still out, or were when it was due: a hedge.
    Hedge,
}

impl Reason {
    /// How many there are.
    pub const COUNT: usize = 5;

    /// Why a retry follows a failure of that class. Looked up, since which it is nobody can guess.
    #[inline(always)]
    pub const fn after(class: Class) -> Self {
        const TABLE: [Reason; Class::ALL.len()] = {
            let mut table = [Reason::First; Class::ALL.len()];
            let mut i = 0;
            while i < table.len() {
                table[i] = Reason::find(Class::ALL[i]);
                i += 1;
            }
            table
        };
        TABLE[class as usize]
    }

    const fn find(class: Class) -> Self {
        match class {
            Class::Timeout | Class::GatewayTimeout | Class::DeadlinePassed => Self::AfterTimeout,
            Class::Unavailable
            | Class::Overloaded
            | Class::RateLimited
            | Class::ConnectionLost
            | Class::BreakerOpen
            | Class::BulkheadFull
            | Class::Throttled => Self::AfterRefusal,
            _ => Self::AfterError,
        }
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// It reached its horizon.
    Complete,
    /// A limit ended it; what was measured until then is kept.
    Limit {
        /// Which.
        limit: LimitKind,
        /// When.
        #[serde(skip)]
        at: SimTime,
    },
}

/// The limits of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// Requests or attempts in flight.
    InFlight,
    /// Jobs at rest in queues.
    AtRest,
    /// Events pending.
    Pending,
    /// Events of the run.
    Events,
    /// Memory of the engine's structures.
    Memory,
    /// Wall time.
    Wall,
    /// A chain of events that cause one another without a step in time.
    NoProgress,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Answered before its deadline.
    Ok,
    /// Answered after it.
    Late,
    /// Not answered.
    Failed(Cause),
}

/// Listens to a run. Every method does nothing unless written. `service`, `edge` and `population`
/// are indices into the model.
#[expect(unused_variables, reason = "the defaults listen to nothing")]
pub trait Observer {
    /// A request is born; a shed one ends at once.
    #[inline(always)]
    fn born(&mut self, now: SimTime, population: usize, shed: bool) {}
    /// A request ends (shed ones not told).
    #[inline(always)]
    fn ended(&mut self, now: SimTime, population: usize, born_at: SimTime, verdict: Verdict) {}
    /// A call begins along an edge.
    #[inline(always)]
    fn call_began(&mut self, now: SimTime, edge: usize) {}
    /// A caller's own policy turned an attempt away.
    #[inline(always)]
    fn rejected(&mut self, now: SimTime, edge: usize, class: Class) {}
    /// A budget did not pay for a retry.
    #[inline(always)]
    fn denied(&mut self, now: SimTime, edge: usize) {}
    /// An attempt timed out at its caller.
    #[inline(always)]
    fn timed_out(&mut self, now: SimTime, edge: usize) {}
    /// A retry waits before it is sent.
    #[inline(always)]
    fn backs_off(&mut self, now: SimTime, edge: usize, wait: Duration) {}
    /// An attempt reaches its service.
    #[inline(always)]
    fn reached(&mut self, now: SimTime, service: usize, reason: Reason) {}
    /// An attempt is turned away on arrival; `None`: it is told nothing.
    #[inline(always)]
    fn refused(&mut self, now: SimTime, service: usize, class: Option<Class>) {}
    /// A worker takes an attempt up.
    #[inline(always)]
    fn started(&mut self, now: SimTime, service: usize, arrived_at: SimTime) {}
    /// A worker ends its own work on an attempt; `wasted`: its caller has left.
    #[inline(always)]
    fn worked(&mut self, now: SimTime, service: usize, span: Duration, wasted: bool) {}
    /// A handler answers.
    #[inline(always)]
    fn answered(&mut self, now: SimTime, service: usize, arrived_at: SimTime, ok: bool) {}
    /// A write takes effect, for the `times`-th time of its request and its call.
    #[inline(always)]
    fn took_effect(&mut self, now: SimTime, service: usize, times: u32) {}
    /// An attempt whose key is known is answered from memory.
    #[inline(always)]
    fn replayed(&mut self, now: SimTime, service: usize) {}
    /// An attempt meets its own key in progress.
    #[inline(always)]
    fn conflicted(&mut self, now: SimTime, service: usize) {}
    /// An attempt comes with a key that is known with another body.
    #[inline(always)]
    fn mismatched(&mut self, now: SimTime, service: usize) {}
    /// An attempt ends inside a service without an answer of the handler.
    #[inline(always)]
    fn removed(&mut self, now: SimTime, service: usize, arrived_at: SimTime) {}
    /// A replica crashes of overload.
    #[inline(always)]
    fn crashed(&mut self, now: SimTime, service: usize) {}
    /// A job is stored.
    #[inline(always)]
    fn enqueued(&mut self, now: SimTime, queue: usize, population: usize) {}
    /// A process claims a job that was due at `due_at`.
    #[inline(always)]
    fn claimed(&mut self, now: SimTime, queue: usize, due_at: SimTime) {}
    /// A worker executes a job for the `nth` time, from 1.
    #[inline(always)]
    fn executed(&mut self, now: SimTime, queue: usize, nth: u32) {}
    /// A job goes back to its queue, due at `due_at`.
    #[inline(always)]
    fn returned(&mut self, now: SimTime, queue: usize, why: Return, due_at: SimTime) {}
    /// A job is done or dead, and its request ends.
    #[inline(always)]
    fn job_ended(&mut self, now: SimTime, end: &JobEnd) {}
    /// A job that has ended is put back by another consumer of it (true) or ends once more.
    #[inline(always)]
    fn reopened(&mut self, now: SimTime, queue: usize, put_back: bool) {}
    /// A destination is suspended (true) or served again.
    #[inline(always)]
    fn suspended(&mut self, now: SimTime, queue: usize, is: bool) {}
    /// An attempt's signature was too old for its service.
    #[inline(always)]
    fn stale_signature(&mut self, now: SimTime, service: usize) {}
    /// A window ends; levels of the queues of jobs, told before `window_ends`.
    #[inline(always)]
    fn queues_at_window_end(&mut self, now: SimTime, queues: &[QueueLevel]) {}
    /// Something happens to a deferred result of a service.
    #[inline(always)]
    fn deferred(&mut self, now: SimTime, service: usize, what: Deferral) {}
    /// A window ends.
    #[inline(always)]
    fn window_ends(&mut self, now: SimTime, services: &[ServiceLevel], edges: &[EdgeLevel]) {}
}

/// Listens to nothing: what the engine costs by itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}
