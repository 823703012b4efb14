//! What became of jobs over the runs of a variant: ends, repetitions, lags, and what is left.

use serde::Serialize;

use crate::analysis::estimate::rounded;
use crate::analysis::summary::Estimate;
use crate::analysis::summary::as_map;
use crate::experiment::result::VariantResult;
use crate::measure::jobs::JobCounts;
use crate::measure::record::DeadLetter;
use crate::scenario::model::Model;
use crate::stats::histogram::Histogram;

/// Spans of time in seconds, merged over the runs; no interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spans {
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

/// What became of the jobs of one queue: means per run with their intervals. Jobs count that were
/// stored, and events that happened, after the warm-up.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct QueueSummary {
    /// Jobs stored.
    pub stored: Estimate,
    /// Jobs done.
    pub done: Estimate,
    /// Jobs done ÷ jobs stored.
    pub delivered_share: Estimate,
    /// Jobs given up.
    pub dead_letters: Estimate,
    /// Jobs given up in all runs, by reason (`DeadLetter::name`).
    #[serde(serialize_with = "as_map")]
    pub dead_letters_by_reason: Vec<(String, u64)>,
    /// Executions ÷ jobs stored.
    pub executions: Estimate,
    /// Executions of the jobs given up ÷ jobs given up.
    pub executions_per_dead_letter: Estimate,
    /// Executions of the jobs given up ÷ executions.
    pub useless_share: Estimate,
    /// Claims.
    pub claims: Estimate,
    /// What workers write to the storage (each claim, return and end) ÷ jobs stored.
    pub storage_writes: Estimate,
    /// Jobs at rest at the end of the run, due or not, those that wait for their destination among
    /// them.
    pub at_rest: Estimate,
    /// Jobs that wait for their destination at the end of the run.
    pub parked: Estimate,
    /// Most jobs at rest and parked at the end of a window.
    pub most_at_rest: Estimate,
    /// Times that a destination was suspended.
    pub suspensions: Estimate,
    /// Destinations suspended at the end of the run.
    pub suspended: Estimate,
    /// Jobs that had ended and were put back by another consumer.
    pub reopened: Estimate,
    /// When the first job was given up, over the runs in which one was.
    pub first_dead_letter_s: Estimate,
    /// The longest that the oldest job due had been so at the end of a window.
    pub oldest_due_s: Estimate,
    /// From birth to the end of the jobs done.
    pub lateness_s: Spans,
    /// From the first failure to the end of the jobs given up.
    pub to_dead_letter_s: Spans,
    /// From falling due to the claim.
    pub claim_lag_s: Spans,
}

/// The queues of a model by name.
pub(super) fn queues(model: &Model, result: &VariantResult) -> Vec<(String, QueueSummary)> {
    let all = model.queues.iter().enumerate();
    all.map(|(id, queue)| (queue.name.clone(), queue_summary(id, result))).collect()
}

fn queue_summary(id: usize, result: &VariantResult) -> QueueSummary {
    let runs: Vec<_> = result.runs.iter().filter_map(|run| run.jobs.get(id)).collect();
    let mean = |of: &dyn Fn(&JobCounts) -> Option<f64>, most: f64| {
        let values: Vec<_> = runs.iter().filter_map(|counts| of(counts)).collect();
        Estimate::mean(&values, 0.0, most)
    };
    let count = |of: fn(&JobCounts) -> u64| mean(&|counts| Some(of(counts) as f64), f64::INFINITY);
    let per_job =
        |of: fn(&JobCounts) -> u64, most| mean(&|counts| counts.per_job(of(counts)), most);
    let seconds = |nanos: u64| nanos as f64 / 1e9;
    let of_reason = |reason: &DeadLetter| {
        let dead = runs.iter().map(|counts| counts.dead[*reason as usize]).sum();
        (reason.name().into(), dead)
    };
    let spans = result.jobs.get(id).cloned().unwrap_or_default();
    QueueSummary {
        stored: count(|counts| counts.stored),
        done: count(|counts| counts.done),
        delivered_share: per_job(|counts| counts.done, 1.0),
        dead_letters: count(JobCounts::all_dead),
        dead_letters_by_reason: DeadLetter::ALL.iter().map(of_reason).collect(),
        executions: per_job(|counts| counts.executions, f64::INFINITY),
        executions_per_dead_letter: mean(&JobCounts::executions_per_dead_letter, f64::INFINITY),
        useless_share: mean(&JobCounts::useless_share, 1.0),
        claims: count(|counts| counts.claims),
        storage_writes: per_job(JobCounts::storage_writes, f64::INFINITY),
        at_rest: count(|counts| counts.at_rest + counts.parked),
        parked: count(|counts| counts.parked),
        most_at_rest: count(|counts| counts.most_at_rest),
        suspensions: count(|counts| counts.suspensions),
        suspended: count(|counts| counts.suspended),
        reopened: count(|counts| counts.reopened),
        first_dead_letter_s: mean(&|counts| counts.first_dead_ns.map(seconds), f64::INFINITY),
        oldest_due_s: mean(&|counts| Some(seconds(counts.oldest_due_ns)), f64::INFINITY),
        lateness_s: spans_of(&spans.lateness),
        to_dead_letter_s: spans_of(&spans.to_dead_letter),
        claim_lag_s: spans_of(&spans.claim_lag),
    }
}

fn spans_of(histogram: &Histogram) -> Spans {
    let seconds = |nanos: Option<f64>| nanos.and_then(|nanos| rounded(nanos / 1e9));
    Spans {
        count: histogram.count(),
        mean: seconds(histogram.mean()),
        p50: seconds(histogram.quantile(0.5)),
        p90: seconds(histogram.quantile(0.9)),
        p99: seconds(histogram.quantile(0.99)),
        max: seconds(histogram.max().map(|nanos| nanos as f64)),
    }
}
