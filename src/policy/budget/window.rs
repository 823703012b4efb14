//! A ratio over a sliding window, with a reserve: Finagle's, tower's and Linkerd's retry budget.
//!
//! ```text
//! balance = reserve + deposits − withdrawals, both of the last ttl
//! a retry needs balance ≥ withdrawal and withdraws it
//! reserve = min per second · ttl · withdrawal
//! ```
//!
//! Withdrawals expire as deposits do, so a reserve that was spent at once is there again one ttl
//! later. The three rules differ in what a ratio becomes and in when a slot ends:
//!
//! | rule | deposit : withdrawal | slots |
//! | --- | --- | --- |
//! | `exact` | ratio : 1, in thousandths | ten, ending at multiples of ttl/10 |
//! | `finagle` | 1000 : ⌊1000/ratio⌋ | ten, each begun by the first event after the last ended |
//! | `tower` | 1 : ⌊1/ratio⌋, above one 1000 : ⌊1000/ratio⌋ | ten and the one being written; **wrong**: one event just past the end of a slot ends two, so that half the ttl remains under steady traffic |
//!
//! Thus tower's 0.3 is a third, its 0.4 a half, and 0.6 is 1; ttl counts in whole seconds there
//! for the reserve.
//!
//! Source: twitter/finagle @4feb34c `RetryBudget.scala` and twitter/util `WindowedAdder.scala`;
//! tower 0.5.3 `tps_budget.rs`, which Linkerd's proxy uses.

use serde::Serialize;

use crate::policy::budget::DepositPoint;
use crate::units::Duration;
use crate::units::SECOND;
use crate::units::SimTime;

const SLOTS: usize = 10;

/// Whose arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowRule {
    /// As the settings say.
    Exact,
    /// Finagle's.
    Finagle,
    /// Tower's, which is Linkerd's.
    Tower,
}

/// The settings of a ratio over a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct WindowConfig {
    /// Whose arithmetic.
    pub rule: WindowRule,
    /// Retries per deposit, in thousandths.
    pub ratio_milli: u32,
    /// When a deposit is made.
    pub deposit_at: DepositPoint,
    /// How long deposits and withdrawals count.
    pub ttl: Duration,
    /// Retries per second that the reserve pays for.
    pub min_per_s: u32,
    #[serde(skip)]
    deposit: i64,
    #[serde(skip)]
    withdrawal: i64,
    #[serde(skip)]
    reserve: i64,
}

impl WindowConfig {
    /// A window of these settings.
    pub fn new(
        rule: WindowRule,
        ratio_milli: u32,
        deposit_at: DepositPoint,
        ttl: Duration,
        min_per_s: u32,
    ) -> Self {
        let (deposit, withdrawal) = match rule {
            WindowRule::Exact => (i64::from(ratio_milli), 1_000),
            _ if ratio_milli == 0 => (0, 1),
            WindowRule::Finagle => (1_000, (1_000.0 / (f64::from(ratio_milli) / 1e3)) as i64),
            WindowRule::Tower => {
                // Single precision, as there: which side of a whole number 1/ratio falls on
                // depends on it.
                let ratio = ratio_milli as f32 / 1e3;
                if ratio <= 1.0 {
                    (1, (1.0 / ratio) as i64)
                } else {
                    (1_000, (1_000.0 / ratio) as i64)
                }
            }
        };
        let seconds = match rule {
            WindowRule::Exact => ttl.as_nanos() / 1_000_000, // To the millisecond.
            WindowRule::Finagle | WindowRule::Tower => ttl.as_nanos() / SECOND * 1_000,
        };
        let reserve = i128::from(min_per_s) * i128::from(seconds) * i128::from(withdrawal) / 1_000;
        Self {
            rule,
            ratio_milli,
            deposit_at,
            ttl,
            min_per_s,
            deposit,
            withdrawal,
            reserve: i64::try_from(reserve).unwrap_or(i64::MAX),
        }
    }

    /// What a deposit gives, what a retry takes, and what there is at the start.
    pub const fn amounts(&self) -> (i64, i64, i64) {
        (self.deposit, self.withdrawal, self.reserve)
    }

    /// Retries per deposit, after whatever the rule makes of the setting.
    pub const fn ratio(&self) -> f64 {
        self.deposit as f64 / self.withdrawal as f64
    }

    /// Retries that the reserve pays for at once.
    pub const fn reserve_retries(&self) -> i64 {
        self.reserve / self.withdrawal
    }

    const fn slot(&self) -> u64 {
        let slot = self.ttl.as_nanos() / SLOTS as u64;
        if slot == 0 { 1 } else { slot }
    }
}

/// Deposits less withdrawals, slot by slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    slots: [i64; SLOTS],
    /// What is in no slot yet.
    writer: i64,
    index: usize,
    since: SimTime,
}

impl Window {
    pub(super) const fn new(now: SimTime) -> Self {
        Self { slots: [0; SLOTS], writer: 0, index: 0, since: now }
    }

    #[inline]
    pub(super) fn deposit_at(&mut self, point: DepositPoint, config: &WindowConfig, now: SimTime) {
        if config.deposit_at == point {
            self.expire(config, now);
            self.writer = self.writer.saturating_add(config.deposit);
        }
    }

    #[inline]
    pub(super) fn withdraw(&mut self, config: &WindowConfig, now: SimTime) -> bool {
        self.expire(config, now);
        let paid = self.balance(config) >= config.withdrawal;
        if paid {
            self.writer = self.writer.saturating_sub(config.withdrawal);
        }
        paid
    }

    /// Reserve, slots and what is in none yet; nothing expires by looking.
    pub(super) fn balance(&self, config: &WindowConfig) -> i64 {
        let slots = self.slots.iter().fold(self.writer, |sum, slot| sum.saturating_add(*slot));
        slots.saturating_add(config.reserve)
    }

    fn expire(&mut self, config: &WindowConfig, now: SimTime) {
        let slot = config.slot();
        let past = now.since(self.since).as_nanos();
        if past < slot {
            return;
        }
        self.slots[self.index] = std::mem::take(&mut self.writer);
        // How many slots there are to write the next one to, and how many further ones passed by.
        let (slots, skipped) = match config.rule {
            WindowRule::Exact | WindowRule::Finagle => (SLOTS - 1, past / slot - 1),
            WindowRule::Tower => (SLOTS, (past - 1) / slot),
        };
        self.index = (self.index + 1) % slots;
        for _ in 0..skipped.min(slots as u64) {
            self.slots[self.index] = 0;
            self.index = (self.index + 1) % slots;
        }
        self.index = match config.rule {
            // Beyond a whole turn everything is zero, and only tower goes on counting.
            WindowRule::Tower if skipped > slots as u64 => {
                (self.index + ((skipped - slots as u64) % slots as u64) as usize) % slots
            }
            _ => self.index,
        };
        self.since = match config.rule {
            WindowRule::Exact => SimTime::from_nanos(now.as_nanos() - past % slot),
            WindowRule::Finagle | WindowRule::Tower => now,
        };
    }
}
