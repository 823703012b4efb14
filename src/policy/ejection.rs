//! Ejection: which replicas a caller leaves out when it chooses one for an attempt.
//!
//! It is no layer: nothing is retried or refused because of it, unless nobody is left. Either the
//! replicas are watched as a pool, the worst of which are taken out for a while ([`outlier`]), or
//! each has a circuit breaker of its own, and those that are open are passed over.
//!
//! When too few are left the rest would be overrun, and all are used again, good or bad: Envoy calls
//! that panic.
//!
//! Invariant: a replica that is out is chosen only in a panic; every permit is settled once.
//! Source: Envoy 1.40, `outlier_detection_impl.cc` and `load_balancer_impl.cc` (panic below half);
//! linkerd2-proxy's failure accrual for each endpoint; Finagle's `FailureAccrualFactory`.
//!
//! [`outlier`]: crate::policy::breaker::outlier

use serde::Serialize;

use crate::policy::breaker::Answer;
use crate::policy::breaker::Breaker;
use crate::policy::breaker::BreakerConfig;
use crate::policy::breaker::BreakerState;
use crate::policy::breaker::Permit;
use crate::policy::breaker::Report;
use crate::policy::breaker::Settled;
use crate::policy::breaker::outlier::OutlierConfig;
use crate::policy::breaker::outlier::Outliers;
use crate::policy::outcome::Class;
use crate::units::Draw;
use crate::units::Duration;
use crate::units::Share;
use crate::units::SimTime;

/// Who is left out, and when nobody is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EjectionConfig {
    /// How it is found out.
    pub kind: EjectionKind,
    /// When a smaller share than this is in, all are used.
    pub panic: Share,
}

/// How it is found out who is to be left out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EjectionKind {
    /// All replicas are watched as one pool.
    Outlier(OutlierConfig),
    /// Each replica has a circuit breaker.
    Breaker(BreakerConfig),
}

/// How one of those that are in is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Choice {
    /// The first of them from this one on, in turn.
    From(u32),
    /// Any of them.
    Drawn(Draw),
}

/// The replica of an attempt, to be reported exactly once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Its number.
    pub replica: u32,
    /// The permit of its breaker. None where there is no breaker, or it was passed by in a panic.
    permit: Option<Permit>,
    at: SimTime,
}

/// What a caller knows of the replicas of a service.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    replicas: u32,
    known: Known,
}

#[derive(Clone, Debug, PartialEq)]
enum Known {
    Outliers(Outliers),
    Breakers(Vec<Breaker>),
}

impl EjectionConfig {
    /// The share of replicas in the pool below which Envoy uses all of them.
    pub const PANIC: Share = Share::percent(50);

    /// A pool of replicas of which nothing is known yet.
    pub fn start(&self, replicas: u32) -> Pool {
        let known = match self.kind {
            EjectionKind::Outlier(_) => Known::Outliers(Outliers::new(replicas as usize)),
            EjectionKind::Breaker(_) => {
                Known::Breakers(vec![Breaker::default(); replicas as usize])
            }
        };
        Pool { replicas, known }
    }
}

impl Pool {
    /// Chooses a replica for an attempt at `now`; `None` when nobody is in and there is no panic.
    /// `draw` gives the random part of the ejection of a replica, by its number.
    pub fn choose(
        &mut self,
        config: &EjectionConfig,
        now: SimTime,
        choice: Choice,
        draw: &impl Fn(u32, u32) -> Draw,
    ) -> Option<Chosen> {
        let panics = self.catch_up(config, now, draw);
        let replica = match choice {
            Choice::From(first) if panics => first,
            Choice::From(first) => {
                let mut in_turn = (first..self.replicas).chain(0..first);
                in_turn.find(|replica| self.is_in(config, *replica, now))?
            }
            Choice::Drawn(draw) => {
                let is_in = |replica: &u32| panics || self.is_in(config, *replica, now);
                let count = (0..self.replicas).filter(is_in).count() as u32;
                let nth = ((f64::from(count) * draw.get()) as u32).min(count.saturating_sub(1));
                (0..self.replicas).filter(is_in).nth(nth as usize)?
            }
        };
        let mut permit = None;
        if let (Known::Breakers(breakers), EjectionKind::Breaker(config)) =
            (&mut self.known, &config.kind)
            && let Some(breaker) = breakers.get_mut(replica as usize)
            && let Answer::Granted(granted) = breaker.ask(config, now, &|nth| draw(replica, nth))
        {
            permit = Some(granted);
        }
        Some(Chosen { replica, permit, at: now })
    }

    /// What was sent to a replica has ended, with a failure or without.
    pub fn report(
        &mut self,
        config: &EjectionConfig,
        chosen: Chosen,
        now: SimTime,
        failure: Option<Class>,
        draw: &impl Fn(u32, u32) -> Draw,
    ) {
        match (&mut self.known, &config.kind) {
            (Known::Outliers(hosts), EjectionKind::Outlier(config)) => {
                let host = chosen.replica as usize;
                hosts.report(config, host, now, failure, &|nth| draw(0, nth));
            }
            (Known::Breakers(_), EjectionKind::Breaker(breaker)) => {
                // The time of the call ran out while the attempt was out: it took too long.
                let failure = failure.map(|class| match class {
                    Class::DeadlinePassed => Class::Timeout,
                    class => class,
                });
                self.settle(breaker, chosen, now, breaker.judge(failure), draw);
            }
            _ => {}
        }
    }

    /// Nobody waits for what was sent to a replica: nothing was learned, unless its breaker says so.
    pub fn forget(
        &mut self,
        config: &EjectionConfig,
        chosen: Chosen,
        now: SimTime,
        draw: &impl Fn(u32, u32) -> Draw,
    ) {
        if let EjectionKind::Breaker(breaker) = &config.kind {
            self.settle(breaker, chosen, now, breaker.judge_cancelled(), draw);
        }
    }

    /// How many replicas are in at `now`. Those whose breaker lets no further probe in are.
    pub fn count_in(&self, now: SimTime) -> u32 {
        match &self.known {
            Known::Outliers(hosts) => self.replicas - hosts.ejected(),
            Known::Breakers(breakers) => {
                let is_open = |it: &&Breaker| it.state(now) == BreakerState::Open;
                self.replicas - breakers.iter().filter(is_open).count() as u32
            }
        }
    }

    /// Memory held beside the record itself, in bytes.
    pub fn bytes(&self) -> usize {
        match &self.known {
            Known::Outliers(hosts) => hosts.bytes(),
            Known::Breakers(breakers) => breakers.capacity() * size_of::<Breaker>(),
        }
    }

    fn settle(
        &mut self,
        config: &BreakerConfig,
        chosen: Chosen,
        now: SimTime,
        settled: Settled,
        draw: &impl Fn(u32, u32) -> Draw,
    ) {
        let Known::Breakers(breakers) = &mut self.known else { return };
        let Some(breaker) = breakers.get_mut(chosen.replica as usize) else { return };
        let Some(permit) = chosen.permit else { return };
        let took = if config.times_calls() { now.since(chosen.at) } else { Duration::ZERO };
        let report = Report { settled, took };
        breaker.report(config, permit, now, report, &|nth| draw(chosen.replica, nth));
    }

    /// Brings everything up to `now`; are too few in?
    fn catch_up(
        &mut self,
        config: &EjectionConfig,
        now: SimTime,
        draw: &impl Fn(u32, u32) -> Draw,
    ) -> bool {
        match (&mut self.known, &config.kind) {
            (Known::Outliers(hosts), EjectionKind::Outlier(config)) => {
                hosts.pass_time(config, now, &|nth| draw(0, nth));
            }
            (Known::Breakers(breakers), EjectionKind::Breaker(config)) => {
                for (replica, breaker) in (0..).zip(breakers) {
                    breaker.pass_time(config, now, &|nth| draw(replica, nth));
                }
            }
            _ => {}
        }
        let least = config.panic.get() * f64::from(self.replicas);
        least > 0.0 && f64::from(self.count_in(now)) < least - 1e-9
    }

    /// May an attempt be sent to a replica?
    fn is_in(&self, config: &EjectionConfig, replica: u32, now: SimTime) -> bool {
        match (&self.known, &config.kind) {
            (Known::Outliers(hosts), _) => hosts.is_in(replica as usize),
            (Known::Breakers(breakers), EjectionKind::Breaker(config)) => {
                breakers.get(replica as usize).is_some_and(|it| it.has_room(config, now))
            }
            (Known::Breakers(_), EjectionKind::Outlier(_)) => true,
        }
    }
}

#[cfg(test)]
mod tests;
