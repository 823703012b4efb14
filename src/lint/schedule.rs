//! The schedule of one policy alone: every wait with its bounds, and when attempts come in an outage.
//!
//! A pure reading of the policy. The bounds are exact, and so is all that the back-off knows in
//! closed form; means and medians of waits that depend on the wait before, or are drawn from a
//! distribution, are worked out on a fixed grid or from fixed draws, so that the same policy always
//! gives the same numbers, and `exact` says so.

mod outage;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde::Serialize;

use crate::lint::schedule::outage::outage;
use crate::lint::schedule::outage::unanswered;
use crate::lint::worst_case::Attempts;
use crate::lint::worst_case::attempts_per_call;
use crate::policy::backoff::Backoff;
use crate::policy::backoff::Growth;
use crate::policy::backoff::Total;
use crate::policy::composition::AttemptTree;
use crate::policy::outcome::Class;
use crate::policy::stack::AttemptTimeout;
use crate::policy::stack::Policy;
use crate::random::Distribution;
use crate::units::Duration;

/// Retries that are listed where attempts are limited.
const MOST_ROWS: u32 = 32;
/// Retries that are listed where they are not.
const ROWS_OF_UNLIMITED: u32 = 12;
/// Retries that are followed one by one; those further out are taken to wait as the last one does.
const FOLLOWED: u32 = 10_000;

/// The schedule of a policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Schedule {
    /// The policy's name.
    pub policy: String,
    /// The most attempts of one call.
    pub attempts: Attempts,
    /// The tree of attempts, a level on each line, where more than one layer makes it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attempt_tree: Vec<String>,
    /// The wait before each retry; the first ones, where there are very many.
    pub waits: Vec<Wait>,
    /// Are `waits` all of them?
    pub whole: bool,
    /// Layers that send attempts of their own, at times that are not among those of the outages.
    pub beside: Vec<Beside>,
    /// A service that refuses at once.
    pub refusing: Outage,
    /// A service that hangs.
    pub hanging: Outage,
}

/// The wait before one retry, and all waits up to it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Wait {
    /// Which retry, from 1.
    pub retry: u32,
    /// The wait alone.
    pub wait: Spread,
    /// All waits up to this one.
    pub sum: Total,
    /// Are mean and median those of a closed form?
    pub exact: bool,
}

/// Where a span lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// At its shortest.
    pub smallest: Duration,
    /// At its longest.
    pub largest: Duration,
    /// On average.
    pub mean: Duration,
    /// As often shorter as longer.
    pub median: Duration,
}

/// When something happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Moment {
    /// At the earliest.
    pub earliest: Duration,
    /// At the latest.
    pub latest: Duration,
    /// On average.
    pub mean: Duration,
}

impl Spread {
    /// The same as the total of one wait.
    pub const fn ends(self) -> Total {
        Total { smallest: self.smallest, largest: self.largest, mean: self.mean }
    }
}

impl Moment {
    /// So much later.
    fn later(self, by: Self) -> Self {
        Self {
            earliest: self.earliest.saturating_add(by.earliest),
            latest: self.latest.saturating_add(by.latest),
            mean: self.mean.saturating_add(by.mean),
        }
    }

    /// When waits that come to `waited` are over.
    const fn of(waited: Total) -> Self {
        Self { earliest: waited.smallest, latest: waited.largest, mean: waited.mean }
    }

    /// When attempt `attempt` is given up, since it was sent.
    fn patience(timeout: &AttemptTimeout, attempt: u32) -> Self {
        let grown = |span| {
            let after = Distribution::constant(span);
            AttemptTimeout { after, ..timeout.clone() }.longest(attempt)
        };
        let after = &timeout.after;
        Self {
            earliest: grown(after.smallest()),
            latest: grown(after.largest().unwrap_or(Duration::MAX)),
            mean: grown(after.mean()),
        }
    }
}

/// What one call does while a service is down, if nothing but its own policy stops it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outage {
    /// When each attempt is sent, since the first; the first ones, where there are very many.
    pub attempts: Vec<Sent>,
    /// The most attempts that come before the end.
    pub most_attempts: Attempts,
    /// When the call ends at the latest; `None`: never, or there is no bound.
    pub ends_by: Option<Duration>,
    /// Why it ends, if nothing that calls share ends it sooner.
    pub ends: End,
    /// What calls share and what may end it sooner.
    pub may_end_sooner_by: Vec<Shared>,
    /// What calls share and what may hold further attempts back beyond the moments listed.
    pub may_come_later_by: Vec<Shared>,
}

/// What sends attempts beside the tries of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Beside {
    /// Further attempts while one is out.
    Hedge,
    /// Each try is a call under another policy.
    Inner,
}

/// What many calls share, and what may end a call before its own limits do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shared {
    /// The retry budget, when it does not pay.
    Budget,
    /// The client-side throttle, when it refuses.
    Throttle,
    /// The breaker, when it is open.
    Breaker,
    /// The bulkhead, when it is full.
    Bulkhead,
}

/// When an attempt is sent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sent {
    /// Which attempt, from 1.
    pub attempt: u32,
    /// When.
    pub at: Moment,
    /// Is it sent whatever the draws are? Otherwise the total timeout may come first.
    pub certain: bool,
}

/// Why a call ends in an outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// All attempts are used.
    Attempts,
    /// The failure is not retried.
    NotRetried,
    /// The total timeout ends it.
    Timeout,
    /// The limit on the time of retries ends it.
    Elapsed,
    /// It goes on for ever.
    Never,
}

/// The schedule of `policy`.
pub fn policy_schedule(policy: &Policy) -> Schedule {
    let retries = policy.max_attempts().map(|n| n.saturating_sub(1));
    let rows = retries.map_or(ROWS_OF_UNLIMITED, |retries| retries.min(MOST_ROWS));
    let backoff = policy.retry.as_ref().map(|retry| &retry.backoff);
    let of = |backoff: &Backoff| waits(backoff, rows);
    let waits = backoff.map_or(Vec::new(), of);
    // A failure of another class may have waits of its own.
    let after = |class: Class| match backoff {
        Some(usual) if !std::ptr::eq(usual.after(class), usual) => {
            Cow::Owned(of(usual.after(class)))
        }
        _ => Cow::Borrowed(&waits),
    };
    let at_once = |_| Moment::default();
    let refusing = outage(policy, &after(Class::Unavailable), Class::Unavailable, at_once);
    let hanging = match &policy.attempt_timeout {
        Some(timeout) => {
            let patience = |attempt| Moment::patience(timeout, attempt);
            outage(policy, &after(Class::Timeout), Class::Timeout, patience)
        }
        None => unanswered(policy),
    };
    let hedge = policy.hedge.is_some().then_some(Beside::Hedge);
    let inner = policy.inner.is_some().then_some(Beside::Inner);
    Schedule {
        policy: policy.name.clone(),
        attempts: attempts_per_call(policy),
        attempt_tree: attempt_tree(policy),
        whole: retries.is_some_and(|retries| retries <= rows),
        beside: hedge.into_iter().chain(inner).collect(),
        refusing,
        hanging,
        waits: waits.clone(),
    }
}

/// The tree of attempts of a policy of more than one layer, a level on each line.
pub(super) fn attempt_tree(policy: &Policy) -> Vec<String> {
    if policy.order.len() < 2 && policy.inner.is_none() {
        return Vec::new();
    }
    AttemptTree::of(policy).to_string().lines().map(str::to_owned).collect()
}

/// The first `rows` waits.
fn waits(backoff: &Backoff, rows: u32) -> Vec<Wait> {
    // Nothing but what was drawn before, or from a distribution, has no closed form.
    let exact = !backoff.remembers() && !matches!(backoff.growth, Growth::Drawn(_));
    let mut mean_of_sum = Duration::ZERO;
    (1..=rows)
        .map(|retry| {
            let (smallest, largest) = backoff.bounds(retry);
            let (mean, median) = (backoff.mean(retry), backoff.median(retry));
            mean_of_sum = mean_of_sum.saturating_add(mean);
            let (least, most) = backoff.total_bounds(retry);
            let sum = Total { smallest: least, largest: most, mean: mean_of_sum };
            Wait { retry, wait: Spread { smallest, largest, mean, median }, sum, exact }
        })
        .collect()
}
