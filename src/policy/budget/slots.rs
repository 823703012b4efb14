//! Bounds on the retries under way at once: Envoy's `max_retries` and `retry_budget`.
//!
//! ```text
//! a retry is granted while retries under way < limit
//! limit = a number, or max(⌊share · active⌋, least)
//! ```
//!
//! A slot is taken when the retry is decided on, and held through the back-off and the attempt, to
//! its end. Active are the attempts that are out; waiting retries are not. An attempt that has
//! just failed still counts when its own retry is decided. With an interval, one that is over
//! counts as well until that long after it was sent, to a tenth of the interval.
//!
//! Invariant: slots taken = slots given back + retries under way.
//! Source: Envoy 1.40 `resource_manager_impl.h`, `retry_state_impl.cc`; recorded in
//! `tests/traces/envoy/limits.json` (a lone request under 100 % is retried, so it counts itself).

use serde::Serialize;

use crate::policy::budget::Tab;
use crate::units::Duration;
use crate::units::SimTime;

const SLOTS: usize = 10;

/// The settings of a share of what is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ActiveShare {
    /// Retries per active attempt, in thousandths.
    pub share_milli: u32,
    /// So many are always granted.
    pub least: u32,
    /// How long an attempt counts after it was sent, even when it is over.
    pub interval: Duration,
}

impl ActiveShare {
    /// The most retries under way beside so many active attempts.
    pub fn limit(&self, active: u64) -> u64 {
        (active.saturating_mul(u64::from(self.share_milli)) / 1_000).max(u64::from(self.least))
    }
}

/// The retries under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Slots {
    pub(super) held: u32,
}

impl Slots {
    #[inline]
    pub(super) fn take(&mut self, limit: u64, tab: &mut Tab) -> bool {
        let free = u64::from(self.held) < limit;
        if free {
            self.held += 1;
            tab.slot = true;
        }
        free
    }

    #[inline]
    pub(super) fn give_back(&mut self, tab: &mut Tab) {
        if std::mem::take(&mut tab.slot) {
            self.held = self.held.saturating_sub(1);
        }
    }
}

/// The attempts that are out, and those sent lately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Active {
    pub(super) slots: Slots,
    out: u32,
    /// Per tenth of the interval: sent then, and of those still out.
    sent: [[u32; 2]; SLOTS],
    epoch: u32,
}

impl Active {
    pub(super) const NEW: Self =
        Self { slots: Slots { held: 0 }, out: 0, sent: [[0; 2]; SLOTS], epoch: 0 };

    #[inline]
    pub(super) fn sent(&mut self, config: &ActiveShare, now: SimTime, tab: &mut Tab) {
        tab.out = true;
        self.out += 1;
        if config.interval.is_zero() {
            return;
        }
        self.advance(config, now);
        tab.epoch = self.epoch;
        for count in &mut self.sent[self.epoch as usize % SLOTS] {
            *count += 1;
        }
    }

    #[inline]
    pub(super) fn over(&mut self, config: &ActiveShare, now: SimTime, tab: &mut Tab) {
        if !std::mem::take(&mut tab.out) {
            return;
        }
        self.out = self.out.saturating_sub(1);
        if config.interval.is_zero() {
            return;
        }
        self.advance(config, now);
        if self.epoch - tab.epoch < SLOTS as u32 {
            let [_, still] = &mut self.sent[tab.epoch as usize % SLOTS];
            *still = still.saturating_sub(1);
        }
    }

    /// Attempts that count: out, or sent lately.
    #[inline]
    pub(super) fn counted(&mut self, config: &ActiveShare, now: SimTime) -> u64 {
        if config.interval.is_zero() {
            return u64::from(self.out);
        }
        self.advance(config, now);
        let over = |[sent, still]: &[u32; 2]| u64::from(sent.saturating_sub(*still));
        u64::from(self.out) + self.sent.iter().map(over).sum::<u64>()
    }

    fn advance(&mut self, config: &ActiveShare, now: SimTime) {
        let slot = (config.interval.as_nanos() / SLOTS as u64).max(1);
        let epoch = u32::try_from(now.as_nanos() / slot).unwrap_or(u32::MAX);
        for gone in 1..=epoch.saturating_sub(self.epoch).min(SLOTS as u32) {
            self.sent[(self.epoch + gone) as usize % SLOTS] = [0; 2];
        }
        self.epoch = self.epoch.max(epoch);
    }
}
