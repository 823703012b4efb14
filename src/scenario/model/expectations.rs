//! What `check` asserts.

use serde::Serialize;

use crate::scenario::model::ServiceId;
use crate::units::Duration;

/// One line of `expect`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Expectation {
    /// The variant it speaks of (index into `Scenario::variants`).
    pub variant: usize,
    /// What is compared.
    pub measure: ExpectedMeasure,
    /// How.
    pub comparison: Comparison,
    /// Line of the scenario file, from 1.
    pub line: usize,
    /// The expectation as written.
    pub text: String,
}

/// What an expectation speaks of.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpectedMeasure {
    /// The share of stuck runs.
    StuckShare,
    /// The share of runs that recovered, within a span after the last trigger if given.
    RecoveredShare(Option<Duration>),
    /// The share of runs that recovered within a span after the first operator action.
    RecoveredAfterActionShare(Duration),
    /// The share of control runs that are healthy.
    ControlHealthyShare,
    /// The median recovery time in seconds.
    RecoveryMedian,
    /// The restricted mean of the recovery time in seconds.
    RecoveryRestrictedMean,
    /// Peak amplification of a service.
    PeakAmplification(ServiceId),
    /// Amplification of a service over the whole run.
    WholeAmplification(ServiceId),
    /// Goodput ratio before the trigger, during it, or in the last quarter after it.
    GoodputRatio(Phase),
    /// The share of requests born between trigger and recovery horizon that failed.
    LostShare,
    /// Effects beyond the first of a request and a call, per run; of one service or of all.
    DuplicateEffects(Option<ServiceId>),
    /// Repetitions of a key in progress, per run; of one service or of all.
    Conflicts(Option<ServiceId>),
    /// Attempts whose key is known with another body, per run, likewise.
    Mismatches(Option<ServiceId>),
    /// The finding, by name.
    Finding(String),
}

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// From time 0 to the first trigger.
    Before,
    /// From the first trigger's start to the last one's end.
    During,
    /// From the last trigger's end to the horizon.
    After,
}

/// How an expectation compares.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    /// At least.
    AtLeast(f64),
    /// At most.
    AtMost(f64),
    /// The name given is the name found.
    Is,
}
