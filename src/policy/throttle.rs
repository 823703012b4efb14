//! Client-side throttles: attempts that a caller keeps from a server on its own account.
//!
//! A retry budget bounds what failures add. A throttle stands in front of *every* attempt, first
//! ones included: either it turns some away at once, by the share the server lets it see
//! ([`adaptive`], [`admission`]), or it holds them back until they may go ([`cubic`], [`rate`],
//! [`fixed_window`]).
//! What is turned away fails with [`Class::Throttled`], which is retried only where it is named.
//!
//! Where it stands in the order decides what it sees: inside `retry` attempts (the default),
//! outside of it calls.
//!
//! Invariant: an attempt is asked for until it is told to pass or that it is rejected, and every
//! one that passed is settled or released once.

pub mod adaptive;
pub mod admission;
pub mod cubic;
pub mod fixed_window;
pub mod rate;
pub(in crate::policy) mod tally;

#[cfg(test)]
mod tests;

use serde::Serialize;

use crate::policy::outcome::Class;
use crate::policy::outcome::ClassSet;
use crate::policy::throttle::adaptive::AdaptiveConfig;
use crate::policy::throttle::admission::AdmissionConfig;
use crate::policy::throttle::cubic::Cubic;
use crate::policy::throttle::fixed_window::FixedWindow;
use crate::policy::throttle::fixed_window::FixedWindowConfig;
use crate::policy::throttle::rate::RateBucket;
use crate::policy::throttle::rate::RateConfig;
use crate::policy::throttle::tally::Tally;
use crate::units::Draw;
use crate::units::Duration;
use crate::units::SimTime;

/// The settings of a throttle.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ThrottleConfig {
    /// By requests and accepts (SRE book, google-cloud-gax).
    Adaptive(AdaptiveConfig),
    /// By success rate (Envoy admission control).
    Admission(AdmissionConfig),
    /// A client rate that follows a cubic curve (AWS adaptive mode).
    Cubic {
        /// The failures that are throttling errors.
        throttled: ClassSet,
    },
    /// A steady rate.
    Rate(RateConfig),
    /// So many for each cycle of time (resilience4j).
    FixedWindow(FixedWindowConfig),
}

/// What a throttle says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// Go on.
    Pass,
    /// Go on after this.
    After(Duration),
    /// Ask again after this.
    AskAfter(Duration),
    /// The attempt is not made.
    Reject,
    /// It is not made, which is told after this.
    RejectAfter(Duration),
}

/// The state of one throttle. Its settings are passed to each question, so that they may change
/// while it runs; a change of kind begins anew.
#[derive(Clone, Debug, PartialEq)]
pub struct Throttle(State);

#[derive(Clone, Debug, PartialEq)]
enum State {
    Tally(Box<Tally>),
    Cubic(Box<Cubic>),
    Rate(RateBucket),
    FixedWindow(FixedWindow),
}

impl ThrottleConfig {
    /// A throttle as it is before the first attempt.
    pub fn start(&self, now: SimTime) -> Throttle {
        Throttle(match self {
            Self::Adaptive(_) | Self::Admission(_) => State::Tally(Box::new(Tally::NEW)),
            Self::Cubic { .. } => State::Cubic(Box::new(Cubic::new(now))),
            Self::Rate(config) => State::Rate(config.start(now)),
            Self::FixedWindow(config) => State::FixedWindow(config.start()),
        })
    }

    /// Is it asked again when a wait is over?
    pub const fn asks_again(&self) -> bool {
        matches!(self, Self::Cubic { .. })
    }

    /// Is a draw needed to decide?
    pub const fn draws(&self) -> bool {
        matches!(self, Self::Adaptive(_) | Self::Admission(_))
    }
}

impl Throttle {
    /// May an attempt be sent? `retry`: it is not the first of its call.
    #[inline]
    #[must_use]
    pub fn ask(
        &mut self,
        config: &ThrottleConfig,
        now: SimTime,
        draw: Draw,
        retry: bool,
    ) -> Passage {
        let pass = |passes| if passes { Passage::Pass } else { Passage::Reject };
        match (&mut self.0, config) {
            (State::Tally(tally), ThrottleConfig::Adaptive(config)) => {
                pass(config.ask(tally, now, draw, retry))
            }
            (State::Tally(tally), ThrottleConfig::Admission(config)) => {
                pass(config.ask(tally, now, draw))
            }
            (State::Cubic(cubic), ThrottleConfig::Cubic { .. }) => {
                cubic.acquire(now).map_or(Passage::Pass, Passage::AskAfter)
            }
            (State::Rate(bucket), ThrottleConfig::Rate(config)) => {
                granted(bucket.take(config, now))
            }
            (State::FixedWindow(window), ThrottleConfig::FixedWindow(config)) => {
                match granted(window.take(config, now)) {
                    Passage::Reject if config.refuses_after_wait => {
                        Passage::RejectAfter(config.max_wait)
                    }
                    passage => passage,
                }
            }
            _ => {
                *self = config.start(now);
                self.ask(config, now, draw, retry)
            }
        }
    }

    /// An attempt that was let through has ended: with this failure, or well.
    #[inline]
    pub fn settle(&mut self, config: &ThrottleConfig, now: SimTime, failure: Option<Class>) {
        match (&mut self.0, config) {
            (State::Tally(tally), ThrottleConfig::Adaptive(config)) => {
                config.settle(tally, now, failure);
            }
            (State::Tally(tally), ThrottleConfig::Admission(config)) => {
                config.settle(tally, now, failure);
            }
            (State::Cubic(cubic), ThrottleConfig::Cubic { throttled })
                if !failure.is_some_and(Class::is_local) =>
            {
                cubic.settle(now, failure.is_some_and(|class| throttled.contains(class)));
            }
            _ => {}
        }
    }
}

/// What a permit with a wait, or none, means for who asks.
fn granted(wait: Option<Duration>) -> Passage {
    match wait {
        None => Passage::Reject,
        Some(Duration::ZERO) => Passage::Pass,
        Some(wait) => Passage::After(wait),
    }
}
