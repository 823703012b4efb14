//! Policies inside policies, on paper: the tree of attempts that one call can come to.
//!
//! Each level repeats what stands inside it: a retry one after another, a hedge side by side. At
//! worst their numbers multiply, whatever the order. What the order decides is when: of
//! `retry(hedge(attempt))` every try sends its hedge after the delay; of `hedge(retry(attempt))` a
//! second whole sequence, with its own waits, starts beside the first.
//!
//! Invariant: the most attempts of a tree is the product of its levels, saturating; a level of one
//! changes nothing.
//! Source: Polly 8's strategies in any order; gRPC, which has one or the other; a retry inside a
//! retry, as in a client library under a mesh.

use std::fmt;

use crate::policy::stack::Layer;
use crate::policy::stack::Policy;

/// A tree of attempts, from the outermost level to the attempt itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttemptTree {
    /// One message to a server.
    Attempt,
    /// What is inside, again after a failure: so many times at most, `None` without limit.
    Retry(Option<u32>, Box<Self>),
    /// What is inside, so many times side by side at most.
    Hedge(u32, Box<Self>),
    /// Another policy, by its name: what is inside is one call under it.
    Under(String, Box<Self>),
    /// A layer that sees all of what is inside as one, and repeats nothing.
    Around(Layer, Box<Self>),
}

impl AttemptTree {
    /// The tree of a policy.
    pub fn of(policy: &Policy) -> Self {
        let under = |it: &Policy| Self::Under(it.name.clone(), Box::new(Self::of(it)));
        let innermost = policy.inner.as_deref().map_or(Self::Attempt, under);
        policy.order.iter().rev().fold(innermost, |inside, layer| match layer {
            Layer::Retry => inside.retried(policy.max_attempts()),
            Layer::Hedge => match &policy.hedge {
                Some(hedge) => inside.hedged(hedge.config.max_attempts),
                None => inside,
            },
            layer => Self::Around(*layer, Box::new(inside)),
        })
    }

    /// This inside a retry of `tries` tries, the first included.
    #[must_use]
    pub fn retried(self, tries: Option<u32>) -> Self {
        Self::Retry(tries, Box::new(self))
    }

    /// This inside a hedge of `attempts` at most, the first included.
    #[must_use]
    pub fn hedged(self, attempts: u32) -> Self {
        Self::Hedge(attempts, Box::new(self))
    }

    /// The most attempts that one call can come to; `None`: without limit.
    pub fn most_attempts(&self) -> Option<u64> {
        match self {
            Self::Attempt => Some(1),
            Self::Retry(tries, inside) => {
                Some(u64::from((*tries)?).saturating_mul(inside.most_attempts()?))
            }
            Self::Hedge(attempts, inside) => {
                Some(u64::from(*attempts).saturating_mul(inside.most_attempts()?))
            }
            Self::Under(_, inside) | Self::Around(_, inside) => inside.most_attempts(),
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Attempt => "attempt".to_owned(),
            Self::Retry(Some(tries), _) => format!("retry: up to {tries} tries, one after another"),
            Self::Retry(None, _) => "retry: any number of tries, one after another".to_owned(),
            Self::Hedge(attempts, _) => format!("hedge: up to {attempts} side by side"),
            Self::Under(policy, _) => format!("each a call under the policy {policy}"),
            Self::Around(layer, _) => match layer {
                Layer::Bulkhead => "bulkhead",
                Layer::Timeout => "timeout",
                Layer::Retry => "retry",
                Layer::Hedge => "hedge",
                Layer::Throttle => "throttle",
                Layer::Breaker => "breaker",
                Layer::AttemptTimeout => "attempt timeout",
            }
            .to_owned(),
        }
    }
}

/// One level to a line, each indented by two more than the one around it, with the attempts that
/// it can come to.
impl fmt::Display for AttemptTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut level, mut depth) = (self, 0);
        loop {
            let most = level.most_attempts().map_or("any number of".to_owned(), |n| n.to_string());
            let attempts = if most == "1" { "attempt" } else { "attempts" };
            writeln!(f, "{:indent$}{} ({most} {attempts})", "", level.name(), indent = 2 * depth)?;
            level = match level {
                Self::Attempt => return Ok(()),
                Self::Retry(_, inside)
                | Self::Hedge(_, inside)
                | Self::Under(_, inside)
                | Self::Around(_, inside) => inside,
            };
            depth += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::backoff::Backoff;
    use crate::policy::limiter::BulkheadConfig;
    use crate::policy::outcome::ClassSet;
    use crate::policy::stack::HedgeConfig;
    use crate::policy::stack::HedgeDelay;

    /// C83: a hedge of one and a retry of two are six attempts at most in either order, and the tree
    /// says which is inside which.
    #[test]
    fn c83_hedge_and_retry_multiply_and_the_tree_shows_their_order() {
        let hedge_inside = AttemptTree::Attempt.hedged(2).retried(Some(3));
        let hedge_outside = AttemptTree::Attempt.retried(Some(3)).hedged(2);
        assert_eq!(hedge_inside.most_attempts(), Some(6));
        assert_eq!(hedge_outside.most_attempts(), Some(6));
        assert_eq!(
            hedge_inside.to_string(),
            "retry: up to 3 tries, one after another (6 attempts)\n  \
               hedge: up to 2 side by side (2 attempts)\n    \
                 attempt (1 attempt)\n"
        );
        assert_eq!(
            hedge_outside.to_string(),
            "hedge: up to 2 side by side (6 attempts)\n  \
               retry: up to 3 tries, one after another (3 attempts)\n    \
                 attempt (1 attempt)\n"
        );
    }

    #[test]
    fn retries_inside_retries_multiply_without_overflow() {
        let three_layers = (0..3).fold(AttemptTree::Attempt, |tree, _| tree.retried(Some(4)));
        assert_eq!(three_layers.most_attempts(), Some(64));
        let deep = (0..9).fold(AttemptTree::Attempt, |tree, _| tree.retried(Some(u32::MAX)));
        assert_eq!(deep.most_attempts(), Some(u64::MAX));
        let endless = AttemptTree::Attempt.retried(None).hedged(2);
        assert_eq!(endless.most_attempts(), None);
        assert!(endless.to_string().contains("any number of attempts"));
    }

    /// C83 from a policy: what the order says is what the tree shows.
    #[test]
    fn a_hedge_of_a_policy_stands_where_its_order_says() {
        let config =
            HedgeConfig { delay: HedgeDelay::OnFailure, max_attempts: 2, on: ClassSet::TRANSIENT };
        let mut policy = Policy::plain("both").with_retry(3, Backoff::NONE).with_hedge(config);
        let names = |policy: &Policy| -> Vec<_> {
            let tree = AttemptTree::of(policy);
            assert_eq!(tree.most_attempts(), Some(6));
            let text = tree.to_string();
            text.lines().map(|line| line.trim().chars().take(6).collect::<String>()).collect()
        };
        assert_eq!(names(&policy), ["retry:", "hedge:", "attemp"]);
        policy.order.reverse();
        assert_eq!(names(&policy), ["hedge:", "retry:", "attemp"]);
    }

    #[test]
    fn a_policy_inside_another_multiplies_and_is_named() {
        let sdk = Policy::plain("sdk").with_retry(3, Backoff::NONE);
        let policy = Policy::plain("mine").with_retry(4, Backoff::NONE).around(sdk.clone());
        let tree = AttemptTree::of(&policy);
        assert_eq!(tree.most_attempts(), Some(12));
        assert_eq!(
            tree.to_string(),
            "retry: up to 4 tries, one after another (12 attempts)\n  \
               each a call under the policy sdk (3 attempts)\n    \
                 retry: up to 3 tries, one after another (3 attempts)\n      \
                   attempt (1 attempt)\n"
        );
        let endless = Policy::plain("endless").around(sdk).around(Policy::plain("nothing"));
        assert_eq!(AttemptTree::of(&endless).most_attempts(), Some(1), "the last one stands");
    }

    #[test]
    fn the_tree_of_a_policy_follows_its_order() {
        let policy = Policy::plain("wrap")
            .with_retry(4, Backoff::NONE)
            .with_bulkhead(BulkheadConfig::new(10, 20));
        let tree = AttemptTree::of(&policy).to_string();
        let names: Vec<_> = tree.lines().collect();
        assert_eq!(
            names,
            [
                "bulkhead (4 attempts)",
                "  retry: up to 4 tries, one after another (4 attempts)",
                "    attempt (1 attempt)"
            ]
        );
    }
}
