//! Hedging as written: when a further attempt joins those that are out, and what it may cost.

use crate::policy::hedge::latency::PercentileConfig;
use crate::policy::outcome::ClassSet;
use crate::policy::stack::Scope;
use crate::policy::stack::Scoped;
use crate::scenario::defaults;
use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::Problems;
use crate::scenario::diagnostic::quoted;
use crate::scenario::examples;
use crate::scenario::fields::Fields;
use crate::scenario::file::backoffs::WrittenBackoff;
use crate::scenario::file::backoffs::read_backoff;
use crate::scenario::file::budgets::WrittenBudget;
use crate::scenario::file::budgets::read_budget;
use crate::scenario::file::jitters::WrittenJitter;
use crate::scenario::file::jitters::read_jitter;
use crate::scenario::file::policies::MOST_CALLS;
use crate::scenario::file::policies::read_classes;
use crate::scenario::file::policies::read_per;
use crate::scenario::node::Node;
use crate::scenario::node::Value;
use crate::scenario::reader;
use crate::scenario::reader::Spanned;
use crate::units::Duration;

/// More attempts side by side than anyone sends: gRPC allows 5, Polly 11.
const MOST_ATTEMPTS: u32 = 100;
/// Are servers obeyed that say when to come again?
const HINTS: [(&str, bool); 2] = [("ignore", false), ("obey", true)];

/// A hedge as written.
#[derive(Clone, Debug)]
pub(in crate::scenario) struct WrittenHedge {
    pub(in crate::scenario) after: Spanned<WrittenAfter>,
    pub(in crate::scenario) max_attempts: Option<Spanned<u32>>,
    pub(in crate::scenario) on: Option<Spanned<ClassSet>>,
    pub(in crate::scenario) obeys_hints: bool,
    pub(in crate::scenario) budget: Option<Spanned<Scoped<WrittenBudget>>>,
    pub(in crate::scenario) per: Option<Spanned<Scope>>,
}

/// When the next attempt is sent.
#[derive(Clone, Debug)]
pub(in crate::scenario) enum WrittenAfter {
    /// So long after the last one.
    Span(Duration),
    /// Only after a failure.
    Failure,
    /// When the last one is late, as recent answers go.
    Percentile(PercentileConfig),
    /// When the last one has been out for so long, and a back-off has passed.
    Timeout(Duration, Option<Box<WrittenBackoff>>, Option<Spanned<WrittenJitter>>),
}

pub(super) fn read_hedge(node: &Node, problems: &mut Problems) -> Option<WrittenHedge> {
    let mut fields = Fields::open(node, "`hedge`", problems)?;
    let help = "when the next attempt is sent, as `100ms`; `failure`: only after one has failed";
    let after = fields.need("after", help, problems, read_after);
    let max_attempts = fields.get("max_attempts", problems, reader::count(1, MOST_ATTEMPTS));
    let on = fields.get("on", problems, read_classes);
    let hint = fields.get("hint", problems, reader::word(&HINTS));
    let budget = fields.get("budget", problems, read_budget);
    let per = fields.get("per", problems, read_per);
    for key in ["backoff", "jitter"] {
        if let Some(place) = fields.claim(key) {
            problems.push_with(
                place,
                format!("a hedge waits for `after`: it has no `{key}` of its own"),
                "where an attempt's own timeout sends the next, write `after: { timeout: 500ms, \
                 backoff: …, jitter: … }`",
            );
        }
    }
    fields.close(problems);
    Some(WrittenHedge {
        after: after?,
        max_attempts,
        on,
        obeys_hints: hint.is_some_and(|hint| hint.value),
        budget,
        per,
    })
}

/// A span, `failure`, `{ percentile, window, minimum }` or `{ timeout, backoff, jitter }`.
fn read_after(node: &Node, problems: &mut Problems) -> Option<WrittenAfter> {
    match &node.value {
        Value::Scalar { text, .. } if text == "failure" => return Some(WrittenAfter::Failure),
        Value::Scalar { text, .. } if text.starts_with(|c: char| c.is_alphabetic()) => {
            let problem = format!("{} is no moment for a hedge", quoted(text));
            problems.push_with(node.place, problem, examples::of("`after`"));
            return None;
        }
        Value::Map(_) => {}
        _ => return reader::span(node, problems).map(WrittenAfter::Span),
    }
    let mut fields = Fields::open(node, "`after`", problems)?;
    let chosen = fields.choose(&["percentile", "timeout"], problems);
    let place_of = |key| node.get(key).filter(|it| !it.is_null()).map(Node::anchor);
    let place_of = |key: &'static str| (key, place_of(key));
    let window = fields.get("window", problems, reader::positive_span);
    let minimum = fields.get("minimum", problems, reader::count(1, MOST_CALLS));
    let backoff = fields.take("backoff").and_then(|node| read_backoff(node, problems));
    let jitter = fields.get("jitter", problems, read_jitter);
    fields.close(problems);
    match chosen? {
        ("percentile", node) => {
            refuse(
                ["backoff", "jitter"].map(place_of),
                "an attempt's `timeout`",
                "a `percentile`",
                problems,
            );
            Some(WrittenAfter::Percentile(PercentileConfig {
                per_mille: read_percentile(node, problems)?,
                window: window.map_or(defaults::HEDGE_WINDOW, |window| window.value),
                minimum: minimum.map_or(defaults::HEDGE_MINIMUM, |minimum| minimum.value),
            }))
        }
        (_, node) => {
            refuse(["window", "minimum"].map(place_of), "a `percentile`", "a `timeout`", problems);
            let timeout = reader::positive_span(node, problems)?;
            Some(WrittenAfter::Timeout(timeout, backoff.map(Box::new), jitter))
        }
    }
}

/// Keys that belong to the other way of telling that an attempt is late.
fn refuse(keys: [(&str, Option<Place>); 2], about: &str, here: &str, problems: &mut Problems) {
    for (key, place) in keys {
        if let Some(place) = place {
            let problem = format!("`{key}` is about {about}, and this is {here}");
            problems.push_with(place, problem, examples::of("`after`"));
        }
    }
}

/// A percentile in whole thousandths.
fn read_percentile(node: &Node, problems: &mut Problems) -> Option<u32> {
    let share = reader::share(node, problems)?.get() * 1_000.0;
    let nearest = (share + 0.5).floor();
    if nearest < 1.0 || (share - nearest).abs() > 1e-6 {
        problems.push_with(
            node.place,
            "this percentile is not a whole number of thousandths above 0",
            "accepted are 0.1% to 100% in steps of 0.1%, as `95%`",
        );
        return None;
    }
    Some(nearest as u32)
}
