//! Warnings that belong to the numbers of a variant, each one sentence with its keyword first.
//!
//! No number alone: what has no interval, or rests on little, says so.

use crate::analysis::measures::count;
use crate::analysis::recovery::fewest_runs;
use crate::analysis::summary::Estimate;
use crate::analysis::summary::RecoveryTime;
use crate::analysis::words::percent;
use crate::analysis::words::runs as run_count;
use crate::analysis::words::span;
use crate::experiment::result::Experiment;
use crate::experiment::result::VariantResult;
use crate::measure::horizon::HorizonTooShort;
use crate::measure::horizon::horizon_rule;
use crate::measure::outcome::RunClass;
use crate::measure::outcome::RunOutcome;
use crate::measure::record::Ending;
use crate::measure::record::LimitKind;
use crate::scenario::model::Arrivals;
use crate::scenario::model::Variant;
use crate::stats::histogram::Histogram;

/// Fewer replications than this give rough intervals.
const FEW: usize = 20;
/// A percentile rests on at least that many values above it.
const ENOUGH_EXCEEDANCES: u64 = 100;
/// Counting noise above this tolerance asks for a longer recovery window.
const NOISY: f64 = 0.2;

/// The marks of one variant.
pub(super) fn marks(
    variant: &Variant,
    result: &VariantResult,
    experiment: &Experiment,
    recovery: &RecoveryTime,
) -> Vec<String> {
    let runs = &result.runs[..];
    let mut marks = Vec::new();
    let mut mark = |mark: Option<String>| marks.extend(mark);
    mark((runs.len() < result.planned as usize).then(|| {
        format!("interrupted: {} of {} replications finished", runs.len(), result.planned)
    }));
    mark(incomplete(result, experiment));
    mark(match runs.len() {
        0 | 1 => Some("no interval: one replication shows no spread".into()),
        few if few < FEW => Some(format!("few runs: {few} replications, intervals are rough")),
        _ => None,
    });
    if let Err(HorizonTooShort { needed }) = horizon_rule(&variant.model) {
        mark(Some(format!(
            "short horizon: {} simulated, {} needed to tell slow from stuck",
            span(variant.model.run.horizon),
            span(needed),
        )));
    }
    let censored = count(runs, |run| !run.recovery.happened);
    mark((censored > 0).then(|| {
        format!(
            "censored: {} of {} ended before recovery was seen; the mean is restricted to tau",
            censored,
            run_count(runs.len() as u32),
        )
    }));
    mark(unbounded(runs, recovery));
    let fell_again = count(runs, |run| run.class == RunClass::Recovered && !run.good_at_end);
    mark((fell_again > 0).then(|| {
        format!("relapse: {} recovered and were down again at the end", run_count(fell_again))
    }));
    mark(back_before_action(variant, runs));
    mark(slow_to_settle(runs));
    mark(spontaneous(variant, &result.controls));
    mark(judging(variant, runs));
    mark(thin_tail("latency_ok_ms", &result.latency_ok));
    mark(thin_tail("latency_failed_ms", &result.latency_failed));
    mark(Some("no interval: latency percentiles, amplification by reason, request counts".into()));
    marks
}

/// Quantiles of recovery that have a value but no upper end of their interval.
fn unbounded(runs: &[RunOutcome], recovery: &RecoveryTime) -> Option<String> {
    let open = |name: &str, share: f64, found: &Estimate| {
        let open = runs.len() > 1 && found.estimate.is_some() && found.high.is_none();
        open.then(|| match fewest_runs(share) {
            Some(fewest) if (runs.len() as u64) < fewest => {
                format!("{name} with {} runs (needs {fewest})", runs.len())
            }
            _ => format!("{name}, for too many runs were not seen to recover"),
        })
    };
    let median = open("recovery median", 0.5, &recovery.median);
    let p95 = open("recovery p95", 0.95, &recovery.p95);
    let which: Vec<_> = median.into_iter().chain(p95).collect();
    (!which.is_empty()).then(|| format!("no upper end: {}", which.join("; ")))
}

/// Runs that were back before anybody acted.
fn back_before_action(variant: &Variant, runs: &[RunOutcome]) -> Option<String> {
    let down = count(runs, |run| run.recovery_after_action.is_some());
    let all = runs.len() as u32;
    (!variant.model.operator.is_empty() && down < all).then(|| match down {
        0 => {
            "after action: no run was down at the first action, so nothing is credited to it".into()
        }
        _ => format!(
            "after action: {down} of {} were down at the first action; only they count after it",
            run_count(all),
        ),
    })
}

/// Runs, control runs included, that a limit ended.
fn incomplete(result: &VariantResult, experiment: &Experiment) -> Option<String> {
    let ended = count(&result.runs, |run| run.ending != Ending::Complete);
    let controls = count(&result.controls, |run| run.ending != Ending::Complete);
    let hits = || experiment.limits_hit.iter().filter(|hit| hit.variant == result.variant);
    let mut limits = Vec::new();
    for hit in hits() {
        let name = limit_name(hit.limit);
        if !limits.contains(&name) {
            limits.push(name);
        }
    }
    (ended + controls > 0).then(|| {
        format!(
            "incomplete: a limit ({}) ended {} and {controls} of the control runs; they are judged \
             by what they measured, and count as not recovered unless recovery was seen",
            limits.join(", "),
            run_count(ended),
        )
    })
}

/// What a limit bounds, for a sentence.
const fn limit_name(limit: LimitKind) -> &'static str {
    match limit {
        LimitKind::InFlight => "requests and attempts in flight",
        LimitKind::AtRest => "jobs at rest",
        LimitKind::Pending => "events pending",
        LimitKind::Events => "events of a run",
        LimitKind::Memory => "memory",
        LimitKind::Wall => "wall time",
        LimitKind::NoProgress => "events without a step in time",
    }
}

/// Runs whose amplification or backlog took more than twice as long as what recovery is judged on.
fn slow_to_settle(runs: &[RunOutcome]) -> Option<String> {
    let slow = |run: &RunOutcome| {
        let full = [run.recovery, run.amplification_recovery, run.drain];
        let seen = full.iter().all(|part| part.happened);
        let longest = full.iter().map(|part| part.time_s).fold(0.0, f64::max);
        run.class == RunClass::Recovered && (!seen || longest > 2.0 * run.recovery.time_s)
    };
    let slow = count(runs, slow);
    (slow > 0).then(|| {
        format!(
            "slow to settle: in {} amplification or backlog took more than twice as long as recovery",
            run_count(slow),
        )
    })
}

/// Control runs that were well at first and collapsed without any trigger.
fn spontaneous(variant: &Variant, controls: &[RunOutcome]) -> Option<String> {
    let collapsed = |run: &RunOutcome| {
        run.baseline_ratio >= Some(0.95)
            && matches!(run.class, RunClass::Stuck | RunClass::Recovering)
    };
    let found = count(controls, collapsed);
    let horizon = variant.model.run.horizon.as_secs_f64();
    let at_risk = |run: &RunOutcome| {
        if collapsed(run) { run.first_failure_s.unwrap_or(horizon) } else { horizon }
    };
    let hours = controls.iter().map(at_risk).sum::<f64>() / 3_600.0;
    (found > 0 && hours > 0.0).then(|| {
        let share = Estimate::share(found, controls.len() as u32);
        format!(
            "spontaneous: {found} of {} control runs collapsed on their own (share {} to {}), {:.3} \
             per simulated hour",
            controls.len(),
            percent(share.low.unwrap_or(0.0)),
            percent(share.high.unwrap_or(1.0)),
            f64::from(found) / hours,
        )
    })
}

/// What is special about how recovery was judged.
fn judging(variant: &Variant, runs: &[RunOutcome]) -> Option<String> {
    let mut notes = Vec::new();
    let populations = &variant.model.populations;
    if populations.iter().any(|population| matches!(population.arrivals, Arrivals::Closed { .. })) {
        notes.push("clients of a closed loop ask less when answers are slow".to_string());
    }
    if variant.model.waits_for_ever() {
        notes.push("requests have neither deadline nor timeout, so the backlog decides".into());
    }
    let widest = runs.iter().map(|run| run.tolerance).fold(0.0, f64::max);
    if widest > NOISY {
        notes.push(format!("counting noise widened the band to {}", percent(widest)));
    }
    (!notes.is_empty()).then(|| format!("recovery: {}", notes.join("; ")))
}

/// A p99 with few values above it.
fn thin_tail(name: &str, histogram: &Histogram) -> Option<String> {
    let above = histogram.count() / 100;
    (histogram.count() > 0 && above < ENOUGH_EXCEEDANCES)
        .then(|| format!("unreliable: p99 of {name} has only {above} values above it"))
}
