//! Probes are let in, and decide.

use crate::policy::breaker::Answer;
use crate::policy::breaker::Breaker;
use crate::policy::breaker::Outcome;
use crate::policy::breaker::Permit;
use crate::policy::breaker::State;
use crate::policy::breaker::config::BreakerConfig;
use crate::policy::breaker::config::Decision;
use crate::policy::breaker::config::Others;
use crate::policy::breaker::window::Sums;
use crate::units::Draw;
use crate::units::SimTime;

impl Breaker {
    /// Would it let something through if it were asked now? Timers are not caught up with.
    pub fn has_room(&self, config: &BreakerConfig, now: SimTime) -> bool {
        match self.state {
            State::Closed => true,
            State::Open { until } => now >= until,
            State::HalfOpen { out, .. } if out < config.probes => true,
            State::HalfOpen { .. } => config.half_open.lease.is_some_and(|lease| {
                self.memory.as_ref().is_some_and(|it| now.since(it.leased_at) >= lease)
            }),
        }
    }

    /// A half-open breaker is asked.
    pub(super) fn ask_half_open(&mut self, config: &BreakerConfig, now: SimTime) -> Answer {
        let State::HalfOpen { out, .. } = self.state else { return Answer::Refused };
        if out >= config.probes {
            let overdue = |lease| now.since(self.memory().leased_at) >= lease;
            if !config.half_open.lease.is_some_and(overdue) {
                return match config.half_open.others {
                    Others::Refused => Answer::Refused,
                    Others::Wait => Answer::Wait(self.epoch),
                };
            }
            self.begin_half_open(config, now);
        }
        if let State::HalfOpen { out, .. } = &mut self.state {
            *out += 1;
            if *out == 1 && config.half_open.lease.is_some() {
                self.memory().leased_at = now;
            }
        }
        Answer::Granted(Permit { epoch: self.epoch, probe: true })
    }

    /// An outcome that decides a half-open breaker, or helps to.
    pub(super) fn decide(
        &mut self,
        config: &BreakerConfig,
        now: SimTime,
        outcome: Outcome,
        draw: &impl Fn(u32) -> Draw,
    ) {
        let verdict = self.verdict(config, outcome);
        let counts = config.half_open.probes_count;
        if counts && verdict != Some(false) {
            self.count(config, now, outcome);
        }
        match verdict {
            Some(true) => self.open(config, now, draw),
            Some(false) => {
                self.close(config, now, true);
                if counts {
                    self.count(config, now, outcome);
                }
            }
            None => {}
        }
    }

    /// Does a half-open breaker open (`true`) or close (`false`)?
    fn verdict(&mut self, config: &BreakerConfig, outcome: Outcome) -> Option<bool> {
        let State::HalfOpen { successes, .. } = &mut self.state else { return None };
        *successes += u32::from(!outcome.failed);
        let succeeded = *successes;
        match config.half_open.decision {
            Decision::First { failures, .. } if outcome.failed => {
                if failures <= 1 {
                    return Some(true);
                }
                let probed = &mut self.memory().probed;
                probed.failures += 1;
                (probed.failures >= failures).then_some(true)
            }
            Decision::First { successes: wanted, .. } => {
                let wanted = if wanted == 0 { config.probes } else { wanted };
                (succeeded >= wanted).then_some(false)
            }
            Decision::AfterAll(all) => {
                let rate = config.trip.as_rate();
                let slow = rate.and_then(|rate| rate.slow);
                let is_slow = slow.is_some_and(|slow| outcome.took > slow.longer_than);
                let probed = &mut self.memory().probed;
                probed.calls += 1;
                probed.failures += u32::from(outcome.failed);
                probed.slow += u32::from(is_slow);
                let sums = *probed;
                let exceeded = match rate {
                    Some(rate) => sums.exceed(&rate),
                    None => sums.failures > 0,
                };
                (sums.calls >= all).then_some(exceeded)
            }
        }
    }

    /// cockatiel: a probe is heard in whatever state it comes back to.
    pub(super) fn hear_probe(
        &mut self,
        config: &BreakerConfig,
        now: SimTime,
        outcome: Outcome,
        draw: &impl Fn(u32) -> Draw,
    ) {
        if matches!(self.state, State::HalfOpen { .. }) {
            return self.decide(config, now, outcome, draw);
        }
        if !outcome.failed {
            self.forget(config, now);
        }
        self.count(config, now, outcome);
        if outcome.failed && self.is_closed() {
            self.open(config, now, draw);
        }
    }

    pub(super) fn begin_half_open(&mut self, config: &BreakerConfig, at: SimTime) {
        if config.half_open.needs_memory() {
            let memory = self.memory();
            (memory.since, memory.probed) = (at, Sums::default());
        }
        self.enter(State::HalfOpen { out: 0, successes: 0 });
    }
}
