//! Jitter as written: a word, or a map of one kind with its settings.

use crate::policy::backoff::Grain;
use crate::policy::backoff::Jitter;
use crate::scenario::diagnostic::Problems;
use crate::scenario::fields::Fields;
use crate::scenario::node::Node;
use crate::scenario::node::Value;
use crate::scenario::reader;
use crate::units::Duration;

const WORDS: [(&str, Jitter); 7] = [
    ("none", Jitter::None),
    ("full", Jitter::Full),
    ("equal", Jitter::Equal),
    ("decorrelated", Jitter::Decorrelated),
    ("decorrelated_v2", Jitter::DecorrelatedV2),
    ("monotone", Jitter::Monotone),
    ("compounding", Jitter::Compounding),
];
const KINDS: [&str; 10] = [
    "plus_minus",
    "full",
    "equal",
    "absolute",
    "added",
    "added_share",
    "down",
    "from",
    "compounded",
    "seconds_apart",
];
const LARGEST_SHARE: f64 = 10.0;

/// Jitter as written: its kind, and the whole units that are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::scenario) struct WrittenJitter {
    pub(in crate::scenario) kind: Jitter,
    pub(in crate::scenario) grain: Grain,
}

/// What stands beside the amount of a kind.
#[derive(Default)]
struct Settings {
    grows: Option<Duration>,
    clipped: bool,
    grain: Option<Grain>,
}

/// A word, or a map of one kind.
pub(super) fn read_jitter(node: &Node, problems: &mut Problems) -> Option<WrittenJitter> {
    let Value::Map(_) = &node.value else {
        let kind = reader::word(&WORDS)(node, problems)?;
        return Some(WrittenJitter { kind, grain: Grain::Fine });
    };
    let mut fields = Fields::open(node, "`jitter`", problems)?;
    let chosen = fields.choose(&KINDS, problems);
    fields.close(problems);
    let (name, node) = chosen?;
    let (kind, settings) = match name {
        "full" | "equal" => {
            let settings = read_settings(node, name, problems)?;
            (if name == "full" { Jitter::Full } else { Jitter::Equal }, settings)
        }
        "absolute" => {
            let (most, settings) = amount(node, name, "most", problems, reader::span)?;
            (Jitter::Absolute(most), settings)
        }
        "from" => {
            let (least, settings) = amount(node, name, "least", problems, reader::span)?;
            (Jitter::From(least), settings)
        }
        "added" => {
            let (most, settings) = amount(node, name, "most", problems, reader::span)?;
            let grows = settings.grows.unwrap_or_default();
            (Jitter::Added { most, grows, clipped: settings.clipped }, settings)
        }
        "added_share" => {
            let (share, settings) = amount(node, name, "share", problems, read_large_share)?;
            (Jitter::AddedShare(share), settings)
        }
        "seconds_apart" => {
            let (share, settings) = amount(node, name, "share", problems, read_large_share)?;
            let grain = Some(Grain::SecondsApart);
            (Jitter::AddedShare(share), Settings { grain, ..settings })
        }
        _ => {
            let (share, settings) = amount(node, name, "share", problems, reader::share)?;
            let kind = match name {
                "down" => Jitter::Down(share.get()),
                "compounded" => Jitter::Compounded(share.get()),
                _ => Jitter::PlusMinus(share.get()),
            };
            (kind, settings)
        }
    };
    Some(WrittenJitter { kind, grain: settings.grain.unwrap_or(Grain::Fine) })
}

/// An amount alone, or a map that holds it under `key` beside the settings of its kind.
fn amount<T>(
    node: &Node,
    name: &str,
    key: &'static str,
    problems: &mut Problems,
    read: impl FnOnce(&Node, &mut Problems) -> Option<T>,
) -> Option<(T, Settings)> {
    let Value::Map(_) = &node.value else {
        return Some((read(node, problems)?, Settings::default()));
    };
    let mut fields = Fields::open(node, "a kind of jitter", problems)?;
    let amount = fields.need(key, "how much, as `20%` or `1s`", problems, read);
    let settings = common(&mut fields, name, problems);
    fields.close(problems);
    Some((amount?.value, settings?))
}

/// Settings of a kind that has no amount.
fn read_settings(node: &Node, name: &str, problems: &mut Problems) -> Option<Settings> {
    let mut fields = Fields::open(node, "a kind of jitter", problems)?;
    let settings = common(&mut fields, name, problems);
    fields.close(problems);
    settings
}

/// `grows` and `clipped` of what is added, `whole` and `end` of every kind but those that remember.
fn common(fields: &mut Fields<'_>, name: &str, problems: &mut Problems) -> Option<Settings> {
    const ENDS: [(&str, End); 3] =
        [("excluded", End::Excluded), ("included", End::Included), ("one_more", End::OneMore)];
    let mut settings = Settings::default();
    if name == "added" {
        settings.grows = fields.get("grows", problems, reader::span).map(|grows| grows.value);
        settings.clipped =
            fields.get("clipped", problems, reader::switch).is_some_and(|clipped| clipped.value);
    }
    if matches!(name, "compounded" | "seconds_apart") {
        return Some(settings);
    }
    let whole = fields.get("whole", problems, reader::positive_span);
    let end = fields.get("end", problems, reader::word(&ENDS));
    match (whole, end) {
        (None, Some(end)) => {
            problems.push_with(
                end.place,
                "`end` is about whole units, and none are named",
                "add `whole: 1ms`, or remove it",
            );
            return None;
        }
        (Some(unit), end) => {
            settings.grain = Some(match end.map_or(End::Excluded, |end| end.value) {
                End::Excluded => Grain::Whole(unit.value),
                End::Included => Grain::WholeWithEnd(unit.value),
                End::OneMore => Grain::OneMore(unit.value),
            });
        }
        (None, None) => {}
    }
    Some(settings)
}

/// Where a draw of whole units ends.
#[derive(Clone, Copy)]
enum End {
    Excluded,
    Included,
    OneMore,
}

/// A share that may be above the whole.
fn read_large_share(node: &Node, problems: &mut Problems) -> Option<f64> {
    match &node.value {
        Value::Scalar { text, .. } if text.ends_with('%') => {
            reader::share(node, problems).map(|share| share.get())
        }
        _ => reader::real(0.0..=LARGEST_SHARE)(node, problems),
    }
}
