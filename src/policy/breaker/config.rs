//! What a breaker can be told: when it opens, for how long, and how it comes back.
//!
//! Every kind that a library offers is a value of one of these types, so that a scenario can mix
//! them; which library does what is said at each variant.

use serde::Serialize;

use crate::policy::breaker::opening::OpenGrowth;
use crate::policy::breaker::opening::OpenJitter;
use crate::policy::breaker::release::Cancelled;
use crate::policy::breaker::release::Uncounted;
use crate::policy::outcome::ClassSet;
use crate::units::Duration;
use crate::units::Share;

/// What opens a closed breaker.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trip {
    /// That many failures in a row (cockatiel, pybreaker, Envoy, Linkerd). gobreaker's "more than
    /// k" is k + 1.
    Consecutive(u32),
    /// The same, with a memory that fades.
    Row {
        /// That many failures in a row,
        failures: u32,
        /// which a failure begins anew when the last one is that old (ChokaQ: 60 s); zero: never.
        forget_after: Duration,
        /// The row is cleared every so often, as counted from the start of the closed state
        /// (gobreaker's interval); zero: never.
        clear_every: Duration,
    },
    /// A share of failures in a sliding time window: Polly's ten lazily aligned buckets, asked only
    /// when a failure comes in.
    Window {
        /// The length of the window; it slides in ten steps.
        length: Duration,
        /// The share of failures at or above which it opens.
        failure_share: Share,
        /// Fewer outcomes than this in the window decide nothing.
        minimum_calls: u32,
    },
    /// A share or number of failures, or of slow calls, in any other window.
    Rate(Rate),
    /// A moving average of success, in which what is older weighs less (Finagle).
    Average {
        /// The time in which the weight of an outcome falls to 1/e.
        window: Duration,
        /// It opens below this share of successes.
        below: Share,
        /// Fewer outcomes than this since it last closed decide nothing.
        minimum_calls: u32,
        /// Nothing is decided before it has been closed for so long.
        settled_after: Duration,
    },
    /// So many failures, successes or not between them, within so long of the first check
    /// (`CircuitBreakerRetryPolicy` of Spring Retry: the attempts of its delegate exhausted within
    /// `openTimeout`).
    Exhausted {
        /// The attempts of the delegate.
        attempts: u32,
        /// The open timeout.
        within: Duration,
    },
}

/// A window of outcomes and what in it opens the breaker.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rate {
    /// Which outcomes are looked at.
    pub window: WindowKind,
    /// What opens it.
    pub limit: Limit,
    /// Fewer of what shares are taken of decide nothing.
    pub minimum_calls: u32,
    /// Slow calls open it too.
    pub slow: Option<Slow>,
    /// When it is asked.
    pub judged: Judged,
    /// What shares are taken of.
    pub divisor: Divisor,
    /// Nothing opens it before this moment of its life (opossum's `allowWarmUp`).
    pub warm_up: Duration,
}

/// Which outcomes a window holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowKind {
    /// The last so many (resilience4j COUNT_BASED, cockatiel CountBreaker, Failsafe k of n).
    Calls(u32),
    /// Those of the last while, in buckets.
    Time {
        /// The length of the window.
        length: Duration,
        /// In how many steps it slides.
        buckets: u32,
        /// When a bucket begins.
        turns: Turns,
    },
}

/// When a bucket of a window begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Turns {
    /// With its first outcome; it is dropped when its beginning is a whole window old (Polly).
    Lazily,
    /// On whole multiples of its length (resilience4j TIME_BASED, opossum, Hystrix).
    OnTheClock,
    /// With the first outcome after its predecessor is over, which drops only the oldest: a window
    /// can hold outcomes far older than its length (cockatiel SamplingBreaker).
    WithOutcomes,
}

/// What in a window opens the breaker.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// At least this share of failures (Polly, resilience4j, Hystrix).
    AtLeast(Share),
    /// More than this share of failures (cockatiel, opossum).
    MoreThan(Share),
    /// So many failures (Failsafe: k of n).
    Failures(u32),
}

/// Slow calls that open a breaker. A call is slow once it has *ended* after more than so long: one
/// that hangs is counted only when it is over, so a callee that hangs for ever never trips this.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Slow {
    /// A call that took longer than this is slow, whether it failed or not.
    pub longer_than: Duration,
    /// It opens at this share of slow calls, or above.
    pub share: Share,
}

/// When a window is asked whether the breaker opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Judged {
    /// When a failure comes in (Polly, opossum, cockatiel).
    OnFailure,
    /// When anything comes in, so that a success can open it by filling the minimum (resilience4j).
    OnOutcome,
    /// At each turn of its buckets, over those that are whole (Hystrix's health snapshots).
    AtTurns,
}

/// What shares of failures are taken of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Divisor {
    /// The outcomes in the window.
    Outcomes,
    /// The calls begun *or refused* in it: running and refused ones dilute the share (opossum).
    Fires,
}

/// What happens to the outcome of something admitted before the last change of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LateResults {
    /// It says nothing about the present state and is dropped (gobreaker's generations).
    Ignore,
    /// It counts as if it had been admitted in the present state (Polly, resilience4j, opossum,
    /// Hystrix).
    Count,
    /// It is recorded in every state; when half-open, a late failure opens only if the trip rule
    /// says so and a late success does not close. A late *probe* still decides (cockatiel).
    Record,
    /// As `Count`, and while it is open a late failure begins the open time anew and a late success
    /// closes it (ChokaQ).
    Overrule,
}

/// When the breaker forgets what it has counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Forgets {
    /// When it closes (Polly, Hystrix, cockatiel).
    WhenClosed,
    /// When it opens and when it closes (gobreaker).
    WhenOpened,
    /// Never: after closing, old failures still count (opossum).
    Never,
}

/// How a breaker that was open comes back.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HalfOpen {
    /// What ends the open state.
    pub begins: Begins,
    /// Only a moment later than the open time is late enough (resilience4j, Hystrix, gobreaker).
    pub strictly_after: bool,
    /// What a place among the probes is.
    pub places: Places,
    /// What becomes of who finds no place.
    pub others: Others,
    /// What decides.
    pub decision: Decision,
    /// A probe that has not reported for so long loses its place: when no place is free and the
    /// places have not all been free for this long, a new half-open period begins, in which the old
    /// probes are late (ChokaQ). `None`: a lost probe keeps its place.
    pub lease: Option<Duration>,
    /// After so long without a decision it opens again (resilience4j). `None`: it waits for ever.
    pub at_most: Option<Duration>,
    /// The outcome of a probe enters the window as any other (cockatiel, opossum).
    pub probes_count: bool,
}

/// What ends the open state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Begins {
    /// The first call once the open time is over (Polly, cockatiel, ChokaQ).
    Lazily,
    /// The end of the open time itself, so that late results may meet a half-open breaker before
    /// any probe (opossum, resilience4j's automatic transition).
    ByTimer,
    /// There is no half-open state: when the open time ends everything passes (Envoy, Spring).
    Never,
}

/// What a place among the probes is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Places {
    /// So many at once: whoever comes back gives its place to another (Polly, Failsafe, ChokaQ).
    AtOnce,
    /// So many in all, until they have decided (resilience4j, gobreaker, opossum).
    InAll,
}

/// What becomes of a call that meets a half-open breaker without a free place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Others {
    /// It is refused.
    Refused,
    /// It waits until the state changes, then asks again: they all run when the breaker has closed,
    /// and are all refused when it has opened (cockatiel).
    Wait,
}

/// What decides a half-open state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// So many successes close it, so many failures open it, whichever comes first.
    First {
        /// Zero: as many as there are places.
        successes: u32,
        /// At least 1.
        failures: u32,
    },
    /// When so many have ended, their share of failures (or of slow calls) is held against that of
    /// the trip rule (resilience4j; the number is min(minimum calls, places)).
    AfterAll(u32),
}

/// The settings of a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BreakerConfig {
    /// What opens it.
    pub trip: Trip,
    /// How long it stays open before it lets probes in, the first time.
    pub open_for: Duration,
    /// How many probes there may be in the half-open state, at least 1.
    pub probes: u32,
    /// The failures that count; see `uncounted` for the others.
    pub counts: ClassSet,
    /// What a late result does.
    pub late_results: LateResults,
    /// So many failures in a row open it too, whatever the rest says (Finagle: either of two).
    pub or_consecutive: Option<u32>,
    /// One failure of these classes opens it at once (ChokaQ's fatal ones).
    pub trips_at_once: ClassSet,
    /// Failures of these classes say nothing: they give their permit back (resilience4j's ignored
    /// exceptions).
    pub ignores: ClassSet,
    /// What any other outcome says that is not a success.
    pub uncounted: Uncounted,
    /// What a call says that is given up without an outcome.
    #[serde(skip_serializing_if = "Cancelled::is_plain")]
    pub cancelled: Cancelled,
    /// Does only who was let in as a probe give a place back, or release as a success? Otherwise
    /// who was let in before does it too: on another's probe.
    #[serde(skip_serializing_if = "is_true")]
    pub release_guarded: bool,
    /// How the open time grows when it opens again without having closed.
    pub growth: OpenGrowth,
    /// The random part of the open time.
    pub jitter: OpenJitter,
    /// How it comes back.
    pub half_open: HalfOpen,
    /// When it forgets what it has counted.
    pub forgets: Forgets,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_true(it: &bool) -> bool {
    *it
}

impl HalfOpen {
    /// Begun by the first call, places at once, the rest refused, as many successes as places.
    pub const PLAIN: Self = Self {
        begins: Begins::Lazily,
        strictly_after: false,
        places: Places::AtOnce,
        others: Others::Refused,
        decision: Decision::First { successes: 0, failures: 1 },
        lease: None,
        at_most: None,
        probes_count: false,
    };
}

impl HalfOpen {
    /// Does the breaker leave a state of its own accord?
    pub(super) const fn has_timers(&self) -> bool {
        !matches!(self.begins, Begins::Lazily) || self.at_most.is_some()
    }

    /// Is the state not enough to remember a half-open period?
    pub(super) const fn needs_memory(&self) -> bool {
        let counts_more = match self.decision {
            Decision::First { failures, .. } => failures > 1,
            Decision::AfterAll(_) => true,
        };
        counts_more || self.lease.is_some() || self.at_most.is_some()
    }
}

impl Rate {
    /// Is it judged at the turns of its buckets?
    pub(super) const fn is_judged_at_turns(&self) -> bool {
        matches!(self.judged, Judged::AtTurns)
    }
}

impl BreakerConfig {
    /// Five failures in a row, open for ten seconds, one probe: what is left to be said is said by
    /// the fields that a caller sets.
    pub const PLAIN: Self = Self {
        trip: Trip::Consecutive(5),
        open_for: Duration::from_secs(10),
        probes: 1,
        counts: ClassSet::TRANSIENT,
        late_results: LateResults::Ignore,
        or_consecutive: None,
        trips_at_once: ClassSet::NONE,
        ignores: ClassSet::NONE,
        uncounted: Uncounted::Success,
        cancelled: Cancelled::Release,
        release_guarded: true,
        growth: OpenGrowth::Constant,
        jitter: OpenJitter::None,
        half_open: HalfOpen::PLAIN,
        forgets: Forgets::WhenClosed,
    };

    /// Does it want to know how long calls took?
    pub const fn times_calls(&self) -> bool {
        matches!(&self.trip, Trip::Rate(rate) if rate.slow.is_some())
    }

    /// May callers have to wait behind a probe?
    pub const fn makes_wait(&self) -> bool {
        matches!(self.half_open.others, Others::Wait)
    }
}

/// Buckets of Polly's window.
const POLLY_BUCKETS: u32 = 10;

impl Trip {
    /// The window of a rule that has one, however it is written.
    #[inline]
    pub const fn as_rate(&self) -> Option<Rate> {
        match *self {
            Self::Window { length, failure_share, minimum_calls } => Some(Rate {
                window: WindowKind::Time { length, buckets: POLLY_BUCKETS, turns: Turns::Lazily },
                limit: Limit::AtLeast(failure_share),
                minimum_calls,
                slow: None,
                judged: Judged::OnFailure,
                divisor: Divisor::Outcomes,
                warm_up: Duration::ZERO,
            }),
            Self::Rate(rate) => Some(rate),
            _ => None,
        }
    }
}
