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
    /// A layer that sees all of what is inside as one, and repeats nothing.
    Around(Layer, Box<Self>),
}

impl AttemptTree {
    /// The tree of a policy.
    pub fn of(policy: &Policy) -> Self {
        let innermost = policy.inner.as_deref().map_or(Self::Attempt, Self::of);
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
            Self::Around(_, inside) => inside.most_attempts(),
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Attempt => "attempt".to_owned(),
            Self::Retry(Some(tries), _) => format!("retry: up to {tries} tries, one after another"),
            Self::Retry(None, _) => "retry: any number of tries, one after another".to_owned(),
            Self::Hedge(attempts, _) => format!("hedge: up to {attempts} side by side"),
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
                Self::Retry(_, inside) | Self::Hedge(_, inside) | Self::Around(_, inside) => inside,
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
