//! Triggers, actions, findings and classes in words.

use crate::analysis::summary::Finding;
use crate::measure::outcome::RunClass;
use crate::report::number::number;
use crate::report::number::seconds;
use crate::scenario::model::Action;
use crate::scenario::model::Deed;
use crate::scenario::model::Effect;
use crate::scenario::model::Model;
use crate::scenario::model::Trigger;

/// `database refuses for 20s`.
pub(super) fn trigger(model: &Model, trigger: &Trigger) -> String {
    let service = |id: usize| {
        let it = &model.services[id];
        match trigger.replicas {
            None => it.name.clone(),
            Some(some) => format!("{some} of {} replicas of {}", it.replicas, it.name),
        }
    };
    let what = match &trigger.effect {
        Effect::Refuse(id) => format!("{} refuses", service(*id)),
        Effect::Hang(id) => format!("{} hangs", service(*id)),
        Effect::Slow { service: id, factor } => {
            format!("{} is {}× as slow", service(*id), number(*factor))
        }
        Effect::Errors { service: id, errors } => {
            format!("{} answers {} with {}", service(*id), errors.share, errors.class)
        }
        Effect::Workers { service: id, share } => {
            format!("{} keeps {share} of its workers", service(*id))
        }
        Effect::LoseReplies { service: id, share } => {
            format!("{share} of the answers of {} are lost", service(*id))
        }
        Effect::OtherBodies { service: id, share } => {
            format!("{share} of the repetitions at {} have another body", service(*id))
        }
        Effect::Restart(id) => format!("{} restarts", service(*id)),
        Effect::Stop { queue, processes, how } => {
            format!("{} of {processes} of {}", how.name(), model.queues[*queue].name)
        }
        Effect::Surge { population, factor } => {
            format!("{} ask {}× as often", model.populations[*population].name, number(*factor))
        }
    };
    format!("{what} for {}", trigger.lasts)
}

/// `operator sheds 90% of web for 2min`.
pub(super) fn action(model: &Model, action: &Action) -> String {
    match &action.what {
        Deed::Shed { population, share, lasts } => {
            format!("operator sheds {share} of {} for {lasts}", model.populations[*population].name)
        }
        Deed::Set { change, .. } => format!("operator sets {change}"),
        Deed::Flush(id) => format!("operator flushes {}", model.services[*id].name),
        Deed::Resume(id) => format!("operator resumes {}", model.queues[*id].name),
        Deed::Restart(id) => format!("operator restarts {}", model.services[*id].name),
    }
}

/// A time to recovery. It is the start of the first good stretch, so zero says no more than that the
/// first stretch was good: `< 30 s`.
pub(super) fn recovery(model: &Model, time_s: f64) -> String {
    if time_s > 0.0 {
        return seconds(time_s);
    }
    format!("< {}", seconds(model.run.recovery.window.as_secs_f64()))
}

/// The same after a verb: `within 20 s`, `in < 30 s`.
pub(super) fn within(model: &Model, time_s: f64) -> String {
    let preposition = if time_s > 0.0 { "within" } else { "in" };
    format!("{preposition} {}", recovery(model, time_s))
}

/// A finding in a word or two.
pub(crate) const fn finding(finding: Finding) -> &'static str {
    match finding {
        Finding::Overloaded => "overloaded",
        Finding::Safe => "safe",
        Finding::Metastable => "metastable",
        Finding::Vulnerable => "vulnerable",
        Finding::Inconclusive => "inconclusive",
    }
}

/// What became of one run, as the end of a sentence.
pub(super) const fn class(class: RunClass) -> &'static str {
    match class {
        RunClass::Unaffected => "stays unaffected",
        RunClass::Recovered => "recovers",
        RunClass::Recovering => "is still recovering at the end",
        RunClass::Stuck => "is stuck",
    }
}

/// The name of a class in tables.
pub(super) const fn class_name(class: RunClass) -> &'static str {
    match class {
        RunClass::Unaffected => "unaffected",
        RunClass::Recovered => "recovered",
        RunClass::Recovering => "recovering",
        RunClass::Stuck => "stuck",
    }
}
