//! What is kept of the runs of a variant: one outcome each, one run in full, and the bands.

use crate::measure::outcome::RunOutcome;
use crate::measure::record::RunRecord;
use crate::stats::histogram::Histogram;

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
#[derive(Clone, Debug)]
pub struct VariantResult {
    /// Index into `Scenario::variants`.
    pub variant: usize,
    /// One per finished replication, in the order of replications.
    pub runs: Vec<RunOutcome>,
    /// The control twin's outcomes, for the same replications.
    pub controls: Vec<RunOutcome>,
    /// The first replication in full: what the charts of single runs show.
    pub example: RunRecord,
    /// Goodput over the replications.
    pub band: Band,
    /// Latencies of all runs merged.
    pub latency_ok: Histogram,
    /// Latencies of failed and late requests of all runs merged.
    pub latency_failed: Histogram,
    /// Replications asked for; more than `runs.len()` after an interruption.
    pub planned: u32,
}
