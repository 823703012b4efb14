//! What is kept of the runs of a variant: one outcome each, one run in full, and the bands.

use crate::measure::jobs::JobSpans;
use crate::measure::outcome::RunOutcome;
use crate::measure::record::Latencies;
use crate::measure::record::LimitKind;
use crate::measure::record::RunRecord;
use crate::stats::histogram::Histogram;
use crate::units::SimTime;

/// Goodput and arrivals per window over the replications, in requests per second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Band {
    /// Seconds covered by one point (a whole number of windows, so that there are at most 600).
    pub step_s: f64,
    /// Start of each point in seconds since the end of the warm-up.
    pub start_s: Vec<f64>,
    /// Mean arrivals per second (born, shed included).
    pub arrivals_rps: Vec<f64>,
    /// 10 % of the runs lie below.
    pub goodput_low_rps: Vec<f64>,
    /// Half of the runs lie below.
    pub goodput_median_rps: Vec<f64>,
    /// 90 % of the runs lie below.
    pub goodput_high_rps: Vec<f64>,
}

/// The runs of one variant.
#[derive(Clone, Debug, PartialEq)]
pub struct VariantResult {
    /// Index into `Scenario::variants`.
    pub variant: usize,
    /// One per finished replication, in the order of replications.
    pub runs: Vec<RunOutcome>,
    /// The control twin's outcomes, for the same replications; empty where the variant has no
    /// trigger and is its own control.
    pub controls: Vec<RunOutcome>,
    /// The first finished replication in full: what the charts of single runs show.
    pub example: RunRecord,
    /// Goodput over the replications.
    pub band: Band,
    /// Latencies of all runs merged.
    pub latency_ok: Histogram,
    /// Latencies of failed and late requests of all runs merged.
    pub latency_failed: Histogram,
    /// The same, one entry per population.
    pub latencies: Vec<Latencies>,
    /// Spans of time of jobs, all runs merged, one entry per queue of them.
    pub jobs: Vec<JobSpans>,
    /// Replications asked for; more than `runs.len()` after an interruption.
    pub planned: u32,
}

/// A run that a limit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitHit {
    /// Index into `Scenario::variants`.
    pub variant: usize,
    /// Which replication.
    pub replication: u32,
    /// Was it a run of the control twin?
    pub control: bool,
    /// Which limit.
    pub limit: LimitKind,
    /// When, since the start of the run, warm-up included.
    pub at: SimTime,
}

/// The runs of the variants that were asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// One entry per variant with at least one finished run, in the order of the plan.
    pub results: Vec<VariantResult>,
    /// The seed of every variant: they meet the same draws.
    pub seed: u64,
    /// Was it stopped before all runs were done? What had finished is kept.
    pub interrupted: bool,
    /// The runs that a limit ended, in the order of variants and replications.
    pub limits_hit: Vec<LimitHit>,
}
