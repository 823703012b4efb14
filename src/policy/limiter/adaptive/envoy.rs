//! Envoy's adaptive concurrency: the gradient of minRTT over a sampled percentile, with headroom.
//!
//! ```text
//! g = clamp(minRTT · (1 + buffer) / sampleRTT, 0.5, 2);  L := clamp(⌊g · L + √(g · L)⌋, min, max)
//! ```
//!
//! minRTT is measured by holding the limit at `min` for a number of requests, every so often (with
//! jitter, so that not all hosts do it at once), and again when five windows in a row ended at
//! `min`. Percentiles come from who drives the machine.
//!
//! Source: Envoy 1.40 `adaptive_concurrency` filter, `gradient_controller.cc`: percentile 50, at
//! most 1,000, at least 3, buffer 25 %, 50 requests, jitter 15 %.

use serde::Serialize;

use crate::policy::limiter::adaptive::nanos;
use crate::units::Draw;
use crate::units::Duration;
use crate::units::SimTime;

/// Windows at the least limit after which minRTT is measured anew.
const PINNED: u32 = 5;

/// The settings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EnvoyGradientConfig {
    /// The least limit, and the limit while minRTT is measured; at least 1.
    pub min: u32,
    /// The greatest limit.
    pub max: u32,
    /// How much longer than minRTT a round trip may be without being a sign of load.
    pub buffer: f64,
    /// How often minRTT is measured.
    pub min_rtt_interval: Duration,
    /// The most that is added to that interval, as a share of it.
    pub min_rtt_jitter: f64,
    /// Requests that a measurement takes.
    pub min_rtt_requests: u32,
}

impl EnvoyGradientConfig {
    /// Envoy's, with the interval of 60 s of its documentation's example (it has no default).
    pub const DEFAULT: Self = Self {
        min: 3,
        max: 1_000,
        buffer: 0.25,
        min_rtt_interval: Duration::from_secs(60),
        min_rtt_jitter: 0.15,
        min_rtt_requests: 50,
    };

    /// As at the start: measuring.
    pub const fn start(&self) -> EnvoyGradient {
        EnvoyGradient {
            limit: self.min,
            limit_before: self.min,
            min_rtt: None,
            remeasure_at: SimTime::NEVER,
            pinned: 0,
        }
    }
}

/// The state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnvoyGradient {
    limit: u32,
    /// The limit to go back to when minRTT is measured.
    limit_before: u32,
    /// `None`: it is being measured.
    min_rtt: Option<Duration>,
    remeasure_at: SimTime,
    pinned: u32,
}

impl EnvoyGradient {
    /// Is minRTT being measured? Then `measured` is called after `min_rtt_requests` requests.
    pub const fn is_measuring(&self) -> bool {
        self.min_rtt.is_none()
    }

    /// How many may be under way.
    pub const fn limit(&self) -> u32 {
        self.limit
    }

    /// minRTT is known: the percentile of the requests measured.
    pub fn measured(
        &mut self,
        config: &EnvoyGradientConfig,
        now: SimTime,
        percentile: Duration,
        draw: Draw,
    ) {
        self.min_rtt = Some(percentile);
        self.limit = self.limit_before;
        self.pinned = 0;
        let jitter = config.min_rtt_interval.scale(config.min_rtt_jitter * draw.get());
        self.remeasure_at = now + config.min_rtt_interval.saturating_add(jitter);
    }

    /// A window ends; `percentile` is that of its requests.
    pub fn window_ended(
        &mut self,
        config: &EnvoyGradientConfig,
        now: SimTime,
        percentile: Duration,
    ) {
        let Some(min_rtt) = self.min_rtt else { return };
        let gradient = nanos(min_rtt) * (1.0 + config.buffer) / nanos(percentile);
        let scaled = f64::from(self.limit) * gradient.clamp(0.5, 2.0);
        let next = (scaled + scaled.sqrt()) as u32;
        self.limit = next.min(config.max).max(config.min);
        self.pinned = if self.limit == config.min { self.pinned + 1 } else { 0 };
        if now >= self.remeasure_at || self.pinned >= PINNED {
            self.limit_before = self.limit;
            self.limit = config.min;
            self.min_rtt = None;
        }
    }
}
