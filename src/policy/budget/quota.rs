//! The retry quota of the AWS SDKs: a retry costs by the kind of failure, and a success gives back
//! what the last one cost.
//!
//! ```text
//! retry wanted: capacity ≥ cost ? capacity −= cost, and the cost is remembered in place of an
//!               earlier one, which is lost : no retry
//! success:      capacity := min(start, capacity + (retried ? the remembered cost : 1))
//! ```
//!
//! Invariant: 0 ≤ left ≤ capacity. In an outage capacity ÷ cost retries are made, rounded down.
//! Source: botocore 1.40.0 (costs 5, timeouts 10) and 1.44.8 (14, throttling 5); @smithy/core
//! 3.41.1; aws-smithy-runtime 1.16.2, where what was paid last belongs to the client, and the next
//! success gets it whichever call it is of.

use serde::Serialize;

use crate::policy::budget::Answer;
use crate::policy::budget::Tab;
use crate::policy::outcome::Class;
use crate::policy::outcome::ClassSet;

/// What a retry costs after each class of failure, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs([u16; Class::ALL.len()]);

impl Costs {
    /// The same after every failure.
    pub const fn all(cost: u16) -> Self {
        Self([cost; Class::ALL.len()])
    }

    /// Another one after these.
    #[must_use]
    pub fn with(mut self, classes: ClassSet, cost: u16) -> Self {
        for class in classes.iter() {
            self.0[class as usize] = cost;
        }
        self
    }

    /// After a failure of this class.
    pub const fn after(&self, class: Class) -> u16 {
        self.0[class as usize]
    }

    /// The highest of all.
    pub fn highest(&self) -> u16 {
        self.0.into_iter().max().unwrap_or(0)
    }

    /// The lowest of all.
    pub fn lowest(&self) -> u16 {
        self.0.into_iter().min().unwrap_or(0)
    }
}

impl Serialize for Costs {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Class::ALL.iter().map(|class| (class.name(), self.after(*class))))
    }
}

/// To whom the last cost is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Refund {
    /// To the call that paid it (the specification; Python, JavaScript).
    Call,
    /// To the client: a failed call's last cost goes to whichever call succeeds next (Rust).
    Client,
}

/// The settings of a quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct QuotaConfig {
    /// The most tokens, and those at the start.
    pub capacity: u32,
    /// What a retry costs.
    pub costs: Costs,
    /// What a success gives that has nothing to be given back.
    pub reward: u32,
    /// To whom the last cost is given back.
    pub refund: Refund,
    /// A refused call sleeps its back-off before it fails (long polls of the AWS SDKs of 2026).
    pub waits_when_refused: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Quota {
    pub(super) left: u32,
    /// What the client holds of the last retry.
    held: u32,
}

impl Quota {
    pub(super) const fn new(config: &QuotaConfig) -> Self {
        Self { left: config.capacity, held: 0 }
    }

    #[inline]
    pub(super) fn success(&mut self, config: &QuotaConfig, tab: &mut Tab) {
        let paid = match config.refund {
            Refund::Call => &mut tab.cost,
            Refund::Client => &mut self.held,
        };
        let back = match std::mem::take(paid) {
            0 => config.reward,
            cost => cost,
        };
        self.left = self.left.saturating_add(back).min(config.capacity);
    }

    #[inline]
    pub(super) fn ask(&mut self, config: &QuotaConfig, class: Class, tab: &mut Tab) -> Answer {
        let cost = u32::from(config.costs.after(class));
        let Some(left) = self.left.checked_sub(cost) else {
            return if config.waits_when_refused {
                Answer::RefusedAfterWait
            } else {
                Answer::Refused
            };
        };
        self.left = left;
        match config.refund {
            Refund::Call => tab.cost = cost,
            Refund::Client => self.held = cost,
        }
        Answer::Granted
    }
}
