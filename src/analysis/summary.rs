//! Every measure of every variant with its interval: the content of `summary.json`.

use serde::Serialize;
use serde::Serializer;

use crate::analysis::deferred::DeferredSummary;
use crate::analysis::difference::VersusBase;
use crate::analysis::difference::versus_base;
use crate::analysis::effects::WritesSummary;
use crate::analysis::estimate::LEVEL;
use crate::analysis::jobs::QueueSummary;
use crate::analysis::measures::variant_summary;
use crate::analysis::recovery::Since;
use crate::analysis::recovery::smallest_limit;
use crate::experiment::result::Experiment;
use crate::measure::outcome::RunClass;
use crate::measure::record::Reason;
use crate::scenario::model::Scenario;

/// A number from many runs, with its interval at the level of the summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Estimate {
    /// The number; `None` when it was not reached or nothing was measured.
    pub estimate: Option<f64>,
    /// Lower end of the interval; `None` when there is no interval.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
}

/// What the runs of a variant show, all together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// The control runs are not healthy: there is no good state to return to.
    Overloaded,
    /// No run is stuck, and enough of them say so.
    Safe,
    /// At least half of the runs are stuck, with confidence.
    Metastable,
    /// Some runs are stuck.
    Vulnerable,
    /// Too few runs, or too short ones.
    Inconclusive,
}

/// How long recovery takes, over the runs; seconds from the last trigger's end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RecoveryTime {
    /// The time by which half of the runs have recovered (Kaplan–Meier).
    pub median: Estimate,
    /// The time by which 95 % have.
    pub p95: Estimate,
    /// The mean of min(recovery time, tau).
    pub restricted_mean: Estimate,
    /// The smallest censoring limit of the compared variants.
    pub tau: Option<f64>,
}

/// Amplification of one service over the runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AmplificationSummary {
    /// Over the whole run.
    pub whole: Estimate,
    /// Largest value over a sliding recovery window.
    pub peak: Estimate,
    /// After the last trigger.
    pub after_trigger: Estimate,
    /// Attempts per request of each reason: first, after timeout, after refusal, after error,
    /// hedges. They add up to `whole`; no interval.
    pub by_reason: [f64; Reason::COUNT],
}

/// The goodput ratio over the parts of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GoodputRatio {
    /// Before the first trigger.
    pub before: Estimate,
    /// During the triggers.
    pub during: Estimate,
    /// After the last one.
    pub after: Estimate,
}

/// Verdicts of all requests of all runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Requests {
    /// Born from time 0.
    pub born: u64,
    /// Answered in time.
    pub ok: u64,
    /// Answered too late.
    pub late: u64,
    /// Open at the horizon.
    pub open: u64,
    /// Failed, by cause (`Cause::name`), `shed` included.
    #[serde(serialize_with = "as_map")]
    pub failed: Vec<(String, u64)>,
}

/// Percentiles of a latency in milliseconds, merged over the runs; no interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LatencySummary {
    /// Values.
    pub count: u64,
    /// Their mean.
    pub mean: Option<f64>,
    /// Half lie below.
    pub p50: Option<f64>,
    /// 90 % lie below.
    pub p90: Option<f64>,
    /// 99 % lie below.
    pub p99: Option<f64>,
    /// The largest.
    pub max: Option<f64>,
}

/// What became of the requests of one population, over all runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PopulationSummary {
    /// Verdicts.
    pub requests: Requests,
    /// Latency of requests answered in time.
    pub latency_ok_ms: LatencySummary,
    /// Latency of the others.
    pub latency_failed_ms: LatencySummary,
}

/// A variant over its runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VariantSummary {
    /// What it changes.
    pub about: String,
    /// Runs that finished and are counted.
    pub replications: u32,
    /// What they show.
    pub finding: Finding,
    /// In words: why this finding, and what it cannot decide.
    pub because: String,
    /// Runs of each class.
    #[serde(serialize_with = "as_map")]
    pub classes: Vec<(RunClass, u32)>,
    /// The share of stuck runs (Wilson).
    pub stuck_share: Estimate,
    /// The share of recovered or unaffected runs (Wilson).
    pub recovered_share: Estimate,
    /// The share of healthy control runs (Wilson).
    pub control_healthy_share: Estimate,
    /// Time from the last trigger's end to recovery.
    pub recovery_time_s: RecoveryTime,
    /// Time from the first operator action to recovery, where people act, over the runs that were
    /// down at that moment; `None` where none was.
    pub recovery_after_action_s: Option<RecoveryTime>,
    /// Per service name.
    #[serde(serialize_with = "as_map")]
    pub amplification: Vec<(String, AmplificationSummary)>,
    /// Goodput against arrivals.
    pub goodput_ratio: GoodputRatio,
    /// Of the requests born since the first trigger began: the share lost.
    pub lost_share: Estimate,
    /// Worker time wasted ÷ worker time busy.
    pub wasted_share: Estimate,
    /// What writes came to; `None` where nothing is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writes: Option<WritesSummary>,
    /// What became of deferred results; `None` where no reply is deferred.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deferred: Option<DeferredSummary>,
    /// Verdicts.
    pub requests: Requests,
    /// Latency of requests answered in time.
    pub latency_ok_ms: LatencySummary,
    /// Latency of the others.
    pub latency_failed_ms: LatencySummary,
    /// The same, per population name.
    #[serde(serialize_with = "as_map")]
    pub populations: Vec<(String, PopulationSummary)>,
    /// What became of jobs, per queue name; left out where there is no queue.
    #[serde(serialize_with = "as_map", skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<(String, QueueSummary)>,
    /// Events simulated.
    pub events: u64,
    /// Against the base, pair by pair on common random numbers; `None` for the base itself and
    /// where the base was not run.
    pub versus_base: Option<VersusBase>,
    /// Warnings that belong to the numbers: few runs, short horizon, censored, limits reached.
    pub marks: Vec<String>,
}

/// A scenario over its variants: the content of `summary.json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The scenario's name.
    pub scenario: String,
    /// Version of this format.
    pub schema: u32,
    /// Version of the program.
    pub version: String,
    /// The seed.
    pub seed: u64,
    /// Level of every interval.
    pub level: f64,
    /// False when the work was interrupted or a limit ended a run.
    pub complete: bool,
    /// The variants, in the order of the scenario.
    #[serde(serialize_with = "as_map")]
    pub variants: Vec<(String, VariantSummary)>,
}

/// Version of the format of `summary.json`.
pub const SCHEMA: u32 = 1;

/// What the runs of an experiment show, variant by variant.
pub fn summarise(scenario: &Scenario, experiment: &Experiment) -> Summary {
    let models =
        || experiment.results.iter().map(|result| &scenario.variants[result.variant].model);
    let tau = smallest_limit(models(), Since::TriggerEnd);
    let tau_after_action = smallest_limit(models(), Since::FirstAction);
    let mut versus = versus_base(scenario, experiment, tau).into_iter();
    let variants = experiment.results.iter().map(|result| {
        let variant = &scenario.variants[result.variant];
        let mut summary = variant_summary(variant, result, experiment, tau, tau_after_action);
        summary.versus_base = versus.next().flatten();
        (variant.name.clone(), summary)
    });
    Summary {
        scenario: scenario.name.clone(),
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        seed: experiment.seed,
        level: LEVEL,
        complete: !experiment.interrupted && experiment.limits_hit.is_empty(),
        variants: variants.collect(),
    }
}

impl Summary {
    /// The summary of a variant by its name.
    pub fn variant(&self, name: &str) -> Option<&VariantSummary> {
        self.variants.iter().find(|(key, _)| key == name).map(|(_, summary)| summary)
    }
}

/// Writes a list of pairs as an object, in order.
pub(super) fn as_map<S: Serializer, K: Serialize, V: Serialize>(
    pairs: &[(K, V)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}

#[cfg(test)]
mod tests;
