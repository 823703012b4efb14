//! Between what bounds the wait before a retry lies, whatever the back-off, the hint and the rest.

use std::ops::RangeInclusive;

use stormlab::policy::backoff::Backoff;
use stormlab::policy::budget::BudgetConfig;
use stormlab::policy::hint::Beyond;
use stormlab::policy::hint::HintConfig;
use stormlab::policy::hint::HintRule;
use stormlab::policy::stack::Policy;
use stormlab::policy::stack::Retry;
use stormlab::policy::timeout::LateWait;
use stormlab::scenario::model::Deed;
use stormlab::scenario::model::Model;
use stormlab::scenario::model::RetryAfter;
use stormlab::units::Duration;

/// The bounds under each policy that an edge ever has.
pub(super) fn of_edge(model: &Model, edge: usize) -> Vec<RangeInclusive<Duration>> {
    let later = model.operator.iter().filter_map(|action| match &action.what {
        Deed::Set { model, .. } => Some(model.as_ref()),
        _ => None,
    });
    std::iter::once(model)
        .chain(later)
        .flat_map(|model| {
            let said = &model.services[model.edges[edge].target].retry_after;
            parts(model.policy_of(edge))
                .filter_map(|policy| Some(of_retry(policy.retry.as_ref()?, policy, said)))
        })
        .collect()
}

/// A policy and those inside it.
pub(super) fn parts(policy: &Policy) -> impl Iterator<Item = &Policy> {
    std::iter::successors(Some(policy), |policy| policy.inner.as_deref())
}

fn of_retry(retry: &Retry, policy: &Policy, said: &[RetryAfter]) -> RangeInclusive<Duration> {
    let (least, most) = of_backoff(&retry.backoff, retry.max_attempts);
    // The rest of the call's time.
    let cut = policy.timeout_rule.late_wait == LateWait::Truncate;
    let waits_its_turn = matches!(
        retry.budget.map(|budget| budget.config),
        Some(BudgetConfig::Rate(_)) // Its turn comes when it comes.
    );
    let (sooner, later) = of_hint(&retry.hint, said, most);
    let least = if cut { Duration::ZERO } else { least.min(sooner) };
    let most = if waits_its_turn { Duration::MAX } else { most.max(later) };
    least..=most
}

/// The shortest and the longest wait of a sequence, of those after certain failures, too.
fn of_backoff(backoff: &Backoff, max_attempts: Option<u32>) -> (Duration, Duration) {
    /// Everything that is not monotone has happened by then.
    const FIRST: u32 = 64;
    let last = max_attempts.map_or(100_000, |most| most.max(2) - 1);
    let each = backoff.rules.by_class.iter().map(|(_, other)| other).chain([backoff]);
    each.flat_map(|backoff| (1..=last.min(FIRST)).chain([last]).map(|retry| backoff.bounds(retry)))
        .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
        .expect("there is a retry")
}

/// The shortest and the longest wait that a word of the server leads to.
fn of_hint(hint: &HintConfig, said: &[RetryAfter], own: Duration) -> (Duration, Duration) {
    let spans = || said.iter().filter_map(|said| said.after.as_ref());
    if !hint.listens() || spans().next().is_none() {
        return (Duration::MAX, Duration::ZERO);
    }
    let heard =
        |span: Duration| if hint.beyond == Beyond::Ignore { span } else { span.min(hint.cap) };
    let least = spans().map(|law| heard(law.smallest())).min().expect("there is one");
    let most = spans().map(|law| law.largest().unwrap_or(Duration::MAX)).max();
    let asked = most.expect("there is one").min(hint.cap);
    let most = match hint.rule {
        HintRule::Scaled(share) => asked.scale(1.0 + share),
        // At least the own wait, which there is no bound to but its own.
        HintRule::Clamp(longer) => asked.min(own.saturating_add(longer)),
        // Jitter is laid over the hint, and may add any span to it.
        HintRule::LargerWindow => Duration::MAX,
        _ => asked,
    };
    // The spread may lie on an own wait, where that was the longer one.
    (least, most.max(own).saturating_add(asked.scale(hint.spread)))
}
