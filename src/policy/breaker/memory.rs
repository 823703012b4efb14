//! What some breakers remember beside their state, made once, when it is first needed.

use crate::policy::breaker::config::BreakerConfig;
use crate::policy::breaker::config::Divisor;
use crate::policy::breaker::config::Trip;
use crate::policy::breaker::window::Sums;
use crate::policy::breaker::window::Window;
use crate::random::decay;
use crate::units::Duration;
use crate::units::SimTime;

/// Beside the state.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Memory {
    pub(super) window: Option<Window>,
    /// Openings since it was last closed, or that Envoy has not forgotten yet.
    pub(super) openings: u32,
    /// When the half-open period began, or when it closed.
    pub(super) since: SimTime,
    /// When a probe was last let in while all places were free.
    pub(super) leased_at: SimTime,
    /// Outcomes of the half-open period.
    pub(super) probed: Sums,
    /// The last failure of a row, and when rows were last cleared.
    pub(super) failed_at: SimTime,
    pub(super) cleared_at: SimTime,
    pub(super) average: Average,
}

/// A moving average, or the failures of Spring's context.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Average {
    value: f64,
    at: SimTime,
    /// When it was last cleared.
    pub(super) began_at: SimTime,
    pub(super) calls: u32,
}

impl Average {
    /// Takes an outcome in, and gives the share of successes.
    ///
    /// value := x·(1 − w) + value·w with w = e^(−Δt/window), x = 1 for a success and 0 for a failure;
    /// the first outcome is the value.
    pub(super) fn update(&mut self, now: SimTime, window: Duration, failed: bool) -> f64 {
        let x = f64::from(u8::from(!failed));
        self.value = if self.calls == 0 {
            x
        } else {
            let weight = decay(now.since(self.at).as_secs_f64() / window.as_secs_f64());
            x * (1.0 - weight) + self.value * weight
        };
        self.at = now;
        self.calls = self.calls.saturating_add(1);
        self.value
    }

    pub(super) fn clear(&mut self, now: SimTime) {
        *self = Self { began_at: now, ..Self::default() };
    }
}

impl Memory {
    /// The window that the settings want, empty if there was none of that kind.
    pub(super) fn window(&mut self, config: &BreakerConfig) -> Option<&mut Window> {
        let rate = config.trip.as_rate()?;
        if !self.window.as_ref().is_some_and(|window| window.fits(rate.window)) {
            self.window = Some(Window::new(rate.window));
        }
        self.window.as_mut()
    }

    /// What was counted is forgotten.
    pub(super) fn clear(&mut self, now: SimTime) {
        if let Some(window) = &mut self.window {
            window.clear();
        }
        self.average.clear(now);
        self.cleared_at = now;
    }
}

impl BreakerConfig {
    /// Does the breaker do anything of its own accord, as time passes?
    #[inline]
    pub(super) const fn has_timers(&self) -> bool {
        self.half_open.has_timers()
            || matches!(self.trip, Trip::Row { .. })
            || matches!(&self.trip, Trip::Rate(rate) if rate.is_judged_at_turns())
    }

    /// Does it count calls as they begin?
    #[inline]
    pub(super) const fn counts_fires(&self) -> bool {
        matches!(&self.trip, Trip::Rate(rate) if matches!(rate.divisor, Divisor::Fires))
    }
}
