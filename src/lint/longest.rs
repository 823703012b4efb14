//! How long a call can go on at worst.
//!
//! The spans count attempt timeouts and the waits of policies; the work, queueing and network of
//! attempts without a timeout come on top and have no bound, which is said. So do places in line
//! and the waits that servers ask for.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::lint::worst_case::callers_first;
use crate::policy::backoff::Backoff;
use crate::policy::stack::HedgeDelay;
use crate::policy::stack::Hedging;
use crate::policy::stack::Layer;
use crate::policy::stack::Policy;
use crate::policy::timeout::Running;
use crate::scenario::model::EdgeId;
use crate::scenario::model::Model;
use crate::units::Duration;

/// Waits summed one by one; those further out are taken as long as the last one.
const WAITS_SUMMED: u32 = 10_000;

/// The longest that something can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LongestCall {
    /// Timeouts and waits; `Duration::MAX` is for ever.
    pub span: Duration,
    /// Is there an attempt without a timeout, so that it may take longer still?
    pub open_ended: bool,
}

impl LongestCall {
    /// Nothing goes on.
    pub(super) const NOTHING: Self = Self { span: Duration::ZERO, open_ended: false };

    /// One after the other.
    pub(super) fn then(self, other: Self) -> Self {
        Self {
            span: self.span.saturating_add(other.span),
            open_ended: self.open_ended || other.open_ended,
        }
    }

    fn within(self, bound: Option<Duration>) -> Self {
        match bound {
            Some(bound) => {
                let span = if self.open_ended { bound } else { self.span.min(bound) };
                Self { span, open_ended: false }
            }
            None => self,
        }
    }

    /// So many times, one after another; `None` without limit.
    fn times(self, times: Option<u32>) -> Self {
        let span = times.map_or(Duration::MAX, |times| multiplied(self.span, times.into()));
        Self { span, ..self }
    }
}

fn multiplied(span: Duration, times: u64) -> Duration {
    Duration::from_nanos(span.as_nanos().saturating_mul(times))
}

/// The waits of all retries of one call at their longest, `Duration::MAX` when there is no end.
pub fn waits_in_all(policy: &Policy) -> Duration {
    let Some(retry) = &policy.retry else { return Duration::ZERO };
    let Some(max_attempts) = retry.max_attempts else { return Duration::MAX };
    longest_waits(&retry.backoff, max_attempts.saturating_sub(1))
}

/// The first `retries` waits at their longest.
fn longest_waits(backoff: &Backoff, retries: u32) -> Duration {
    let longest = |k| backoff.bounds(k).1;
    let mut sum = Duration::ZERO;
    for k in 1..=retries.min(WAITS_SUMMED) {
        sum = sum.saturating_add(longest(k));
    }
    let rest = u64::from(retries.saturating_sub(WAITS_SUMMED));
    let each = if rest > 0 { longest(retries) } else { Duration::ZERO };
    sum.saturating_add(multiplied(each, rest))
}

/// The longest that each call can go on, by edge.
pub fn longest_calls(model: &Model) -> Vec<LongestCall> {
    // Policies may be shared by thousands of calls and stand inside one another.
    let known: BTreeMap<&str, (&Policy, Duration)> = model
        .policies
        .iter()
        .map(|policy| (policy.name.as_str(), (policy, waits_in_all(policy))))
        .collect();
    let waits = |policy: &Policy| match known.get(policy.name.as_str()) {
        Some((same, waits)) if same.retry == policy.retry => *waits,
        _ => waits_in_all(policy),
    };
    let mut handlers = vec![LongestCall::NOTHING; model.services.len()];
    let mut calls = vec![LongestCall::NOTHING; model.edges.len()];
    let longest = |edge: EdgeId, handlers: &[LongestCall]| {
        let attempt = LongestCall { open_ended: true, ..handlers[model.edges[edge].target] };
        longest_call(model.policy_of(edge), attempt, &waits)
    };
    for service in callers_first(model).into_iter().rev() {
        for edge in &model.services[service].calls {
            calls[*edge] = longest(*edge, &handlers);
            handlers[service] = handlers[service].then(calls[*edge]);
        }
    }
    for population in &model.populations {
        let call = longest(population.calls, &handlers);
        calls[population.calls] = call.within(population.deadline);
    }
    calls
}

/// The longest call under a policy whose innermost attempts can take as long as `attempt`.
fn longest_call(
    policy: &Policy,
    attempt: LongestCall,
    waits: &impl Fn(&Policy) -> Duration,
) -> LongestCall {
    let attempt = match &policy.inner {
        Some(inner) => longest_call(inner, attempt, waits),
        None => attempt,
    };
    let timeout = policy.attempt_timeout.as_ref();
    // The longest of `attempts` attempts, of which later ones may be more patient.
    let each = |attempts| match timeout {
        Some(timeout) => attempt.within(Some(timeout.longest(attempts))),
        None => attempt,
    };
    let hedged = policy.order.contains(&Layer::Hedge);
    let mut inside = each(if hedged { most_sent(policy) } else { 1 });
    let mut one_try = inside;
    for layer in policy.order.iter().rev() {
        match (layer, &policy.hedge, &policy.retry) {
            (Layer::Hedge, Some(hedge), _) => inside = side_by_side(hedge, inside),
            (Layer::Retry, _, Some(retry)) => {
                let most = retry.max_attempts;
                one_try = if hedged { inside } else { each(most.unwrap_or(u32::MAX)) };
                let tries = match (timeout, most) {
                    (Some(timeout), Some(most)) if !hedged => {
                        let all = inside.times(Some(most));
                        let bound = timeout.longest_in_all(most.into());
                        match timeout.growth {
                            // What is inside may be over sooner than any timeout.
                            None => all,
                            Some(_) => attempt.times(Some(most)).within(Some(bound)),
                        }
                    }
                    _ => inside.times(most),
                };
                inside = tries.then(LongestCall { span: waits(policy), open_ended: false });
            }
            _ => {}
        }
    }
    let last = match policy.timeout_rule.running {
        Running::Cut => Some(Duration::ZERO),
        // The last attempt begins in time, and is awaited.
        Running::Finish => (!one_try.open_ended).then_some(one_try.span),
    };
    let bound = policy.timeout.zip(last).map(|(whole, last)| whole.saturating_add(last));
    inside.within(bound)
}

/// The most attempts that a policy sends by itself, one of them as good as another here.
fn most_sent(policy: &Policy) -> u32 {
    let hedges = policy.hedge.as_ref().map_or(1, |hedge| hedge.config.max_attempts);
    policy.max_attempts().unwrap_or(u32::MAX).saturating_mul(hedges)
}

/// The longest that a hedge around `each` goes on: the last one is sent as late as can be.
fn side_by_side(hedge: &Hedging, each: LongestCall) -> LongestCall {
    let further = hedge.config.max_attempts.saturating_sub(1);
    let over = if each.open_ended { Duration::MAX } else { each.span };
    let late = match hedge.config.delay {
        // One that fails sends the next at once.
        HedgeDelay::After(delay) => multiplied(delay.min(over), further.into()),
        HedgeDelay::OnTimeout(timeout) => multiplied(timeout.min(over), further.into())
            .saturating_add(longest_waits(&hedge.backoff, further)),
        // Nobody knows how late is late; at the latest when the one before is over.
        HedgeDelay::OnFailure | HedgeDelay::AtPercentile(_) => {
            multiplied(each.span, further.into())
        }
    };
    LongestCall { span: each.span.saturating_add(late), ..each }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::worst_case::tests::chain;

    #[test]
    fn a_call_lasts_as_long_as_its_timeouts_and_waits() {
        let retry = "retry: {max_attempts: 4, backoff: {exponential: {base: 500ms}}}";
        check(&format!("{{attempt_timeout: 2s, {retry}}}"), 11_500, false);
        check(&format!("{{attempt_timeout: 2s, timeout: 10s, {retry}}}"), 10_000, false);
        check(&format!("{{{retry}}}"), 3_500, true);
        check(&format!("{{timeout: 10s, {retry}}}"), 10_000, false);
        let growing = "attempt_timeout: {after: 1s, multiplier: 2, cap: 3s}";
        check(&format!("{{{growing}, retry: {{max_attempts: 4}}}}"), 9_000, false);
        let finish = "timeout: {after: 5s, running: finish}";
        check(&format!("{{attempt_timeout: 2s, {finish}, {retry}}}"), 7_000, false);
        check(&format!("{{{finish}, {retry}}}"), 3_500, true);
        check("{attempt_timeout: {uniform: {low: 1s, high: 3s}}}", 3_000, false);
    }

    #[test]
    fn nested_waits_multiply_as_attempts_do() {
        // waits 1, 2, 4 s at three layers, instant failures: 7, 35, 147 s.
        let model = chain("{retry: {max_attempts: 4, backoff: {exponential: {base: 1s}}}}");
        let spans: Vec<_> =
            longest_calls(&model).iter().map(|call| call.span.as_secs_f64()).collect();
        assert_eq!(spans, [147.0, 35.0, 7.0]);
    }

    #[test]
    fn waits_without_end_are_said_to_be_so() {
        let calls =
            longest_calls(&chain("{attempt_timeout: 1s, retry: {max_attempts: unlimited}}"));
        assert_eq!(calls[2], LongestCall { span: Duration::MAX, open_ended: false });
        let many = chain("{retry: {max_attempts: 1000000, backoff: 1s}}");
        assert_eq!(waits_in_all(many.policy_of(0)), Duration::from_secs(999_999));
    }

    /// The last edge of a chain: nothing below it.
    #[track_caller]
    fn check(policy: &str, expected_ms: u64, open_ended: bool) {
        let span = Duration::from_millis(expected_ms);
        assert_eq!(longest_calls(&chain(policy))[2], LongestCall { span, open_ended }, "{policy}");
    }

    #[test]
    fn the_last_attempt_of_a_hedge_is_sent_as_late_as_can_be() {
        let each = "attempt_timeout: 2s";
        check(&format!("{{{each}, hedge: {{after: 100ms, max_attempts: 3}}}}"), 2_200, false);
        // A timeout sends the next sooner than the delay.
        check(&format!("{{{each}, hedge: {{after: 9s, max_attempts: 3}}}}"), 6_000, false);
        check(&format!("{{{each}, hedge: {{after: 0s, max_attempts: 3}}}}"), 2_000, false);
        check(&format!("{{{each}, hedge: {{after: failure, max_attempts: 3}}}}"), 6_000, false);
        check(&format!("{{{each}, hedge: {{after: {{percentile: 95%}}}}}}"), 4_000, false);
        let timeout =
            "hedge: {after: {timeout: 500ms, backoff: {exponential: {base: 1s}}}, max_attempts: 3}";
        check(&format!("{{{timeout}}}"), 1_000 + 3_000, true);
        check(&format!("{{timeout: 3s, {timeout}}}"), 3_000, false);
    }

    #[test]
    fn a_hedge_inside_a_retry_is_waited_out_by_each_try() {
        let both =
            "attempt_timeout: 2s, retry: {max_attempts: 3, backoff: 1s}, hedge: {after: 500ms}";
        check(&format!("{{{both}}}"), 3 * 2_500 + 2_000, false);
        let order = "order: [hedge, retry, attempt_timeout]";
        check(&format!("{{{both}, {order}}}"), 3 * 2_000 + 2_000 + 500, false);
    }

    #[test]
    fn a_policy_inside_takes_its_time_within_each_attempt() {
        let inner = "q: {attempt_timeout: 1s, retry: {max_attempts: 3, backoff: 500ms}}";
        let outer = "inner: q, retry: {max_attempts: 2, backoff: 10s}";
        check(&format!("{{{outer}}}, {inner}"), 2 * 4_000 + 10_000, false);
        check(&format!("{{attempt_timeout: 3s, {outer}}}, {inner}"), 2 * 3_000 + 10_000, false);
        check(&format!("{{attempt_timeout: 9s, {outer}}}, {inner}"), 2 * 4_000 + 10_000, false);
        let patient = "q: {retry: {max_attempts: 3, backoff: 500ms}}";
        check(&format!("{{{outer}}}, {patient}"), 2 * 1_000 + 10_000, true);
        check(&format!("{{attempt_timeout: 3s, {outer}}}, {patient}"), 2 * 3_000 + 10_000, false);
    }
}
