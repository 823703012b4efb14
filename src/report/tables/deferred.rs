//! Columns of deferred results: of each run, and of each variant.

use crate::analysis::deferred::DeferredSummary;
use crate::analysis::summary::Estimate;
use crate::engine::observe::WaitEnd;
use crate::measure::deferred::DeferredCounts;
use crate::report::Material;
use crate::report::tables::number;

/// Columns of one service in `runs.csv`.
pub(super) const OF_RUNS: [&str; 11] = [
    "results_written",
    "results_malformed",
    "results_done",
    "results_failed",
    "false_successes",
    "results_misread",
    "results_destroyed",
    "waits_by_timer",
    "mislabelled_share",
    "false_running_mean_s",
    "false_running_max_s",
];

/// Columns of one service in `comparison.csv`.
pub(super) const OF_VARIANTS: [&str; 6] = [
    "false_successes",
    "results_destroyed",
    "waits_by_timer",
    "mislabelled_share",
    "false_running_mean_s",
    "false_running_max_s",
];

/// The services that have deferred results in any variant.
pub(super) fn deferring(material: &Material<'_>, services: &[String]) -> Vec<String> {
    let defers = |name: &&String| {
        material.views().any(|view| {
            let id = view.model().services.iter().position(|service| service.name == **name);
            id.is_some_and(|id| view.model().defers(id))
        })
    };
    services.iter().filter(defers).cloned().collect()
}

/// The values of a run; empty where the service is not there.
pub(super) fn of_run(counts: Option<&DeferredCounts>) -> [String; OF_RUNS.len()] {
    let Some(it) = counts else { return Default::default() };
    let count = |n: u64| n.to_string();
    [
        count(it.written),
        count(it.malformed),
        count(it.ended(WaitEnd::Done)),
        count(it.ended(WaitEnd::Failed)),
        count(it.ended(WaitEnd::FalseSuccess)),
        count(it.misread),
        count(it.destroyed),
        count(it.by_timer()),
        number(it.mislabelled_share()),
        number(it.mean_idle_s()),
        number(it.longest_idle_s()),
    ]
}

/// The estimates of a variant.
pub(super) fn of_variant(
    summary: Option<&DeferredSummary>,
    service: &str,
) -> [Estimate; OF_VARIANTS.len()] {
    let found = summary.and_then(|deferred| deferred.service(service));
    found.map_or(Default::default(), |it| {
        [
            it.false_successes,
            it.destroyed,
            it.by_timer,
            it.mislabelled_share,
            it.false_running_mean_s,
            it.false_running_max_s,
        ]
    })
}
