//! From full records to what is kept, so that only a few records are alive at once.
//!
//! A record takes megabytes. Each is judged as soon as it is there, its points and latencies are
//! added, and it is dropped; only the first of a variant is kept whole. Whatever is added out of
//! order is a sum of integers or a choice by number, so nothing depends on the order of threads.

use std::sync::Mutex;
use std::sync::PoisonError;

use crate::experiment::band::Points;
use crate::experiment::band::band;
use crate::experiment::result::VariantResult;
use crate::measure::answers::answers;
use crate::measure::jobs::JobSpans;
use crate::measure::outcome::RunOutcome;
use crate::measure::record::Latencies;
use crate::measure::record::RunRecord;
use crate::measure::storm::judge;
use crate::scenario::model::Model;
use crate::scenario::model::Scenario;
use crate::stats::histogram::Histogram;

/// What the runs of a variant share while they are made.
#[derive(Default)]
pub(super) struct Shared(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    example: Option<RunRecord>,
    latency_ok: Histogram,
    latency_failed: Histogram,
    latencies: Vec<Latencies>,
    jobs: Vec<JobSpans>,
}

/// What remains of one run besides its latencies.
pub(super) struct Reduced {
    /// What it came to.
    pub(super) outcome: RunOutcome,
    points: Points,
}

impl Shared {
    /// Judges a record and keeps what is needed of it.
    pub(super) fn reduce(&self, scenario: &Scenario, variant: usize, record: RunRecord) -> Reduced {
        let model = &scenario.variants[variant].model;
        let mut outcome = judge(model, &record);
        outcome.answers = answers(&scenario.expect, variant, model, &record);
        let points = Points::of(&record.series, &model.run);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.latency_ok.merge(&record.latency_ok);
        kept.latency_failed.merge(&record.latency_failed);
        kept.latencies.resize_with(record.latencies.len(), Latencies::default);
        for (all, one) in kept.latencies.iter_mut().zip(&record.latencies) {
            all.merge(one);
        }
        kept.jobs.resize_with(record.jobs.len(), JobSpans::default);
        for (all, one) in kept.jobs.iter_mut().zip(&record.jobs) {
            all.merge(&one.spans);
        }
        let first = kept.example.as_ref().is_none_or(|kept| record.replication < kept.replication);
        if first {
            kept.example = Some(record);
        }
        Reduced { outcome, points }
    }

    /// The result of a variant from its runs in the order of replications; `None` without a run.
    pub(super) fn finish(
        self,
        variant: usize,
        model: &Model,
        runs: Vec<Reduced>,
        controls: Vec<RunOutcome>,
        planned: u32,
    ) -> Option<VariantResult> {
        let kept = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let (runs, points): (Vec<_>, Vec<_>) =
            runs.into_iter().map(|run| (run.outcome, run.points)).unzip();
        Some(VariantResult {
            variant,
            controls,
            example: kept.example?,
            band: band(&points, &model.run),
            latency_ok: kept.latency_ok,
            latency_failed: kept.latency_failed,
            latencies: kept.latencies,
            jobs: kept.jobs,
            planned,
            runs,
        })
    }
}
