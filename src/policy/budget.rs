//! Retry budgets: retries as a share of the traffic that pays for them.

use serde::Serialize;

use crate::policy::outcome::ClassSet;
use crate::units::Duration;
use crate::units::SimTime;

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

/// The balance of one budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    _balance: u64,
    _refilled_at: SimTime,
}

impl BudgetConfig {
    /// A budget as it is before the first call.
    pub fn start(&self, _now: SimTime) -> Budget {
        unimplemented!()
    }
}

/// Milliseconds that nobody uses; kept until the state machine is written.
pub type _Unused = Duration;
