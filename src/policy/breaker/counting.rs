//! Outcomes are counted, and held against what opens a closed breaker.

use crate::policy::breaker::Breaker;
use crate::policy::breaker::Outcome;
use crate::policy::breaker::config::BreakerConfig;
use crate::policy::breaker::config::Forgets;
use crate::policy::breaker::config::Judged;
use crate::policy::breaker::config::Trip;
use crate::units::Duration;
use crate::units::SimTime;

impl Breaker {
    /// Takes an outcome in. Does it open a closed breaker?
    #[inline]
    pub(super) fn count(&mut self, config: &BreakerConfig, now: SimTime, outcome: Outcome) -> bool {
        let failed = outcome.failed;
        self.row = if failed { self.row.saturating_add(1) } else { 0 };
        let by_row = |row, limit| failed && row >= limit;
        let trips = match config.trip {
            Trip::Consecutive(limit) => by_row(self.row, limit),
            _ => self.count_otherwise(config, now, outcome),
        };
        trips || config.or_consecutive.is_some_and(|limit| by_row(self.row, limit))
    }

    fn count_otherwise(&mut self, config: &BreakerConfig, now: SimTime, outcome: Outcome) -> bool {
        let Outcome { failed, took } = outcome;
        let mut row = self.row;
        let memory = self.memory();
        let trips = match config.trip {
            Trip::Consecutive(limit) => failed && row >= limit,
            Trip::Row { failures, forget_after, .. } => {
                if failed {
                    let faded = now.since(memory.failed_at) >= forget_after;
                    row = if faded && !forget_after.is_zero() { 1 } else { row };
                    memory.failed_at = now;
                }
                failed && row >= failures
            }
            Trip::Window { .. } | Trip::Rate(_) => {
                let Some(rate) = config.trip.as_rate() else { return false };
                let Some(window) = memory.window(config) else { return false };
                let slow = rate.slow.is_some_and(|slow| took > slow.longer_than);
                window.record(&rate, now, failed, slow);
                let asked = match rate.judged {
                    Judged::OnFailure => failed,
                    Judged::OnOutcome => true,
                    Judged::AtTurns => false,
                };
                asked && window.sums().reach(&rate) && now.since(SimTime::ZERO) >= rate.warm_up
            }
            Trip::Average { window, below, minimum_calls, settled_after } => {
                let share = memory.average.update(now, window, failed);
                let settled = now.since(memory.average.began_at) >= settled_after;
                failed && settled && memory.average.calls >= minimum_calls && share < below.get()
            }
            Trip::Exhausted { attempts, within } => {
                memory.average.calls = memory.average.calls.saturating_add(u32::from(failed));
                let exhausted = failed && memory.average.calls >= attempts;
                if failed && !exhausted {
                    self.renew(attempts, within, now);
                }
                exhausted
            }
        };
        self.row = row;
        trips
    }

    /// Spring: a context that is not exhausted and older than the open timeout begins anew. This is
    /// looked at before each call and after each failure.
    pub(super) fn renew(&mut self, attempts: u32, within: Duration, now: SimTime) {
        let context = &mut self.memory().average;
        if context.calls < attempts && now.since(context.began_at) > within {
            context.clear(now);
        }
    }

    /// What was counted is forgotten, unless it never is.
    pub(super) fn forget(&mut self, config: &BreakerConfig, at: SimTime) {
        if config.forgets == Forgets::Never {
            return;
        }
        self.row = 0;
        if let Some(memory) = &mut self.memory {
            memory.clear(at);
        }
    }
}
