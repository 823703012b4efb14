//! Breakers beside recordings of cockatiel, opossum and pybreaker, and beside traces by hand of
//! what cannot be recorded here: Polly, resilience4j, Hystrix, gobreaker, Finagle, Failsafe, Spring
//! Retry, ChokaQ, Envoy and Linkerd, worked out from their source.

mod by_hand;
mod by_hand_too;
mod cockatiel;
mod opossum;
mod pybreaker;

use stormlab::policy::breaker::Answer;
use stormlab::policy::breaker::Breaker;
use stormlab::policy::breaker::BreakerConfig;
use stormlab::policy::breaker::BreakerState;
use stormlab::policy::breaker::Permit;
use stormlab::policy::breaker::Report;
use stormlab::policy::breaker::Settled;
use stormlab::units::Draw;
use stormlab::units::Duration;
use stormlab::units::SimTime;

use crate::conformance::trace;
use crate::lab::model;

/// A moment, in milliseconds.
pub(super) fn at(millis: f64) -> SimTime {
    SimTime::ZERO + trace::millis(millis)
}

/// The settings of a breaker as a scenario writes them.
#[track_caller]
pub(crate) fn written(breaker: &str) -> BreakerConfig {
    let model = model(&format!(
        "
run: {{ horizon: 30s, warm_up: 0s, window: 1s }}
clients: {{ web: {{ arrivals: {{ constant: 1/s }}, calls: server, policy: p }} }}
policies: {{ p: {{ breaker: {breaker} }} }}
services: {{ server: {{ workers: 1, work: 1ms }} }}
"
    ));
    let policy = model.policies.iter().find(|policy| policy.name == "p");
    policy.and_then(|policy| policy.breaker).expect("a breaker").config
}

/// A breaker that is asked and told, its draws all one half.
pub(crate) struct Bench {
    config: BreakerConfig,
    breaker: Breaker,
}

fn half(_: u32) -> Draw {
    Draw::MIDDLE
}

impl Bench {
    pub(crate) fn new(config: BreakerConfig) -> Self {
        Self { config, breaker: Breaker::default() }
    }

    #[track_caller]
    pub(crate) fn written(breaker: &str) -> Self {
        Self::new(written(breaker))
    }

    pub(crate) fn ask(&mut self, millis: f64) -> Answer {
        self.breaker.ask(&self.config, at(millis), &half)
    }

    /// The permit of a call that passes.
    #[track_caller]
    pub(crate) fn enter(&mut self, millis: f64) -> Permit {
        match self.ask(millis) {
            Answer::Granted(permit) => permit,
            other => panic!("{other:?} at {millis} ms"),
        }
    }

    #[track_caller]
    pub(crate) fn refused(&mut self, millis: f64) {
        assert_eq!(self.ask(millis), Answer::Refused, "at {millis} ms");
    }

    pub(crate) fn leave(&mut self, millis: f64, permit: Permit, settled: Settled) {
        self.leave_after(millis, permit, settled, Duration::ZERO);
    }

    pub(crate) fn leave_after(
        &mut self,
        millis: f64,
        permit: Permit,
        settled: Settled,
        took: Duration,
    ) {
        self.breaker.report(&self.config, permit, at(millis), Report { settled, took }, &half);
    }

    /// Calls that end at once: `S`, `F` and `X` (fatal), `I` (ignored).
    #[track_caller]
    pub(crate) fn pass(&mut self, millis: f64, ends: &str) {
        for end in ends.chars() {
            let permit = self.enter(millis);
            let settled = match end {
                'S' => Settled::Success,
                'F' => Settled::Failure,
                'X' => Settled::Fatal,
                _ => Settled::Ignored,
            };
            self.leave(millis, permit, settled);
        }
    }

    pub(crate) fn state(&mut self, millis: f64) -> BreakerState {
        self.breaker.pass_time(&self.config, at(millis), &half);
        self.breaker.state(at(millis))
    }

    #[track_caller]
    pub(crate) fn is(&mut self, millis: f64, state: BreakerState) {
        assert_eq!(self.state(millis), state, "at {millis} ms");
    }
}
