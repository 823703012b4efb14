//! Back-offs: growth and jitter that fit one another.

use crate::policy::backoff::Backoff;
use crate::policy::backoff::Grain;
use crate::policy::backoff::Growth;
use crate::policy::backoff::Jitter;
use crate::policy::backoff::Recall;
use crate::policy::backoff::Rules;
use crate::scenario::defaults;
use crate::scenario::diagnostic::Problems;
use crate::scenario::file::Change;
use crate::scenario::file::WrittenBackoff;
use crate::scenario::file::WrittenJitter;
use crate::scenario::reader::Spanned;
use crate::units::Duration;

/// The back-off of a retry.
pub(super) fn meant(
    written: Option<&WrittenBackoff>,
    jitter: Option<Spanned<WrittenJitter>>,
    problems: &mut Problems,
) -> Backoff {
    let none = WrittenBackoff::plain(Growth::None, None);
    let written = written.unwrap_or(&none);
    let kind = jitter.map_or(defaults::JITTER, |jitter| jitter.value.kind);
    check(written, jitter, kind, problems);
    let mut backoff = Backoff {
        growth: written.growth.clone(),
        cap: written.cap.unwrap_or(Duration::MAX),
        jitter: kind,
        rules: Rules {
            order: written.order.map_or(Rules::PLAIN.order, |order| order.value),
            cap_ends: written.cap_ends,
            first: written.first,
            floor: written.floor,
            rounding: written.rounding,
            grain: jitter.map_or(Grain::Fine, |jitter| jitter.value.grain),
            recall: written.recall.map_or(Recall::Capped, |recall| recall.value),
            by_class: Vec::new(),
            overflows_at: written.overflows_at,
        },
    };
    let others: Vec<_> = written
        .by_class
        .iter()
        .filter_map(|other| {
            let it = match &other.change.value {
                Change::Scale(scale) => scaled(&backoff, *scale),
                Change::Whole(whole, jitter) => meant(Some(whole), *jitter, problems),
                Change::Base(base) => {
                    let Some(growth) = backoff.growth.with_base(*base) else {
                        problems.push_with(
                            other.change.place,
                            "this back-off has no base that could be another",
                            "write `scale: 0.5`, or `backoff: …` for a back-off of its own",
                        );
                        return None;
                    };
                    Backoff { growth, ..backoff.clone() }
                }
            };
            Some((other.on, it))
        })
        .collect();
    backoff.rules.by_class = others;
    backoff
}

/// The same with every span multiplied. What grows from nothing is nothing for ever, and is written
/// as that: a growth is refused that has no base, and so is a cap of nothing.
fn scaled(backoff: &Backoff, scale: f64) -> Backoff {
    let mut scaled = backoff.scaled(scale);
    scaled.cap = scaled.cap.max(Duration::from_nanos(1));
    if let Growth::Exponential { base, .. }
    | Growth::LessOne { base, .. }
    | Growth::Stepped { base, .. } = scaled.growth
        && base.is_zero()
    {
        scaled.growth = Growth::Constant(Duration::ZERO);
    }
    scaled
}

/// Settings that mean nothing together.
fn check(
    written: &WrittenBackoff,
    jitter: Option<Spanned<WrittenJitter>>,
    kind: Jitter,
    problems: &mut Problems,
) {
    if let Some(jitter) = jitter
        && kind.remembers()
        && !written.growth.has_base()
    {
        problems.push_with(
            jitter.place,
            "decorrelated jitter grows from a base, and this back-off has none",
            "use `constant`, `linear` or `exponential`",
        );
    }
    if let (Some(jitter), Jitter::Added { clipped: true, .. }, None) = (jitter, kind, written.cap) {
        problems.push_with(
            jitter.place,
            "what is added is clipped to the cap, and this back-off has none",
            "add `cap: 1h` to the back-off, or remove `clipped`",
        );
    }
    if let Some(recall) = written.recall
        && (!kind.remembers() || kind == Jitter::DecorrelatedV2)
    {
        problems.push_with(
            recall.place,
            "`remembers` is about jitter that depends on the wait before, and this one does not",
            "use it with `decorrelated`, `monotone`, `compounding` or `compounded`, or remove it",
        );
    }
    if let Some(order) = written.order
        && kind.remembers()
        && !matches!(kind, Jitter::Compounded(_))
    {
        problems.push_with(
            order.place,
            "this jitter is capped last in any case",
            "remove `cap_applies`",
        );
    }
}
