//! Admission control by success rate, as Envoy's filter of that name does it.
//!
//! ```text
//! P(reject) = min(cap, max(0, (total − successes ÷ threshold) ÷ (total + 1)) ^ (1 ÷ aggression))
//! ```
//!
//! Only attempts that were let through and answered count: what is turned away leaves no trace, so
//! the estimate rests on what still gets through, and the cap sees to it that something does.
//!
//! Source: Envoy 1.40 `admission_control.cc`, `thread_local_controller.cc` (slots of a second).

use serde::Serialize;

use crate::policy::outcome::Class;
use crate::policy::outcome::ClassSet;
use crate::policy::throttle::tally::Tally;
use crate::random::power;
use crate::units::Draw;
use crate::units::Duration;
use crate::units::Share;
use crate::units::SimTime;

/// The settings of an admission control.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AdmissionConfig {
    /// Over how long attempts and successes are counted.
    pub window: Duration,
    /// Nothing is turned away at or above this share of successes; above zero.
    pub threshold: Share,
    /// 1 is linear; more turns more away at the same share of failures.
    pub aggression: f64,
    /// Never more than this share is turned away.
    pub cap: Share,
    /// Below so many attempts per second, in thousandths, nothing is turned away.
    pub least_milli_per_s: u32,
    /// The failures that count as such; any other answer is a success.
    pub failures: ClassSet,
}

impl AdmissionConfig {
    /// The share of attempts to turn away.
    pub fn reject_share(&self, total: u64, successes: u64) -> f64 {
        let wanted = total as f64 - successes as f64 / self.threshold.get();
        let share = (wanted / (total as f64 + 1.0)).max(0.0);
        let share =
            if self.aggression == 1.0 { share } else { power(share, 1.0 / self.aggression) };
        share.min(self.cap.get())
    }

    /// Is the attempt let through?
    #[inline]
    pub(super) fn ask(&self, tally: &mut Tally, now: SimTime, draw: Draw) -> bool {
        let [total, successes] = tally.sums(self.window, now);
        let least = u128::from(self.least_milli_per_s) * u128::from(self.window.as_nanos())
            / 1_000_000_000_000;
        u128::from(total) < least || draw.get() >= self.reject_share(total, successes)
    }

    /// An attempt that was let through has ended.
    #[inline]
    pub(super) fn settle(&self, tally: &mut Tally, now: SimTime, failure: Option<Class>) {
        if failure.is_some_and(Class::is_local) {
            return;
        }
        let success = failure.is_none_or(|class| !self.failures.contains(class));
        tally.add(self.window, now, [1, u32::from(success)]);
    }
}
