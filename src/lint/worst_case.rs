//! Worst-case arithmetic: attempts that multiply along paths, and who is still waiting for them.
//!
//! Pure functions of a model. How long a call can go on is in `longest.rs`.

use std::fmt;

use serde::Serialize;
use serde::Serializer;

use crate::lint::longest::LongestCall;
use crate::lint::longest::longest_calls;
use crate::lint::queues;
use crate::policy::backoff::Backoff;
use crate::policy::composition::AttemptTree;
use crate::policy::stack::Policy;
use crate::scenario::model::Caller;
use crate::scenario::model::Cancellation;
use crate::scenario::model::Effect;
use crate::scenario::model::Model;
use crate::scenario::model::PopulationId;
use crate::scenario::model::ServiceId;
use crate::units::Duration;

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

/// The most attempts of one call: retries, hedges, and those of the policies inside it multiplied.
pub fn attempts_per_call(policy: &Policy) -> Attempts {
    match AttemptTree::of(policy).most_attempts() {
        // So many that they were not counted on.
        None | Some(u64::MAX) => Attempts::Unlimited,
        Some(most) => Attempts::AtMost(most),
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
    let each = attempts_per_call(model.policy_of(first));
    let often = if is_begun_again(model, population) {
        Attempts::Unlimited
    } else {
        executions(model, population)
    };
    at[model.edges[first].target] = often.times(each);
    for service in callers_first(model) {
        for edge in &model.services[service].calls {
            let made = at[service].times(attempts_per_call(model.policy_of(*edge)));
            let target = model.edges[*edge].target;
            at[target] = at[target].plus(made);
        }
    }
    at
}

/// How often the request of a population makes its call: once, or as a job as often as its queue
/// has it executed.
pub(super) fn executions(model: &Model, population: PopulationId) -> Attempts {
    let queue = model.populations[population].queue.map(|queue| &model.queues[queue]);
    queue.map_or(Attempts::AtMost(1), queues::executions)
}

/// May an execution of a job be begun again without being an attempt? So it is when its lease ends
/// before it does, or its process ends.
fn is_begun_again(model: &Model, population: PopulationId) -> bool {
    let Some(queue) = model.populations[population].queue else { return false };
    let policy = model.policy_of(model.populations[population].calls);
    let once = AttemptTree::of(policy).most_attempts() == Some(1);
    let attempt = policy.attempt_timeout.as_ref().filter(|_| once).map(|it| it.longest(1));
    let longest = [attempt, policy.timeout].into_iter().flatten().min();
    let outlasted = |lease: Duration| longest.is_none_or(|longest| longest >= lease);
    let stops = |effect: &Effect| matches!(effect, Effect::Stop { queue: it, .. } if *it == queue);
    model.queues[queue].lease.is_some_and(outlasted)
        || model.triggers.iter().any(|trigger| stops(&trigger.effect))
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

/// The shortest attempt timeout of the callers of `service`, its mean where it is drawn; of
/// policies inside one another the shortest.
pub(super) fn patience_with(model: &Model, service: ServiceId) -> Option<Duration> {
    model
        .edges
        .iter()
        .enumerate()
        .filter(|(_, edge)| edge.target == service)
        .flat_map(|(id, _)| model.policy_of(id).nested())
        .filter_map(|policy| policy.attempt_timeout.as_ref())
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
pub(super) mod tests {
    use super::*;
    use crate::scenario;

    pub(crate) fn model(text: &str) -> Model {
        let parsed = scenario::parse("test", text.as_bytes());
        parsed.map(|mut scenario| scenario.variants.remove(0).model).unwrap_or_else(|problems| {
            panic!("{}", problems.iter().map(ToString::to_string).collect::<String>())
        })
    }

    /// Three layers under one policy, a client above them.
    pub(crate) fn chain(policy: &str) -> Model {
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
        check("{hedge: {after: 1s, max_attempts: 3}}", at_most([3, 9, 27]));
        check("{hedge: {after: 0s}, retry: {max_attempts: 4}}", at_most([8, 64, 512]));
        let twice = "{retry: {max_attempts: 2}, inner: q}, q: {hedge: {after: failure}}";
        check(twice, at_most([4, 16, 64]));
        check(&format!("{{inner: r}}, r: {twice}"), at_most([4, 16, 64]));
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
    fn a_caller_that_gives_up_first_leaves_orphans() {
        let policy = "{attempt_timeout: 2s, retry: {max_attempts: 4}}";
        let cases = edge_cases(&chain(policy));
        assert!(!cases[0].orphans, "nobody waits for a client");
        assert_eq!(cases[1].patience, Some(Duration::from_secs(2)));
        assert!(cases[1].orphans && cases[2].orphans);
        assert!(!edge_cases(&chain("{attempt_timeout: 2s}"))[1].orphans);
        let inside = "{inner: q}, q: {attempt_timeout: 1s, retry: {max_attempts: 4}}";
        assert_eq!(edge_cases(&chain(inside))[1].patience, Some(Duration::from_secs(1)));
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
