//! How many calls are in back-off, and for how long, without a list of them.

use crate::units::SimTime;

/// Calls in back-off along one edge. Sums are kept modulo 2⁶⁴: differences of them are exact, and
/// so is Little's law.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BackingOff {
    pub(super) now: u32,
    changed_at: u64,
    /// Integral of the number over time, up to the last change.
    integral: u64,
    /// The integral at the start of the window.
    at_window: u64,
    /// Moments of leaving less moments of entering.
    left_less_entered: u64,
}

impl BackingOff {
    #[inline(always)]
    pub(super) fn enter(&mut self, now: SimTime) {
        self.integrate(now);
        self.now += 1;
        self.left_less_entered = self.left_less_entered.wrapping_sub(now.as_nanos());
    }

    #[inline(always)]
    pub(super) fn leave(&mut self, now: SimTime) {
        self.integrate(now);
        self.now -= 1;
        self.left_less_entered = self.left_less_entered.wrapping_add(now.as_nanos());
    }

    #[inline(always)]
    fn integrate(&mut self, now: SimTime) {
        self.integral = self.integral(now);
        self.changed_at = now.as_nanos();
    }

    pub(super) fn integral(&self, now: SimTime) -> u64 {
        let span = now.as_nanos() - self.changed_at;
        self.integral.wrapping_add(u64::from(self.now).wrapping_mul(span))
    }

    /// The time spent in back-off by all calls, those still there up to `end`.
    pub(super) fn stays(&self, end: SimTime) -> u64 {
        let still = u64::from(self.now).wrapping_mul(end.as_nanos());
        self.left_less_entered.wrapping_add(still)
    }

    /// The integral over the window that ends now.
    pub(super) fn end_window(&mut self, now: SimTime) -> u64 {
        self.integrate(now);
        let since = self.integral.wrapping_sub(self.at_window);
        self.at_window = self.integral;
        since
    }
}
