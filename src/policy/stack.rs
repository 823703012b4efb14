//! The policies of one caller, in the order they are asked.

use std::fmt;

use serde::Serialize;
use serde::Serializer;

use crate::policy::backoff::Backoff;
use crate::policy::breaker::BreakerConfig;
use crate::policy::budget::BudgetConfig;
use crate::policy::limiter::BulkheadConfig;
use crate::policy::outcome::ClassSet;
use crate::random::Distribution;
use crate::units::Duration;

/// One layer of a policy. Layers outside `Retry` see calls, layers inside it see attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// A bound on what is under way.
    Bulkhead,
    /// The longest time of the whole call, waits included.
    Timeout,
    /// Further attempts after a failure.
    Retry,
    /// The circuit breaker.
    Breaker,
    /// The longest time of one attempt.
    AttemptTimeout,
}

/// The order in which the layers are asked when a policy does not say, outermost first.
pub const DEFAULT_ORDER: [Layer; 5] =
    [Layer::Bulkhead, Layer::Timeout, Layer::Retry, Layer::Breaker, Layer::AttemptTimeout];

/// Whose calls share the state of a strategy: the caller's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CallerScope {
    /// One client instance, or one replica of a service: a process.
    Caller,
    /// A whole population, or all replicas of a service together.
    Group,
    /// Every caller that uses the policy.
    All,
}

/// Whose calls share the state of a strategy: the target's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetScope {
    /// One service that is called.
    Target,
    /// Every service that is called under the policy.
    All,
}

/// Whose calls share the state of a strategy. The default is `[caller, target]`, as in a library
/// object that a process makes for each service it calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scope {
    /// The caller's side.
    pub caller: CallerScope,
    /// The target's side.
    pub target: TargetScope,
}

impl Scope {
    /// One state for each caller and each service that it calls.
    pub const DEFAULT: Self = Self { caller: CallerScope::Caller, target: TargetScope::Target };
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let caller = match self.caller {
            CallerScope::Caller => Some("caller"),
            CallerScope::Group => Some("group"),
            CallerScope::All => None,
        };
        let target = (self.target == TargetScope::Target).then_some("target");
        let words: Vec<_> = caller.into_iter().chain(target).collect();
        f.pad(&format!("[{}]", words.join(", ")))
    }
}

impl Serialize for Scope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What an attempt timeout covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeoutScope {
    /// The whole attempt: the way there, waiting, service, the way back.
    Attempt,
    /// Waiting only: a worker that takes the attempt up ends the timeout (patience).
    Queue,
}

/// The longest wait for one attempt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AttemptTimeout {
    /// A constant, or drawn anew for each attempt.
    pub after: Distribution,
    /// What it covers.
    pub scope: TimeoutScope,
}

/// A strategy with state, and whose calls share the state.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Scoped<T> {
    /// The settings.
    pub config: T,
    /// Whose calls share one state.
    pub per: Scope,
}

/// When and how often a call is tried again.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Retry {
    /// The most attempts of one call, the first one included; `None`: without limit.
    pub max_attempts: Option<u32>,
    /// The wait before each retry.
    pub backoff: Backoff,
    /// The failures that are tried again.
    pub on: ClassSet,
    /// What retries may cost in all.
    pub budget: Option<Scoped<BudgetConfig>>,
}

/// The policy of a caller: each strategy at most once, and the order in which they are asked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Policy {
    /// Its name in the scenario.
    pub name: String,
    /// Outermost first; holds exactly the strategies that are set.
    pub order: Vec<Layer>,
    /// The longest wait for one attempt.
    pub attempt_timeout: Option<AttemptTimeout>,
    /// The longest time of the whole call.
    pub timeout: Option<Duration>,
    /// Further attempts.
    pub retry: Option<Retry>,
    /// The circuit breaker.
    pub breaker: Option<Scoped<BreakerConfig>>,
    /// The bulkhead.
    pub bulkhead: Option<Scoped<BulkheadConfig>>,
}
