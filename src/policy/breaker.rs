//! Circuit breaker: closed lets through, open refuses, half-open lets a few probes decide.

use serde::Serialize;

use crate::policy::outcome::ClassSet;
use crate::units::Duration;
use crate::units::Share;

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
    /// How many probes may be out at once in the half-open state; that many successes close it.
    pub probes: u32,
    /// The failures that count; any other outcome proves the callee alive.
    pub counts: ClassSet,
    /// What a late result does.
    pub late_results: LateResults,
}
