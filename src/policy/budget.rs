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
//! Source: gRPC proposal A6 (token bucket; the failure is taken before the question is asked);
//! Finagle and Linkerd (share of traffic with a floor), as a bucket instead of a sliding window.

#[cfg(test)]
mod tests;

use serde::Serialize;

use crate::policy::outcome::Class;
use crate::policy::outcome::ClassSet;
use crate::units::SECOND;
use crate::units::SimTime;

/// One token, in thousandths: the price of a retry or of a failure.
const TOKEN: u32 = 1_000;

/// What a budget is paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DepositPoint {
    /// Each call, when its first attempt is sent.
    Call,
    /// Each attempt that succeeds.
    Success,
    /// Each call whose first attempt succeeds.
    FirstSuccess,
}

/// The settings of a budget. Amounts are thousandths of a token.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetConfig {
    /// The half-full token bucket of gRPC: every failure that counts takes one token, every
    /// success gives `ratio_milli`, and a retry is allowed while more than `threshold_milli` are
    /// left after the failure was taken. Starts full.
    TokenBucket {
        /// The most the bucket holds.
        max_milli: u32,
        /// What a success gives back.
        ratio_milli: u32,
        /// A retry needs strictly more than this.
        threshold_milli: u32,
        /// The failures that take a token.
        counts: ClassSet,
    },
    /// A share of the traffic: deposits of `ratio_milli`, each retry takes one token.
    Ratio {
        /// What one deposit gives.
        ratio_milli: u32,
        /// When a deposit is made.
        deposit: DepositPoint,
        /// A steady income besides the deposits, in thousandths of a token per second.
        floor_milli_per_s: u32,
        /// The most that can be saved up.
        cap_milli: u32,
        /// What there is at the start.
        start_milli: u32,
    },
}

/// The balance of one budget. Its settings are passed to each question, so that they may change
/// while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Up to when the steady income is paid in.
    refilled_at: SimTime,
    /// Thousandths of a token.
    balance: u32,
    /// Income not yet worth a thousandth: thousandths · nanoseconds ÷ second, below [`SECOND`].
    remainder: u32,
}

impl BudgetConfig {
    /// A budget as it is before the first call.
    pub fn start(&self, now: SimTime) -> Budget {
        let balance = match *self {
            Self::TokenBucket { max_milli, .. } => max_milli,
            Self::Ratio { start_milli, cap_milli, .. } => start_milli.min(cap_milli),
        };
        Budget { refilled_at: now, balance, remainder: 0 }
    }
}

impl Budget {
    /// A call sends its first attempt.
    #[inline]
    pub fn call_started(&mut self, config: &BudgetConfig, now: SimTime) {
        self.deposit_at(DepositPoint::Call, config, now);
    }

    /// An attempt succeeded; `first` when it was the first of its call.
    #[inline]
    pub fn attempt_succeeded(&mut self, config: &BudgetConfig, now: SimTime, first: bool) {
        if let BudgetConfig::TokenBucket { max_milli, ratio_milli, .. } = *config {
            self.deposit(ratio_milli, max_milli);
            return;
        }
        self.deposit_at(DepositPoint::Success, config, now);
        if first {
            self.deposit_at(DepositPoint::FirstSuccess, config, now);
        }
    }

    /// An attempt failed. Every failed attempt is told, the last one of a call too, and before
    /// [`Budget::may_retry`] is asked.
    #[inline]
    pub fn attempt_failed(&mut self, config: &BudgetConfig, _now: SimTime, class: Class) {
        if let BudgetConfig::TokenBucket { counts, .. } = *config
            && counts.contains(class)
        {
            self.balance = self.balance.saturating_sub(TOKEN);
        }
    }

    /// May a retry be sent? If the budget charges for it, it is paid.
    #[inline]
    #[must_use]
    pub fn may_retry(&mut self, config: &BudgetConfig, now: SimTime) -> bool {
        match *config {
            BudgetConfig::TokenBucket { threshold_milli, .. } => self.balance > threshold_milli,
            BudgetConfig::Ratio { floor_milli_per_s, cap_milli, .. } => {
                self.refill(floor_milli_per_s, cap_milli, now);
                let paid = self.balance.checked_sub(TOKEN);
                self.balance = paid.unwrap_or(self.balance);
                paid.is_some()
            }
        }
    }

    /// Thousandths of a token, as of the last question.
    pub const fn balance_milli(&self) -> u32 {
        self.balance
    }

    /// Would a retry be refused at `now`? Nothing is paid.
    pub fn is_exhausted(&self, config: &BudgetConfig, now: SimTime) -> bool {
        let mut copy = *self;
        !copy.may_retry(config, now)
    }

    /// Pays in what `point` is worth, if that is when the budget is paid.
    #[inline]
    fn deposit_at(&mut self, point: DepositPoint, config: &BudgetConfig, now: SimTime) {
        if let BudgetConfig::Ratio { ratio_milli, deposit, floor_milli_per_s, cap_milli, .. } =
            *config
            && deposit == point
        {
            // What came in before goes first: at the cap the order decides what is lost.
            self.refill(floor_milli_per_s, cap_milli, now);
            self.deposit(ratio_milli, cap_milli);
        }
    }

    /// Pays in `amount`; what does not fit is lost.
    #[inline]
    fn deposit(&mut self, amount: u32, cap: u32) {
        self.balance = self.balance.saturating_add(amount).min(cap);
    }

    /// Pays in the steady income up to `now`, to the thousandth, and keeps the remainder.
    #[inline]
    fn refill(&mut self, milli_per_s: u32, cap: u32, now: SimTime) {
        if milli_per_s == 0 {
            self.refilled_at = now;
            return;
        }
        let nanos = u128::from(now.since(self.refilled_at).as_nanos());
        let earned = nanos * u128::from(milli_per_s) + u128::from(self.remainder);
        let whole = (earned / u128::from(SECOND)).min(u128::from(u32::MAX)) as u32;
        self.deposit(whole, cap);
        // A full purse keeps nothing in the other pocket.
        let full = self.balance >= cap;
        self.remainder = if full { 0 } else { (earned % u128::from(SECOND)) as u32 };
        self.refilled_at = now;
    }
}
