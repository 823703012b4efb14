//! Adaptive limits: a bound on what is under way that moves with what is seen of the server.
//!
//! Each sample is one finished request, or a window of them ([`window`]): its round-trip time, what
//! was under way when it began, and whether it was dropped (timed out, or refused for load).
//!
//! | Kind | Sign of overload | Source |
//! | --- | --- | --- |
//! | [`aimd`] | drops and timeouts | Netflix/concurrency-limits `AIMDLimit` |
//! | [`vegas`] | estimated queue `L · (1 − RTT₀/RTT)` | `VegasLimit` |
//! | [`gradient`] | `RTT₀/RTT`, RTT₀ the least seen | `GradientLimit` |
//! | [`gradient`], second | long over short RTT | `Gradient2Limit` |
//! | [`envoy`] | `minRTT/sampleRTT`, with √ headroom | Envoy `adaptive_concurrency` |
//!
//! Invariant: the limit stays between its bounds, and no sample, however long, brings in a NaN.
//! Source: Netflix/concurrency-limits @78a74b9 (2026-01), Envoy 1.40, by their code; golden values
//! worked out by hand from it. There are no recordings.

pub mod aimd;
pub mod envoy;
pub mod gradient;
#[cfg(test)]
mod tests;
pub mod vegas;
pub mod window;

use serde::Serialize;

use crate::policy::limiter::adaptive::aimd::AimdConfig;
use crate::policy::limiter::adaptive::envoy::EnvoyGradientConfig;
use crate::policy::limiter::adaptive::envoy::SampledGradient;
use crate::policy::limiter::adaptive::gradient::Gradient;
use crate::policy::limiter::adaptive::gradient::Gradient2;
use crate::policy::limiter::adaptive::gradient::Gradient2Config;
use crate::policy::limiter::adaptive::gradient::GradientConfig;
use crate::policy::limiter::adaptive::vegas::Vegas;
use crate::policy::limiter::adaptive::vegas::VegasConfig;
use crate::units::Draw;
use crate::units::Duration;
use crate::units::SimTime;

/// What is seen of one request, or of a window of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// From entering to the end.
    pub rtt: Duration,
    /// What was under way, itself included.
    pub in_flight: u32,
    /// Did it time out, or was it refused for load?
    pub dropped: bool,
}

/// The settings of any adaptive limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AdaptiveConfig {
    /// Additive increase, multiplicative decrease.
    Aimd(AimdConfig),
    /// By the estimated queue.
    Vegas(VegasConfig),
    /// By the least round-trip time.
    Gradient(GradientConfig),
    /// By the long-term round-trip time.
    Gradient2(Gradient2Config),
    /// By the round-trip time that is measured under the least limit.
    MinRtt(EnvoyGradientConfig),
}

/// The state of an adaptive limit.
#[derive(Clone, Debug, PartialEq)]
pub enum Adaptive {
    /// The limit of [`aimd`].
    Aimd(u32),
    /// Of [`vegas`].
    Vegas(Vegas),
    /// Of [`gradient`].
    Gradient(Gradient),
    /// Of [`gradient`], second.
    Gradient2(Gradient2),
    /// Of [`envoy`].
    MinRtt(SampledGradient),
}

impl AdaptiveConfig {
    /// The limit as it is at the start. `draw` decides when it is first probed.
    pub fn start(&self, draw: Draw) -> Adaptive {
        match self {
            Self::Aimd(config) => Adaptive::Aimd(config.initial),
            Self::Vegas(config) => Adaptive::Vegas(config.start(draw)),
            Self::Gradient(config) => Adaptive::Gradient(config.start(draw)),
            Self::Gradient2(config) => Adaptive::Gradient2(config.start()),
            Self::MinRtt(config) => Adaptive::MinRtt(SampledGradient::new(config)),
        }
    }

    /// The limit at the start.
    pub const fn initial(&self) -> u32 {
        match self {
            Self::Aimd(config) => config.initial,
            Self::Vegas(config) => config.initial,
            Self::Gradient(config) => config.initial,
            Self::Gradient2(config) => config.initial,
            Self::MinRtt(config) => config.min,
        }
    }

    /// Is an answer that is neither good nor a sign of load a sample as well?
    pub const fn hears_all_answers(&self) -> bool {
        matches!(self, Self::MinRtt(_))
    }
}

impl Adaptive {
    /// A sample comes in. Without effect under settings of another kind.
    pub fn update(&mut self, config: &AdaptiveConfig, now: SimTime, sample: Sample, draw: Draw) {
        match (self, config) {
            (Self::Aimd(limit), AdaptiveConfig::Aimd(config)) => {
                *limit = config.next(*limit, sample);
            }
            (Self::Vegas(state), AdaptiveConfig::Vegas(config)) => {
                state.update(config, sample, draw);
            }
            (Self::Gradient(state), AdaptiveConfig::Gradient(config)) => {
                state.update(config, sample, draw);
            }
            (Self::Gradient2(state), AdaptiveConfig::Gradient2(config)) => {
                state.update(config, sample);
            }
            (Self::MinRtt(state), AdaptiveConfig::MinRtt(config)) => {
                state.record(config, now, sample.rtt, draw);
            }
            _ => {}
        }
    }

    /// What follows from the passing of time alone.
    pub fn pass_time(&mut self, config: &AdaptiveConfig, now: SimTime) {
        if let (Self::MinRtt(state), AdaptiveConfig::MinRtt(config)) = (self, config) {
            state.pass_time(config, now);
        }
    }

    /// How many may be under way now, at least 1.
    pub fn limit(&self) -> u32 {
        match self {
            Self::Aimd(limit) => (*limit).max(1),
            Self::Vegas(state) => state.limit(),
            Self::Gradient(state) => state.limit(),
            Self::Gradient2(state) => state.limit(),
            Self::MinRtt(state) => state.limit().max(1),
        }
    }
}

/// What libraries call ⌊log₁₀ L⌋, never below 1.
fn log10(limit: f64) -> f64 {
    f64::from((limit as u32).checked_ilog10().unwrap_or(0).max(1))
}

/// Round-trip times are divided by: at least one nanosecond.
fn nanos(rtt: Duration) -> f64 {
    rtt.as_nanos().max(1) as f64
}
