//! From the runs of one variant to its measures.

use crate::analysis::deferred::deferred;
use crate::analysis::effects::writes;
use crate::analysis::estimate::rounded;
use crate::analysis::finding::Evidence;
use crate::analysis::jobs::queues;
use crate::analysis::marks::marks;
use crate::analysis::recovery::Since;
use crate::analysis::recovery::recovery_time;
use crate::analysis::recovery::times;
use crate::analysis::summary::AmplificationSummary;
use crate::analysis::summary::Estimate;
use crate::analysis::summary::GoodputRatio;
use crate::analysis::summary::LatencySummary;
use crate::analysis::summary::PopulationSummary;
use crate::analysis::summary::RecoveryTime;
use crate::analysis::summary::Requests;
use crate::analysis::summary::VariantSummary;
use crate::experiment::result::Experiment;
use crate::experiment::result::VariantResult;
use crate::measure::horizon::horizon_rule;
use crate::measure::outcome::Amplification;
use crate::measure::outcome::RunClass;
use crate::measure::outcome::RunOutcome;
use crate::measure::record::Cause;
use crate::measure::record::Latencies;
use crate::measure::record::Verdicts;
use crate::scenario::model::Model;
use crate::scenario::model::Population;
use crate::scenario::model::Variant;
use crate::stats::histogram::Histogram;

/// Every measure of one variant, apart from its comparison with the base.
pub(super) fn variant_summary(
    variant: &Variant,
    result: &VariantResult,
    experiment: &Experiment,
    tau: Option<f64>,
    tau_after_action: Option<f64>,
) -> VariantSummary {
    let (model, runs, seed) = (&variant.model, &result.runs[..], experiment.seed);
    let evidence = evidence(variant, result);
    let (finding, because) = evidence.finding();
    let recovery_times = times(model, runs, Since::TriggerEnd);
    let action_times = times(model, runs, Since::FirstAction);
    let recovery_time_s = recovery_time(&recovery_times, tau, seed).unwrap_or(NO_RECOVERY_TIME);
    let part = |index: usize| share_mean(runs, |run| run.goodput_ratio[index]);
    let services = model.services.iter().enumerate();
    VariantSummary {
        about: variant.about.clone(),
        replications: runs.len() as u32,
        finding,
        because,
        classes: classes(runs),
        stuck_share: Estimate::share(evidence.stuck, evidence.runs),
        recovered_share: Estimate::share(
            count(runs, |run| matches!(run.class, RunClass::Unaffected | RunClass::Recovered)),
            evidence.runs,
        ),
        control_healthy_share: Estimate::share(evidence.healthy, evidence.controls),
        recovery_time_s,
        recovery_after_action_s: recovery_time(&action_times, tau_after_action, seed),
        amplification: services
            .map(|(id, service)| (service.name.clone(), amplification(runs, id)))
            .collect(),
        goodput_ratio: GoodputRatio { before: part(0), during: part(1), after: part(2) },
        lost_share: share_mean(runs, |run| run.lost_share),
        wasted_share: share_mean(runs, |run| run.wasted_share),
        writes: writes(model, runs),
        deferred: deferred(model, runs),
        requests: requests(runs, |run| Some(run.verdicts)),
        latency_ok_ms: latency(&result.latency_ok),
        latency_failed_ms: latency(&result.latency_failed),
        populations: populations(model, result),
        queues: queues(model, result),
        events: runs.iter().map(|run| run.events).sum(),
        versus_base: None,
        marks: marks(variant, result, experiment, &recovery_time_s),
    }
}

const NO_RECOVERY_TIME: RecoveryTime = {
    let nothing = Estimate { estimate: None, low: None, high: None };
    RecoveryTime { median: nothing, p95: nothing, restricted_mean: nothing, tau: None }
};

/// What the finding of a variant rests on.
pub(super) fn evidence(variant: &Variant, result: &VariantResult) -> Evidence {
    let (model, runs) = (&variant.model, &result.runs[..]);
    let span = model.trigger_span();
    let controls = if span.is_some() { &result.controls[..] } else { runs };
    Evidence {
        runs: runs.len() as u32,
        stuck: count(runs, |run| run.class == RunClass::Stuck),
        recovering: count(runs, |run| run.class == RunClass::Recovering),
        controls: controls.len() as u32,
        healthy: count(controls, |run| run.healthy),
        compared: count(controls, |run| run.baseline_ratio.is_some()),
        triggered: span.is_some(),
        watched: model.run.horizon.saturating_sub(span.unwrap_or_default().1),
        hold: model.run.recovery.hold,
        horizon: horizon_rule(model),
    }
}

/// Runs of which something holds.
pub(super) fn count(runs: &[RunOutcome], holds: impl Fn(&RunOutcome) -> bool) -> u32 {
    runs.iter().filter(|run| holds(run)).count() as u32
}

fn classes(runs: &[RunOutcome]) -> Vec<(RunClass, u32)> {
    let all = [RunClass::Unaffected, RunClass::Recovered, RunClass::Recovering, RunClass::Stuck];
    all.map(|class| (class, count(runs, |run| run.class == class))).to_vec()
}

/// The mean of a share over the runs that have it.
fn share_mean(runs: &[RunOutcome], of: impl Fn(&RunOutcome) -> Option<f64>) -> Estimate {
    Estimate::mean(&runs.iter().filter_map(of).collect::<Vec<_>>(), 0.0, 1.0)
}

fn amplification(runs: &[RunOutcome], service: usize) -> AmplificationSummary {
    let mean = |of: fn(&Amplification) -> Option<f64>| {
        let values: Vec<_> =
            runs.iter().filter_map(|run| of(&run.amplification[service])).collect();
        Estimate::mean(&values, 0.0, f64::INFINITY)
    };
    // Of the runs that have an amplification, so that the reasons add up to its mean.
    let counted: Vec<_> = runs
        .iter()
        .filter(|run| run.amplification[service].whole.is_some())
        .map(|run| (&run.amplification[service], offered(run) as f64))
        .collect();
    let by_reason = std::array::from_fn(|reason| {
        let per_request =
            counted.iter().map(|(found, births)| found.by_reason[reason] as f64 / births);
        rounded(per_request.sum::<f64>() / counted.len().max(1) as f64).unwrap_or(0.0)
    });
    AmplificationSummary {
        whole: mean(|found| found.whole),
        peak: mean(|found| found.peak),
        after_trigger: mean(|found| found.after_trigger),
        by_reason,
    }
}

/// Requests born and not shed.
fn offered(run: &RunOutcome) -> u64 {
    run.verdicts.born.saturating_sub(run.verdicts.failed[Cause::Shed as usize])
}

fn requests(runs: &[RunOutcome], of: impl Fn(&RunOutcome) -> Option<Verdicts>) -> Requests {
    let all = runs.iter().filter_map(of).sum::<Verdicts>();
    let failed = |cause: &Cause| (cause.name().into(), all.failed[*cause as usize]);
    Requests {
        born: all.born,
        ok: all.ok,
        late: all.late,
        open: all.open,
        failed: Cause::ALL.iter().map(failed).collect(),
    }
}

fn populations(model: &Model, result: &VariantResult) -> Vec<(String, PopulationSummary)> {
    let nothing = Latencies::default();
    let named = model.populations.iter().enumerate();
    let of = |(id, population): (usize, &Population)| {
        let latencies = result.latencies.get(id).unwrap_or(&nothing);
        let summary = PopulationSummary {
            requests: requests(&result.runs, |run| run.populations.get(id).copied()),
            latency_ok_ms: latency(&latencies.ok),
            latency_failed_ms: latency(&latencies.failed),
        };
        (population.name.clone(), summary)
    };
    named.map(of).collect()
}

fn latency(histogram: &Histogram) -> LatencySummary {
    let millis = |nanos: Option<f64>| nanos.and_then(|nanos| rounded(nanos / 1e6));
    LatencySummary {
        count: histogram.count(),
        mean: millis(histogram.mean()),
        p50: millis(histogram.quantile(0.5)),
        p90: millis(histogram.quantile(0.9)),
        p99: millis(histogram.quantile(0.99)),
        max: millis(histogram.max().map(|nanos| nanos as f64)),
    }
}
