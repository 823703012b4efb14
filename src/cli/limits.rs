//! What to tell whose runs met a limit: which one, by its key, and what to do about it.

use crate::experiment::Experiment;
use crate::experiment::result::LimitHit;
use crate::measure::record::LimitKind;
use crate::report::number::count;
use crate::scenario::model::Limits;
use crate::scenario::model::Scenario;

/// A sentence on the runs that a limit ended, and one on what to do; `None` where none did.
pub(super) fn note(scenario: &Scenario, experiment: &Experiment) -> Option<String> {
    let first = experiment.limits_hit.first()?;
    let variant = &scenario.variants[first.variant];
    let limits = &variant.model.run.limits;
    let runs = match experiment.limits_hit.len() {
        1 => "a limit ended one run".to_owned(),
        several => format!("limits ended {} runs, the first", count(several as u64)),
    };
    let LimitHit { replication, control, at, .. } = *first;
    let control = if control { ", control run" } else { "" };
    let after = crate::units::Duration::from_nanos(at.as_nanos());
    Some(format!(
        "{runs}: {} (variant {}, replication {replication}{control}, after {after} of simulated \
         time)\n  {}",
        met(first.limit, limits),
        variant.name,
        advice(first.limit)
    ))
}

/// The limit by its key in a scenario, and its value.
fn met(limit: LimitKind, limits: &Limits) -> String {
    match limit {
        LimitKind::InFlight => format!("run.limits.in_flight of {}", count(limits.in_flight)),
        LimitKind::AtRest => format!("run.limits.at_rest of {}", count(limits.at_rest)),
        LimitKind::Pending => format!("run.limits.pending of {}", count(limits.pending)),
        LimitKind::Events => format!("run.limits.events of {}", count(limits.events)),
        LimitKind::Memory => {
            format!("run.limits.memory of {} MiB", count(limits.memory_bytes >> 20))
        }
        LimitKind::Wall => match limits.wall {
            Some(wall) => format!("run.limits.wall of {wall}"),
            None => "run.limits.wall".to_owned(),
        },
        LimitKind::NoProgress => "over 1,000 events in a row without a step in time".to_owned(),
    }
}

const fn advice(limit: LimitKind) -> &'static str {
    match limit {
        LimitKind::InFlight | LimitKind::Pending | LimitKind::Memory => {
            "a backlog without bound? bound `queue: limit` or give callers a timeout; or raise it"
        }
        LimitKind::AtRest => {
            "jobs come in faster than they are done? give the queue more `workers`, or raise it"
        }
        LimitKind::Events => "shorten `run: horizon` or lower the rates; or raise it",
        LimitKind::Wall => {
            "shorten `run: horizon` or lower the rates; or raise it; where a run \
                            ends by the wall clock, its results differ from machine to machine"
        }
        LimitKind::NoProgress => {
            "something is tried again at once, for ever: give it a `backoff`, a `think` time, or \
             fewer `max_attempts`"
        }
    }
}
