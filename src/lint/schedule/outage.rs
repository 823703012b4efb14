//! When one call sends its attempts while a service is down, and what ends it.
//!
//! Bounds on moments, from the smallest and the largest waits and timeouts. A call's own limits are
//! followed; what calls share (budget, breaker, throttle, bulkhead) depends on the other calls, and
//! is only named.
//!
//! Invariant: no attempt comes before its `earliest` or after its `latest`, and none at all after
//! `most_attempts`.

use crate::lint::schedule::End;
use crate::lint::schedule::FOLLOWED;
use crate::lint::schedule::Moment;
use crate::lint::schedule::Outage;
use crate::lint::schedule::Sent;
use crate::lint::schedule::Shared;
use crate::lint::schedule::Wait;
use crate::lint::worst_case::Attempts;
use crate::policy::backoff::Total;
use crate::policy::budget::BudgetConfig;
use crate::policy::limiter::BulkheadConfig;
use crate::policy::outcome::Class;
use crate::policy::stack::Layer;
use crate::policy::stack::Policy;
use crate::policy::stack::Retry;
use crate::policy::throttle::ThrottleConfig;
use crate::policy::throttle::rate::WhenEmpty;
use crate::policy::timeout::LateWait;
use crate::policy::timeout::Running;
use crate::policy::timeout::TimeoutRule;
use crate::units::Duration;

/// The first attempt, which nothing holds back.
const FIRST: Sent = Sent {
    attempt: 1,
    at: Moment { earliest: Duration::ZERO, latest: Duration::ZERO, mean: Duration::ZERO },
    certain: true,
};

/// What one call does while nothing ever answers and nobody gives an attempt up.
pub(super) fn unanswered(policy: &Policy) -> Outage {
    let cut = policy.timeout.filter(|_| policy.timeout_rule.running == Running::Cut);
    let ends = if cut.is_some() { End::Timeout } else { End::Never };
    let most_attempts = Attempts::AtMost(1);
    let attempts = vec![FIRST];
    Outage {
        attempts,
        most_attempts,
        ends_by: cut,
        ends,
        may_end_sooner_by: Vec::new(),
        may_come_later_by: Vec::new(),
    }
}

/// What one call does while every attempt ends with `class` after its patience.
pub(super) fn outage(
    policy: &Policy,
    waits: &[Wait],
    class: Class,
    patience: impl Fn(u32) -> Moment,
) -> Outage {
    let bound = policy.timeout.unwrap_or(Duration::MAX);
    let failed = patience(1);
    let retry = policy.retry.as_ref().filter(|retry| retry.on.contains(class));
    let Some(retry) = retry.filter(|_| failed.earliest < bound) else {
        // An attempt that the whole call outlasts fails as its class says.
        let ends = if failed.earliest >= bound {
            End::Timeout
        } else if policy.max_attempts() == Some(1) {
            End::Attempts
        } else {
            End::NotRetried
        };
        let ends_by = known(within(policy, failed.latest));
        let most_attempts = Attempts::AtMost(1);
        let attempts = vec![FIRST];
        return Outage {
            attempts,
            most_attempts,
            ends_by,
            ends,
            may_end_sooner_by: Vec::new(),
            may_come_later_by: Vec::new(),
        };
    };
    let may_end_sooner_by = may_end(policy, retry);
    let may_come_later_by = may_delay(policy, retry);
    let mut walk = Walk { policy, retry, class, bound, patience, given_up: failed, failed };
    let mut attempts = vec![FIRST];
    let mut sum = Total::default();
    let retries = policy.max_attempts().map_or(u32::MAX, |n| n.saturating_sub(1));
    for nth in 1..=retries.min(FOLLOWED) {
        let listed = waits.get(nth as usize - 1);
        sum = listed.map_or_else(|| walk.longer(sum, nth), |wait| wait.sum);
        match walk.next(nth, sum) {
            Ok(sent) if listed.is_some() => attempts.push(sent),
            Ok(_) => {}
            Err(Over { ends, by, last }) => {
                let most_attempts = Attempts::AtMost(u64::from(nth) + u64::from(last.is_some()));
                attempts.extend(last.filter(|_| listed.is_some()));
                let ends_by = known(by);
                return Outage {
                    attempts,
                    most_attempts,
                    ends_by,
                    ends,
                    may_end_sooner_by,
                    may_come_later_by,
                };
            }
        }
    }
    let (most_attempts, ends, by) = walk.rest(retries);
    Outage {
        attempts,
        most_attempts,
        ends_by: known(by),
        ends,
        may_end_sooner_by,
        may_come_later_by,
    }
}

/// Why there is no further attempt.
struct Over {
    ends: End,
    /// When the call ends at the latest.
    by: Duration,
    /// The attempt at the very end of the call's time, where it may still be sent.
    last: Option<Sent>,
}

/// A call on its way from attempt to attempt.
struct Walk<'p, F> {
    policy: &'p Policy,
    retry: &'p Retry,
    class: Class,
    bound: Duration,
    patience: F,
    /// All patience so far.
    given_up: Moment,
    /// When the last attempt failed.
    failed: Moment,
}

impl<F: Fn(u32) -> Moment> Walk<'_, F> {
    /// `sum` and the wait before retry `nth`.
    fn longer(&self, sum: Total, nth: u32) -> Total {
        let backoff = self.retry.backoff.after(self.class);
        let (smallest, largest) = backoff.bounds(nth);
        Total {
            smallest: sum.smallest.saturating_add(smallest),
            largest: sum.largest.saturating_add(largest),
            // Of use to nobody so far out.
            mean: sum.mean,
        }
    }

    /// The attempt after retry `nth`, when all waits come to `sum`.
    fn next(&mut self, nth: u32, sum: Total) -> Result<Sent, Over> {
        let mut at = Moment::of(sum).later(self.given_up);
        if at.earliest >= self.bound {
            return Err(self.out_of_time(nth));
        }
        let mut certain = at.latest < self.bound || self.policy.timeout.is_none();
        // One that is sent is sent in time.
        let mut latest = self.bound;
        if let Some(limit) = self.retry.max_elapsed {
            let allows = |failed, at: Duration| limit.allows(failed, at.saturating_sub(failed));
            if !allows(self.failed.earliest, at.earliest) {
                let by = within(self.policy, self.failed.latest);
                return Err(Over { ends: End::Elapsed, by, last: None });
            }
            certain &= allows(self.failed.latest, at.latest);
            let (_, wait) = self.retry.backoff.after(self.class).bounds(nth);
            let beyond = if limit.counts_wait { Duration::ZERO } else { wait };
            latest = latest.min(limit.after.saturating_add(beyond));
        }
        (at.latest, at.mean) = (at.latest.min(latest), at.mean.min(latest));
        let attempt = nth + 1;
        let span = (self.patience)(attempt);
        self.given_up = self.given_up.later(span);
        self.failed = at.later(span);
        Ok(Sent { attempt, at, certain })
    }

    /// The wait before retry `nth` ends no sooner than the time of the call.
    fn out_of_time(&self, nth: u32) -> Over {
        if self.policy.timeout.is_none() {
            // The wait has grown beyond every time that there is.
            return Over { ends: End::Never, by: Duration::MAX, last: None };
        }
        let TimeoutRule { late_wait, running } = self.policy.timeout_rule;
        let by = within(self.policy, self.failed.latest);
        match (late_wait, running) {
            (LateWait::Refuse, _) => Over { ends: End::Timeout, by, last: None },
            (LateWait::Truncate, Running::Cut) => {
                Over { ends: End::Timeout, by: self.bound, last: None }
            }
            // The wait is cut, and the retry after it is sent, as the last.
            (LateWait::Truncate, Running::Finish) if self.failed.earliest < self.bound => {
                let at = Moment { earliest: self.bound, latest: self.bound, mean: self.bound };
                let certain = self.failed.latest < self.bound;
                let last = Some(Sent { attempt: nth + 1, at, certain });
                let by = by.max(at.later((self.patience)(nth + 1)).latest);
                Over { ends: End::Timeout, by, last }
            }
            (LateWait::Truncate, Running::Finish) => Over { ends: End::Timeout, by, last: None },
        }
    }

    /// How it goes on beyond the retries that were followed: the most attempts, the end, and its
    /// latest moment.
    fn rest(&self, retries: u32) -> (Attempts, End, Duration) {
        let left = u64::from(retries.saturating_sub(FOLLOWED));
        let limited = self.policy.max_attempts().is_some();
        if limited && left == 0 {
            let by = within(self.policy, self.failed.latest);
            return (Attempts::AtMost(u64::from(retries) + 1), End::Attempts, by);
        }
        let (smallest, _) = self.retry.backoff.after(self.class).bounds(FOLLOWED);
        let (_, largest) = self.retry.backoff.after(self.class).bounds(retries);
        let (first, last) = ((self.patience)(FOLLOWED), (self.patience)(retries));
        let elapsed = self.retry.max_elapsed.filter(|limit| limit.after < self.bound);
        let end = elapsed.map_or(self.bound, |limit| limit.after);
        // A wait never shortens where it grows, and so many fit at the most.
        let each = smallest.saturating_add(first.earliest).as_nanos();
        let room = end.saturating_sub(self.failed.earliest).as_nanos();
        // What must be left over when the first of them is decided.
        let first_takes = match elapsed {
            Some(limit) if !limit.counts_wait => 1,
            Some(_) => smallest.as_nanos(),
            None => smallest.as_nanos().saturating_add(1),
        };
        let fit = (end != Duration::MAX && self.grows())
            .then(|| match room.checked_sub(first_takes) {
                Some(left) => left.checked_div(each).map(|more| more.saturating_add(1)),
                None => Some(0),
            })
            .flatten();
        let all = if limited { Some(left) } else { None };
        let more = [fit, all].into_iter().flatten().min();
        let sent = u64::from(FOLLOWED) + 1;
        let most =
            more.map_or(Attempts::Unlimited, |more| Attempts::AtMost(sent.saturating_add(more)));
        let every = largest.saturating_add(last.latest);
        let by_attempts = match all {
            Some(left) => {
                let rest = Duration::from_nanos(every.as_nanos().saturating_mul(left));
                self.failed.latest.saturating_add(rest)
            }
            None => Duration::MAX,
        };
        let (ends, by) = match (elapsed, self.policy.timeout) {
            // Attempts so far out are not longer than the growth of their timeouts lets them be, and
            // by then it has met its cap, if there is one.
            (Some(limit), _) if limit.counts_wait => {
                (End::Elapsed, within(self.policy, limit.after.saturating_add(last.latest)))
            }
            (Some(limit), _) => {
                (End::Elapsed, within(self.policy, limit.after.saturating_add(every)))
            }
            (None, Some(bound)) => {
                (End::Timeout, within(self.policy, bound.saturating_add(last.latest)))
            }
            (None, None) => (End::Never, Duration::MAX),
        };
        match all {
            // All attempts fit into the time there is.
            Some(left) if fit.is_none_or(|fit| fit >= left) && by_attempts <= by => {
                (most, End::Attempts, by_attempts)
            }
            Some(_) if ends == End::Never => (most, End::Attempts, by_attempts),
            _ => (most, ends, by),
        }
    }

    /// Is the smallest wait the same for all retries from here on, or does it only grow?
    fn grows(&self) -> bool {
        let backoff = self.retry.backoff.after(self.class);
        backoff.bounds(u32::MAX).0 >= backoff.bounds(FOLLOWED).0 && !backoff.remembers()
    }
}

/// When what would go on for `span` ends, if the whole call is cut.
fn within(policy: &Policy, span: Duration) -> Duration {
    match (policy.timeout, policy.timeout_rule.running) {
        (Some(bound), Running::Cut) => span.min(bound),
        _ => span,
    }
}

/// A bound, if it is one.
fn known(by: Duration) -> Option<Duration> {
    Some(by).filter(|by| *by != Duration::MAX)
}

/// What may end a call that retries: a budget that does not pay, and what refuses an attempt with a
/// failure that is not retried. What stands outside the retry sees the call once, before it begins.
fn may_end(policy: &Policy, retry: &Retry) -> Vec<Shared> {
    let inside = |layer| policy.layers_inside_retry().contains(&layer);
    let ends = |layer, class| inside(layer) && !retry.on.contains(class);
    let budget = retry.budget.is_some_and(|budget| !budget_waits(&budget.config));
    let throttle = policy.throttle.as_ref().is_some_and(|it| !throttle_waits(&it.config));
    let bulkhead = policy.bulkhead.as_ref().is_some_and(|it| {
        it.config.queue != BulkheadConfig::UNLIMITED || it.config.max_wait != Duration::MAX
    });
    let all = [
        (Shared::Budget, budget),
        (Shared::Throttle, throttle && ends(Layer::Throttle, Class::Throttled)),
        (Shared::Breaker, ends(Layer::Breaker, Class::BreakerOpen)),
        (Shared::Bulkhead, bulkhead && ends(Layer::Bulkhead, Class::BulkheadFull)),
    ];
    all.into_iter().filter(|(_, may)| *may).map(|(shared, _)| shared).collect()
}

/// What may hold a further attempt back, so that it comes later than its wait says.
fn may_delay(policy: &Policy, retry: &Retry) -> Vec<Shared> {
    let inside = |layer| policy.layers_inside_retry().contains(&layer);
    let all = [
        (Shared::Budget, retry.budget.is_some_and(|it| budget_waits(&it.config))),
        (
            Shared::Throttle,
            inside(Layer::Throttle)
                && policy.throttle.as_ref().is_some_and(|it| throttle_waits(&it.config)),
        ),
        (
            Shared::Bulkhead,
            inside(Layer::Bulkhead)
                && policy.bulkhead.as_ref().is_some_and(|it| it.config.queue > 0),
        ),
    ];
    all.into_iter().filter(|(_, may)| *may).map(|(shared, _)| shared).collect()
}

/// Does what the budget cannot pay wait, rather than end?
fn budget_waits(it: &BudgetConfig) -> bool {
    matches!(it, BudgetConfig::Rate(rate) if rate.when_empty == WhenEmpty::Wait)
}

/// Does what the throttle does not let through wait, rather than fail?
fn throttle_waits(it: &ThrottleConfig) -> bool {
    match it {
        ThrottleConfig::Cubic { .. } => true,
        ThrottleConfig::Rate(rate) => rate.when_empty == WhenEmpty::Wait,
        ThrottleConfig::FixedWindow(window) => !window.max_wait.is_zero(),
        ThrottleConfig::Adaptive(_) | ThrottleConfig::Admission(_) => false,
    }
}
