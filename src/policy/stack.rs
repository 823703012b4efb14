//! The policies of one caller, in the order they are asked.

use std::fmt;

use serde::Serialize;
use serde::Serializer;

use crate::policy::backoff::Backoff;
use crate::policy::breaker::BreakerConfig;
use crate::policy::budget::BudgetConfig;
use crate::policy::budget::elapsed::ElapsedLimit;
pub use crate::policy::ejection::EjectionConfig;
pub use crate::policy::hedge::HedgeConfig;
pub use crate::policy::hedge::HedgeDelay;
use crate::policy::hint::HintConfig;
use crate::policy::limiter::BulkheadConfig;
use crate::policy::outcome::ClassSet;
use crate::policy::throttle::ThrottleConfig;
pub use crate::policy::timeout::AttemptTimeout;
pub use crate::policy::timeout::TimeoutRule;
pub use crate::policy::timeout::TimeoutScope;
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
    /// Further attempts beside those that are out. Layers inside it see each of them.
    Hedge,
    /// What a caller keeps from the server on its own account.
    Throttle,
    /// The circuit breaker.
    Breaker,
    /// The longest time of one attempt.
    AttemptTimeout,
}

/// The order in which the layers are asked when a policy does not say, outermost first.
pub const DEFAULT_ORDER: [Layer; 7] = [
    Layer::Bulkhead,
    Layer::Timeout,
    Layer::Retry,
    Layer::Hedge,
    Layer::Throttle,
    Layer::Breaker,
    Layer::AttemptTimeout,
];

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
    /// What is made of a server's word when to come again.
    pub hint: HintConfig,
    /// What retries may cost in all.
    pub budget: Option<Scoped<BudgetConfig>>,
    /// How long after the call began another attempt may follow.
    pub max_elapsed: Option<ElapsedLimit>,
}

/// When and how often an attempt gets company.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hedging {
    /// When the next attempt is sent, how many there are at most, and what they may make good.
    pub config: HedgeConfig,
    /// The wait between an attempt's own timeout or failure and the next attempt, where the delay
    /// is [`HedgeDelay::OnTimeout`]; nothing otherwise.
    pub backoff: Backoff,
    /// Are servers obeyed that say when to come again, or never? (gRPC's push-back.)
    pub obeys_hints: bool,
    /// What further attempts may cost in all.
    pub budget: Option<Scoped<BudgetConfig>>,
    /// Whose calls share what is known of latencies, where the delay is a percentile of them.
    pub per: Scope,
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
    /// What the end of that time cuts.
    #[serde(skip_serializing_if = "TimeoutRule::is_default")]
    pub timeout_rule: TimeoutRule,
    /// Further attempts.
    pub retry: Option<Retry>,
    /// Further attempts side by side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hedge: Option<Hedging>,
    /// The client-side throttle.
    pub throttle: Option<Scoped<ThrottleConfig>>,
    /// The circuit breaker.
    pub breaker: Option<Scoped<BreakerConfig>>,
    /// The bulkhead.
    pub bulkhead: Option<Scoped<BulkheadConfig>>,
    /// Which replicas attempts are not sent to. It is no layer: it decides where an attempt goes
    /// that has come through all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ejection: Option<Scoped<EjectionConfig>>,
    /// Another policy inside this one: each attempt of this one is a call under that one, as where
    /// a retry stands around an SDK that already retries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inner: Option<Box<Self>>,
}

impl Policy {
    /// A policy that does nothing: one attempt, awaited for ever.
    pub fn plain(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            order: Vec::new(),
            attempt_timeout: None,
            timeout: None,
            timeout_rule: TimeoutRule::DEFAULT,
            retry: None,
            hedge: None,
            throttle: None,
            breaker: None,
            bulkhead: None,
            ejection: None,
            inner: None,
        }
    }

    /// With a longest wait of `after` for each attempt, everything included.
    #[must_use]
    pub fn with_attempt_timeout(mut self, after: Duration) -> Self {
        let after = Distribution::constant(after);
        self.attempt_timeout = Some(AttemptTimeout::new(after, TimeoutScope::Attempt));
        self.in_default_order()
    }

    /// With a longest time of `timeout` for the whole call.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self.in_default_order()
    }

    /// With further attempts: at most `max_attempts` in all, after transient failures.
    #[must_use]
    pub fn with_retry(mut self, max_attempts: u32, backoff: Backoff) -> Self {
        self.retry = Some(Retry {
            max_attempts: Some(max_attempts),
            backoff,
            on: ClassSet::TRANSIENT,
            hint: HintConfig::IGNORE,
            budget: None,
            max_elapsed: None,
        });
        self.in_default_order()
    }

    /// With a budget for its retries, one for each caller and target; without effect on a policy
    /// that does not retry.
    #[must_use]
    pub fn with_budget(mut self, config: BudgetConfig) -> Self {
        if let Some(retry) = &mut self.retry {
            retry.budget = Some(Scoped { config, per: Scope::DEFAULT });
        }
        self
    }

    /// With further attempts side by side, without a budget.
    #[must_use]
    pub fn with_hedge(mut self, config: HedgeConfig) -> Self {
        self.hedge = Some(Hedging {
            config,
            backoff: Backoff::NONE,
            obeys_hints: false,
            budget: None,
            per: Scope::DEFAULT,
        });
        self.in_default_order()
    }

    /// With another policy inside this one.
    #[must_use]
    pub fn around(mut self, inner: Self) -> Self {
        self.inner = Some(Box::new(inner));
        self
    }

    /// This policy and those inside it, outermost first.
    pub fn nested(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |policy| policy.inner.as_deref())
    }

    /// With a client-side throttle, one for each caller and target.
    #[must_use]
    pub fn with_throttle(mut self, config: ThrottleConfig) -> Self {
        self.throttle = Some(Scoped { config, per: Scope::DEFAULT });
        self.in_default_order()
    }

    /// With a circuit breaker, one for each caller and target.
    #[must_use]
    pub fn with_breaker(mut self, config: BreakerConfig) -> Self {
        self.breaker = Some(Scoped { config, per: Scope::DEFAULT });
        self.in_default_order()
    }

    /// With a bulkhead, one for each caller and target.
    #[must_use]
    pub fn with_bulkhead(mut self, config: BulkheadConfig) -> Self {
        self.bulkhead = Some(Scoped { config, per: Scope::DEFAULT });
        self.in_default_order()
    }

    /// With some replicas left out, as each caller finds them.
    #[must_use]
    pub fn with_ejection(mut self, config: EjectionConfig) -> Self {
        self.ejection = Some(Scoped { config, per: Scope::DEFAULT });
        self
    }

    /// Is the strategy of `layer` set?
    pub const fn has(&self, layer: Layer) -> bool {
        match layer {
            Layer::Bulkhead => self.bulkhead.is_some(),
            Layer::Timeout => self.timeout.is_some(),
            Layer::Retry => self.retry.is_some(),
            Layer::Hedge => self.hedge.is_some(),
            Layer::Throttle => self.throttle.is_some(),
            Layer::Breaker => self.breaker.is_some(),
            Layer::AttemptTimeout => self.attempt_timeout.is_some(),
        }
    }

    /// The layers that see calls, outermost first. Without a retry layer calls and attempts are
    /// the same, and every layer stands inside.
    pub fn layers_outside_retry(&self) -> &[Layer] {
        &self.order[..self.retry_place().unwrap_or(0)]
    }

    /// The layers that see attempts, outermost first.
    pub fn layers_inside_retry(&self) -> &[Layer] {
        &self.order[self.retry_place().map_or(0, |place| place + 1)..]
    }

    /// The most attempts of one call; `None`: without limit.
    pub fn max_attempts(&self) -> Option<u32> {
        self.retry.as_ref().map_or(Some(1), |retry| retry.max_attempts)
    }

    /// Can one call make more than one attempt: by a retry, a hedge, or a policy inside?
    pub fn repeats(&self) -> bool {
        self.max_attempts() != Some(1)
            || self.hedge.is_some()
            || self.inner.as_ref().is_some_and(|inner| inner.repeats())
    }

    /// Where the retry layer stands in the order.
    fn retry_place(&self) -> Option<usize> {
        self.order.iter().position(|layer| *layer == Layer::Retry)
    }

    /// With exactly the layers that are set, in the default order.
    fn in_default_order(mut self) -> Self {
        self.order = DEFAULT_ORDER.into_iter().filter(|layer| self.has(*layer)).collect();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_stand_on_the_side_of_the_retry_that_the_order_says() {
        use Layer::{AttemptTimeout, Breaker, Bulkhead, Retry, Timeout};
        let (second, counted) = (Duration::from_secs(1), BulkheadConfig::new(1, 0));
        let mut policy = Policy::plain("all")
            .with_attempt_timeout(second)
            .with_retry(4, Backoff::NONE)
            .with_bulkhead(counted)
            .with_timeout(second);
        assert_eq!(policy.order, [Bulkhead, Timeout, Retry, AttemptTimeout]);
        assert_eq!(policy.layers_outside_retry(), [Bulkhead, Timeout]);
        assert_eq!(policy.layers_inside_retry(), [AttemptTimeout]);
        assert_eq!(policy.max_attempts(), Some(4));

        policy.order = vec![Breaker, Retry, Timeout, Bulkhead, AttemptTimeout];
        assert_eq!(policy.layers_outside_retry(), [Breaker]);
        assert_eq!(policy.layers_inside_retry(), [Timeout, Bulkhead, AttemptTimeout]);
    }

    #[test]
    fn without_a_retry_every_layer_sees_the_one_attempt() {
        let policy = Policy::plain("once").with_attempt_timeout(Duration::from_secs(1));
        assert!(policy.layers_outside_retry().is_empty());
        assert_eq!(policy.layers_inside_retry(), [Layer::AttemptTimeout]);
        assert_eq!(policy.max_attempts(), Some(1));
        assert!(Policy::plain("nothing").layers_inside_retry().is_empty());
    }
}
