//! Circuit breaker: closed lets through, open refuses, half-open lets a few probes decide.
//!
//! `admit` grants a permit, `settle` takes it back. Two bugs are classic. Results of what was
//! admitted before the last change of state decide the new one: permits carry the epoch they were
//! granted in, and the settings say what a late result is worth. And a probe that never reports
//! blocks the breaker for ever: every permit must be settled, with [`Settled::Ignored`] if nothing
//! was learned, and a probe settled so gives its place back.
//!
//! The window follows Polly: up to ten buckets, each beginning with its first outcome, dropped
//! once its beginning is a whole window old; only a failure asks whether to open.
//!
//! Invariant: closed → open → half-open → closed or open, nothing else; open lasts at least
//! `open_for`; at most `probes` probes are out at once.
//! Source: Polly 8 (window, lazy half-open), gobreaker (late results by generation, successes in a
//! row that close).

#[cfg(test)]
mod tests;

use serde::Serialize;

use crate::policy::outcome::Class;
use crate::policy::outcome::ClassSet;
use crate::units::Duration;
use crate::units::Share;
use crate::units::SimTime;

/// What opens a closed breaker.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trip {
    /// That many failures in a row.
    Consecutive(u32),
    /// A share of failures in a sliding time window.
    Window {
        /// The length of the window; it slides in ten steps.
        length: Duration,
        /// The share of failures at or above which it opens.
        failure_share: Share,
        /// Fewer outcomes than this in the window decide nothing.
        minimum_calls: u32,
    },
}

/// What happens to the outcome of something admitted before the last change of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LateResults {
    /// It says nothing about the present state and is dropped.
    Ignore,
    /// It counts as if it had been admitted in the present state.
    Count,
}

/// The settings of a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BreakerConfig {
    /// What opens it.
    pub trip: Trip,
    /// How long it stays open before it lets probes in.
    pub open_for: Duration,
    /// How many probes may be out at once in the half-open state, at least 1; that many successes
    /// close it.
    pub probes: u32,
    /// The failures that count; any other outcome proves the callee alive.
    pub counts: ClassSet,
    /// What a late result does.
    pub late_results: LateResults,
}

/// Leave to pass a breaker, to be settled exactly once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permit(u32); // The epoch it was granted in.

/// What the breaker hears of something it admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// The callee is alive.
    Success,
    /// A failure that counts.
    Failure,
    /// Nothing was learned: it never ran, or was cancelled.
    Ignored,
}

/// The state of a breaker, as people speak of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerState {
    /// Everything passes.
    Closed,
    /// Nothing passes.
    Open,
    /// Probes pass.
    HalfOpen,
}

impl BreakerConfig {
    /// What an outcome (`None`: a success) tells the breaker.
    ///
    /// A local failure that is not counted says nothing about the callee, which never saw it.
    #[inline]
    pub const fn judge(&self, failure: Option<Class>) -> Settled {
        match failure {
            Some(class) if self.counts.contains(class) => Settled::Failure,
            Some(class) if class.is_local() => Settled::Ignored,
            _ => Settled::Success,
        }
    }
}

/// One breaker. Its settings are passed to each question, so that they may change while it runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Breaker {
    state: State,
    epoch: u32,
    window: Option<Box<Window>>, // Made with the first outcome, where the settings want one.
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Closed { failures: u32 },
    Open { until: SimTime },
    HalfOpen { out: u32, successes: u32 },
}

impl Default for State {
    fn default() -> Self {
        Self::Closed { failures: 0 }
    }
}

impl Breaker {
    /// May something pass at `now`? `None`: it is refused. A breaker whose open time is over turns
    /// half-open when it is asked, and not before.
    #[inline]
    #[must_use]
    pub fn admit(&mut self, config: &BreakerConfig, now: SimTime) -> Option<Permit> {
        match &mut self.state {
            State::Closed { .. } => {}
            State::Open { until } if now < *until => return None,
            State::Open { .. } => self.enter(State::HalfOpen { out: 1, successes: 0 }),
            State::HalfOpen { out, .. } if *out >= config.probes => return None,
            State::HalfOpen { out, .. } => *out += 1,
        }
        Some(Permit(self.epoch))
    }

    /// What was admitted under `permit` has ended.
    #[inline]
    pub fn settle(
        &mut self,
        config: &BreakerConfig,
        permit: Permit,
        now: SimTime,
        settled: Settled,
    ) {
        let late = permit.0 != self.epoch;
        if let State::HalfOpen { out, .. } = &mut self.state
            && !late
        {
            *out -= 1; // A probe is back, whatever it brings.
        }
        if settled == Settled::Ignored || (late && config.late_results == LateResults::Ignore) {
            return;
        }
        let failed = settled == Settled::Failure;
        match &mut self.state {
            State::Closed { failures } => {
                *failures = if failed { failures.saturating_add(1) } else { 0 };
                if self.trips(config, now, failed) {
                    self.enter(State::Open { until: now + config.open_for });
                }
            }
            State::Open { .. } => {} // Late, and there is nothing left to decide.
            State::HalfOpen { .. } if failed => {
                self.enter(State::Open { until: now + config.open_for });
            }
            State::HalfOpen { successes, .. } => {
                *successes += 1;
                if *successes >= config.probes {
                    self.window = None;
                    self.enter(State::Closed { failures: 0 });
                }
            }
        }
    }

    /// The state at `now`: a breaker whose open time is over counts as half-open.
    pub fn state(&self, now: SimTime) -> BreakerState {
        match self.state {
            State::Closed { .. } => BreakerState::Closed,
            State::Open { until } if now < until => BreakerState::Open,
            State::Open { .. } | State::HalfOpen { .. } => BreakerState::HalfOpen,
        }
    }

    /// Does everything pass?
    #[inline]
    pub const fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed { .. })
    }

    /// Does the outcome just counted open a closed breaker?
    #[inline]
    fn trips(&mut self, config: &BreakerConfig, now: SimTime, failed: bool) -> bool {
        match (config.trip, self.state) {
            (Trip::Consecutive(limit), State::Closed { failures }) => failed && failures >= limit,
            (Trip::Window { length, failure_share, minimum_calls }, _) => {
                let window = self.window.get_or_insert_default();
                window.record(now, length, failed);
                failed && window.reaches(failure_share, minimum_calls)
            }
            _ => false,
        }
    }

    /// A change of state: what was admitted before is late from now on.
    fn enter(&mut self, state: State) {
        self.state = state;
        self.epoch = self.epoch.wrapping_add(1);
    }
}

/// Steps in which a window slides.
const BUCKETS: usize = 10;

/// Outcomes of the last while, in up to ten buckets.
#[derive(Clone, Debug, Default, PartialEq)]
struct Window {
    buckets: [Bucket; BUCKETS],
    /// The oldest bucket in use.
    oldest: u8,
    /// How many are in use.
    used: u8,
    /// Over all buckets in use.
    outcomes: u32,
    failures: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Bucket {
    begins_at: SimTime,
    outcomes: u32,
    failures: u32,
}

impl Window {
    /// Adds an outcome, and drops what is a whole window old.
    fn record(&mut self, now: SimTime, length: Duration, failed: bool) {
        while self.used > 0 {
            let bucket = self.buckets[usize::from(self.oldest)];
            if now.since(bucket.begins_at) < length {
                break;
            }
            self.drop_oldest();
        }
        // Rounded up, so that no more than ten buckets begin within one window.
        let step = Duration::from_nanos(length.as_nanos().div_ceil(BUCKETS as u64).max(1));
        let newest = (usize::from(self.oldest + self.used) + BUCKETS - 1) % BUCKETS;
        let place = if self.used > 0 && now.since(self.buckets[newest].begins_at) < step {
            newest
        } else {
            if usize::from(self.used) == BUCKETS {
                self.drop_oldest(); // Only after the window was made longer while it ran.
            }
            let place = usize::from(self.oldest + self.used) % BUCKETS;
            self.buckets[place] = Bucket { begins_at: now, outcomes: 0, failures: 0 };
            self.used += 1;
            place
        };
        let bucket = &mut self.buckets[place];
        bucket.outcomes += 1;
        bucket.failures += u32::from(failed);
        self.outcomes += 1;
        self.failures += u32::from(failed);
    }

    /// Are at least `share` of at least `minimum` outcomes failures?
    fn reaches(&self, share: Share, minimum: u32) -> bool {
        const PARTS: f64 = 1e9;
        // In whole parts: 7 of 100 reach 7 %, although 0.07 · 100 is more than 7 in floating point.
        let wanted = (share.get() * PARTS).round() as u64 * u64::from(self.outcomes);
        self.outcomes >= minimum && u64::from(self.failures) * PARTS as u64 >= wanted
    }

    fn drop_oldest(&mut self) {
        let bucket = self.buckets[usize::from(self.oldest)];
        self.outcomes -= bucket.outcomes;
        self.failures -= bucket.failures;
        self.oldest = (self.oldest + 1) % BUCKETS as u8;
        self.used -= 1;
    }
}
