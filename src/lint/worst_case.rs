//! Worst-case arithmetic: attempts that multiply along paths, and how long a call can go on.
//!
//! Pure functions of a model. The spans count attempt timeouts and waits; the work, queueing and
//! network of attempts without a timeout come on top and have no bound, which is said.

use std::fmt;

use serde::Serialize;
use serde::Serializer;

use crate::policy::backoff::Backoff;
use crate::policy::stack::Policy;
use crate::policy::timeout::Running;
use crate::scenario::model::Caller;
use crate::scenario::model::Cancellation;
use crate::scenario::model::EdgeId;
use crate::scenario::model::Model;
use crate::scenario::model::PopulationId;
use crate::scenario::model::ServiceId;
use crate::units::Duration;

/// Waits summed one by one; those further out are taken as long as the last one.
const WAITS_SUMMED: u32 = 10_000;
/// Rows of a delay schedule that are worth a look.
const ROWS: u32 = 16;

/// A number of attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Attempts {
    /// At most so many.
    AtMost(u64),
    /// As many as time allows.
    Unlimited,
}

impl Attempts {
    /// Both multiplied. No attempts are none however often they are made.
    pub fn times(self, other: Self) -> Self {
        match (self, other) {
            (Self::AtMost(0), _) | (_, Self::AtMost(0)) => Self::AtMost(0),
            (Self::AtMost(a), Self::AtMost(b)) => {
                a.checked_mul(b).map_or(Self::Unlimited, Self::AtMost)
            }
            _ => Self::Unlimited,
        }
    }

    /// Both added.
    pub fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::AtMost(a), Self::AtMost(b)) => {
                a.checked_add(b).map_or(Self::Unlimited, Self::AtMost)
            }
            _ => Self::Unlimited,
        }
    }

    /// As a factor: infinite when unlimited.
    pub fn as_f64(self) -> f64 {
        match self {
            Self::AtMost(n) => n as f64,
            Self::Unlimited => f64::INFINITY,
        }
    }
}

impl fmt::Display for Attempts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(n) => f.pad(&n.to_string()),
            Self::Unlimited => f.pad("unlimited"),
        }
    }
}

impl Serialize for Attempts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::AtMost(n) => serializer.serialize_u64(*n),
            Self::Unlimited => serializer.serialize_str("unlimited"),
        }
    }
}

/// The most attempts of one call.
pub fn attempts_per_call(policy: &Policy) -> Attempts {
    match &policy.retry {
        None => Attempts::AtMost(1),
        Some(retry) => {
            retry.max_attempts.map_or(Attempts::Unlimited, |n| Attempts::AtMost(u64::from(n)))
        }
    }
}

/// The services in an order in which callers come before those they call.
pub(super) fn callers_first(model: &Model) -> Vec<ServiceId> {
    let mut callers = vec![0usize; model.services.len()];
    for edge in &model.edges {
        if let Caller::Service(_) = edge.caller {
            callers[edge.target] += 1;
        }
    }
    let mut order: Vec<ServiceId> =
        (0..callers.len()).filter(|service| callers[*service] == 0).collect();
    let mut next = 0;
    while let Some(service) = order.get(next).copied() {
        next += 1;
        for edge in &model.services[service].calls {
            let target = model.edges[*edge].target;
            callers[target] -= 1;
            if callers[target] == 0 {
                order.push(target);
            }
        }
    }
    order
}

/// The most attempts that one request of `population` makes at each service when everything
/// fails: a product along each path, summed over paths.
pub fn attempts_per_request(model: &Model, population: PopulationId) -> Vec<Attempts> {
    let mut at = vec![Attempts::AtMost(0); model.services.len()];
    let first = model.populations[population].calls;
    at[model.edges[first].target] = attempts_per_call(model.policy_of(first));
    for service in callers_first(model) {
        for edge in &model.services[service].calls {
            let made = at[service].times(attempts_per_call(model.policy_of(*edge)));
            let target = model.edges[*edge].target;
            at[target] = at[target].plus(made);
        }
    }
    at
}

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
}

/// The waits of all retries of one call at their longest, `Duration::MAX` when there is no end.
pub fn waits_in_all(policy: &Policy) -> Duration {
    let Some(retry) = &policy.retry else { return Duration::ZERO };
    let Some(max_attempts) = retry.max_attempts else { return Duration::MAX };
    let retries = max_attempts.saturating_sub(1);
    let longest = |k| retry.backoff.bounds(k).1;
    let mut sum = Duration::ZERO;
    for k in 1..=retries.min(WAITS_SUMMED) {
        sum = sum.saturating_add(longest(k));
    }
    let rest = u64::from(retries.saturating_sub(WAITS_SUMMED));
    let each = if rest > 0 { longest(retries) } else { Duration::ZERO };
    sum.saturating_add(Duration::from_nanos(each.as_nanos().saturating_mul(rest)))
}

/// The longest that each call can go on, by edge.
pub fn longest_calls(model: &Model) -> Vec<LongestCall> {
    let waits: Vec<_> = model.policies.iter().map(waits_in_all).collect();
    let mut handlers = vec![LongestCall::NOTHING; model.services.len()];
    let mut calls = vec![LongestCall::NOTHING; model.edges.len()];
    for service in callers_first(model).into_iter().rev() {
        for edge in &model.services[service].calls {
            calls[*edge] = longest_call(model, *edge, &handlers, &waits);
            handlers[service] = handlers[service].then(calls[*edge]);
        }
    }
    for population in &model.populations {
        let call = longest_call(model, population.calls, &handlers, &waits);
        calls[population.calls] = call.within(population.deadline);
    }
    calls
}

fn longest_call(
    model: &Model,
    edge: EdgeId,
    handlers: &[LongestCall],
    waits: &[Duration],
) -> LongestCall {
    let policy = model.policy_of(edge);
    let attempt = match &policy.attempt_timeout {
        Some(timeout) => LongestCall { span: timeout.longest(1), open_ended: false },
        None => LongestCall { open_ended: true, ..handlers[model.edges[edge].target] },
    };
    let span = match attempts_per_call(policy) {
        Attempts::AtMost(n) => {
            let attempts = match &policy.attempt_timeout {
                Some(timeout) => timeout.longest_in_all(n),
                None => Duration::from_nanos(attempt.span.as_nanos().saturating_mul(n)),
            };
            attempts.saturating_add(waits[model.edges[edge].policy])
        }
        Attempts::Unlimited => Duration::MAX,
    };
    let last = match (&policy.attempt_timeout, policy.timeout_rule.running) {
        (_, Running::Cut) => Some(Duration::ZERO),
        // The last attempt begins in time, and is awaited.
        (Some(timeout), Running::Finish) => {
            Some(timeout.longest(policy.max_attempts().unwrap_or(u32::MAX)))
        }
        (None, Running::Finish) => None,
    };
    let bound = policy.timeout.zip(last).map(|(whole, last)| whole.saturating_add(last));
    LongestCall { span, ..attempt }.within(bound)
}

/// What a call can come to, against the patience of those who wait for it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EdgeCase {
    /// Who asks.
    pub caller: String,
    /// Who answers.
    pub target: String,
    /// Under which policy.
    pub policy: String,
    /// The most attempts of one call.
    pub attempts_per_call: Attempts,
    /// The longest that one call can go on.
    pub longest: LongestCall,
    /// The shortest attempt timeout of those who wait for the caller meanwhile.
    pub patience: Option<Duration>,
    /// Can the call go on after the last of them has left, unnoticed?
    pub orphans: bool,
}

/// Every call of a model at its worst.
pub fn edge_cases(model: &Model) -> Vec<EdgeCase> {
    let longest = longest_calls(model);
    model
        .edges
        .iter()
        .enumerate()
        .map(|(id, edge)| {
            let (caller, patience, told) = match edge.caller {
                Caller::Population(i) => (&model.populations[i].name, None, true),
                Caller::Service(i) => {
                    let told = model.services[i].cancellation == Cancellation::Full;
                    (&model.services[i].name, patience_with(model, i), told)
                }
            };
            let outlasts = patience
                .is_some_and(|patience| longest[id].span > patience || longest[id].open_ended);
            EdgeCase {
                caller: caller.clone(),
                target: model.services[edge.target].name.clone(),
                policy: model.policy_of(id).name.clone(),
                attempts_per_call: attempts_per_call(model.policy_of(id)),
                longest: longest[id],
                patience,
                orphans: outlasts && !told,
            }
        })
        .collect()
}

/// The shortest attempt timeout of the callers of `service`, its mean where it is drawn.
pub(super) fn patience_with(model: &Model, service: ServiceId) -> Option<Duration> {
    model
        .edges
        .iter()
        .enumerate()
        .filter(|(_, edge)| edge.target == service)
        .filter_map(|(id, _)| model.policy_of(id).attempt_timeout.as_ref())
        .map(|timeout| timeout.after.mean())
        .min()
}

/// The wait before one retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct WaitRow {
    /// Which retry, from 1.
    pub retry: u32,
    /// Before jitter.
    pub window: Duration,
    /// At its shortest.
    pub smallest: Duration,
    /// At its longest.
    pub largest: Duration,
    /// On average.
    pub mean: Duration,
}

/// The waits before the first retries of a call (at most sixteen of them).
pub fn schedule(backoff: &Backoff, max_attempts: Option<u32>) -> Vec<WaitRow> {
    let retries = max_attempts.map_or(ROWS, |n| n.saturating_sub(1)).min(ROWS);
    (1..=retries)
        .map(|retry| {
            let (smallest, largest) = backoff.bounds(retry);
            let (window, mean) = (backoff.window(retry), backoff.mean(retry));
            WaitRow { retry, window, smallest, largest, mean }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;

    fn model(text: &str) -> Model {
        let parsed = scenario::parse("test", text.as_bytes());
        parsed.map(|mut scenario| scenario.variants.remove(0).model).unwrap_or_else(|problems| {
            panic!("{}", problems.iter().map(ToString::to_string).collect::<String>())
        })
    }

    /// Three layers under one policy, a client above them.
    fn chain(policy: &str) -> Model {
        model(&format!(
            "{{schema: 1, name: t, clients: {{c: {{arrivals: {{poisson: 1/s}}, calls: one, policy: p}}}}, \
             services: {{one: {{workers: 1, work: 0s, calls: [{{to: two, policy: p}}]}}, \
             two: {{workers: 1, work: 0s, calls: [{{to: three, policy: p}}]}}, \
             three: {{workers: 1, work: 0s}}}}, policies: {{p: {policy}}}}}"
        ))
    }

    #[test]
    fn attempts_multiply_from_layer_to_layer() {
        #[track_caller]
        fn check(policy: &str, expected: [Attempts; 3]) {
            assert_eq!(attempts_per_request(&chain(policy), 0), expected);
        }
        let at_most = |n: [u64; 3]| n.map(Attempts::AtMost);
        check("{retry: {max_attempts: 4}}", at_most([4, 16, 64]));
        check("{}", at_most([1, 1, 1]));
        check("{retry: {max_attempts: unlimited}}", [Attempts::Unlimited; 3]);
    }

    #[test]
    fn attempts_add_up_over_paths() {
        let model = model(
            "{schema: 1, name: t, clients: {c: {arrivals: {poisson: 1/s}, calls: top, policy: p}}, \
             services: {db: {workers: 1, work: 0s}, top: {workers: 1, work: 0s, calls: [{to: db}, \
             {to: side, policy: p}]}, side: {workers: 1, work: 0s, calls: [{to: db, policy: p}]}}, \
             policies: {p: {retry: {max_attempts: 3}}}}",
        );
        // db: 3 straight from the top, 3 × 3 × 3 by the side.
        assert_eq!(attempts_per_request(&model, 0), [30, 3, 9].map(Attempts::AtMost));
    }

    #[test]
    fn attempts_are_a_number_or_unlimited() {
        let (many, none) = (Attempts::AtMost(u64::MAX), Attempts::AtMost(0));
        assert_eq!(many.times(Attempts::AtMost(2)), Attempts::Unlimited);
        assert_eq!(many.plus(Attempts::AtMost(1)), Attempts::Unlimited);
        assert_eq!(none.times(Attempts::Unlimited), none);
    }

    #[test]
    fn a_call_lasts_as_long_as_its_timeouts_and_waits() {
        #[track_caller]
        fn check(policy: &str, expected_ms: u64, open_ended: bool) {
            let span = Duration::from_millis(expected_ms);
            // The last edge: nothing below it.
            assert_eq!(longest_calls(&chain(policy))[2], LongestCall { span, open_ended });
        }
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

    #[test]
    fn a_caller_that_gives_up_first_leaves_orphans() {
        let policy = "{attempt_timeout: 2s, retry: {max_attempts: 4}}";
        let cases = edge_cases(&chain(policy));
        assert!(!cases[0].orphans, "nobody waits for a client");
        assert_eq!(cases[1].patience, Some(Duration::from_secs(2)));
        assert!(cases[1].orphans && cases[2].orphans);
        assert!(!edge_cases(&chain("{attempt_timeout: 2s}"))[1].orphans);
        let mut told = chain(policy);
        told.services[0].cancellation = Cancellation::Full;
        assert!(!edge_cases(&told)[1].orphans, "the handler is told and stops");
    }

    #[test]
    fn the_schedule_lists_bounds_and_means() {
        let model =
            chain("{retry: {max_attempts: 3, backoff: {exponential: {base: 1s}}, jitter: full}}");
        let retry = model.policy_of(0).retry.clone().unwrap();
        let rows = schedule(&retry.backoff, retry.max_attempts);
        let seconds = Duration::from_secs;
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[1].window, rows[1].smallest), (seconds(2), Duration::ZERO));
        assert_eq!((rows[1].largest, rows[1].mean), (seconds(2), seconds(1)));
        assert_eq!(schedule(&retry.backoff, None).len(), 16);
        assert!(schedule(&retry.backoff, Some(1)).is_empty());
    }
}
