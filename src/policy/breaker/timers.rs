//! What a breaker does of its own accord, caught up with to the moment at which it was due.

use crate::policy::breaker::Breaker;
use crate::policy::breaker::State;
use crate::policy::breaker::config::Begins;
use crate::policy::breaker::config::BreakerConfig;
use crate::policy::breaker::config::Judged;
use crate::policy::breaker::config::Trip;
use crate::policy::breaker::opening::OpenJitter;
use crate::units::Draw;
use crate::units::Duration;
use crate::units::SimTime;

impl Breaker {
    #[inline(never)]
    pub(super) fn run_timers(
        &mut self,
        config: &BreakerConfig,
        now: SimTime,
        draw: &impl Fn(u32) -> Draw,
    ) {
        loop {
            match self.state {
                State::Closed => match self.turn_closed(config, now) {
                    Some(at) => self.open(config, at, draw),
                    None => return,
                },
                State::Open { until } if now >= until => match config.half_open.begins {
                    Begins::Lazily => return,
                    Begins::ByTimer => self.begin_half_open(config, until),
                    Begins::Never => {
                        // Spring looks at its clock when it is asked.
                        let lazily = matches!(config.trip, Trip::Exhausted { .. });
                        self.close(config, if lazily { now } else { until }, true);
                    }
                },
                State::HalfOpen { .. } => {
                    let Some(at_most) = config.half_open.at_most else { return };
                    let ends_at = self.memory().since + at_most;
                    if now < ends_at {
                        return;
                    }
                    self.open(config, ends_at, draw);
                    self.skip_cycles(config, ends_at, now, at_most);
                }
                State::Open { .. } => return,
            }
        }
    }

    /// A breaker that goes from open to half-open and back by timers alone, at equal steps, while
    /// nobody asks: whole rounds are taken at once.
    fn skip_cycles(
        &mut self,
        config: &BreakerConfig,
        opened_at: SimTime,
        now: SimTime,
        at_most: Duration,
    ) {
        let State::Open { until } = self.state else { return };
        let is_steady = config.growth.is_constant() && config.jitter == OpenJitter::None;
        if !is_steady || config.half_open.begins != Begins::ByTimer {
            return;
        }
        let round = until.since(opened_at).saturating_add(at_most);
        let rounds = now.since(opened_at).as_nanos() / round.as_nanos().max(1);
        self.epoch = self.epoch.wrapping_add((rounds as u32).wrapping_mul(2));
        let skipped = Duration::from_nanos(round.as_nanos() * rounds);
        self.state = State::Open { until: until + skipped };
    }

    /// What time does to a closed breaker: the moment at which it opens, if it does.
    fn turn_closed(&mut self, config: &BreakerConfig, now: SimTime) -> Option<SimTime> {
        match config.trip {
            Trip::Row { clear_every, .. } if !clear_every.is_zero() => {
                let memory = self.memory();
                let passed = now.since(memory.cleared_at).as_nanos();
                // The instant itself still belongs to the period that ends.
                let periods = passed.saturating_sub(1) / clear_every.as_nanos();
                if periods > 0 {
                    let whole = Duration::from_nanos(clear_every.as_nanos() * periods);
                    memory.cleared_at = memory.cleared_at + whole;
                    self.row = 0;
                    self.epoch = self.epoch.wrapping_add(1);
                }
            }
            Trip::Rate(rate) if rate.judged == Judged::AtTurns => {
                return self.memory().window(config)?.judge_turns(&rate, now);
            }
            _ => {}
        }
        None
    }
}
