//! Back-offs as written: a growth, its cap, and in what it differs from the plain reading.

use crate::policy::backoff::CapOrder;
use crate::policy::backoff::First;
use crate::policy::backoff::Growth;
use crate::policy::backoff::Recall;
use crate::policy::backoff::Rounding;
use crate::policy::outcome::ClassSet;
use crate::scenario::defaults;
use crate::scenario::diagnostic::Problems;
use crate::scenario::diagnostic::quoted;
use crate::scenario::examples;
use crate::scenario::fields::Fields;
use crate::scenario::file::distribution;
use crate::scenario::file::jitters::WrittenJitter;
use crate::scenario::file::jitters::read_jitter;
use crate::scenario::file::policies::read_classes;
use crate::scenario::node::Node;
use crate::scenario::node::Value;
use crate::scenario::reader;
use crate::scenario::reader::Spanned;
use crate::units::Duration;

const GROWTHS: [&str; 7] =
    ["constant", "linear", "exponential", "polynomial", "fibonacci", "table", "drawn"];
const ORDERS: [(&str, CapOrder); 2] =
    [("before_jitter", CapOrder::CapThenJitter), ("after_jitter", CapOrder::JitterThenCap)];
const FIRSTS: [(&str, First); 2] =
    [("uncapped", First::Uncapped), ("unjittered", First::Unjittered)];
const RECALLS: [(&str, Recall); 2] = [("capped", Recall::Capped), ("uncapped", Recall::Uncapped)];
const MOST_RETRIES: u32 = 1_000_000;
const LARGEST_EXPONENT: u32 = 16;
const LONGEST_TABLE: usize = 1_000;

/// A back-off as written, jitter aside.
#[derive(Clone, Debug)]
pub(in crate::scenario) struct WrittenBackoff {
    pub(in crate::scenario) growth: Growth,
    pub(in crate::scenario) cap: Option<Duration>,
    pub(in crate::scenario) order: Option<Spanned<CapOrder>>,
    pub(in crate::scenario) cap_ends: bool,
    pub(in crate::scenario) first: First,
    pub(in crate::scenario) floor: Duration,
    pub(in crate::scenario) rounding: Rounding,
    pub(in crate::scenario) recall: Option<Spanned<Recall>>,
    pub(in crate::scenario) by_class: Vec<WrittenClass>,
    pub(in crate::scenario) overflows_at: Option<u32>,
}

/// A back-off after certain failures.
#[derive(Clone, Debug)]
pub(in crate::scenario) struct WrittenClass {
    pub(in crate::scenario) on: ClassSet,
    pub(in crate::scenario) change: Spanned<Change>,
}

/// In what a back-off after certain failures is another.
#[derive(Clone, Debug)]
pub(in crate::scenario) enum Change {
    /// The same from another base.
    Base(Duration),
    /// The same, every span multiplied.
    Scale(f64),
    /// Another, with its jitter.
    Whole(Box<WrittenBackoff>, Option<Spanned<WrittenJitter>>),
}

impl WrittenBackoff {
    /// A growth without further settings.
    pub(in crate::scenario) const fn plain(growth: Growth, cap: Option<Duration>) -> Self {
        Self {
            growth,
            cap,
            order: None,
            cap_ends: false,
            first: First::Alike,
            floor: Duration::ZERO,
            rounding: Rounding::None,
            recall: None,
            by_class: Vec::new(),
            overflows_at: None,
        }
    }
}

/// `none`, a span, or one growth; a cap stands beside it or among its settings.
pub(super) fn read_backoff(node: &Node, problems: &mut Problems) -> Option<WrittenBackoff> {
    if let Value::Scalar { text, .. } = &node.value {
        if text == "none" {
            return Some(WrittenBackoff::plain(Growth::None, None));
        }
        if text.starts_with(|c: char| c.is_alphabetic()) {
            problems.push_with(
                node.place,
                format!("{} is no back-off", quoted(text)),
                examples::of("`backoff`"),
            );
            return None;
        }
        // A bare span waits the same each time.
        let wait = reader::span(node, problems)?;
        return Some(WrittenBackoff::plain(Growth::Constant(wait), None));
    }
    let mut fields = Fields::open(node, "`backoff`", problems)?;
    let outer = fields.get("cap", problems, reader::positive_span);
    let order = fields.get("cap_applies", problems, reader::word(&ORDERS));
    let cap_ends = fields.get("cap_ends", problems, reader::switch);
    let first = fields.get("first", problems, read_first);
    let floor = fields.get("floor", problems, reader::span);
    let rounding = fields.get("round", problems, read_rounding);
    let recall = fields.get("remembers", problems, reader::word(&RECALLS));
    let by_class = fields.get("by_class", problems, read_by_class);
    let overflows_at = fields.get("overflows_at", problems, reader::count(1, MOST_RETRIES));
    let (growth, inner) = match fields.choose(&GROWTHS, problems) {
        Some((name, node)) => read_growth(name, node, problems),
        None => (None, None),
    };
    fields.close(problems);
    if let (Some(outer), Some(_)) = (outer, inner) {
        problems.push_with(
            outer.place,
            "the cap is given twice",
            "keep the one beside the growth, or the one among its settings",
        );
    }
    let cap = outer.or(inner).map(|cap| cap.value);
    let needs_cap = [
        ("cap_ends", cap_ends.filter(|ends| ends.value).map(|ends| ends.place)),
        ("cap_applies", order.map(|order| order.place)),
    ];
    for (key, place) in needs_cap {
        if let (Some(place), None) = (place, cap) {
            problems.push_with(
                place,
                format!("`{key}` is about a cap, and this back-off has none"),
                "add `cap: 30s`, or remove it",
            );
        }
    }
    Some(WrittenBackoff {
        growth: growth?,
        cap,
        order,
        cap_ends: cap_ends.is_some_and(|ends| ends.value),
        first: first.map_or(First::Alike, |first| first.value),
        floor: floor.map_or(Duration::ZERO, |floor| floor.value),
        rounding: rounding.map_or(Rounding::None, |rounding| rounding.value),
        recall,
        by_class: by_class.map_or(Vec::new(), |list| list.value),
        overflows_at: overflows_at.map(|at| at.value),
    })
}

/// The growth under its name, and the cap among its settings.
fn read_growth(
    name: &str,
    node: &Node,
    problems: &mut Problems,
) -> (Option<Growth>, Option<Spanned<Duration>>) {
    match name {
        "constant" => (reader::span(node, problems).map(Growth::Constant), None),
        "drawn" => (distribution::read(node, problems).map(Growth::Drawn), None),
        "table" => (read_table(node, problems), None),
        "fibonacci" => match &node.value {
            Value::Scalar { .. } => {
                (reader::span(node, problems).map(|base| Growth::Fibonacci { base }), None)
            }
            _ => settings(node, "`fibonacci`", problems, |fields, problems| {
                let base = fields.need("base", "the first wait", problems, reader::span);
                Some(Growth::Fibonacci { base: base?.value })
            }),
        },
        "linear" => settings(node, "`linear`", problems, |fields, problems| {
            let base = fields.need("base", "the first wait", problems, reader::span);
            let step = fields.need("step", "what each retry adds", problems, reader::span);
            Some(Growth::Linear { base: base?.value, step: step?.value })
        }),
        "polynomial" => settings(node, "`polynomial`", problems, |fields, problems| {
            let help = "the wait for each unit of the power, as `1s`";
            let unit = fields.need("unit", help, problems, reader::span);
            let exponent = fields.need(
                "exponent",
                "a whole number, as 4",
                problems,
                reader::count(0, LARGEST_EXPONENT),
            );
            let plus = fields.get("plus", problems, reader::span);
            let start = fields.get("start", problems, reader::count(0, MOST_RETRIES));
            Some(Growth::Polynomial {
                unit: unit?.value,
                exponent: exponent?.value,
                plus: plus.map_or(Duration::ZERO, |plus| plus.value),
                start: start.map_or(0, |start| start.value),
            })
        }),
        _ => settings(node, "`exponential`", problems, read_exponential),
    }
}

/// A growth with settings, and the cap among them.
fn settings<'t>(
    node: &'t Node,
    what: &'static str,
    problems: &mut Problems,
    read: impl FnOnce(&mut Fields<'t>, &mut Problems) -> Option<Growth>,
) -> (Option<Growth>, Option<Spanned<Duration>>) {
    let Some(mut fields) = Fields::open(node, what, problems) else { return (None, None) };
    let growth = read(&mut fields, problems);
    let cap = fields.get("cap", problems, reader::positive_span);
    fields.close(problems);
    (growth, cap)
}

/// `{ base, factor, start, less_one, truncated_to }`.
fn read_exponential(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<Growth> {
    let base = fields.need("base", "the first wait", problems, reader::positive_span);
    let factor = fields.get("factor", problems, reader::real(1.0..=1_000.0));
    let start = fields.get("start", problems, |n, p| reader::real(-64.0..=64.0)(n, p));
    let less_one = fields.get("less_one", problems, reader::switch);
    let unit = fields.get("truncated_to", problems, reader::positive_span);
    let (base, factor) = (base?.value, factor.map_or(defaults::FACTOR, |factor| factor.value));
    if let Some(start) = start
        && start.value.fract() != 0.0
    {
        problems.push_with(
            start.place,
            "`start` is the exponent of the first retry, a whole number",
            "write 0 for a first wait of `base`, 1 for `base` times `factor`",
        );
        return None;
    }
    let is_less_one = less_one.is_some_and(|less| less.value);
    if let Some(unit) = unit {
        if start.is_some() || is_less_one {
            problems.push_with(
                unit.place,
                "a growth that is cut at every step starts from its base",
                "remove `start` and `less_one`, or cut the wait alone with `round: { down: 1ms }`",
            );
            return None;
        }
        return Some(Growth::Stepped { base, factor, unit: unit.value });
    }
    let start = start.map_or(0, |start| start.value as i32);
    Some(if is_less_one {
        Growth::LessOne { base, factor, start }
    } else {
        Growth::Exponential { base, factor, start }
    })
}

/// A list of waits whose last repeats, or `{ waits: […], ends: true }`.
fn read_table(node: &Node, problems: &mut Problems) -> Option<Growth> {
    let list = |node: &Node, problems: &mut Problems| {
        let items = reader::list(node, "`table`", problems)?;
        if items.is_empty() || items.len() > LONGEST_TABLE {
            problems.push_with(
                node.anchor(),
                format!("a table has between 1 and {LONGEST_TABLE} waits"),
                "as `table: [5s, 5min, 30min]`",
            );
            return None;
        }
        let waits: Vec<_> = items.iter().filter_map(|item| reader::span(item, problems)).collect();
        (waits.len() == items.len()).then_some(waits)
    };
    let Value::Map(_) = &node.value else {
        return Some(Growth::Table { waits: list(node, problems)?, ends: false });
    };
    let mut fields = Fields::open(node, "`table`", problems)?;
    let waits = fields.need("waits", "the waits in order, as `[5s, 5min]`", problems, list);
    let ends = fields.get("ends", problems, reader::switch);
    fields.close(problems);
    Some(Growth::Table { waits: waits?.value, ends: ends.is_some_and(|ends| ends.value) })
}

/// A span, `uncapped` or `unjittered`.
fn read_first(node: &Node, problems: &mut Problems) -> Option<First> {
    match &node.value {
        Value::Scalar { text, .. } if text.starts_with(|c: char| c.is_ascii_digit()) => {
            reader::span(node, problems).map(First::Fixed)
        }
        _ => reader::word(&FIRSTS)(node, problems),
    }
}

/// `{ down: 1ms }` or `{ nearest: 1ms }`.
fn read_rounding(node: &Node, problems: &mut Problems) -> Option<Rounding> {
    let mut fields = Fields::open(node, "`round`", problems)?;
    let rounding = match fields.choose(&["down", "nearest"], problems) {
        Some(("down", node)) => reader::positive_span(node, problems).map(Rounding::Down),
        Some((_, node)) => reader::positive_span(node, problems).map(Rounding::Nearest),
        None => None,
    };
    fields.close(problems);
    rounding
}

/// `[{ on: rate_limited, base: 1s }, …]`.
fn read_by_class(node: &Node, problems: &mut Problems) -> Option<Vec<WrittenClass>> {
    let items = reader::list(node, "`by_class`", problems)?;
    let found: Vec<_> = items.iter().filter_map(|item| read_class(item, problems)).collect();
    (found.len() == items.len()).then_some(found)
}

fn read_class(node: &Node, problems: &mut Problems) -> Option<WrittenClass> {
    let mut fields = Fields::open(node, "an entry of `by_class`", problems)?;
    let on = fields.need("on", "the failures it is for, as `rate_limited`", problems, read_classes);
    let jitter = fields.get("jitter", problems, read_jitter);
    let change = match fields.choose(&["base", "scale", "backoff"], problems) {
        Some(("base", node)) => {
            reader::span(node, problems).map(|base| (Change::Base(base), node.place))
        }
        Some(("scale", node)) => {
            let scale = reader::real(0.0..=1_000_000.0)(node, problems);
            scale.map(|scale| (Change::Scale(scale), node.place))
        }
        Some((_, node)) => read_backoff(node, problems)
            .map(|whole| (Change::Whole(Box::new(whole), jitter), node.anchor())),
        None => None,
    };
    fields.close(problems);
    let (change, place) = change?;
    if let (Some(jitter), Change::Base(_) | Change::Scale(_)) = (jitter, &change) {
        problems.push_with(
            jitter.place,
            "jitter of its own belongs to a back-off of its own",
            "write `{ on: …, backoff: …, jitter: … }`, or remove it",
        );
    }
    Some(WrittenClass { on: on?.value, change: Spanned { value: change, place } })
}
