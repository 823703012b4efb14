//! Windows of samples: one sample for many requests, so that a limit does not follow every one.
//!
//! A window ends with the first request that ends after its time and finds more than `minimum`
//! samples in it: the mean round-trip time, the most in flight, and whether anything was dropped.
//! Its time is twice the shortest round trip seen in it, within `shortest` and `longest`. Round
//! trips below `ignored` are no samples; dropped ones have no time.
//!
//! Source: Netflix/concurrency-limits @78a74b9 `WindowedLimit`, `AverageSampleWindow`: 1 s, 1 s, 10,
//! 100 µs.

use serde::Serialize;

use crate::policy::limiter::adaptive::Sample;
use crate::units::Duration;
use crate::units::SimTime;

/// The settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct WindowConfig {
    /// A window lasts at least so long.
    pub shortest: Duration,
    /// And at most so long, while there are samples.
    pub longest: Duration,
    /// It needs more samples than this.
    pub minimum: u32,
    /// Shorter round trips are no samples.
    pub ignored: Duration,
}

impl WindowConfig {
    /// Netflix's.
    pub const DEFAULT: Self = Self {
        shortest: Duration::from_secs(1),
        longest: Duration::from_secs(1),
        minimum: 10,
        ignored: Duration::from_nanos(100_000),
    };
}

/// The samples of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    ends_at: SimTime,
    shortest: Duration,
    sum: u128,
    count: u32,
    in_flight: u32,
    dropped: bool,
}

impl Default for Window {
    fn default() -> Self {
        Self {
            ends_at: SimTime::ZERO,
            shortest: Duration::MAX,
            sum: 0,
            count: 0,
            in_flight: 0,
            dropped: false,
        }
    }
}

impl Window {
    /// A request ends at `now`; what its window comes to, if it ends with it.
    pub fn add(&mut self, config: &WindowConfig, now: SimTime, sample: Sample) -> Option<Sample> {
        if sample.rtt < config.ignored {
            return None;
        }
        self.in_flight = self.in_flight.max(sample.in_flight);
        if sample.dropped {
            self.dropped = true;
        } else {
            self.shortest = self.shortest.min(sample.rtt);
            self.sum += u128::from(sample.rtt.as_nanos());
            self.count = self.count.saturating_add(1);
        }
        let is_ready = self.shortest < Duration::MAX && self.count > config.minimum;
        if now <= self.ends_at || !is_ready {
            return None;
        }
        let mean = (self.sum / u128::from(self.count)) as u64;
        let whole = Sample {
            rtt: Duration::from_nanos(mean),
            in_flight: self.in_flight,
            dropped: self.dropped,
        };
        let span = self.shortest.saturating_add(self.shortest);
        let ends_at = now + span.max(config.shortest).min(config.longest);
        *self = Self { ends_at, ..Self::default() };
        Some(whole)
    }
}
