//! What the engine tells, and the trait that listens.
//!
//! The engine decides, observers only count; none of them can change a run. Calls are resolved at
//! compile time, and what an observer leaves out costs nothing.

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

/// What is present at a service at one moment, all replicas together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceLevel {
    /// Attempts waiting for a worker.
    pub waiting: u32,
    /// Attempts waiting, in service and out on calls.
    pub present: u32,
    /// Workers busy.
    pub busy: u32,
    /// Replicas that take up work.
    pub replicas_up: u32,
    /// Integral of busy workers over the window that ends, in worker-nanoseconds.
    pub busy_ns: u64,
    /// Integral of attempts present over the window that ends, in attempt-nanoseconds.
    pub present_ns: u64,
    /// Integral of attempts waiting over the window that ends, in attempt-nanoseconds.
    pub waiting_ns: u64,
}

/// What is under way on the caller's side of an edge at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EdgeLevel {
    /// Calls waiting in a back-off.
    pub backing_off: u32,
    /// Integral of calls in back-off over the window that ends, in call-nanoseconds.
    pub backing_off_ns: u64,
    /// Breakers open or half-open.
    pub breakers_open: u32,
    /// Breakers in use.
    pub breakers: u32,
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
    /// A window ends.
    #[inline(always)]
    fn window_ends(&mut self, now: SimTime, services: &[ServiceLevel], edges: &[EdgeLevel]) {}
}

/// Listens to nothing: what the engine costs by itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}
