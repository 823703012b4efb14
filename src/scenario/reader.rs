//! Values out of a tree, with every problem collected.
//!
//! A reader takes a node and gives a value, or notes a problem and gives `None`.

use std::ops::RangeInclusive;

use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::Problems;
use crate::scenario::diagnostic::nearest;
use crate::scenario::diagnostic::quoted;
use crate::scenario::scalar;
use crate::scenario::scalar::Refusal;
use crate::scenario::tree::Entry;
use crate::scenario::tree::Node;
use crate::scenario::tree::Value;
use crate::units::Duration;
use crate::units::Rate;
use crate::units::Share;

/// A value and its place in the text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spanned<T> {
    pub(super) value: T,
    pub(super) place: Place,
}

/// Help for a name that is none of `known`.
pub(super) fn suggest(wrong: &str, known: &[&str]) -> String {
    const MOST_LISTED: usize = 24;
    let accepted = if known.len() <= MOST_LISTED {
        format!("accepted: {}", known.join(", "))
    } else {
        format!("there are {} names", known.len())
    };
    match nearest(wrong, known.iter().copied()) {
        Some(name) => format!("did you mean `{name}`? {accepted}"),
        None if known.is_empty() => "there are none".into(),
        None => accepted,
    }
}

/// Names for a sentence: `a`, `b` or `c`.
pub(super) fn names(known: &[&str]) -> String {
    let quoted: Vec<_> = known.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.join(""),
    }
}

/// The scalar's text, or a problem that says what was wanted.
fn scalar_text<'t>(node: &'t Node, wanted: &str, problems: &mut Problems) -> Option<&'t str> {
    match &node.value {
        Value::Scalar { text, .. } if !node.is_null() => Some(text),
        _ => {
            problems.push(node.place, format!("{wanted} is wanted here, not {}", node.kind()));
            None
        }
    }
}

fn parsed<T>(
    node: &Node,
    wanted: &str,
    problems: &mut Problems,
    parse: impl FnOnce(&str) -> Result<T, Refusal>,
) -> Option<T> {
    let text = scalar_text(node, wanted, problems)?;
    match parse(text) {
        Ok(value) => Some(value),
        Err(refusal) => {
            let problem = format!("{}: {}", quoted(text), refusal.problem);
            match refusal.help {
                Some(help) => problems.push_with(node.place, problem, help),
                None => problems.push(node.place, problem),
            }
            None
        }
    }
}

/// A plain number, not a text that looks like one.
fn unquoted(node: &Node, problems: &mut Problems) -> Option<()> {
    if let Value::Scalar { text, quoted: true } = &node.value {
        problems.push_with(
            node.place,
            "a number is wanted here, not a text",
            format!("write {text} without quotes"),
        );
        return None;
    }
    Some(())
}

/// Any text.
pub(super) fn text(node: &Node, problems: &mut Problems) -> Option<String> {
    scalar_text(node, "a text", problems).map(str::to_owned)
}

/// A span of time, zero allowed.
pub(super) fn span(node: &Node, problems: &mut Problems) -> Option<Duration> {
    parsed(node, "a span of time", problems, scalar::duration)
}

/// A span of time longer than zero.
pub(super) fn positive_span(node: &Node, problems: &mut Problems) -> Option<Duration> {
    let found = span(node, problems)?;
    if found.is_zero() {
        problems.push_with(
            node.place,
            "this span must be longer than 0s",
            "accepted are 1ns to 100 years (36500d)",
        );
        return None;
    }
    Some(found)
}

/// Events per second, zero allowed.
pub(super) fn rate(node: &Node, problems: &mut Problems) -> Option<Rate> {
    parsed(node, "a rate", problems, scalar::rate)
}

/// Events per second, more than none.
pub(super) fn positive_rate(node: &Node, problems: &mut Problems) -> Option<Rate> {
    let found = rate(node, problems)?;
    if found.as_per_second() <= 0.0 {
        problems.push_with(
            node.place,
            "this rate must be above 0/s",
            "accepted are rates above 0/s, up to 1000000000/s",
        );
        return None;
    }
    Some(found)
}

/// A share of a whole.
pub(super) fn share(node: &Node, problems: &mut Problems) -> Option<Share> {
    parsed(node, "a share", problems, scalar::share)
}

/// Bytes.
pub(super) fn bytes(node: &Node, problems: &mut Problems) -> Option<u64> {
    parsed(node, "an amount of memory", problems, scalar::bytes)
}

/// A whole number within `range`.
pub(super) fn integer(
    node: &Node,
    problems: &mut Problems,
    range: RangeInclusive<u64>,
) -> Option<u64> {
    unquoted(node, problems)?;
    let found = parsed(node, "a whole number", problems, scalar::integer)?;
    if !range.contains(&found) {
        problems.push_with(
            node.place,
            format!("{found} is out of range"),
            format!("accepted are {} to {}", range.start(), range.end()),
        );
        return None;
    }
    Some(found)
}

/// A whole number from 1 (or 0) to `most`.
pub(super) fn count(least: u32, most: u32) -> impl FnOnce(&Node, &mut Problems) -> Option<u32> {
    move |node, problems| {
        integer(node, problems, least.into()..=most.into()).and_then(|n| u32::try_from(n).ok())
    }
}

/// A whole number, or the word `unlimited`.
pub(super) fn count_or_unlimited(
    least: u32,
    most: u32,
) -> impl FnOnce(&Node, &mut Problems) -> Option<Option<u32>> {
    move |node, problems| match &node.value {
        Value::Scalar { text, .. } if text == "unlimited" => Some(None),
        Value::Scalar { text, .. } if text.starts_with(|c: char| c.is_alphabetic()) => {
            problems.push_with(
                node.place,
                format!("a whole number or `unlimited` is wanted here, not {}", quoted(text)),
                format!("accepted are {least} to {most}, or `unlimited`"),
            );
            None
        }
        _ => count(least, most)(node, problems).map(Some),
    }
}

/// A number within `range`.
pub(super) fn real(range: RangeInclusive<f64>) -> impl FnOnce(&Node, &mut Problems) -> Option<f64> {
    move |node, problems| {
        unquoted(node, problems)?;
        let found = parsed(node, "a number", problems, scalar::real)?;
        if !range.contains(&found) {
            problems.push_with(
                node.place,
                format!("{found} is out of range"),
                format!("accepted are {} to {}", range.start(), range.end()),
            );
            return None;
        }
        Some(found)
    }
}

/// `true` or `false`.
pub(super) fn switch(node: &Node, problems: &mut Problems) -> Option<bool> {
    match &node.value {
        Value::Scalar { text, quoted: false } if text == "true" => Some(true),
        Value::Scalar { text, quoted: false } if text == "false" => Some(false),
        _ => {
            problems.push_with(
                node.place,
                format!("a switch is wanted here, not {}", node.kind()),
                "write `true` or `false`",
            );
            None
        }
    }
}

/// One of a few words.
pub(super) fn word<T: Copy>(
    choices: &[(&'static str, T)],
) -> impl FnOnce(&Node, &mut Problems) -> Option<T> {
    move |node, problems| {
        let known: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
        let text = scalar_text(node, &names(&known), problems)?;
        let found = choices.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
        if found.is_none() {
            problems.push_with(
                node.place,
                format!("{} is none of the words known here", quoted(text)),
                suggest(text, &known),
            );
        }
        found
    }
}

/// The items of a list.
pub(super) fn list<'t>(node: &'t Node, what: &str, problems: &mut Problems) -> Option<&'t [Node]> {
    match &node.value {
        Value::List(items) => Some(items),
        _ => {
            problems.push(node.place, format!("{what} is a list, not {}", node.kind()));
            None
        }
    }
}

/// The only entry of a map that names one alternative.
pub(super) fn only_entry<'t>(
    node: &'t Node,
    what: &str,
    known: &[&str],
    problems: &mut Problems,
) -> Option<&'t Entry> {
    match node.entries() {
        [entry] => Some(entry),
        _ => {
            problems.push_with(
                node.place,
                format!("{what} is one alternative, not {}", node.kind()),
                format!("write one of {} and its settings", names(known)),
            );
            None
        }
    }
}

/// Notes that a name is none of those known at its place.
pub(super) fn unknown(
    place: Place,
    what: &str,
    name: &str,
    known: &[&str],
    problems: &mut Problems,
) {
    let problem = format!("there is no {what} {}", quoted(name));
    if problems.has_room() {
        problems.push_with(place, problem, suggest(name, known));
    } else {
        problems.push(place, problem);
    }
}
