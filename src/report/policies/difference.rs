//! What changes between two policies, in words and numbers.
//!
//! The sentences are computed from the policies as meant and from what an outage costs under each;
//! a setting that no sentence speaks of is in the list of settings, which leaves out nothing.

use serde::Serialize;

use crate::experiment::outage::Cost;
use crate::lint;
use crate::lint::Schedule;
use crate::policy::backoff::Total;
use crate::policy::outcome::ClassSet;
use crate::policy::stack::Policy;
use crate::report::ReportError;
use crate::report::policies::guards;
use crate::report::policies::words;
use crate::scenario::effective;
use crate::units::Duration;

/// Waits that are compared one by one.
const WAITS: usize = 3;

/// What outages cost under one policy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Outages {
    /// The service refuses at once.
    pub refusing: Cost,
    /// The service never answers.
    pub hanging: Cost,
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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
    waits(before.schedule, after.schedule, &mut changes);
    classes(before.policy, after.policy, &mut changes);
    strategies(before.policy, after.policy, &mut changes);
    costs(before, after, &mut changes);
    let texts = [before, after].map(|side| lint::policy_as_meant(side.policy));
    let settings = effective::settings_that_differ(&texts[0], &texts[1])
        .into_iter()
        .map(|(path, before, after)| Setting { path, before, after })
        .collect();
    Difference {
        before: before.name.to_owned(),
        after: after.name.to_owned(),
        changes,
        settings,
        outages: Pair { before: *before.outages, after: *after.outages },
    }
}

fn attempts(before: Side<'_>, after: Side<'_>, changes: &mut Vec<String>) {
    let (old, new) = (before.schedule.attempts, after.schedule.attempts);
    if old != new {
        let words = |it| match it {
            lint::Attempts::AtMost(n) => format!("{n}"),
            lint::Attempts::Unlimited => "any number".to_owned(),
        };
        let at_most = if new == lint::Attempts::Unlimited { "" } else { "at most " };
        changes.push(format!(
            "a call makes {at_most}{} attempts instead of {}",
            words(new),
            words(old)
        ));
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
            changes.push(format!("the waits of a call, {} before, have no end", words::total(old)))
        }
        (None, Some(new)) => {
            changes.push(format!("the waits of a call end, after {}", words::total(new)));
        }
        (None, None) => {}
    }
}

/// `window shrinks from 75–125 ms to 0–100 ms`: by its mean; where that stays, by its width.
fn changed(old: Total, new: Total) -> Option<String> {
    if (old.smallest, old.largest) == (new.smallest, new.largest) {
        return None;
    }
    let width = |it: Total| it.largest.saturating_sub(it.smallest);
    let verb = match (new.mean.cmp(&old.mean), width(new) < width(old)) {
        (std::cmp::Ordering::Less, _) => "shrinks",
        (std::cmp::Ordering::Greater, _) => "grows",
        (_, true) => "narrows",
        (_, false) => "widens",
    };
    let noun = if width(old).is_zero() && width(new).is_zero() { "wait" } else { "window" };
    Some(format!("{noun} {verb} from {} to {}", words::total(old), words::total(new)))
}

fn classes(before: &Policy, after: &Policy, changes: &mut Vec<String>) {
    let (Some(old), Some(new)) = (&before.retry, &after.retry) else { return };
    let only = |all: ClassSet, without: ClassSet| {
        let left: Vec<_> = all.iter().filter(|class| !without.contains(*class)).collect();
        words::classes(ClassSet::of(&left))
    };
    let (more, less) = (only(new.on, old.on), only(old.on, new.on));
    if !more.is_empty() {
        changes.push(format!("now also retried: {more}"));
    }
    if !less.is_empty() {
        changes.push(format!("no longer retried: {less}"));
    }
}

/// A strategy that comes, goes or changes.
fn strategies(before: &Policy, after: &Policy, changes: &mut Vec<String>) {
    let span = |it: Option<Duration>| it.map(words::span);
    let attempt =
        |it: &Policy| span(it.attempt_timeout.as_ref().map(|timeout| timeout.after.mean()));
    let budget = |it: &Policy| {
        it.retry.as_ref().and_then(|retry| retry.budget).map(|it| guards::budget(&it.config))
    };
    let elapsed = |it: &Policy| {
        span(it.retry.as_ref().and_then(|retry| retry.max_elapsed).map(|limit| limit.after))
    };
    let hint = |it: &Policy| {
        let retry = it.retry.as_ref().filter(|retry| retry.hint.listens())?;
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
                changes.push(format!("a {what} is added: {new}").replace("a attempt", "an attempt"))
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
    let pairs = [
        ("refuses at once", before.outages.refusing, after.outages.refusing),
        ("hangs", before.outages.hanging, after.outages.hanging),
    ];
    for (how, old, new) in pairs {
        let number = |it: Cost| {
            let endless = if it.endless { " (and no end)" } else { "" };
            match it.attempts_per_call {
                Some(attempts) => format!("{attempts:.2}{endless}"),
                None => "countless".to_owned(),
            }
        };
        if number(old) != number(new) {
            changes.push(format!(
                "a full outage that {how} now costs {} instead of {} attempts per call",
                number(new),
                number(old)
            ));
        }
    }
    let ends = |it: &Side<'_>| it.schedule.hanging.ends_by;
    if ends(&before) != ends(&after) {
        let words = |it: Option<Duration>| it.map_or("never".to_owned(), words::span);
        changes.push(format!(
            "the longest call to a service that hangs: {} instead of {}",
            words(ends(&after)),
            words(ends(&before))
        ));
    }
}

/// The difference for people.
pub fn difference_text(it: &Difference) -> String {
    let mut out = format!("{} → {}\n\n", it.before, it.after);
    if it.changes.is_empty() && it.settings.is_empty() {
        out += "Nothing changes.\n";
        return out;
    }
    for change in &it.changes {
        out += &format!("  {change}\n");
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
