//! By the estimated queue, as TCP Vegas does.
//!
//! ```text
//! q = ⌈L · (1 − RTT₀/RTT)⌉,  ℓ = max(1, ⌊log₁₀ L⌋),  α = 3ℓ,  β = 6ℓ
//! dropped: L − ℓ;  2 · in flight < L: as it is;  q ≤ ℓ: L + β;  q < α: L + ℓ;  q > β: L − ℓ
//! ```
//!
//! A lower RTT becomes RTT₀, without an update. After `30 · L · U[0.5, 1)` samples the present RTT
//! becomes RTT₀, so that a server that has grown slower for good is believed.
//!
//! Source: Netflix/concurrency-limits @78a74b9 `VegasLimit`. Its class comment (α = max(3, 10 %),
//! β = max(6, 20 %)) is not what it does.

use serde::Serialize;

use crate::policy::limiter::adaptive::Sample;
use crate::policy::limiter::adaptive::log10;
use crate::policy::limiter::adaptive::nanos;
use crate::units::Draw;
use crate::units::Duration;

/// The settings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct VegasConfig {
    /// The limit at the start.
    pub initial: u32,
    /// It never rises above this.
    pub max: u32,
    /// How far each update goes towards the new limit, above 0 and at most 1.
    pub smoothing: f64,
    /// Probes come after this many times the limit in samples, at most.
    pub probe_multiplier: u32,
}

impl VegasConfig {
    /// Netflix's: 20, at most 1,000, unsmoothed, probes every 30 · L at most.
    pub const DEFAULT: Self =
        Self { initial: 20, max: 1_000, smoothing: 1.0, probe_multiplier: 30 };

    /// As at the start.
    pub fn start(&self, draw: Draw) -> Vegas {
        let estimate = f64::from(self.initial);
        Vegas { estimate, no_load: Duration::ZERO, samples: 0, jitter: jitter(draw) }
    }
}

/// The state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vegas {
    estimate: f64,
    /// RTT₀; zero before the first sample.
    no_load: Duration,
    samples: u32,
    jitter: f64,
}

impl Vegas {
    /// A sample comes in; `draw` spreads the next probe, if this is one.
    pub fn update(&mut self, config: &VegasConfig, sample: Sample, draw: Draw) {
        self.samples = self.samples.saturating_add(1);
        let probe_at = self.jitter * f64::from(config.probe_multiplier) * self.estimate;
        if probe_at <= f64::from(self.samples) {
            self.jitter = jitter(draw);
            self.samples = 0;
            self.no_load = sample.rtt;
            return;
        }
        if self.no_load.is_zero() || sample.rtt < self.no_load {
            self.no_load = sample.rtt;
            return;
        }
        let limit = self.estimate;
        let step = log10(limit);
        let queue = (limit * (1.0 - nanos(self.no_load) / nanos(sample.rtt))).ceil();
        let next = if sample.dropped {
            limit - step
        } else if 2.0 * f64::from(sample.in_flight) < limit {
            return;
        } else if queue <= step {
            limit + 6.0 * step
        } else if queue < 3.0 * step {
            limit + step
        } else if queue > 6.0 * step {
            limit - step
        } else {
            return;
        };
        let next = next.min(f64::from(config.max)).max(1.0);
        self.estimate = (1.0 - config.smoothing) * limit + config.smoothing * next;
    }

    /// How many may be under way.
    pub fn limit(&self) -> u32 {
        (self.estimate as u32).max(1)
    }
}

fn jitter(draw: Draw) -> f64 {
    0.5 + 0.5 * draw.get()
}
