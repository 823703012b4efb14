//! What one run came to: the numbers that are compared between runs.

use serde::Serialize;

use crate::measure::deferred::DeferredCounts;
use crate::measure::jobs::JobCounts;
use crate::measure::record::Ending;
use crate::measure::record::Reason;
use crate::measure::record::Verdicts;

/// What became of one run (validation of recovery: see `storm.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunClass {
    /// The criteria never failed after the first trigger began.
    Unaffected,
    /// Goodput came back into its band to stay.
    Recovered,
    /// Censored, with a backlog that falls fast enough to empty.
    Recovering,
    /// Censored, and not recovering.
    Stuck,
}

/// Amplification of one service: attempts that reached it ÷ requests born and not shed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Amplification {
    /// Over the run from time 0; `None` below 100 births.
    pub whole: Option<f64>,
    /// The largest value over a sliding recovery window.
    pub peak: Option<f64>,
    /// From the end of the last trigger to the horizon.
    pub after_trigger: Option<f64>,
    /// Attempts at this service, from time 0, by reason: first, after timeout, after refusal,
    /// after error, hedges.
    pub by_reason: [u64; Reason::COUNT],
}

/// What the writes to one service came to, from time 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EffectCounts {
    /// Effects.
    pub effects: u64,
    /// Effects beyond the first of a request and a call.
    pub duplicates: u64,
    /// Writes (a request and a call) that took effect more than once.
    pub duplicated: u64,
    /// Attempts answered from memory.
    pub replays: u64,
    /// Attempts that met their own key in progress.
    pub conflicts: u64,
    /// Attempts whose key was known with another body.
    pub mismatches: u64,
}

impl EffectCounts {
    /// Of the writes that took effect, the share that did so more than once; `None` without any.
    pub fn duplicated_share(&self) -> Option<f64> {
        let writes = self.effects - self.duplicates;
        (writes > 0).then(|| (self.duplicated as f64 / writes as f64).min(1.0))
    }
}

impl std::iter::Sum for EffectCounts {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, other| Self {
            effects: sum.effects + other.effects,
            duplicates: sum.duplicates + other.duplicates,
            duplicated: sum.duplicated + other.duplicated,
            replays: sum.replays + other.replays,
            conflicts: sum.conflicts + other.conflicts,
            mismatches: sum.mismatches + other.mismatches,
        })
    }
}

/// A span of time that may not have ended when the run did.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Survival {
    /// Seconds until the event, or until the run could no longer tell.
    pub time_s: f64,
    /// Did the event happen? If not, `time_s` is a lower bound (the run is censored).
    pub happened: bool,
}

/// What one run came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunOutcome {
    /// Which replication.
    pub replication: u32,
    /// How the run ended.
    pub ending: Ending,
    /// What became of it.
    pub class: RunClass,
    /// From the last trigger's end until the system is back to stay: goodput, or the backlog where
    /// requests have neither a deadline nor a timeout (goodput is then back at once although
    /// every answer is late). Without a trigger, from the run's own first failure.
    pub recovery: Survival,
    /// The same by goodput alone.
    pub goodput_recovery: Survival,
    /// The same from the first operator action, where there is one; `None` for a run that was not
    /// down at that moment.
    pub recovery_after_action: Option<Survival>,
    /// From the last trigger's end until amplification is back to stay at every service at once.
    pub amplification_recovery: Survival,
    /// From the last trigger's end until the backlog is back to stay.
    pub drain: Survival,
    /// Seconds from time 0 to the first stretch after the first trigger's start that failed the
    /// goodput criterion; `None` when none did.
    pub first_failure_s: Option<f64>,
    /// Did the last stretch of the run meet the goodput criterion? A run that recovered and fell
    /// again does not.
    pub good_at_end: bool,
    /// The goodput ratio before the first trigger, over the baseline span.
    pub baseline_ratio: Option<f64>,
    /// How far below the baseline counted as recovered, counting noise included.
    pub tolerance: f64,
    /// A good state from its start on: unaffected, with a baseline ratio of at least 95 %.
    pub healthy: bool,
    /// Per service.
    pub amplification: Vec<Amplification>,
    /// Per service.
    pub effects: Vec<EffectCounts>,
    /// Deferred results, per service.
    pub deferred: Vec<DeferredCounts>,
    /// `ok` verdicts ÷ births not shed, before the first trigger, during, after the last.
    pub goodput_ratio: [Option<f64>; 3],
    /// Of the requests born since the first trigger began and not shed: the share that failed or
    /// was late (open ones left out).
    pub lost_share: Option<f64>,
    /// Worker time wasted ÷ worker time busy, all services, from time 0.
    pub wasted_share: Option<f64>,
    /// Verdicts of all populations together.
    pub verdicts: Verdicts,
    /// Verdicts, one entry per population.
    pub populations: Vec<Verdicts>,
    /// What became of jobs, one entry per queue of them.
    pub jobs: Vec<JobCounts>,
    /// What the run answers to the scenario's expectations, one entry for each; `None` where it
    /// has nothing to say. Empty in control runs.
    pub answers: Vec<Option<f64>>,
    /// Events of the run.
    pub events: u64,
    /// Fingerprint of the run.
    pub fingerprint: u64,
}
