//! Values out of a tree, with every problem collected.
//!
//! A reader takes a node and gives a value, or notes a problem and gives `None`.

use std::ops::RangeInclusive;

use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::Problems;
use crate::scenario::diagnostic::nearest;
use crate::scenario::diagnostic::quoted;
use crate::scenario::node::Entry;
use crate::scenario::node::Node;
use crate::scenario::node::Value;
use crate::scenario::scalar;
use crate::scenario::scalar::Refusal;
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
pub(crate) fn suggest(wrong: &str, known: &[&str]) -> String {
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

/// What one value is, and how it is written.
#[derive(Clone, Copy)]
struct Wanted<'w> {
    what: &'w str,
    help: &'w str,
}

const SPAN: Wanted<'_> = Wanted { what: "a span of time", help: scalar::SPAN_HELP };
const RATE: Wanted<'_> = Wanted { what: "a rate", help: scalar::RATE_HELP };
const SHARE: Wanted<'_> = Wanted { what: "a share", help: "write a share as `30%` or `0.3`" };
const BYTES: Wanted<'_> = Wanted { what: "an amount of memory", help: scalar::BYTES_HELP };
const TEXT: Wanted<'_> = Wanted { what: "a text", help: "put texts into quotes" };
const NAME: Wanted<'_> = Wanted { what: "a name", help: "write one name" };

/// The scalar's text, or a problem that says what was wanted.
fn scalar_text<'t>(node: &'t Node, wanted: Wanted<'_>, problems: &mut Problems) -> Option<&'t str> {
    match &node.value {
        Value::Scalar { text, .. } if !node.is_null() => Some(text),
        _ => {
            let problem = format!("{} is wanted here, not {}", wanted.what, node.kind());
            problems.push_with(node.anchor(), problem, wanted.help);
            None
        }
    }
}

fn parsed<T>(
    node: &Node,
    wanted: Wanted<'_>,
    problems: &mut Problems,
    parse: impl FnOnce(&str) -> Result<T, Refusal>,
) -> Option<T> {
    let text = scalar_text(node, wanted, problems)?;
    parse(text)
        .map_err(|refusal| {
            let problem = format!("{}: {}", quoted(text), refusal.problem);
            problems.push_with(node.place, problem, refusal.help);
        })
        .ok()
}

/// What has been read, if it fits; a problem otherwise.
fn fitting<T>(
    found: Option<T>,
    node: &Node,
    fits: impl FnOnce(&T) -> bool,
    (problem, help): (&str, &str),
    problems: &mut Problems,
) -> Option<T> {
    let found = found?;
    if !fits(&found) {
        problems.push_with(node.place, problem, help);
        return None;
    }
    Some(found)
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
    scalar_text(node, TEXT, problems).map(str::to_owned)
}

/// The name of something.
pub(super) fn name(node: &Node, problems: &mut Problems) -> Option<String> {
    scalar_text(node, NAME, problems).map(str::to_owned)
}

/// A span of time, zero allowed.
pub(super) fn span(node: &Node, problems: &mut Problems) -> Option<Duration> {
    parsed(node, SPAN, problems, scalar::duration)
}

/// A span of time longer than zero.
pub(super) fn positive_span(node: &Node, problems: &mut Problems) -> Option<Duration> {
    const REFUSAL: (&str, &str) =
        ("this span must be longer than 0s", "accepted are 1ns to 100 years (36500d)");
    fitting(span(node, problems), node, |span| !span.is_zero(), REFUSAL, problems)
}

/// Events per second, zero allowed.
pub(super) fn rate(node: &Node, problems: &mut Problems) -> Option<Rate> {
    parsed(node, RATE, problems, scalar::rate)
}

/// Events per second, more than none.
pub(super) fn positive_rate(node: &Node, problems: &mut Problems) -> Option<Rate> {
    const REFUSAL: (&str, &str) =
        ("this rate must be above 0/s", "accepted are rates above 0/s, up to 1000000000/s");
    fitting(rate(node, problems), node, |rate| rate.as_per_second() > 0.0, REFUSAL, problems)
}

/// A share of a whole.
pub(super) fn share(node: &Node, problems: &mut Problems) -> Option<Share> {
    parsed(node, SHARE, problems, scalar::share)
}

/// Bytes.
pub(super) fn bytes(node: &Node, problems: &mut Problems) -> Option<u64> {
    parsed(node, BYTES, problems, scalar::bytes)
}

/// A whole number within `range`.
pub(super) fn integer(
    node: &Node,
    problems: &mut Problems,
    range: RangeInclusive<u64>,
) -> Option<u64> {
    unquoted(node, problems)?;
    let accepted = match (range.start(), range.end()) {
        (least, &u64::MAX) => format!("accepted are whole numbers from {least} to 2^64 − 1"),
        (least, most) => format!("accepted are whole numbers from {least} to {most}"),
    };
    let wanted = Wanted { what: "a whole number", help: &accepted };
    let text = scalar_text(node, wanted, problems)?;
    let problem = match scalar::integer(text) {
        Ok(found) if range.contains(&found) => return Some(found),
        Ok(found) => format!("{found} is out of range"),
        Err(refusal) => format!("{}: {}", quoted(text), refusal.problem),
    };
    // `1e6` and `1000.0` are numbers to people.
    let whole = scalar::real(text).ok().filter(|value| value.fract() == 0.0 && *value < 1e15);
    let help = match whole.map(|value| value as u64) {
        Some(value) if range.contains(&value) => format!("write it as `{value}`; {accepted}"),
        _ => accepted,
    };
    problems.push_with(node.place, problem, help);
    None
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
        let accepted = format!("accepted are {} to {}", range.start(), range.end());
        let wanted = Wanted { what: "a number", help: &accepted };
        let text = scalar_text(node, wanted, problems)?;
        // A sign only where the range asks for one.
        let below = text.strip_prefix('-').filter(|_| *range.start() < 0.0);
        let found = match below {
            Some(digits) => scalar::real(digits).map(|found| -found),
            None => scalar::real(text),
        };
        let problem = match found {
            Ok(found) if range.contains(&found) => return Some(found),
            Ok(found) => format!("{found} is out of range"),
            Err(refusal) => format!("{}: {}", quoted(text), refusal.problem),
        };
        problems.push_with(node.place, problem, accepted);
        None
    }
}

/// `true` or `false`.
pub(super) fn switch(node: &Node, problems: &mut Problems) -> Option<bool> {
    match &node.value {
        Value::Scalar { text, quoted: false } if text == "true" => Some(true),
        Value::Scalar { text, quoted: false } if text == "false" => Some(false),
        _ => {
            problems.push_with(
                node.anchor(),
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
        let accepted = format!("accepted: {}", known.join(", "));
        let wanted = Wanted { what: "a word", help: &accepted };
        let text = scalar_text(node, wanted, problems)?;
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
            problems.push_with(
                node.anchor(),
                format!("{what} is a list, not {}", node.kind()),
                "begin each entry with `- `, or put all of them into `[` and `]`",
            );
            None
        }
    }
}

/// The only entry of a map that names one alternative.
pub(super) fn only_entry<'t>(
    node: &'t Node,
    what: &str,
    example: &str,
    known: &[&str],
    problems: &mut Problems,
) -> Option<&'t Entry> {
    let found = match node.entries() {
        [entry] => return Some(entry),
        [] => node.kind(),
        several => format!("a map of {}", several.len()),
    };
    problems.push_with(
        node.anchor(),
        format!("{what} names one kind, as `{example}`, and this is {found}"),
        format!("write one of {} and its settings", names(known)),
    );
    None
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
