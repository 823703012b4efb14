//! `policies`: defaults filled in, and strategies that fit one another.

use crate::policy::backoff::Backoff;
use crate::policy::budget::BudgetConfig;
use crate::policy::hint::HintConfig;
use crate::policy::limiter::bulkhead::Abandoned;
use crate::policy::outcome::ClassSet;
use crate::policy::stack::DEFAULT_ORDER;
use crate::policy::stack::Layer;
use crate::policy::stack::Policy;
use crate::policy::stack::Retry;
use crate::policy::stack::Scoped;
use crate::policy::stack::TimeoutScope;
use crate::policy::timeout::Running;
use crate::scenario::defaults;
use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::Problems;
use crate::scenario::diagnostic::quoted;
use crate::scenario::file::Named;
use crate::scenario::file::Written;
use crate::scenario::file::WrittenBudget;
use crate::scenario::file::WrittenPolicy;
use crate::scenario::file::WrittenRetry;
use crate::scenario::reader::Spanned;
use crate::scenario::validate::Index;
use crate::scenario::validate::backoffs;
use crate::scenario::validate::hedges;
use crate::scenario::validate::inner;

/// Every policy of the file, in order, each with the one inside it.
pub(super) fn policies(
    written: &Written<'_>,
    names: &Index<'_>,
    problems: &mut Problems,
) -> Vec<Policy> {
    let mut all: Vec<_> = written.policies.iter().map(|policy| meant(policy, problems)).collect();
    inner::nest(written, names, &mut all, problems);
    all
}

/// One policy alone; it can name no other.
pub(in crate::scenario) fn policy(
    name: &str,
    place: Place,
    it: WrittenPolicy,
    problems: &mut Problems,
) -> Policy {
    if let Some(inner) = &it.inner {
        problems.push_with(
            inner.place,
            "`inner` names another policy of a scenario, and here is none",
            "leave it to the scenario that uses this policy",
        );
    }
    meant(&Named { name: Spanned { value: name.to_owned(), place }, it }, problems)
}

/// The policy of a caller that names none.
pub(super) fn no_policy() -> Policy {
    Policy::plain(defaults::NO_POLICY)
}

fn meant(named: &Named<WrittenPolicy>, problems: &mut Problems) -> Policy {
    let (name, written) = (&named.name, &named.it);
    if name.value == defaults::NO_POLICY {
        problems.push_with(
            name.place,
            "`none` is the policy that does nothing",
            "give this one another name",
        );
    }
    let mut policy = Policy {
        name: name.value.clone(),
        order: Vec::new(),
        attempt_timeout: written.attempt_timeout.as_ref().map(|timeout| timeout.value.clone()),
        timeout: written.timeout.map(|timeout| timeout.value),
        timeout_rule: written.timeout_rule,
        retry: written.retry.as_ref().map(|retry| meant_retry(retry, problems)),
        hedge: written.hedge.as_ref().map(|hedge| hedges::meant(hedge, problems)),
        throttle: written.throttle,
        breaker: written.breaker,
        bulkhead: written.bulkhead,
        ejection: written.ejection,
        inner: None,
    };
    policy.order = order(written, &policy, name.place, problems);
    fitting(written, &policy, name.place, problems);
    policy
}

/// Settings of one strategy that need another.
fn fitting(written: &WrittenPolicy, policy: &Policy, place: Place, problems: &mut Problems) {
    if let Some(timeout) = &written.timeout
        && policy.timeout_rule.running == Running::Finish
        && policy.retry.is_none()
    {
        problems.push_with(
            timeout.place,
            "`running: finish` only stops further attempts, and without `retry` there are none",
            "add a `retry`, or let the timeout cut the attempt",
        );
    }
    let keeps =
        policy.bulkhead.is_some_and(|bulkhead| bulkhead.config.abandoned == Abandoned::KeepsPlace);
    if keeps && policy.layers_outside_retry().contains(&Layer::Bulkhead) {
        problems.push_with(
            written.order.as_ref().map_or(place, |order| order.place),
            "`abandoned: keeps_place` is about attempts, and this bulkhead stands around calls",
            "put `bulkhead` inside `retry`, as `order: [timeout, retry, breaker, bulkhead, \
             attempt_timeout]` (those that are set)",
        );
    } else if keeps {
        hedges::check_kept_places(written, policy, place, problems);
    }
    if let (Some(hedge), Some(timeout)) = (&written.hedge, &written.attempt_timeout) {
        hedges::check_timeouts(hedge, timeout.place, problems);
    }
    if let (Some(inner), Some(timeout)) = (&written.inner, &written.attempt_timeout)
        && timeout.value.scope == TimeoutScope::Queue
    {
        problems.push_with(
            timeout.place,
            format!(
                "`scope: queue` is about the queue of the server, and what this timeout sees is a \
                 whole call under {}",
                quoted(&inner.value)
            ),
            "set it in the inner policy, or leave `scope` out",
        );
    }
}

pub(super) fn meant_retry(written: &WrittenRetry, problems: &mut Problems) -> Retry {
    let backoff = backoffs::meant(written.backoff.as_ref(), written.jitter, problems);
    let on = written.on.unwrap_or(defaults::RETRIED);
    let budget = written.budget.map(|budget| meant_budget(budget, on));
    Retry {
        max_attempts: max_attempts(written.max_attempts, &backoff),
        backoff,
        on,
        hint: written.hint.unwrap_or(HintConfig::IGNORE),
        budget,
        max_elapsed: written.max_elapsed,
    }
}

/// A budget of what follows on failures of `on`.
pub(super) fn meant_budget(written: Scoped<WrittenBudget>, on: ClassSet) -> Scoped<BudgetConfig> {
    let config = match written.config {
        WrittenBudget { config, counts_retried: true } => config.counting(on),
        WrittenBudget { config, counts_retried: false } => config,
    };
    Scoped { config, per: written.per }
}

/// The attempts of one call: as written, but no more than the sequence of waits has. Where nothing
/// is written, a sequence that ends says it all.
fn max_attempts(written: Option<Option<u32>>, backoff: &Backoff) -> Option<u32> {
    let of_sequence = backoff.most_retries().map(|retries| retries.saturating_add(1));
    match (written, of_sequence) {
        (None, Some(bound)) => Some(bound),
        (None, None) => Some(defaults::MAX_ATTEMPTS),
        (Some(written), bound) => written.into_iter().chain(bound).min(),
    }
}

/// The layers that are set, in the order written or the default one.
fn order(
    written: &WrittenPolicy,
    policy: &Policy,
    place: Place,
    problems: &mut Problems,
) -> Vec<Layer> {
    let is_set = |layer: &Layer| policy.has(*layer);
    let Some(order) = &written.order else {
        return DEFAULT_ORDER.into_iter().filter(is_set).collect();
    };
    let (layers, place) =
        (&order.value, if order.place == Place::default() { place } else { order.place });
    let position = |layer: Layer| layers.iter().position(|other| *other == layer);
    for layer in DEFAULT_ORDER {
        let times = layers.iter().filter(|other| **other == layer).count();
        if times > 1 {
            problems.push_with(
                place,
                format!("`order` names `{}` more than once", word(layer)),
                "name each strategy once, outermost first",
            );
        }
    }
    let set: Vec<_> = layers.iter().copied().filter(is_set).collect();
    let whole = completed(&set, policy);
    let missing: Vec<_> = whole.iter().filter(|layer| !layers.contains(layer)).collect();
    if !missing.is_empty() {
        let missing: Vec<_> = missing.iter().map(|layer| format!("`{}`", word(**layer))).collect();
        let whole: Vec<_> = whole.iter().map(|layer| word(*layer)).collect();
        problems.push_with(
            place,
            format!("`order` leaves out {}, which the policy sets", missing.join(" and ")),
            format!(
                "name every strategy of the policy, outermost first, as `order: [{}]`",
                whole.join(", ")
            ),
        );
    }
    if position(Layer::Timeout) > position(Layer::Retry) && position(Layer::Retry).is_some() {
        problems.push_with(
            place,
            "`timeout` covers the whole call and stands outside `retry`",
            "put it before `retry`, or use `attempt_timeout`",
        );
    }
    if position(Layer::Timeout) > position(Layer::Hedge) && position(Layer::Hedge).is_some() {
        problems.push_with(
            place,
            "`timeout` covers the whole call and stands outside `hedge`",
            "put it before `hedge`, or use `attempt_timeout`",
        );
    }
    if position(Layer::AttemptTimeout).is_some_and(|at| at + 1 != layers.len()) {
        problems.push_with(
            place,
            "`attempt_timeout` covers one attempt and is innermost",
            "put it last, or use `timeout`",
        );
    }
    set
}

/// An order with the strategies that it leaves out: each before the first of those that the default
/// order puts inside it, so that the new one stands where it would if nothing else were moved, and
/// what sees attempts by default inside the retry.
fn completed(order: &[Layer], policy: &Policy) -> Vec<Layer> {
    let rank = |layer: &Layer| DEFAULT_ORDER.iter().position(|known| known == layer);
    let mut whole = order.to_vec();
    for layer in DEFAULT_ORDER {
        if policy.has(layer) && !whole.contains(&layer) {
            let inside = |other: &Layer| rank(other) > rank(&layer);
            let at = whole.iter().position(inside).unwrap_or(whole.len());
            let retry = whole.iter().position(|other| *other == Layer::Retry);
            let sees_attempts = rank(&layer) > rank(&Layer::Retry);
            let least = retry.filter(|_| sees_attempts).map_or(0, |retry| retry + 1);
            whole.insert(at.max(least), layer);
        }
    }
    whole
}

/// The name of a layer in a scenario.
fn word(layer: Layer) -> &'static str {
    match layer {
        Layer::Bulkhead => "bulkhead",
        Layer::Timeout => "timeout",
        Layer::Retry => "retry",
        Layer::Hedge => "hedge",
        Layer::Throttle => "throttle",
        Layer::Breaker => "breaker",
        Layer::AttemptTimeout => "attempt_timeout",
    }
}
