//! Back-offs and jitter as written.

use crate::policy::backoff::Growth;
use crate::policy::backoff::Jitter;
use crate::scenario::defaults;
use crate::scenario::diagnostic::Problems;
use crate::scenario::diagnostic::quoted;
use crate::scenario::examples;
use crate::scenario::fields::Fields;
use crate::scenario::file::distribution;
use crate::scenario::node::Node;
use crate::scenario::node::Value;
use crate::scenario::reader;
use crate::units::Duration;

const JITTERS: [(&str, Jitter); 4] = [
    ("none", Jitter::None),
    ("full", Jitter::Full),
    ("equal", Jitter::Equal),
    ("decorrelated", Jitter::Decorrelated),
];

/// `none`, or one growth; a cap stands beside it or among its settings.
pub(super) fn read_backoff(
    node: &Node,
    problems: &mut Problems,
) -> Option<(Growth, Option<Duration>)> {
    if let Value::Scalar { text, .. } = &node.value {
        if text == "none" {
            return Some((Growth::None, None));
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
        return reader::span(node, problems).map(|span| (Growth::Constant(span), None));
    }
    let mut fields = Fields::open(node, "`backoff`", problems)?;
    let outer = fields.get("cap", problems, reader::positive_span);
    let chosen = fields.choose(&["constant", "linear", "exponential", "drawn"], problems);
    let (growth, inner) = match chosen {
        Some(("constant", node)) => (reader::span(node, problems).map(Growth::Constant), None),
        Some(("drawn", node)) => (distribution::read(node, problems).map(Growth::Drawn), None),
        Some(("linear", node)) => {
            let mut inner = Fields::open(node, "`linear`", problems)?;
            let base = inner.need("base", "the first wait", problems, reader::span);
            let step = inner.need("step", "what each retry adds", problems, reader::span);
            let cap = inner.get("cap", problems, reader::positive_span);
            inner.close(problems);
            let growth = base
                .zip(step)
                .map(|(base, step)| Growth::Linear { base: base.value, step: step.value });
            (growth, cap)
        }
        Some((_, node)) => {
            let mut inner = Fields::open(node, "`exponential`", problems)?;
            let base = inner.need("base", "the first wait", problems, reader::positive_span);
            let factor = inner.get("factor", problems, reader::real(1.0..=1_000.0));
            let cap = inner.get("cap", problems, reader::positive_span);
            inner.close(problems);
            let factor = factor.map_or(defaults::FACTOR, |factor| factor.value);
            (base.map(|base| Growth::Exponential { base: base.value, factor }), cap)
        }
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
    growth.map(|growth| (growth, outer.or(inner).map(|cap| cap.value)))
}

pub(super) fn read_jitter(node: &Node, problems: &mut Problems) -> Option<Jitter> {
    let Value::Map(_) = &node.value else {
        return reader::word(&JITTERS)(node, problems);
    };
    let mut fields = Fields::open(node, "`jitter`", problems)?;
    let help = "the share to either side, as `20%`";
    let share = fields.need("plus_minus", help, problems, reader::share);
    fields.close(problems);
    share.map(|share| Jitter::PlusMinus(share.value.get()))
}
