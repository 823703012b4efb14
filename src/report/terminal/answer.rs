//! The sentences that answer the question: what happened, for how long, at what cost.

use crate::analysis::summary::Estimate;
use crate::analysis::summary::Finding;
use crate::measure::outcome::RunClass;
use crate::report::Material;
use crate::report::View;
use crate::report::number::count;
use crate::report::number::counted;
use crate::report::number::number;
use crate::report::number::percent;
use crate::report::number::seconds;
use crate::report::road;
use crate::report::terminal::deferred::results;
use crate::report::words;

/// The sentences that answer the question.
pub(super) fn answer(material: &Material<'_>, base: &View<'_>, views: &[View<'_>]) -> Vec<String> {
    let mut sentences = vec![headline(base)];
    sentences.extend(recovery(base));
    sentences.extend(cost(material, base));
    if let Some(lost) = base.summary.lost_share.estimate {
        let wasted = base.summary.wasted_share.estimate.map_or(String::new(), |wasted| {
            format!(" {} of all worker time went into answers nobody waited for.", percent(wasted))
        });
        let which = if base.model().triggers.is_empty() {
            "Of all requests"
        } else {
            "Of the requests made since the trigger began"
        };
        let aside = if base.sheds() { " (shed ones aside)" } else { "" };
        sentences.push(format!("{which}{aside}, {} were lost.{wasted}", percent(lost)));
    }
    sentences.extend(writes(base));
    sentences.extend(results(base));
    for view in views {
        sentences.extend(after_action(view));
    }
    let safe: Vec<_> = views
        .iter()
        .filter(|view| view.summary.finding == Finding::Safe && view.name() != base.name())
        .map(View::name)
        .collect();
    let names = match safe.len() {
        0 => return sentences,
        1..=4 => safe.join(", "),
        more => format!("{} and {} more", safe[..3].join(", "), more - 3),
    };
    sentences.push(format!("Never stuck: {names}."));
    sentences
}

/// What happened in the base, in one plain sentence.
fn headline(view: &View<'_>) -> String {
    let (name, summary) = (view.name(), view.summary);
    let runs = counted(u64::from(summary.replications), "run");
    let stuck = summary.classes.iter().find(|(class, _)| *class == RunClass::Stuck);
    let stuck = stuck.map_or(0, |(_, runs)| *runs);
    let model = view.model();
    let cause = match model.triggers.as_slice() {
        [] => "with nothing going wrong".to_owned(),
        [only] => format!("after the trigger ({})", words::trigger(model, only)),
        several => format!("after {} triggers", several.len()),
    };
    match summary.finding {
        Finding::Overloaded => {
            let healthy = summary.control_healthy_share.estimate.unwrap_or(0.0);
            let (which, so) = if model.triggers.is_empty() {
                ("runs", "")
            } else {
                ("control runs", " The trigger explains nothing.")
            };
            format!(
                "In {name} the system cannot bear its load even with nothing going wrong: {} of \
                 the {which} are healthy.{so}",
                percent(healthy)
            )
        }
        Finding::Safe => format!("In {name} none of {runs} is stuck {cause}."),
        Finding::Metastable | Finding::Vulnerable => {
            let so = match summary.finding {
                Finding::Metastable => "the storm does not end by itself",
                _ if stuck == summary.replications => {
                    "it may be that the storm never ends by itself"
                }
                _ => "the storm does not always end by itself",
            };
            let share = interval(&summary.stuck_share);
            format!("In {name}, {} of {runs} are stuck {cause}: {so}.{share}", count(stuck.into()))
        }
        Finding::Inconclusive => {
            format!("In {name}, {runs} cannot tell whether it gets stuck: {}.", summary.because)
        }
    }
}

/// Where the share of stuck runs lies, or nothing where there is no interval.
fn interval(estimate: &Estimate) -> String {
    match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => {
            format!(" The share of stuck runs lies between {} and {}.", percent(low), percent(high))
        }
        _ => String::new(),
    }
}

/// How long recovery takes.
fn recovery(view: &View<'_>) -> Option<String> {
    if view.model().triggers.is_empty() {
        return None;
    }
    let (model, time) = (view.model(), &view.summary.recovery_time_s);
    let runs = view.result.runs.len();
    let mut back: Vec<f64> = view
        .result
        .runs
        .iter()
        .map(|run| run.recovery)
        .filter(|it| it.happened)
        .map(|it| it.time_s)
        .collect();
    back.sort_by(f64::total_cmp);
    let half = match (time.median.estimate, time.tau) {
        (None, _) if back.is_empty() && view.too_short() => {
            return Some("The horizon is too short to tell how long recovery takes.".into());
        }
        // The time that half of all runs need says little where some never come back.
        _ if !back.is_empty() && back.len() < runs => {
            let half = words::within(model, back[(back.len() - 1) / 2]);
            format!(
                "{} of {} recovered, half of these {half}",
                back.len(),
                counted(runs as u64, "run")
            )
        }
        (Some(median), _) => format!("Half of the runs recover {}", words::within(model, median)),
        (None, Some(tau)) => {
            format!("Half of the runs recovered: not reached within {}", seconds(tau))
        }
        (None, None) => return None,
    };
    let mean = time.restricted_mean.estimate.zip(time.tau);
    let mean = mean.map_or(String::new(), |(mean, tau)| {
        format!("; the mean is {}", mean_time(view, mean, tau))
    });
    Some(format!("{half}{mean}."))
}

/// The mean time to recovery, which is a lower bound where some runs were not seen to recover.
fn mean_time(view: &View<'_>, mean: f64, tau: f64) -> String {
    let text = words::recovery(view.model(), mean);
    if view.result.runs.iter().all(|run| run.recovery.happened) {
        return text;
    }
    let stuck = view.result.runs.iter().any(|run| run.class == RunClass::Stuck);
    let which = if stuck { "stuck runs" } else { "runs still recovering" };
    let cut = seconds(tau);
    let until = if cut == text { "there".into() } else { cut };
    format!("at least {text} ({which} counted up to {until})")
}

/// What writes came to, where there are any.
fn writes(view: &View<'_>) -> Option<String> {
    let found = &view.summary.writes.as_ref()?.all;
    let (share, duplicates) = (found.duplicated_share.estimate?, found.duplicate_effects.estimate?);
    let each = if share > 0.0 {
        let of = number(duplicates);
        format!("{} took effect more than once ({of} duplicate effects in a run)", percent(share))
    } else {
        "none took effect more than once".to_owned()
    };
    let conflicts = found.conflicts.estimate.filter(|conflicts| *conflicts > 0.0);
    let met = conflicts.map_or(String::new(), |conflicts| {
        format!("; {} attempts in a run met their own key in progress", number(conflicts))
    });
    let mismatches = found.mismatches.estimate.filter(|mismatches| *mismatches > 0.0);
    let differed = mismatches.map_or(String::new(), |mismatches| {
        format!("; {} came with a key that was known with another body", number(mismatches))
    });
    Some(format!("Of the writes, {each}{met}{differed}."))
}

/// How long recovery takes after people act, of the runs that they found down.
fn after_action(view: &View<'_>) -> Option<String> {
    let (name, runs) = (view.name(), &view.result.runs);
    let down = runs.iter().filter(|run| run.recovery_after_action.is_some()).count();
    if view.model().operator.is_empty() || runs.is_empty() {
        return None;
    }
    if down == 0 {
        return Some(format!(
            "In {name}, no run was down at the first action: nothing is credited to it."
        ));
    }
    let median = view.summary.recovery_after_action_s.as_ref()?.median.estimate?;
    let which = match runs.len() {
        all if all == down => "half of the runs recover".to_owned(),
        all => {
            format!("of the {down} of {all} runs that were down at the first action, half recover")
        }
    };
    let after = words::within(view.model(), median);
    let of = if runs.len() == down { "the first action" } else { "it" };
    Some(format!("In {name}, {which} {after} of {of}."))
}

/// What a request costs at the far end of the road, on paper and in the runs.
fn cost(material: &Material<'_>, view: &View<'_>) -> Option<String> {
    let service = road::deepest(view.model())?;
    let name = &view.model().services[service].name;
    let amplification = view.amplification(name)?;
    let whole = number(amplification.whole.estimate?);
    let mut text = match material.worst_case(view.result.variant, service) {
        Some(worst) if worst.is_infinite() => format!(
            "At {name} nothing bounds what a request can cost; it did cost {whole} attempts over \
             the whole run"
        ),
        Some(worst) => format!(
            "At {name} a request can cost at most {} attempts; it did cost {whole} over the \
             whole run",
            number(worst)
        ),
        None => format!("At {name} a request cost {whole} attempts over the whole run"),
    };
    if let Some(peak) = amplification.peak.estimate {
        text += &format!(", {} in the worst window", number(peak));
        if material.worst_case(view.result.variant, service).is_some_and(|worst| peak > worst) {
            text += " (which also meets retries of earlier requests)";
        }
    }
    Some(text + ".")
}
