//! What changes between two policies, in words and numbers.
//!
//! The sentences are computed from the policies as meant and from what an outage costs under each;
//! a setting that no sentence speaks of is in the list of settings, which leaves out nothing.

use std::cmp::Ordering;

use serde::Serialize;

use crate::experiment::outage::Cost;
use crate::experiment::outage::OneCalls;
use crate::lint;
use crate::lint::Schedule;
use crate::lint::hedge_in_words;
use crate::policy::backoff::Total;
use crate::policy::outcome::ClassSet;
use crate::policy::stack::Policy;
use crate::policy::stack::Retry;
use crate::report::ReportError;
use crate::report::policies::guards;
use crate::report::policies::outages;
use crate::report::policies::words;
use crate::scenario::effective;
use crate::units::Duration;

/// Waits that are compared one by one.
const WAITS: usize = 3;

/// What outages cost under one policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outages {
    /// The service refuses at once.
    pub refusing: Cost,
    /// The service never answers.
    pub hanging: Cost,
    /// What one call does, where it is more than a row of tries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_call: Option<OneCalls>,
}

/// One of the two.
#[derive(Clone, Copy, Debug)]
pub struct Side<'p> {
    /// As it was asked for.
    pub name: &'p str,
    /// The policy.
    pub policy: &'p Policy,
    /// Its schedule.
    pub schedule: &'p Schedule,
    /// Its cost.
    pub outages: &'p Outages,
    /// What of it is not simulated, where it is a preset.
    pub not_yet: &'p [String],
}

/// What changes from one policy to another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The first.
    pub before: String,
    /// The second.
    pub after: String,
    /// The differences in words.
    pub changes: Vec<String>,
    /// Every setting that differs.
    pub settings: Vec<Setting>,
    /// What outages cost.
    pub outages: Pair,
    /// What of either is not simulated.
    pub not_yet: NotYet,
}

/// What is not simulated, before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotYet {
    /// Of the first.
    pub before: Vec<String>,
    /// Of the second.
    pub after: Vec<String>,
}

/// A setting that differs; `None` where it is not set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setting {
    /// Its path within the policy.
    pub path: String,
    /// In the first.
    pub before: Option<String>,
    /// In the second.
    pub after: Option<String>,
}

/// Before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// In the first.
    pub before: Outages,
    /// In the second.
    pub after: Outages,
}

/// What changes from `before` to `after`.
pub fn difference(before: Side<'_>, after: Side<'_>) -> Difference {
    let mut changes = Vec::new();
    attempts(before, after, &mut changes);
    retries(before.policy, after.policy, &mut changes);
    waits(before.schedule, after.schedule, &mut changes);
    classes(before.policy, after.policy, &mut changes);
    strategies(before.policy, after.policy, &mut changes);
    costs(before, after, &mut changes);
    let texts = [before, after].map(|side| lint::policy_as_meant(side.policy));
    let mut settings: Vec<_> = effective::settings_that_differ(&texts[0], &texts[1])
        .into_iter()
        .map(|(path, before, after)| Setting { path, before, after })
        .collect();
    // What only the second has stands beside what both have.
    let first = |path: &str| path.split('.').next().unwrap_or_default().to_owned();
    let sections: Vec<_> = settings.iter().map(|setting| first(&setting.path)).collect();
    settings.sort_by_key(|setting| {
        let section = first(&setting.path);
        sections.iter().position(|known| *known == section)
    });
    Difference {
        before: before.name.to_owned(),
        after: after.name.to_owned(),
        changes,
        settings,
        outages: Pair { before: before.outages.clone(), after: after.outages.clone() },
        not_yet: NotYet { before: before.not_yet.to_vec(), after: after.not_yet.to_vec() },
    }
}

fn attempts(before: Side<'_>, after: Side<'_>, changes: &mut Vec<String>) {
    let (old, new) = (before.schedule.attempts, after.schedule.attempts);
    if old != new {
        let words = |it| match it {
            lint::Attempts::AtMost(1) => "1 attempt".to_owned(),
            lint::Attempts::AtMost(n) => format!("up to {}", words::counted_attempts(n)),
            lint::Attempts::Unlimited => "any number of attempts".to_owned(),
        };
        changes.push(format!("a call makes {} instead of {}", words(new), words(old)));
    }
}

/// The retry of a policy that makes more than one attempt.
fn retry(policy: &Policy) -> Option<&Retry> {
    policy.retry.as_ref().filter(|_| policy.max_attempts() != Some(1))
}

/// Retries that come or go as a whole.
fn retries(before: &Policy, after: &Policy, changes: &mut Vec<String>) {
    let words =
        |it: &Retry| format!("{}; on {}", words::backoff(&it.backoff), words::classes(it.on));
    match (retry(before), retry(after)) {
        (Some(old), None) => {
            changes.push(format!("there are no retries any more; before: {}", words(old)))
        }
        (None, Some(new)) => changes.push(format!("retries are added: {}", words(new))),
        _ => {}
    }
}

fn waits(before: &Schedule, after: &Schedule, changes: &mut Vec<String>) {
    const ORDINALS: [&str; WAITS] = ["first", "second", "third"];
    let mut compared = 0;
    for ((old, new), nth) in before.waits.iter().zip(&after.waits).zip(ORDINALS) {
        compared += 1;
        if let Some(change) = changed(old.wait.ends(), new.wait.ends()) {
            changes.push(format!("{nth} retry {change}"));
        }
    }
    let all = |it: &Schedule| it.waits.last().filter(|_| it.whole).map(|last| last.sum);
    if compared == 0 || (before.waits.is_empty() || after.waits.is_empty()) {
        return;
    }
    match (all(before), all(after)) {
        (Some(old), Some(new)) => {
            if let Some(change) = changed(old, new) {
                changes.push(format!("all waits of a call together: {change}"));
            }
        }
        (Some(old), None) => {
            changes.push(format!(
                "the waits of a call, together {} before, are without limit or too many to list",
                words::total(old)
            ));
        }
        (None, Some(new)) => {
            changes.push(format!(
                "the waits of a call, without limit or too many to list before, come to {}",
                words::total(new)
            ));
        }
        (None, None) => {}
    }
}

/// `window shrinks from 75–125 ms to 0–100 ms`: by its mean; where that stays, by its width. Where
/// one end goes the other way than the mean, neither word would be true alone.
fn changed(old: Total, new: Total) -> Option<String> {
    if (old.smallest, old.largest) == (new.smallest, new.largest) {
        return None;
    }
    let width = |it: Total| it.largest.saturating_sub(it.smallest);
    let (verb, on_average) = match new.mean.cmp(&old.mean) {
        Ordering::Less if new.largest <= old.largest => ("shrinks", ""),
        Ordering::Less => ("changes", ", shorter on average"),
        Ordering::Greater if new.smallest >= old.smallest => ("grows", ""),
        Ordering::Greater => ("changes", ", longer on average"),
        Ordering::Equal if width(new) < width(old) => ("narrows", ""),
        Ordering::Equal => ("widens", ""),
    };
    let noun = if width(old).is_zero() && width(new).is_zero() { "wait" } else { "window" };
    let (from, to) = (words::total(old), words::total(new));
    Some(format!("{noun} {verb} from {from} to {to}{on_average}"))
}

fn classes(before: &Policy, after: &Policy, changes: &mut Vec<String>) {
    let (Some(old), Some(new)) = (retry(before), retry(after)) else { return };
    let only = |all: ClassSet, without: ClassSet| {
        let left: Vec<_> = all.iter().filter(|class| !without.contains(*class)).collect();
        ClassSet::of(&left)
    };
    let (more, less) = (only(new.on, old.on), only(old.on, new.on));
    if more != ClassSet::NONE {
        changes.push(format!("now also retried: {}", words::classes(more)));
    }
    if less != ClassSet::NONE {
        changes.push(format!("no longer retried: {}", words::classes(less)));
    }
}

/// A strategy that comes, goes or changes.
fn strategies(before: &Policy, after: &Policy, changes: &mut Vec<String>) {
    let span = |it: Option<Duration>| it.map(words::span);
    let attempt = |it: &Policy| it.attempt_timeout.as_ref().map(words::attempt_timeout);
    let hedge = |it: &Policy| it.hedge.as_ref().map(hedge_in_words);
    let inner = |it: &Policy| it.inner.as_ref().map(|inner| format!("`{}`", inner.name));
    let budget =
        |it: &Policy| retry(it).and_then(|retry| retry.budget).map(|it| guards::budget(&it.config));
    let elapsed =
        |it: &Policy| span(retry(it).and_then(|retry| retry.max_elapsed).map(|limit| limit.after));
    let hint = |it: &Policy| {
        let retry = retry(it).filter(|retry| retry.hint.listens())?;
        Some(retry.hint.to_string())
    };
    let throttle = |it: &Policy| it.throttle.as_ref().map(|it| guards::throttle(&it.config));
    let breaker = |it: &Policy| it.breaker.as_ref().map(|it| guards::breaker(&it.config));
    let bulkhead = |it: &Policy| it.bulkhead.as_ref().map(|it| guards::bulkhead(&it.config));
    let pairs = [
        ("attempt timeout", attempt(before), attempt(after)),
        ("timeout of the whole call", span(before.timeout), span(after.timeout)),
        ("limit on the time of retries", elapsed(before), elapsed(after)),
        ("rule for hints", hint(before), hint(after)),
        ("retry budget", budget(before), budget(after)),
        ("hedge", hedge(before), hedge(after)),
        ("policy inside", inner(before), inner(after)),
        ("throttle", throttle(before), throttle(after)),
        ("breaker", breaker(before), breaker(after)),
        ("bulkhead", bulkhead(before), bulkhead(after)),
    ];
    for (what, old, new) in pairs {
        match (old, new) {
            (Some(old), Some(new)) if old != new => {
                changes.push(format!("{what}: {new}; before: {old}"));
            }
            (None, Some(new)) => {
                let article = if what.starts_with('a') { "an" } else { "a" };
                changes.push(format!("{article} {what} is added: {new}"));
            }
            (Some(old), None) => changes.push(format!("the {what} is gone: {old}")),
            _ => {}
        }
    }
    let common = |of: &Policy, other: &Policy| {
        let kept = of.order.iter().filter(|layer| other.order.contains(layer)).copied();
        kept.collect::<Vec<_>>()
    };
    if common(before, after) != common(after, before) {
        changes.push("the layers stand in another order".to_owned());
    }
}

fn costs(before: Side<'_>, after: Side<'_>, changes: &mut Vec<String>) {
    let sides = [before, after];
    let outages = sides.map(|side| (side.outages, side.schedule));
    let refusing = outages.map(|(cost, schedule)| (cost.refusing, &schedule.refusing));
    let hanging = outages.map(|(cost, schedule)| (cost.hanging, &schedule.hanging));
    for (how, [(old, old_call), (new, new_call)]) in
        [("refuses at once", refusing), ("hangs", hanging)]
    {
        let [was, is] = [&old, &new].map(outages::number);
        if was != is {
            changes.push(format!(
                "a full outage that {how} now costs {is} instead of {was} attempts per call"
            ));
        }
        let [was, is] = [&old, &new].map(outages::open_calls);
        if was != is && old.limit.is_none() && new.limit.is_none() {
            changes.push(format!(
                "still open after the first hour of an outage that {how}: {is} instead of {was}"
            ));
        }
        let [was, is] = [old_call, new_call].map(longest);
        if was != is {
            changes
                .push(format!("the longest call to a service that {how}: {is} instead of {was}"));
        }
    }
}

/// How long a call can go on.
fn longest(it: &lint::Outage) -> String {
    match (it.ends_by, it.ends) {
        (Some(by), _) => words::span(by),
        (None, lint::End::Never) if it.may_end_sooner_by.is_empty() => {
            "as long as the outage".to_owned()
        }
        (None, lint::End::Never) => "no limit of its own".to_owned(),
        (None, _) => "without a bound".to_owned(),
    }
}

/// The difference for people.
pub fn difference_text(it: &Difference) -> String {
    let mut out = format!("{} → {}\n", it.before, it.after);
    for (name, missing) in [(&it.before, &it.not_yet.before), (&it.after, &it.not_yet.after)] {
        for missing in missing {
            out += &format!("~ {name} is simulated only in part; not yet: {missing}\n");
        }
    }
    out.push('\n');
    if it.changes.is_empty() && it.settings.is_empty() {
        out += "Nothing changes.\n";
        return out;
    }
    for change in &it.changes {
        out += &format!("  {change}\n");
    }
    if !it.changes.is_empty() {
        out += &format!("\n{}\n", outages::HOW_COUNTED);
    }
    if !it.settings.is_empty() {
        out += "\nSettings\n";
    }
    let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "–".into());
    let width = it.settings.iter().map(|setting| setting.path.len()).max().unwrap_or(0);
    for Setting { path, before, after } in &it.settings {
        out += &format!("  {path:width$}  {} → {}\n", shown(before), shown(after));
    }
    out
}

impl Difference {
    /// The difference for machines.
    ///
    /// # Errors
    /// When it cannot be written as JSON, which is a bug.
    pub fn json(&self) -> Result<String, ReportError> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}
