//! Hedging: a further attempt while earlier ones are still out. The first good answer wins.
//!
//! | Delay | As in |
//! | --- | --- |
//! | a fixed time after the last sending; a failure of `on` sends the next at once | gRPC A6, Polly 8, .NET's hedging handler |
//! | zero or not set: all at one instant, load × `max_attempts` always | gRPC without `hedgingDelay`, Polly with `Delay` 0 |
//! | after failures only | Polly with a negative `Delay` |
//! | the latency that a share of recent answers did not exceed, within a bound on extra load | Finagle `BackupRequestFilter` ([`latency`]) |
//! | an attempt's own timeout: the attempt stays out, and a retry follows after its back-off | Envoy `hedge_on_per_try_timeout` |
//!
//! The machine counts what is out; who drives it keeps the timer, which runs anew from every
//! sending. Push-back (gRPC): a wait before the next, or none at all any more.
//!
//! Invariant: at most `max_attempts` are sent, never one after the call is over, and the call ends
//! with a success if any attempt that is heard succeeds before a fatal failure.
//! Source: gRPC proposal A6 and grpc-js 1.14.7 (recorded: `tests/traces/grpc-js/hedging.json`),
//! Envoy 1.40.0 (recorded: `tests/traces/envoy/attempts.json`); Polly 8 and Finagle by their
//! documentation.

pub mod latency;
#[cfg(test)]
mod tests;

use serde::Serialize;

use crate::policy::hedge::latency::PercentileConfig;
use crate::policy::outcome::Class;
use crate::policy::outcome::ClassSet;
use crate::units::Duration;

/// When the next attempt is sent although others are out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HedgeDelay {
    /// So long after the last one was sent; zero: all at one instant, before anything is known.
    After(Duration),
    /// Only when an earlier one has failed.
    OnFailure,
    /// When an attempt has been out for its own timeout, and the back-off of a retry has passed.
    OnTimeout(Duration),
    /// So long after the last one was sent as a share of recent answers took at most; before that
    /// is known, nothing is sent.
    AtPercentile(PercentileConfig),
}

/// The settings of hedging.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HedgeConfig {
    /// When the next attempt is sent.
    pub delay: HedgeDelay,
    /// The most attempts of one call, the first one included; at least 1. (Polly and .NET count
    /// hedges: one more. gRPC clients cut this to 5.)
    pub max_attempts: u32,
    /// Failures that others may make good: the next attempt is sent at once. Any other failure
    /// ends the call.
    pub on: ClassSet,
}

/// What a server asked for along with a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushBack {
    /// Nothing.
    None,
    /// The next attempt no sooner than that.
    Wait(Duration),
    /// No further attempts.
    Stop,
}

/// What follows from an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Another attempt is sent at once, and the timer starts anew.
    Send,
    /// The timer starts anew with this wait; another attempt is sent when it ends.
    SendAfter(Duration),
    /// Others are out; the timer runs on.
    Await,
    /// The call is over with this outcome; what is out is given up.
    Over(Result<(), Class>),
}

/// One hedged call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hedge {
    sent: u32,
    out: u32,
    stopped: bool,
    over: bool,
}

impl HedgeConfig {
    /// How long the timer runs that starts with the sending of an attempt; `None`: there is none.
    /// `backoff` is the wait before a retry, where hedging goes by attempt timeouts.
    /// `late` is the latency of a late answer, where hedging goes by percentiles and it is known.
    pub const fn timer(&self, backoff: Duration, late: Option<Duration>) -> Option<Duration> {
        match self.delay {
            HedgeDelay::After(delay) => Some(delay),
            HedgeDelay::OnTimeout(timeout) => Some(timeout.saturating_add(backoff)),
            HedgeDelay::AtPercentile(_) => late,
            HedgeDelay::OnFailure => None,
        }
    }
}

impl Hedge {
    /// A call begins: its first attempt is sent.
    pub const START: Self = Self { sent: 1, out: 1, stopped: false, over: false };

    /// The timer has ended: is another attempt to be sent? If so, it counts as sent.
    #[inline]
    #[must_use]
    pub const fn due(&mut self, config: &HedgeConfig) -> bool {
        let more = self.may_send(config);
        if more {
            self.sent += 1;
            self.out += 1;
        }
        more
    }

    /// An attempt has an outcome, heard while the call was not over.
    #[inline]
    pub fn settle(
        &mut self,
        config: &HedgeConfig,
        outcome: Result<(), Class>,
        push_back: PushBack,
    ) -> Next {
        self.out = self.out.saturating_sub(1);
        let class = match outcome {
            Err(class) if config.on.contains(class) => class,
            _ => return self.end(outcome),
        };
        match push_back {
            PushBack::Stop => self.stopped = true,
            PushBack::Wait(wait) if self.may_send(config) => return Next::SendAfter(wait),
            PushBack::None if self.may_send(config) => {
                self.sent += 1;
                self.out += 1;
                return Next::Send;
            }
            _ => {}
        }
        if self.out == 0 { self.end(Err(class)) } else { Next::Await }
    }

    /// No further attempts are sent: a budget has refused one, as in grpc-java.
    pub const fn stop(&mut self) {
        self.stopped = true;
    }

    /// Attempts sent so far.
    pub const fn sent(&self) -> u32 {
        self.sent
    }

    /// Attempts whose outcome is awaited.
    pub const fn out(&self) -> u32 {
        self.out
    }

    /// Is another attempt allowed, as far as this call goes?
    pub const fn may_send(&self, config: &HedgeConfig) -> bool {
        !self.over && !self.stopped && self.sent < config.max_attempts
    }

    const fn end(&mut self, outcome: Result<(), Class>) -> Next {
        self.over = true;
        Next::Over(outcome)
    }
}
