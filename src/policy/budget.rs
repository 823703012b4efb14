//! Retry budgets: retries as a share of the traffic that pays for them.
//!
//! A cap on attempts bounds what one request may cost. It does not bound what a thousand failing
//! requests cost together: at four attempts each, a dead server meets four times its usual load
//! just when it can bear least. A budget bounds the sum: once the purse is empty, a failure stays
//! a failure. When the purse is filled matters as much as by how much. At full outage a share of
//! 20 % means an amplification of 1.2 when calls pay in, and of 1 when only successes do.
//!
//! Amounts are whole thousandths of a token, and the steady income carries its remainder, so ten
//! tenths are one and nothing drifts.
//!
//! Invariant: 0 ≤ balance ≤ cap, and start + deposits − withdrawals − overflow = balance, at every
//! moment of a run.
//! Source: each kind names its own; here gRPC proposal A6 (token bucket; the failure is taken before
//! the question is asked), google-cloud-gax 1.15 `CircuitBreaker` (the same at a cost of ten), and
//! the share of traffic of Finagle and Linkerd as a bucket instead of a sliding window.

mod config;
pub mod counter;
pub mod elapsed;
mod purse;
pub mod quota;
pub mod slots;
pub mod window;

#[cfg(test)]
mod kind_tests;
#[cfg(test)]
mod tests;

pub use config::Asked;
pub use config::BudgetConfig;
pub use config::Credit;
pub use config::DepositPoint;

use crate::policy::budget::counter::Counter;
use crate::policy::budget::purse::Purse;
use crate::policy::budget::quota::Quota;
use crate::policy::budget::slots::Active;
use crate::policy::budget::slots::Slots;
use crate::policy::budget::window::Window;
use crate::policy::outcome::Class;
use crate::policy::throttle::rate::RateBucket;
use crate::policy::throttle::tally::Tally;
use crate::units::Duration;
use crate::units::SimTime;

/// What a budget says to a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It may be made, and is paid for.
    Granted,
    /// It may be made, but no sooner than after this.
    NotBefore(Duration),
    /// It is not made.
    Refused,
    /// It is not made, but its wait is waited.
    RefusedAfterWait,
}

impl Answer {
    /// May the retry be made?
    pub const fn is_granted(self) -> bool {
        matches!(self, Self::Granted | Self::NotBefore(_))
    }

    const fn of(granted: bool) -> Self {
        if granted { Self::Granted } else { Self::Refused }
    }
}

/// A failed attempt, as a budget hears of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// How it failed.
    pub class: Class,
    /// Is the class one that is retried?
    pub retried: bool,
    /// Was it the last attempt allowed?
    pub last: bool,
}

impl Tab {
    /// Of a call that has just begun.
    pub const NEW: Self = Self { cost: 0, epoch: 0, slot: false, out: false };

    /// Does the call hold a place among the retries under way?
    pub const fn holds_place(&self) -> bool {
        self.slot
    }
}

impl Failure {
    /// Of a class that is retried, with attempts left.
    pub const fn of(class: Class) -> Self {
        Self { class, retried: true, last: false }
    }
}

/// What one call owes a budget and holds of it. Kept by the call, handed in with each question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tab {
    /// What its last retry cost, as long as it may come back.
    cost: u32,
    /// When its attempt was sent, in tenths of an interval.
    epoch: u32,
    /// It holds a place among the retries under way.
    slot: bool,
    /// It has an attempt out.
    out: bool,
}

/// The state of one budget. Its settings are passed to each question, so that they may change
/// while it runs; a change of kind begins anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget(State);

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Purse(Purse),
    Quota(Quota),
    Window(Box<Window>),
    Slots(Slots),
    Active(Box<Active>),
    Tally(Box<Tally>),
    Rate(RateBucket),
    Counter(Counter),
}

impl BudgetConfig {
    /// A budget as it is before the first call.
    pub fn start(&self, now: SimTime) -> Budget {
        Budget(match self {
            Self::TokenBucket { max_milli, .. } => State::Purse(Purse::new(*max_milli, now)),
            Self::Ratio { start_milli, cap_milli, .. } => {
                State::Purse(Purse::new(*start_milli.min(cap_milli), now))
            }
            Self::Quota(config) => State::Quota(Quota::new(config)),
            Self::Window(_) => State::Window(Box::new(Window::new(now))),
            Self::Concurrent { .. } => State::Slots(Slots::default()),
            Self::ActiveShare(_) => State::Active(Box::new(Active::NEW)),
            Self::ClientRatio { .. } => State::Tally(Box::new(Tally::NEW)),
            Self::Rate(config) => State::Rate(config.start(now)),
            Self::Counter(_) => State::Counter(Counter::NEW),
        })
    }
}

impl Budget {
    /// A call sends its first attempt.
    #[inline]
    pub fn call_started(&mut self, config: &BudgetConfig, now: SimTime) {
        match (&mut self.0, config) {
            (State::Tally(tally), BudgetConfig::ClientRatio { window, .. }) => {
                tally.add(*window, now, [1, 0]);
            }
            _ => self.deposit_at(DepositPoint::Call, config, now),
        }
    }

    /// An attempt is sent.
    #[inline]
    pub fn attempt_sent(&mut self, config: &BudgetConfig, now: SimTime, tab: &mut Tab) {
        if let (State::Active(active), BudgetConfig::ActiveShare(config)) = (&mut self.0, config) {
            active.sent(config, now, tab);
        }
    }

    /// An attempt succeeded; `first` when it was the first of its call.
    #[inline]
    pub fn attempt_succeeded(
        &mut self,
        config: &BudgetConfig,
        now: SimTime,
        first: bool,
        tab: &mut Tab,
    ) {
        self.slot_back(tab);
        match (&mut self.0, config) {
            (State::Purse(purse), BudgetConfig::TokenBucket { .. }) => purse.success(config),
            (State::Quota(quota), BudgetConfig::Quota(config)) => quota.success(config, tab),
            (State::Purse(_) | State::Window(_), _) => {
                self.deposit_at(DepositPoint::Success, config, now);
                self.deposit_at(DepositPoint::Final, config, now);
                if first {
                    self.deposit_at(DepositPoint::FirstSuccess, config, now);
                }
            }
            _ => {}
        }
    }

    /// An attempt failed. Every failed attempt is told, the last one of a call too, and before
    /// [`Budget::may_retry`] is asked.
    #[inline]
    pub fn attempt_failed(
        &mut self,
        config: &BudgetConfig,
        now: SimTime,
        failure: Failure,
        tab: &mut Tab,
    ) {
        self.slot_back(tab);
        match &mut self.0 {
            State::Purse(purse) => purse.failure(config, failure),
            State::Window(_) => {}
            _ => return,
        }
        if !failure.retried && !failure.class.is_local() {
            self.deposit_at(DepositPoint::Final, config, now);
        }
    }

    /// May a retry be sent after this failure? If the budget charges for it, it is paid.
    #[inline]
    #[must_use]
    pub fn may_retry(
        &mut self,
        config: &BudgetConfig,
        now: SimTime,
        class: Class,
        tab: &mut Tab,
    ) -> Answer {
        Answer::of(match (&mut self.0, config) {
            (
                State::Purse(purse),
                BudgetConfig::TokenBucket { .. } | BudgetConfig::Ratio { .. },
            ) => purse.pays(config, now),
            (State::Quota(quota), BudgetConfig::Quota(config)) => {
                return quota.ask(config, class, tab);
            }
            (State::Window(window), BudgetConfig::Window(config)) => window.withdraw(config, now),
            (State::Slots(slots), BudgetConfig::Concurrent { limit }) => {
                slots.take(u64::from(*limit), tab)
            }
            (State::Active(active), BudgetConfig::ActiveShare(config)) => {
                let limit = config.limit(active.counted(config, now));
                active.slots.take(limit, tab)
            }
            (State::Tally(tally), BudgetConfig::ClientRatio { share_milli, window }) => {
                let [calls, retries] = tally.sums(*window, now);
                let granted =
                    u128::from(retries) * 1_000 < u128::from(calls) * u128::from(*share_milli);
                tally.add(*window, now, [0, u32::from(granted)]);
                granted
            }
            (State::Rate(bucket), BudgetConfig::Rate(config)) => match bucket.take(config, now) {
                None => false,
                Some(Duration::ZERO) => true,
                Some(wait) => return Answer::NotBefore(wait),
            },
            (State::Counter(counter), BudgetConfig::Counter(config)) => {
                counter.count_one(config, now)
            }
            _ => {
                *self = config.start(now);
                return self.may_retry(config, now, class, tab);
            }
        })
    }

    /// An attempt that was sent is over, whatever came of it; told after the retry is decided on.
    #[inline]
    pub fn attempt_over(&mut self, config: &BudgetConfig, now: SimTime, tab: &mut Tab) {
        match (&mut self.0, config) {
            (State::Active(active), BudgetConfig::ActiveShare(config)) => {
                active.over(config, now, tab);
            }
            _ => tab.out = false,
        }
    }

    /// A call ends without an outcome that the budget hears of: it gives back what it holds.
    pub fn call_abandoned(&mut self, config: &BudgetConfig, now: SimTime, tab: &mut Tab) {
        self.slot_back(tab);
        self.attempt_over(config, now, tab);
    }

    /// A call ends without an outcome while it has an attempt under way.
    pub fn attempt_cut(&mut self, config: &BudgetConfig) {
        if let State::Purse(purse) = &mut self.0 {
            purse.cut(config);
        }
    }

    /// What is left, in the unit of its kind: thousandths of a token of a bucket or a purse, tokens
    /// of a quota or a window, whole tokens of a rate; else what is in use: retries under way, the
    /// count of a counter. As of the last question.
    pub fn balance(&self, config: &BudgetConfig) -> i64 {
        match (&self.0, config) {
            (State::Purse(purse), _) => purse.balance.into(),
            (State::Quota(quota), _) => quota.left.into(),
            (State::Window(window), BudgetConfig::Window(config)) => window.balance(config),
            (State::Slots(slots), _) => slots.held.into(),
            (State::Active(active), _) => active.slots.held.into(),
            (State::Rate(bucket), _) => bucket.tokens().into(),
            (State::Counter(counter), _) => counter.count.into(),
            (State::Window(_) | State::Tally(_), _) => 0,
        }
    }

    /// Retries under way, where it counts them.
    pub fn places(&self) -> u32 {
        match &self.0 {
            State::Slots(slots) => slots.held,
            State::Active(active) => active.slots.held,
            _ => 0,
        }
    }

    /// Would a retry after this failure be refused at `now`? Nothing is paid.
    pub fn is_exhausted(&self, config: &BudgetConfig, now: SimTime, class: Class) -> bool {
        !self.clone().may_retry(config, now, class, &mut Tab::default()).is_granted()
    }

    #[inline]
    fn slot_back(&mut self, tab: &mut Tab) {
        match &mut self.0 {
            State::Slots(slots) => slots.give_back(tab),
            State::Active(active) => active.slots.give_back(tab),
            _ => {}
        }
    }

    /// Pays in what `point` is worth, if that is when the budget is paid.
    #[inline]
    fn deposit_at(&mut self, point: DepositPoint, config: &BudgetConfig, now: SimTime) {
        match (&mut self.0, config) {
            (State::Purse(purse), _) => purse.deposit_at(point, config, now),
            (State::Window(window), BudgetConfig::Window(config)) => {
                window.deposit_at(point, config, now);
            }
            _ => {}
        }
    }
}
