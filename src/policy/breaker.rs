//! Circuit breaker: closed lets through, open refuses, half-open lets a few probes decide.
//!
//! `ask` grants a permit, `report` takes it back. Two bugs are classic. Results of what was
//! admitted before the last change of state decide the new one: permits carry the epoch they were
//! granted in, and the settings say what a late result is worth. And a probe that never reports
//! blocks the breaker for ever: every permit must be settled, with [`Settled::Ignored`] if nothing
//! was learned, and a probe settled so gives its place back, unless the settings are to show what
//! happens otherwise ([`release`]).
//!
//! Nothing is scheduled. Whatever a breaker does of its own accord (half-open by a timer, a
//! half-open state that has lasted too long, Hystrix's snapshots) is caught up with at the next
//! question, to the moment at which it was due. So at one instant the timers of a breaker come
//! before everything else that happens: a retry that falls due when the open time ends is a probe.
//!
//! Invariant: closed → open → half-open → closed or open, and open → closed where there is no
//! half-open state, nothing else; open lasts as long as it was to; at most `probes` probes are out
//! at once.
//! Source: Polly 8 (window, lazy half-open), gobreaker 2 (late results by generation), cockatiel
//! 3.2.1 (waiting behind a probe, late probes), opossum 9, resilience4j 2, Hystrix, Failsafe 3,
//! ChokaQ, Finagle, Envoy: who does what is said in [`config`].

pub mod config;
mod counting;
mod half_open;
mod memory;
pub mod opening;
pub mod outlier;
pub mod release;
mod timers;
mod window;

#[cfg(test)]
mod tests;

pub use config::BreakerConfig;
pub use config::LateResults;
pub use config::Trip;

use crate::policy::breaker::config::Forgets;
use crate::policy::breaker::memory::Memory;
use crate::policy::breaker::opening::OpenGrowth;
use crate::policy::breaker::opening::OpenJitter;
use crate::policy::breaker::opening::open_time;
use crate::units::Draw;
use crate::units::Duration;
use crate::units::SimTime;

/// Leave to pass a breaker, to be settled exactly once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permit {
    /// The epoch it was granted in.
    epoch: u32,
    probe: bool,
}

/// What a breaker says to who asks to pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Pass, and report.
    Granted(Permit),
    /// Do not.
    Refused,
    /// Wait until a probe of this epoch is settled, then ask again.
    Wait(u32),
}

/// What the breaker hears of something it admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// The callee is alive.
    Success,
    /// A failure that counts.
    Failure,
    /// A failure that opens the breaker at once.
    Fatal,
    /// An outcome that only a probe learns from: [`release::Uncounted::Closes`].
    Unhandled,
    /// Nothing was learned: it never ran, or was cancelled. A probe gives its place back.
    Ignored,
    /// Nothing was learned, and nobody gives the place back: [`release`].
    Leaked,
    /// Half-open becomes closed, and nothing was learned otherwise: [`release`].
    Released,
}

/// What the breaker hears, and how long it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// How it ended.
    pub settled: Settled,
    /// From the permit to the end; only slow calls are told by it.
    pub took: Duration,
}

/// The state of a breaker, as people speak of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerState {
    /// Everything passes.
    Closed,
    /// Nothing passes.
    Open,
    /// Probes pass.
    HalfOpen,
}

impl Permit {
    /// The epoch it was granted in.
    pub const fn epoch(self) -> u32 {
        self.epoch
    }

    /// Was it granted to a probe?
    pub const fn is_probe(self) -> bool {
        self.probe
    }
}

/// One breaker. Its settings are passed to each question, so that they may change while it runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Breaker {
    state: State,
    epoch: u32,
    /// Failures in a row.
    row: u32,
    memory: Option<Box<Memory>>, // Made once, when the settings first want one.
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum State {
    #[default]
    Closed,
    Open {
        until: SimTime,
    },
    HalfOpen {
        /// Places taken.
        out: u32,
        successes: u32,
    },
}

/// A draw for who is sure that none is needed.
const fn middle(_: u32) -> Draw {
    Draw::MIDDLE
}

impl Breaker {
    /// May something pass at `now`? As [`Breaker::ask`] of settings without chance; who would have
    /// to wait is refused.
    #[inline]
    #[must_use]
    pub fn admit(&mut self, config: &BreakerConfig, now: SimTime) -> Option<Permit> {
        match self.ask(config, now, &middle) {
            Answer::Granted(permit) => Some(permit),
            Answer::Refused | Answer::Wait(_) => None,
        }
    }

    /// What was admitted under `permit` has ended: as [`Breaker::report`] of settings without
    /// chance or slow calls.
    #[inline]
    pub fn settle(
        &mut self,
        config: &BreakerConfig,
        permit: Permit,
        now: SimTime,
        settled: Settled,
    ) {
        self.report(config, permit, now, Report { settled, took: Duration::ZERO }, &middle);
    }

    /// May something pass at `now`? A breaker whose open time is over turns half-open when it is
    /// asked, and not before, unless a timer is to do it. `draw` gives the random part of the
    /// opening of a number.
    #[inline]
    #[must_use]
    pub fn ask(
        &mut self,
        config: &BreakerConfig,
        now: SimTime,
        draw: &impl Fn(u32) -> Draw,
    ) -> Answer {
        self.pass_time(config, now, draw);
        if config.counts_fires()
            && let Some(rate) = config.trip.as_rate()
            && let Some(window) = self.memory().window(config)
        {
            window.fire(&rate, now);
        }
        if self.is_closed()
            && let Trip::Exhausted { attempts, within } = config.trip
        {
            self.renew(attempts, within, now);
        }
        match self.state {
            State::Closed => return Answer::Granted(Permit { epoch: self.epoch, probe: false }),
            State::Open { until } if now < until => return Answer::Refused,
            State::Open { .. } => self.begin_half_open(config, now),
            State::HalfOpen { .. } => {}
        }
        self.ask_half_open(config, now)
    }

    /// What was admitted under `permit` has ended.
    #[inline]
    pub fn report(
        &mut self,
        config: &BreakerConfig,
        permit: Permit,
        now: SimTime,
        report: Report,
        draw: &impl Fn(u32) -> Draw,
    ) {
        self.pass_time(config, now, draw);
        let late = permit.epoch != self.epoch;
        let settled = report.settled;
        self.give_back(config, permit, settled); // A probe is back, whatever it brings.
        let dropped = match config.late_results {
            LateResults::Ignore => late,
            LateResults::Overrule => late && permit.probe, // A lost lease is lost.
            LateResults::Count | LateResults::Record => false,
        };
        match settled {
            Settled::Ignored | Settled::Leaked => return,
            Settled::Released => return self.release(config, permit, now, dropped),
            _ if dropped => return,
            Settled::Unhandled => {
                if permit.probe && matches!(self.state, State::HalfOpen { .. }) {
                    self.close(config, now, false);
                }
                return;
            }
            Settled::Success | Settled::Failure | Settled::Fatal => {}
        }
        let fatal = settled == Settled::Fatal;
        let outcome = Outcome { failed: fatal || settled == Settled::Failure, took: report.took };
        if config.late_results == LateResults::Record && permit.probe {
            return self.hear_probe(config, now, outcome, draw);
        }
        match self.state {
            State::Closed => {
                if self.count(config, now, outcome) || fatal {
                    self.open(config, now, draw);
                }
            }
            State::Open { .. } if config.late_results == LateResults::Overrule => {
                if outcome.failed {
                    let until = now + self.open_time(config, draw);
                    self.state = State::Open { until };
                } else {
                    self.close(config, now, true);
                }
            }
            // Late, and there is nothing left to decide.
            State::Open { .. } => _ = self.count(config, now, outcome),
            State::HalfOpen { .. } if late && config.late_results == LateResults::Record => {
                if self.count(config, now, outcome) {
                    self.open(config, now, draw);
                }
            }
            State::HalfOpen { .. } => self.decide(config, now, outcome, draw),
        }
    }

    /// The state at `now`: a breaker whose open time is over counts as half-open. Timers are not
    /// caught up with: that is [`Breaker::pass_time`].
    pub fn state(&self, now: SimTime) -> BreakerState {
        match self.state {
            State::Closed => BreakerState::Closed,
            State::Open { until } if now < until => BreakerState::Open,
            State::Open { .. } | State::HalfOpen { .. } => BreakerState::HalfOpen,
        }
    }

    /// Does everything pass?
    #[inline]
    pub const fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed)
    }

    /// Failures in a row, up to now.
    pub const fn failures_in_a_row(&self) -> u32 {
        self.row
    }

    /// Calls and failures in the window, if there is one.
    pub fn in_window(&self) -> Option<(u32, u32)> {
        let sums = self.memory.as_ref()?.window.as_ref()?.sums();
        Some((sums.calls, sums.failures))
    }

    /// Catches up with what the breaker does of its own accord up to `now`.
    #[inline]
    pub fn pass_time(&mut self, config: &BreakerConfig, now: SimTime, draw: &impl Fn(u32) -> Draw) {
        if config.has_timers() {
            self.run_timers(config, now, draw);
        }
    }

    #[inline(never)]
    fn open(&mut self, config: &BreakerConfig, at: SimTime, draw: &impl Fn(u32) -> Draw) {
        if !config.growth.is_constant() {
            let memory = self.memory();
            if let OpenGrowth::Times { forget_every, .. } = config.growth
                && !forget_every.is_zero()
            {
                let healthy = at.since(memory.since).as_nanos() / forget_every.as_nanos();
                memory.openings = memory.openings.saturating_sub(healthy.min(1 << 31) as u32);
            }
            memory.openings = memory.openings.saturating_add(1);
        }
        let mut until = at + self.open_time(config, draw);
        if let Trip::Exhausted { attempts, within } = config.trip
            && self.is_closed()
        {
            let context = self.memory().average;
            if context.calls >= attempts && at.since(context.began_at) >= within {
                // Exhausted too late to begin anew.
                until = at.max(context.began_at + config.open_for);
            }
        }
        if config.half_open.strictly_after {
            until = until + Duration::from_nanos(1);
        }
        if config.forgets == Forgets::WhenOpened {
            self.forget(config, at);
        }
        self.enter(State::Open { until });
    }

    /// How long the present opening lasts.
    fn open_time(&mut self, config: &BreakerConfig, draw: &impl Fn(u32) -> Draw) -> Duration {
        if config.growth.is_constant() && config.jitter == OpenJitter::None {
            return config.open_for;
        }
        let nth = self.memory.as_ref().map_or(1, |memory| memory.openings.max(1));
        open_time(config.open_for, &config.growth, config.jitter, nth, draw(self.epoch))
    }

    fn close(&mut self, config: &BreakerConfig, at: SimTime, forgets: bool) {
        if forgets {
            self.forget(config, at);
        }
        if let Some(memory) = &mut self.memory {
            let fades = matches!(config.growth,
                OpenGrowth::Times { forget_every, .. } if !forget_every.is_zero());
            if !fades {
                memory.openings = 0;
            }
            memory.since = at;
            memory.cleared_at = at;
            if let (Some(rate), Some(window)) = (config.trip.as_rate(), &mut memory.window) {
                window.skip_turns(&rate, at);
            }
        }
        self.enter(State::Closed);
    }

    /// A change of state: what was admitted before is late from now on.
    fn enter(&mut self, state: State) {
        self.state = state;
        self.epoch = self.epoch.wrapping_add(1);
    }

    #[inline]
    fn memory(&mut self) -> &mut Memory {
        self.memory.get_or_insert_default()
    }
}

/// How something ended that counts.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    failed: bool,
    took: Duration,
}
