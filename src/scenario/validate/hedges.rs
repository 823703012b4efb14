//! Hedging: defaults filled in, and settings that mean nothing together.

use crate::policy::backoff::Backoff;
use crate::policy::budget::Asked;
use crate::policy::budget::BudgetConfig;
use crate::policy::outcome::ClassSet;
use crate::policy::stack::HedgeConfig;
use crate::policy::stack::HedgeDelay;
use crate::policy::stack::Hedging;
use crate::policy::stack::Layer;
use crate::policy::stack::Policy;
use crate::policy::stack::Scope;
use crate::policy::throttle::rate::WhenEmpty;
use crate::scenario::defaults;
use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::Problems;
use crate::scenario::diagnostic::quoted;
use crate::scenario::file::WrittenAfter;
use crate::scenario::file::WrittenBackoff;
use crate::scenario::file::WrittenHedge;
use crate::scenario::file::WrittenJitter;
use crate::scenario::file::WrittenPolicy;
use crate::scenario::reader::Spanned;
use crate::scenario::validate::backoffs;
use crate::scenario::validate::policies::meant_budget;

/// The hedge as meant.
pub(super) fn meant(written: &WrittenHedge, problems: &mut Problems) -> Hedging {
    let on = written.on.map_or(defaults::RETRIED, |on| on.value);
    let mut max_attempts = written.max_attempts.map_or(defaults::HEDGE_ATTEMPTS, |max| max.value);
    let mut backoff = Backoff::NONE;
    let delay = match &written.after.value {
        WrittenAfter::Span(span) => HedgeDelay::After(*span),
        WrittenAfter::Failure => HedgeDelay::OnFailure,
        WrittenAfter::Percentile(config) => HedgeDelay::AtPercentile(*config),
        WrittenAfter::Timeout(timeout, waits, jitter) => {
            backoff = backoffs::meant(waits.as_deref(), *jitter, problems);
            check_waits(waits.as_deref(), *jitter, problems);
            // A sequence of waits that ends allows no more attempts than it has waits.
            let bound = backoff.most_retries().map(|retries| retries.saturating_add(1));
            max_attempts = bound.map_or(max_attempts, |bound| max_attempts.min(bound));
            HedgeDelay::OnTimeout(*timeout)
        }
    };
    check(written, on, problems);
    Hedging {
        config: HedgeConfig { delay, max_attempts, on },
        backoff,
        obeys_hints: written.obeys_hints,
        budget: written.budget.map(|budget| meant_budget(budget.value, on)),
        per: written.per.map_or(Scope::DEFAULT, |per| per.value),
    }
}

fn check(written: &WrittenHedge, on: ClassSet, problems: &mut Problems) {
    let after = &written.after;
    if let (Some(per), false) = (written.per, matches!(after.value, WrittenAfter::Percentile(_))) {
        problems.push_with(
            per.place,
            "`per` is about whose calls share what is known of latencies, and this hedge asks none",
            "write `after: { percentile: 95% }`, or leave `per` out; a budget has a `per` of its own",
        );
    }
    if let (WrittenAfter::Failure, ClassSet::NONE) = (&after.value, on) {
        problems.push_with(
            written.on.map_or(after.place, |on| on.place),
            "a hedge after failures of no class never sends anything",
            "name the failures that others may make good, as `on: [transient]`",
        );
    }
    if let Some(budget) = written.budget
        && let Some((problem, help)) = refused(&budget.value.config.config)
    {
        problems.push_with(budget.place, problem, help);
    }
}

/// A hedge waits by the number of the attempt, and by nothing else.
fn check_waits(
    waits: Option<&WrittenBackoff>,
    jitter: Option<Spanned<WrittenJitter>>,
    problems: &mut Problems,
) {
    if let Some(jitter) = jitter
        && jitter.value.kind.remembers()
    {
        problems.push_with(
            jitter.place,
            "this jitter depends on the wait before, and the waits of a hedge do not know one \
             another",
            "use `full`, `equal` or `{ plus_minus: 20% }`",
        );
    }
    if let Some(other) = waits.and_then(|waits| waits.by_class.first()) {
        problems.push_with(
            other.change.place,
            "the next attempt of a hedge may follow no failure: its wait is not one of a class",
            "leave `by_class` out",
        );
    }
}

/// Why a budget is none for a hedge, and what would do.
fn refused(config: &BudgetConfig) -> Option<(&'static str, &'static str)> {
    const HOLDS: &str = "bound the share of further attempts, as `ratio: { share: 5%, deposit: call }`, \
                         or what is under way at once with a `bulkhead` inside `hedge`";
    const WAITS: &str =
        "a further attempt that is not paid for is not sent, and nothing waits for it";
    match config {
        BudgetConfig::Concurrent { .. } => {
            Some(("`concurrent` counts retries that hold a place, and a hedge holds none", HOLDS))
        }
        BudgetConfig::ActiveShare(_) => {
            Some(("`active_share` counts retries that hold a place, and a hedge holds none", HOLDS))
        }
        BudgetConfig::Rate(rate) if rate.when_empty == WhenEmpty::Wait => {
            Some((WAITS, "write `when_empty: refuse`"))
        }
        BudgetConfig::Quota(quota) if quota.waits_when_refused => {
            Some((WAITS, "write `when_empty: fail`"))
        }
        BudgetConfig::TokenBucket { asked: Asked::AfterWait, .. } => {
            Some((WAITS, "leave `asked` out"))
        }
        _ => None,
    }
}

/// An attempt that its own timeout ends cannot stay out.
pub(super) fn check_timeouts(hedge: &WrittenHedge, timeout: Place, problems: &mut Problems) {
    if let WrittenAfter::Timeout(after, ..) = hedge.after.value {
        problems.push_with(
            timeout,
            format!(
                "an attempt stays out when the hedge's `timeout` of {after} is over, and this \
                 `attempt_timeout` would end it"
            ),
            "remove `attempt_timeout`, and bound the call with `timeout`; or, to end late attempts, \
             use `retry` in place of `hedge`",
        );
    }
}

/// A place that an abandoned attempt keeps must be that of one attempt.
pub(super) fn check_kept_places(
    written: &WrittenPolicy,
    policy: &Policy,
    name: Place,
    problems: &mut Problems,
) {
    let place = written.order.as_ref().map_or(name, |order| order.place);
    let at = |layer| policy.order.iter().position(|other| *other == layer);
    if let (Some(bulkhead), Some(hedge)) = (at(Layer::Bulkhead), at(Layer::Hedge))
        && bulkhead < hedge
    {
        problems.push_with(
            place,
            "`abandoned: keeps_place` is about one attempt, and around `hedge` this bulkhead sees \
             several at once: which of them would keep the place?",
            "put `bulkhead` inside `hedge`, as `order: [timeout, hedge, bulkhead, attempt_timeout]` \
             (those that are set)",
        );
    }
    if let Some(inner) = &written.inner {
        problems.push_with(
            inner.place,
            format!(
                "`abandoned: keeps_place` is about one attempt, and what this bulkhead sees is a \
                 whole call under {}: which of its attempts would keep the place?",
                quoted(&inner.value)
            ),
            "put the `bulkhead` into the inner policy, or leave `abandoned` out",
        );
    }
}
