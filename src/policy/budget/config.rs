//! The settings of budgets, and what can be said of them on paper.

use serde::Serialize;

use crate::policy::budget::counter::CounterConfig;
use crate::policy::budget::purse::TOKEN;
use crate::policy::budget::quota::QuotaConfig;
use crate::policy::budget::quota::Refund;
use crate::policy::budget::slots::ActiveShare;
use crate::policy::budget::window::WindowConfig;
use crate::policy::outcome::ClassSet;
use crate::policy::throttle::rate::RateConfig;
use crate::units::Duration;

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
    /// Each answer that is not retried: a success, or a failure of a class that is not.
    Final,
}

/// What fills a token bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Credit {
    /// Successes (gRPC).
    Success,
    /// Every answer that takes no token (google-cloud-gax).
    Answered,
    /// Every end of an attempt that takes no token: refusals by the caller's own policies, and
    /// attempts that are given up with their call (a predicate that asks only what is transient).
    Ended,
}

/// When a budget is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// When the attempt has failed: who is refused fails at once.
    BeforeWait,
    /// When the wait is over: who is refused has waited in vain (grpc-js).
    AfterWait,
}

/// The settings of a budget. Amounts in `…_milli` are thousandths of a token.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetConfig {
    /// The half-full token bucket of gRPC: every failure that counts takes a token, every
    /// success gives `ratio_milli`, and a retry is allowed while more than `threshold_milli` are
    /// left after the failure was taken. Starts full.
    TokenBucket {
        /// The most the bucket holds.
        max_milli: u32,
        /// What a success gives back.
        ratio_milli: u32,
        /// A retry needs strictly more than this.
        threshold_milli: u32,
        /// The failures that take tokens.
        counts: ClassSet,
        /// What one of them takes.
        cost_milli: u32,
        /// Does the failure of the last attempt allowed take tokens?
        last_attempt_pays: bool,
        /// What fills it.
        credit: Credit,
        /// When it is asked.
        asked: Asked,
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
    /// A cost by class, and the last one back on success (AWS).
    Quota(QuotaConfig),
    /// Deposits and withdrawals that expire, and a reserve (Finagle, tower, Linkerd).
    Window(WindowConfig),
    /// So many retries under way at once (Envoy `max_retries`).
    Concurrent {
        /// The most of them, waiting ones included.
        limit: u32,
    },
    /// Retries under way as a share of what is active (Envoy `retry_budget`).
    ActiveShare(ActiveShare),
    /// Retries as a share of calls: one is made while retries < share · calls (SRE book: 10 %).
    ClientRatio {
        /// The share in thousandths.
        share_milli: u32,
        /// Over how long both are counted; `Duration::MAX`: for ever.
        window: Duration,
    },
    /// A bucket of its own for retries, with a steady income (client-go).
    Rate(RateConfig),
    /// A counter that only time takes back.
    Counter(CounterConfig),
}

impl BudgetConfig {
    /// gRPC's bucket: what fails takes one token, the last attempt pays too, and the question is
    /// asked before the wait.
    pub const fn token_bucket(
        max_milli: u32,
        ratio_milli: u32,
        threshold_milli: u32,
        counts: ClassSet,
    ) -> Self {
        Self::TokenBucket {
            max_milli,
            ratio_milli,
            threshold_milli,
            counts,
            cost_milli: TOKEN,
            last_attempt_pays: true,
            credit: Credit::Success,
            asked: Asked::BeforeWait,
        }
    }

    /// What one budget is good for at once when it is full: tokens of a bucket or purse, else
    /// retries, at the lowest cost; `None` where that depends on the traffic.
    pub fn reserve_retries(&self) -> Option<f64> {
        match self {
            Self::TokenBucket { max_milli: milli, .. } | Self::Ratio { cap_milli: milli, .. } => {
                Some(f64::from(*milli) / 1e3)
            }
            Self::Quota(config) => match config.costs.lowest() {
                0 => None,
                cost => Some(f64::from(config.capacity / u32::from(cost))),
            },
            Self::Window(config) => Some(config.reserve_retries() as f64),
            Self::Concurrent { limit } => Some(f64::from(*limit)),
            Self::ActiveShare(config) => Some(f64::from(config.least)),
            Self::ClientRatio { .. } => None,
            Self::Rate(config) => Some(f64::from(config.burst)),
            Self::Counter(config) => Some(f64::from(config.limit)),
        }
    }

    /// What it pays for in the long run, whatever its size: retries per call at most, and retries
    /// per second besides, both in thousandths. `None`: as many as there are attempts and time.
    pub fn in_the_long_run(&self) -> Option<(u32, u32)> {
        match self {
            Self::TokenBucket { ratio_milli, cost_milli, .. } => {
                let per_call = u64::from(*ratio_milli) * 1_000 / u64::from((*cost_milli).max(1));
                Some((u32::try_from(per_call).unwrap_or(u32::MAX), 0))
            }
            Self::Ratio { ratio_milli, floor_milli_per_s, .. } => {
                Some((*ratio_milli, *floor_milli_per_s))
            }
            // A success gives back what its own retries cost: only failures drain it.
            Self::Quota(_) => None,
            Self::Window(config) => {
                let floor = u64::from(config.min_per_s) * 1_000;
                let floor = u32::try_from(floor).unwrap_or(u32::MAX);
                Some(((config.ratio() * 1e3).round() as u32, floor))
            }
            // What they bound is how many there are at once, and each takes as long as it takes.
            Self::Concurrent { .. } | Self::ActiveShare(_) => None,
            Self::ClientRatio { share_milli, .. } => Some((*share_milli, 0)),
            Self::Rate(config) => Some((0, config.milli_per_s)),
            Self::Counter(config) if config.ttl == Duration::MAX => Some((0, 0)),
            Self::Counter(config) => {
                let per_s = f64::from(config.limit) / config.ttl.as_secs_f64();
                Some((0, (per_s * 1e3) as u32))
            }
        }
    }

    /// Does a call keep a [`Tab`](crate::policy::budget::Tab) of it?
    pub const fn keeps_tabs(&self) -> bool {
        match self {
            Self::Quota(config) => {
                matches!(config.refund, Refund::Call) || config.waits_when_refused
            }
            Self::Concurrent { .. } | Self::ActiveShare(_) => true,
            _ => self.asked_after_wait(),
        }
    }

    /// The same, where it is a token bucket, for these failures.
    #[must_use]
    pub fn counting(mut self, classes: ClassSet) -> Self {
        if let Self::TokenBucket { counts, .. } = &mut self {
            *counts = classes;
        }
        self
    }

    /// Does it count attempts that are out?
    pub const fn hears_attempts(&self) -> bool {
        matches!(self, Self::ActiveShare(_))
    }

    /// Is it asked when the wait is over?
    pub const fn asked_after_wait(&self) -> bool {
        matches!(self, Self::TokenBucket { asked: Asked::AfterWait, .. })
    }
}
