//! What `check` asserts.

use serde::Serialize;

use crate::scenario::model::Model;
use crate::scenario::model::Question;
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
    /// Deferred results; of one service or of all.
    Results(Option<ServiceId>, ExpectedResults),
    /// The finding, by name.
    Finding(String),
    /// The mean over the runs of what each of them answers.
    PerRun(Question),
}

impl ExpectedMeasure {
    /// The keys that say more closely what is measured, and their values, as written in a scenario.
    pub fn scope(&self, model: &Model) -> Vec<(&'static str, String)> {
        let within = |span: &Duration| ("within", span.to_string());
        let service = |id: &ServiceId| ("service", model.services[*id].name.clone());
        match self {
            Self::RecoveredShare(span) => span.iter().map(within).collect(),
            Self::RecoveredAfterActionShare(span) => vec![within(span)],
            Self::PeakAmplification(id) | Self::WholeAmplification(id) => vec![service(id)],
            Self::DuplicateEffects(id)
            | Self::Conflicts(id)
            | Self::Mismatches(id)
            | Self::Results(id, _) => id.iter().map(service).collect(),
            Self::PerRun(question) => question.scope(model),
            _ => Vec::new(),
        }
    }
}

/// What an expectation says of deferred results, per run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpectedResults {
    /// Results written.
    Written,
    /// Results read as good ones, rightly.
    Done,
    /// Results read as failures.
    Failed,
    /// Results taken for good ones that are not.
    FalseSuccesses,
    /// Reads of a result taken for none.
    Misread,
    /// Results read away while the caller waited on.
    Destroyed,
    /// Waits that the caller's timer ended.
    ByTimer,
    /// The share of waits whose recorded outcome is not the true one.
    MislabelledShare,
    /// The mean time for which a job was shown as running that was over.
    FalseRunningMean,
    /// The longest such time.
    FalseRunningMax,
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
    /// Equal in every run, to a billionth.
    Equals(f64),
    /// The name given is the name found.
    Is,
}
