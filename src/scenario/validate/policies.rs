//! `policies`: defaults filled in, and strategies that fit one another.

use crate::policy::backoff::Backoff;
use crate::policy::hint::HintConfig;
use crate::policy::limiter::bulkhead::Abandoned;
use crate::policy::stack::DEFAULT_ORDER;
use crate::policy::stack::Layer;
use crate::policy::stack::Policy;
use crate::policy::stack::Retry;
use crate::policy::stack::Scoped;
use crate::policy::timeout::Running;
use crate::scenario::defaults;
use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::Problems;
use crate::scenario::file::Named;
use crate::scenario::file::Written;
use crate::scenario::file::WrittenBudget;
use crate::scenario::file::WrittenPolicy;
use crate::scenario::file::WrittenRetry;
use crate::scenario::reader::Spanned;
use crate::scenario::validate::backoffs;

/// Every policy of the file, in order.
pub(super) fn policies(written: &Written<'_>, problems: &mut Problems) -> Vec<Policy> {
    written.policies.iter().map(|policy| meant(policy, problems)).collect()
}

/// One policy alone.
pub(in crate::scenario) fn policy(
    name: &str,
    place: Place,
    it: WrittenPolicy,
    problems: &mut Problems,
) -> Policy {
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
        hedge: None,
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
    }
}

fn meant_retry(written: &WrittenRetry, problems: &mut Problems) -> Retry {
    let backoff = backoffs::meant(written.backoff.as_ref(), written.jitter, problems);
    let on = written.on.unwrap_or(defaults::RETRIED);
    let budget = written.budget.map(|scoped| Scoped {
        per: scoped.per,
        config: match scoped.config {
            WrittenBudget { config, counts_retried: true } => config.counting(on),
            WrittenBudget { config, counts_retried: false } => config,
        },
    });
    Retry {
        max_attempts: max_attempts(written.max_attempts, &backoff),
        backoff,
        on,
        hint: written.hint.unwrap_or(HintConfig::IGNORE),
        budget,
        max_elapsed: written.max_elapsed,
    }
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
        if times == 0 && is_set(&layer) {
            problems.push_with(
                place,
                format!("`order` leaves out `{}`, which the policy sets", word(layer)),
                "name every strategy of the policy, outermost first",
            );
        }
    }
    if position(Layer::Timeout) > position(Layer::Retry) && position(Layer::Retry).is_some() {
        problems.push_with(
            place,
            "`timeout` covers the whole call and stands outside `retry`",
            "put it before `retry`, or use `attempt_timeout`",
        );
    }
    if position(Layer::AttemptTimeout).is_some_and(|at| at + 1 != layers.len()) {
        problems.push_with(
            place,
            "`attempt_timeout` covers one attempt and is innermost",
            "put it last, or use `timeout`",
        );
    }
    layers.iter().copied().filter(is_set).collect()
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
