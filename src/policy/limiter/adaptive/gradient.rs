//! By the gradient of round-trip times: against the least one, or against the long-term mean.
//!
//! ```text
//! Gradient:   g = clamp(tolerance · RTT₀/RTT, 0.5, 1),  q = max(4, ⌊√L⌋)
//!             dropped: ratio · L;  in flight < L/2: as it is;  else g · L + q
//!             smoothed only when it falls;  at least q
//!             every U{interval … 2 · interval − 1} samples: L := max(min, q), RTT₀ forgotten
//! Gradient2:  g = clamp(tolerance · long/short, 0.5, 1),  q constant
//!             in flight < L/2: as it is;  else (1 − s) · L + s · (g · L + q)
//!             long := 0.95 · long when long/short > 2
//! ```
//!
//! Gradient2 does not look at drops. `long` is the mean of the first ten samples, from then on the
//! exponential mean over `long_window` samples.
//!
//! Source: Netflix/concurrency-limits @78a74b9 `GradientLimit`, `Gradient2Limit`,
//! `ExpAvgMeasurement`.

use serde::Serialize;

use crate::policy::limiter::adaptive::Sample;
use crate::policy::limiter::adaptive::nanos;
use crate::units::Draw;
use crate::units::Duration;

/// The settings of the first gradient.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GradientConfig {
    /// The limit at the start.
    pub initial: u32,
    /// A probe does not go below this.
    pub min: u32,
    /// It never rises above this.
    pub max: u32,
    /// How far an update goes that lowers the limit.
    pub smoothing: f64,
    /// How much longer than RTT₀ a round trip may be without being a sign of load.
    pub tolerance: f64,
    /// What is left after a drop.
    pub backoff: f64,
    /// Probes come after so many samples at least.
    pub probe_interval: u32,
}

impl GradientConfig {
    /// Netflix's: 50, between 1 and 1,000, smoothing 0.2, tolerance 2, × 0.9, 1,000 samples.
    pub const DEFAULT: Self = Self {
        initial: 50,
        min: 1,
        max: 1_000,
        smoothing: 0.2,
        tolerance: 2.0,
        backoff: 0.9,
        probe_interval: 1_000,
    };

    /// As at the start.
    pub fn start(&self, draw: Draw) -> Gradient {
        let estimate = f64::from(self.initial);
        Gradient { estimate, no_load: Duration::MAX, until_probe: self.until_probe(draw) }
    }

    fn until_probe(&self, draw: Draw) -> u32 {
        let spread = (f64::from(self.probe_interval) * draw.get()) as u32;
        self.probe_interval.saturating_add(spread)
    }
}

/// The state of the first gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gradient {
    estimate: f64,
    /// RTT₀; `MAX` when forgotten.
    no_load: Duration,
    until_probe: u32,
}

impl Gradient {
    /// A sample comes in; `draw` spreads the next probe, if this is one.
    pub fn update(&mut self, config: &GradientConfig, sample: Sample, draw: Draw) {
        let limit = self.estimate;
        let queue = f64::from((limit as u32).isqrt().max(4));
        if self.until_probe == 0 {
            self.until_probe = config.until_probe(draw);
            self.estimate = queue.max(f64::from(config.min));
            self.no_load = Duration::MAX;
            return;
        }
        self.until_probe -= 1;
        self.no_load = self.no_load.min(sample.rtt);
        let gradient = config.tolerance * nanos(self.no_load) / nanos(sample.rtt);
        let gradient = gradient.clamp(0.5, 1.0);
        let mut next = if sample.dropped {
            limit * config.backoff
        } else if f64::from(sample.in_flight) < limit / 2.0 {
            return;
        } else {
            limit * gradient + queue
        };
        if next < limit {
            next = limit * (1.0 - config.smoothing) + config.smoothing * next;
            next = next.max(f64::from(config.min));
        }
        self.estimate = next.min(f64::from(config.max)).max(queue);
    }

    /// How many may be under way.
    pub fn limit(&self) -> u32 {
        (self.estimate as u32).max(1)
    }
}

/// The settings of the second gradient.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gradient2Config {
    /// The limit at the start.
    pub initial: u32,
    /// It never falls below this.
    pub min: u32,
    /// It never rises above this.
    pub max: u32,
    /// How far each update goes.
    pub smoothing: f64,
    /// How much longer than the long-term mean a round trip may be.
    pub tolerance: f64,
    /// The queue it allows for.
    pub queue: u32,
    /// Samples of the long-term mean.
    pub long_window: u32,
}

impl Gradient2Config {
    /// Netflix's: 20, between 20 and 200, smoothing 0.2, tolerance 1.5, queue 4, 600 samples.
    pub const DEFAULT: Self = Self {
        initial: 20,
        min: 20,
        max: 200,
        smoothing: 0.2,
        tolerance: 1.5,
        queue: 4,
        long_window: 600,
    };

    /// As at the start.
    pub fn start(&self) -> Gradient2 {
        Gradient2 { estimate: f64::from(self.initial), long: 0.0, sum: 0.0, samples: 0 }
    }
}

/// The state of the second gradient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gradient2 {
    estimate: f64,
    /// The long-term mean of round-trip times, in nanoseconds.
    long: f64,
    /// Of the first samples.
    sum: f64,
    samples: u32,
}

/// So many samples are averaged evenly before the exponential mean sets in.
const WARM_UP: u32 = 10;

impl Gradient2 {
    /// A sample comes in.
    pub fn update(&mut self, config: &Gradient2Config, sample: Sample) {
        let short = nanos(sample.rtt);
        if self.samples < WARM_UP {
            self.samples += 1;
            self.sum += short;
            self.long = self.sum / f64::from(self.samples);
        } else {
            let share = 2.0 / (f64::from(config.long_window) + 1.0);
            self.long = self.long * (1.0 - share) + short * share;
        }
        let long = self.long;
        if long / short > 2.0 {
            self.long *= 0.95;
        }
        let limit = self.estimate;
        if f64::from(sample.in_flight) < limit / 2.0 {
            return;
        }
        let gradient = (config.tolerance * long / short).clamp(0.5, 1.0);
        let next = limit * gradient + f64::from(config.queue);
        let next = limit * (1.0 - config.smoothing) + next * config.smoothing;
        self.estimate = next.min(f64::from(config.max)).max(f64::from(config.min));
    }

    /// How many may be under way.
    pub fn limit(&self) -> u32 {
        (self.estimate as u32).max(1)
    }
}
