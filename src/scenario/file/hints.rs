//! Hints as written: what a service tells callers about when to come again, and what they make of
//! it.

use crate::policy::hint::Beyond;
use crate::policy::hint::HintConfig;
use crate::policy::hint::HintRule;
use crate::policy::hint::Sequence;
use crate::policy::outcome::Class;
use crate::policy::outcome::ClassSet;
use crate::random::Distribution;
use crate::scenario::diagnostic::Problems;
use crate::scenario::fields::Fields;
use crate::scenario::file::distribution;
use crate::scenario::file::policies::read_classes;
use crate::scenario::model::RetryAfter;
use crate::scenario::node::Node;
use crate::scenario::node::Value;
use crate::scenario::reader;
use crate::units::Duration;

/// The answers that carry a hint where none is named.
const HINTED: [Class; 3] = [Class::Unavailable, Class::Overloaded, Class::RateLimited];
const WORDS: [(&str, HintRule); 3] =
    [("ignore", HintRule::Ignore), ("override", HintRule::Override), ("larger", HintRule::Larger)];
const RULES: [&str; 5] = ["override", "larger", "clamp", "scaled", "give_up_above"];
const BEYOND: [(&str, Beyond); 3] =
    [("clamp", Beyond::Clamp), ("give_up", Beyond::GiveUp), ("ignore", Beyond::Ignore)];
const SEQUENCES: [(&str, Sequence); 3] =
    [("goes_on", Sequence::GoesOn), ("restarts", Sequence::Restarts), ("pauses", Sequence::Pauses)];
const OF: [(&str, HintRule); 2] = [("wait", HintRule::Larger), ("window", HintRule::LargerWindow)];
const DRAWN: [(&str, HintRule); 2] =
    [("once", HintRule::Larger), ("twice", HintRule::LargerDrawnTwice)];

/// A word, or a map of one rule with its settings.
pub(super) fn read_hint(node: &Node, problems: &mut Problems) -> Option<HintConfig> {
    let Value::Map(_) = &node.value else {
        return reader::word(&WORDS)(node, problems).map(HintConfig::of);
    };
    let mut fields = Fields::open(node, "`hint`", problems)?;
    let chosen = fields.choose(&RULES, problems);
    fields.close(problems);
    let (name, node) = chosen?;
    if name == "give_up_above" {
        let cap = reader::span(node, problems)?;
        return Some(HintConfig {
            cap,
            beyond: Beyond::GiveUp,
            ..HintConfig::of(HintRule::Override)
        });
    }
    let mut fields = Fields::open(node, "a rule of `hint`", problems)?;
    let rule = match name {
        "override" => Some(HintRule::Override),
        "larger" => {
            let of = fields.get("of", problems, reader::word(&OF));
            let drawn = fields.get("drawn", problems, reader::word(&DRAWN));
            if let (Some(drawn), Some(HintRule::LargerWindow)) =
                (&drawn, of.as_ref().map(|of| of.value))
            {
                problems.push_with(
                    drawn.place,
                    "`drawn` is about the own wait, and the hint is held against the window",
                    "remove it, or write `of: wait`",
                );
            }
            Some(drawn.or(of).map_or(HintRule::Larger, |rule| rule.value))
        }
        "clamp" => {
            let help = "how much longer than the own wait, as `5s`";
            let most = fields.need("at_most", help, problems, reader::span);
            most.map(|most| HintRule::Clamp(most.value))
        }
        _ => {
            let help = "the share of the hint that is laid on top, as `50%`";
            let share = fields.need("share", help, problems, reader::share);
            share.map(|share| HintRule::Scaled(share.value.get()))
        }
    };
    let cap = fields.get("cap", problems, reader::span);
    let beyond = fields.get("beyond", problems, reader::word(&BEYOND));
    let spread = fields.get("spread", problems, reader::share);
    let sequence = fields.get("sequence", problems, reader::word(&SEQUENCES));
    let obeys_zero = fields.get("obeys_zero", problems, reader::switch);
    let needed_after = fields.get("needed_after", problems, read_classes);
    fields.close(problems);
    if let (Some(beyond), None) = (beyond, cap) {
        problems.push_with(
            beyond.place,
            "`beyond` is about hints above a cap, and there is none",
            "add `cap: 1h`, or remove it",
        );
    }
    let by_default = if name == "scaled" { Beyond::Ignore } else { Beyond::Clamp };
    Some(HintConfig {
        rule: rule?,
        cap: cap.map_or(Duration::MAX, |cap| cap.value),
        beyond: beyond.map_or(by_default, |beyond| beyond.value),
        spread: spread.map_or(0.0, |spread| spread.value.get()),
        sequence: sequence.map_or(Sequence::GoesOn, |sequence| sequence.value),
        obeys_zero: obeys_zero.is_none_or(|obeys| obeys.value),
        needed_after: needed_after.map_or(ClassSet::NONE, |classes| classes.value),
    })
}

/// A span or a distribution for every refusal, or a map of failure classes; `never` asks not to be
/// tried again.
pub(super) fn read_retry_after(node: &Node, problems: &mut Problems) -> Option<Vec<RetryAfter>> {
    let by_class = match &node.value {
        Value::Map(entries) => {
            entries.iter().any(|entry| Class::ALL.iter().any(|class| class.name() == entry.key))
        }
        _ => false,
    };
    if !by_class {
        let after = read_after(node, problems)?;
        let each = |class| RetryAfter { class, after: after.clone() };
        return Some(HINTED.into_iter().map(each).collect());
    }
    let mut fields = Fields::open(node, "`retry_after`", problems)?;
    let answered = Class::ALL.into_iter().filter(|class| !class.is_local());
    let found: Vec<_> = answered
        .filter_map(|class| {
            let node = fields.take(class.name())?;
            Some(read_after(node, problems).map(|after| RetryAfter { class, after }))
        })
        .collect();
    fields.close(problems);
    found.into_iter().collect()
}

/// When to come again; `None`: `never`.
fn read_after(node: &Node, problems: &mut Problems) -> Option<Option<Distribution>> {
    match &node.value {
        Value::Scalar { text, .. } if text == "never" => Some(None),
        _ => distribution::read(node, problems).map(Some),
    }
}
