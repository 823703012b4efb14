//! What becomes of the place of a probe that brings no verdict.
//!
//! A call that ends with an outcome which the breaker does not count, or that is given up before it
//! has one, says nothing of the callee, and yet its place among the probes must come back: code
//! that skips the report of a failure has skipped that of a success too, and half-open then never
//! ends. Giving it back as a success ends half-open at once, and needs two guards: only who was let
//! in as a probe may do it, and never a call that was given up.
//! Source: ChokaQ (release without a verdict), the article on destructive reads (leak, release as
//! success, its two guards).

use serde::Serialize;

use crate::policy::breaker::Breaker;
use crate::policy::breaker::Permit;
use crate::policy::breaker::Settled;
use crate::policy::breaker::State;
use crate::policy::breaker::config::BreakerConfig;
use crate::policy::breaker::config::Places;
use crate::policy::outcome::Class;
use crate::units::SimTime;

/// What an outcome that is neither success nor counted failure tells the breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Uncounted {
    /// The callee answered, so it is alive (Polly, Hystrix).
    Success,
    /// Nothing; the place of a probe is given back (Failsafe).
    Nothing,
    /// Nothing while closed; from a probe, that the callee is alive, without clearing what was
    /// counted (cockatiel).
    Closes,
    /// Nothing, and the place of a probe is never given back: neither report is made.
    Leak,
    /// Nothing while closed; while half-open it closes the breaker and clears what was counted.
    ReleaseAsSuccess,
}

/// What a call that is given up without an outcome tells the breaker: cut by a timeout outside it,
/// left by its caller, or the loser of a hedge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cancelled {
    /// Nothing; the place of a probe is given back (ChokaQ, Polly).
    Release,
    /// As a success.
    Success,
    /// Nothing, and the place of a probe is never given back.
    Leak,
    /// As [`Uncounted::ReleaseAsSuccess`].
    ReleaseAsSuccess,
}

impl Cancelled {
    /// Is it the rule where none is named? For serde, which passes a reference.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(super) fn is_plain(&self) -> bool {
        *self == Self::Release
    }
}

impl BreakerConfig {
    /// What an outcome (`None`: a success) tells the breaker.
    ///
    /// A local failure that is not counted says nothing about the callee, which never saw it.
    #[inline]
    pub const fn judge(&self, failure: Option<Class>) -> Settled {
        let Some(class) = failure else { return Settled::Success };
        if self.ignores.contains(class) {
            Settled::Ignored
        } else if self.trips_at_once.contains(class) {
            Settled::Fatal
        } else if self.counts.contains(class) {
            Settled::Failure
        } else if class.is_local() {
            Settled::Ignored
        } else {
            match self.uncounted {
                Uncounted::Success => Settled::Success,
                Uncounted::Nothing => Settled::Ignored,
                Uncounted::Closes => Settled::Unhandled,
                Uncounted::Leak => Settled::Leaked,
                Uncounted::ReleaseAsSuccess => Settled::Released,
            }
        }
    }

    /// What a call that is given up without an outcome tells the breaker.
    pub const fn judge_cancelled(&self) -> Settled {
        match self.cancelled {
            Cancelled::Release => Settled::Ignored,
            Cancelled::Success => Settled::Success,
            Cancelled::Leak => Settled::Leaked,
            Cancelled::ReleaseAsSuccess => Settled::Released,
        }
    }
}

impl Breaker {
    /// The place of a probe is given back, if what is reported gives one back.
    #[inline]
    pub(super) fn give_back(&mut self, config: &BreakerConfig, permit: Permit, settled: Settled) {
        let State::HalfOpen { out, .. } = &mut self.state else { return };
        let gives = match settled {
            Settled::Leaked => false,
            Settled::Ignored => true,
            _ => config.half_open.places == Places::AtOnce,
        };
        if permit.epoch == self.epoch {
            // Without the guard somebody else may have given it back before.
            *out = out.saturating_sub(u32::from(gives));
        } else if settled == Settled::Ignored && !config.release_guarded {
            *out = out.saturating_sub(1); // Whoever's place it is.
        }
    }

    /// A release as success: half-open becomes closed. `late`: what is reported is dropped.
    pub(super) fn release(
        &mut self,
        config: &BreakerConfig,
        permit: Permit,
        now: SimTime,
        late: bool,
    ) {
        let may = !config.release_guarded || permit.probe && !late;
        if may && matches!(self.state, State::HalfOpen { .. }) {
            self.close(config, now, true);
        }
    }
}
