//! What became of deferred results over the runs of a variant: read, lost, mistaken, outlived.

use serde::Serialize;

use crate::analysis::summary::Estimate;
use crate::analysis::summary::as_map;
use crate::engine::observe::WaitEnd;
use crate::measure::deferred::DeferredCounts;
use crate::measure::outcome::RunOutcome;
use crate::scenario::model::Model;
use crate::scenario::model::ServiceId;

/// Deferred results from time 0 on: means per run with their intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ResultsSummary {
    /// Results written under their keys.
    pub written: Estimate,
    /// Results read as good ones, rightly.
    pub done: Estimate,
    /// Results read as failures.
    pub failed: Estimate,
    /// Results taken for good ones that are not: corrupted records.
    pub false_successes: Estimate,
    /// Reads of a result that the caller took for none.
    pub misread: Estimate,
    /// Results that a read took away while the caller waited on.
    pub destroyed: Estimate,
    /// Waits that the caller's timer ended.
    pub by_timer: Estimate,
    /// Of the waits that ended, the share whose recorded outcome is not the true one.
    pub mislabelled_share: Estimate,
    /// Seconds for which a job was shown as running that was over: the mean over the results of a
    /// run.
    pub false_running_mean_s: Estimate,
    /// The longest of a run.
    pub false_running_max_s: Estimate,
}

/// Deferred results: of all services together, and of each that has any.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeferredSummary {
    /// All services together.
    #[serde(flatten)]
    pub all: ResultsSummary,
    /// By name.
    #[serde(serialize_with = "as_map")]
    pub services: Vec<(String, ResultsSummary)>,
}

/// What became of the deferred results of a model; `None` where it has none.
pub(super) fn deferred(model: &Model, runs: &[RunOutcome]) -> Option<DeferredSummary> {
    let some: Vec<_> = (0..model.services.len()).filter(|id| model.defers(*id)).collect();
    if some.is_empty() {
        return None;
    }
    let of = |id: &ServiceId| {
        (model.services[*id].name.clone(), results_summary(runs, |run| run.deferred[*id]))
    };
    Some(DeferredSummary {
        all: results_summary(runs, |run| run.deferred.iter().copied().sum()),
        services: some.iter().map(of).collect(),
    })
}

/// The estimates of some counts.
pub fn results_summary(
    runs: &[RunOutcome],
    of: impl Fn(&RunOutcome) -> DeferredCounts,
) -> ResultsSummary {
    let mean = |which: fn(&DeferredCounts) -> u64| {
        let values: Vec<_> = runs.iter().map(|run| which(&of(run)) as f64).collect();
        Estimate::mean(&values, 0.0, f64::INFINITY)
    };
    let some = |which: fn(&DeferredCounts) -> Option<f64>, most| {
        let values: Vec<_> = runs.iter().filter_map(|run| which(&of(run))).collect();
        Estimate::mean(&values, 0.0, most)
    };
    ResultsSummary {
        written: mean(|counts| counts.written),
        done: mean(|counts| counts.ended(WaitEnd::Done)),
        failed: mean(|counts| counts.ended(WaitEnd::Failed)),
        false_successes: mean(|counts| counts.ended(WaitEnd::FalseSuccess)),
        misread: mean(|counts| counts.misread),
        destroyed: mean(|counts| counts.destroyed),
        by_timer: mean(DeferredCounts::by_timer),
        mislabelled_share: some(DeferredCounts::mislabelled_share, 1.0),
        false_running_mean_s: some(DeferredCounts::mean_idle_s, f64::INFINITY),
        false_running_max_s: some(DeferredCounts::longest_idle_s, f64::INFINITY),
    }
}

impl DeferredSummary {
    /// What became of a service's results.
    pub fn service(&self, name: &str) -> Option<&ResultsSummary> {
        self.services.iter().find(|(known, _)| known == name).map(|(_, found)| found)
    }
}
