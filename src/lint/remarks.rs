//! What a scenario says and experience advises against: it runs as written, and may be meant.
//!
//! Unlike the warnings of the validator, which point at slips, these stand in `explain` alone: a
//! scenario that shows what a mistake costs has to make it.

use std::collections::BTreeSet;

use crate::lint::worst_case::Attempts;
use crate::lint::worst_case::attempts_per_call;
use crate::policy::budget::BudgetConfig;
use crate::policy::budget::Credit;
use crate::policy::outcome::Class;
use crate::policy::stack::Policy;
use crate::policy::stack::Retry;
use crate::scenario::model::Arrivals;
use crate::scenario::model::Caller;
use crate::scenario::model::Edge;
use crate::scenario::model::Model;
use crate::scenario::model::Operation;
use crate::scenario::model::RateSegment;
use crate::units::Duration;

/// Failures that a retry of the same request meets again.
const LASTING: [Class; 5] =
    [Class::Rejected, Class::Denied, Class::Gone, Class::NotFound, Class::Fatal];
/// Retries that are looked at where a policy makes more.
const LOOK_AHEAD: u32 = 20;
/// A wait longer than this that still grows is hardly meant.
const LONG_WAIT: Duration = Duration::from_secs(300);
/// By how much a wait exceeds the one before it where it still grows.
const GROWTH: f64 = 1.5;

/// What is to be said about the policies in use, in the order of their names in the model.
pub(super) fn remarks(model: &Model) -> Vec<String> {
    let mut all = Vec::new();
    for (id, policy) in model.policies.iter().enumerate() {
        let edges: Vec<_> = model.edges.iter().filter(|edge| edge.policy == id).collect();
        if edges.is_empty() {
            continue;
        }
        for policy in policy.nested() {
            if let Some(retry) = policy.retry.as_ref().filter(|_| policy.repeats()) {
                of_retry(model, policy, retry, &edges, &mut all);
            }
        }
        layered(policy, &mut all);
    }
    for edge in &model.edges {
        near_tie(model, edge, &mut all);
    }
    let mut seen = BTreeSet::new();
    all.retain(|remark| seen.insert(remark.clone()));
    all
}

fn of_retry(model: &Model, policy: &Policy, retry: &Retry, edges: &[&Edge], all: &mut Vec<String>) {
    let name = &policy.name;
    // A 409 may be worth a retry where it says that the first attempt is still worked on.
    let in_progress = |class: Class| {
        edges.iter().all(|edge| {
            let keyed = matches!(edge.operation, Operation::Write(Some(_)));
            let known = model.services[edge.target].idempotency;
            keyed && known.is_some_and(|known| known.answer == class)
        })
    };
    let lasting: Vec<_> = LASTING
        .into_iter()
        .filter(|class| retry.on.contains(*class) && !in_progress(*class))
        .map(Class::name)
        .collect();
    if !lasting.is_empty() {
        all.push(format!(
            "{name} retries {}: what is wrong stays wrong, and is only heard of later.",
            lasting.join(", ")
        ));
    }
    let retries = retry.max_attempts.map_or(LOOK_AHEAD, |most| (most - 1).min(LOOK_AHEAD));
    let window = |k| retry.backoff.after(Class::Unavailable).window(k);
    if window(1).is_zero() {
        all.push(format!(
            "{name} retries at once: what failed a moment ago will hardly have recovered."
        ));
    } else if !retry.backoff.is_random() && is_busy(model) {
        all.push(format!("{name} has no jitter: callers that fail together come back together."));
    }
    let (last, before) = (window(retries), window(retries.saturating_sub(1).max(1)));
    if last > LONG_WAIT && last > before.scale(GROWTH) {
        all.push(format!(
            "{name} has no cap on its waits: the wait before retry {retries} is {last}."
        ));
    }
    if let Some(budget) = &retry.budget
        && let BudgetConfig::TokenBucket { credit, .. } = budget.config
        && credit != Credit::Success
    {
        let what = match credit {
            Credit::Ended => "a wrong request, a refusal of its own and a call that is cut",
            Credit::Answered | Credit::Success => "a wrong request",
        };
        all.push(format!("The budget of {name} takes {what} for a success."));
    }
}

/// A retry over another one: their attempts multiply.
fn layered(policy: &Policy, all: &mut Vec<String>) {
    let Some(inner) = policy.inner.as_deref() else { return };
    let retries = |it: &Policy| it.retry.is_some() && it.repeats();
    let layers: Vec<_> = policy.nested().filter(|it| retries(it)).collect();
    if layers.len() > 1 {
        let each: Vec<_> = layers
            .iter()
            .map(|it| it.max_attempts().map_or("∞".to_owned(), |most| most.to_string()))
            .collect();
        let product = match attempts_per_call(policy) {
            Attempts::AtMost(most) => most.to_string(),
            other => other.to_string(),
        };
        all.push(format!(
            "{} retries over {}, which retries by itself: {} = {product} attempts.",
            policy.name,
            inner.name,
            each.join(" × ")
        ));
    }
}

/// A caller that gives up just when the layer below it would try again.
fn near_tie(model: &Model, edge: &Edge, all: &mut Vec<String>) {
    let patience = model.policies[edge.policy].attempt_timeout.as_ref();
    let Some(patience) = patience.and_then(|it| it.after.as_constant()) else { return };
    for below in &model.services[edge.target].calls {
        let policy = &model.policies[model.edges[*below].policy];
        let Some(retry) = policy.retry.as_ref().filter(|_| policy.repeats()) else { continue };
        if !retry.backoff.is_random() && retry.backoff.window(1) == patience {
            let caller = match edge.caller {
                Caller::Population(id) => &model.populations[id].name,
                Caller::Service(id) => &model.services[id].name,
            };
            all.push(format!(
                "{caller} gives up after {patience}, which is when {} tries again: a near tie.",
                model.services[edge.target].name
            ));
        }
    }
}

/// Can more than one request be under way?
fn is_busy(model: &Model) -> bool {
    model.populations.iter().any(|population| match &population.arrivals {
        Arrivals::Closed { .. } => population.size > 1,
        Arrivals::Open(open) => {
            let born: u64 = open.bursts.iter().map(|burst| u64::from(burst.count)).sum();
            let ends = |part: &RateSegment| [part.start, part.end];
            let flows = |part: &RateSegment| ends(part).iter().any(|it| it.as_per_second() > 0.0);
            born > 1 || open.segments.iter().any(flows)
        }
    })
}
