//! Balances in whole thousandths of a token: the half-full bucket and the leaky purse.

use crate::policy::budget::BudgetConfig;
use crate::policy::budget::Credit;
use crate::policy::budget::DepositPoint;
use crate::policy::budget::Failure;
use crate::units::SECOND;
use crate::units::SimTime;

/// One token, in thousandths.
pub(super) const TOKEN: u32 = 1_000;

/// A balance, and up to when its steady income is paid in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Purse {
    pub(super) refilled_at: SimTime,
    /// Thousandths of a token.
    pub(super) balance: u32,
    /// Income not yet worth a thousandth: thousandths · nanoseconds ÷ second, below [`SECOND`].
    pub(super) remainder: u32,
}

impl Purse {
    pub(super) const fn new(balance: u32, now: SimTime) -> Self {
        Self { refilled_at: now, balance, remainder: 0 }
    }

    #[inline]
    pub(super) fn deposit_at(&mut self, point: DepositPoint, config: &BudgetConfig, now: SimTime) {
        if let BudgetConfig::Ratio { ratio_milli, deposit, floor_milli_per_s, cap_milli, .. } =
            *config
            && deposit == point
        {
            // What came in before goes first: at the cap the order decides what is lost.
            self.refill(floor_milli_per_s, cap_milli, now);
            self.deposit(ratio_milli, cap_milli);
        }
    }

    #[inline]
    pub(super) fn success(&mut self, config: &BudgetConfig) {
        if let BudgetConfig::TokenBucket { max_milli, ratio_milli, .. } = *config {
            self.deposit(ratio_milli, max_milli);
        }
    }

    #[inline]
    pub(super) fn failure(&mut self, config: &BudgetConfig, failure: Failure) {
        if let BudgetConfig::TokenBucket {
            max_milli,
            ratio_milli,
            counts,
            cost_milli,
            last_attempt_pays,
            credit,
            ..
        } = *config
        {
            if counts.contains(failure.class) {
                let pays = last_attempt_pays || !failure.last;
                self.balance = self.balance.saturating_sub(if pays { cost_milli } else { 0 });
                return;
            }
            let fills = match credit {
                Credit::Success => false,
                Credit::Answered => !failure.class.is_local(),
                Credit::Ended => true,
            };
            if fills {
                self.deposit(ratio_milli, max_milli);
            }
        }
    }

    /// An attempt is given up with its call.
    #[inline]
    pub(super) fn cut(&mut self, config: &BudgetConfig) {
        if let BudgetConfig::TokenBucket { max_milli, ratio_milli, credit: Credit::Ended, .. } =
            *config
        {
            self.deposit(ratio_milli, max_milli);
        }
    }

    #[inline]
    pub(super) fn pays(&mut self, config: &BudgetConfig, now: SimTime) -> bool {
        match *config {
            BudgetConfig::TokenBucket { threshold_milli, .. } => self.balance > threshold_milli,
            BudgetConfig::Ratio { floor_milli_per_s, cap_milli, .. } => {
                self.refill(floor_milli_per_s, cap_milli, now);
                let paid = self.balance.checked_sub(TOKEN);
                self.balance = paid.unwrap_or(self.balance);
                paid.is_some()
            }
            _ => false,
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
