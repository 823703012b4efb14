//! What writes came to over the runs of a variant: effects, duplicates, answers from memory.

use serde::Serialize;

use crate::analysis::summary::Estimate;
use crate::analysis::summary::as_map;
use crate::measure::outcome::EffectCounts;
use crate::measure::outcome::RunOutcome;
use crate::scenario::model::Model;
use crate::scenario::model::ServiceId;

/// Effects of writes from time 0 on: means per run with their intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct EffectsSummary {
    /// Effects.
    pub effects: Estimate,
    /// Effects beyond the first of a request and a call.
    pub duplicate_effects: Estimate,
    /// Of the writes that took effect (a request and a call count once), the share that did so
    /// more than once.
    pub duplicated_share: Estimate,
    /// Attempts answered from memory.
    pub replays: Estimate,
    /// Attempts that met their own key in progress.
    pub conflicts: Estimate,
    /// Attempts whose key was known with another body.
    pub mismatches: Estimate,
}

/// Effects of writes: of all services together, and of each that is written to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WritesSummary {
    /// All services together.
    #[serde(flatten)]
    pub all: EffectsSummary,
    /// By name.
    #[serde(serialize_with = "as_map")]
    pub services: Vec<(String, EffectsSummary)>,
}

/// What the writes of a model came to; `None` where it has none.
pub(super) fn writes(model: &Model, runs: &[RunOutcome]) -> Option<WritesSummary> {
    let written: Vec<_> = (0..model.services.len()).filter(|id| model.is_written_to(*id)).collect();
    if written.is_empty() {
        return None;
    }
    let of = |id: &ServiceId| {
        (model.services[*id].name.clone(), effects_summary(runs, |run| run.effects[*id]))
    };
    Some(WritesSummary {
        all: effects_summary(runs, |run| run.effects.iter().copied().sum()),
        services: written.iter().map(of).collect(),
    })
}

/// The estimates of some counts.
pub fn effects_summary(
    runs: &[RunOutcome],
    of: impl Fn(&RunOutcome) -> EffectCounts,
) -> EffectsSummary {
    let mean = |which: fn(&EffectCounts) -> u64| {
        let values: Vec<_> = runs.iter().map(|run| which(&of(run)) as f64).collect();
        Estimate::mean(&values, 0.0, f64::INFINITY)
    };
    let shares: Vec<_> = runs.iter().filter_map(|run| of(run).duplicated_share()).collect();
    EffectsSummary {
        effects: mean(|counts| counts.effects),
        duplicate_effects: mean(|counts| counts.duplicates),
        duplicated_share: Estimate::mean(&shares, 0.0, 1.0),
        replays: mean(|counts| counts.replays),
        conflicts: mean(|counts| counts.conflicts),
        mismatches: mean(|counts| counts.mismatches),
    }
}

impl WritesSummary {
    /// What a service's writes came to.
    pub fn service(&self, name: &str) -> Option<&EffectsSummary> {
        self.services.iter().find(|(known, _)| known == name).map(|(_, found)| found)
    }
}
