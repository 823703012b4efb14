//! Additive increase, multiplicative decrease.
//!
//! Dropped, or slower than `timeout`: `L := ⌊ratio · L⌋`. Otherwise, where at least half of the limit
//! was in use: `L := L + 1`.
//!
//! Source: Netflix/concurrency-limits @78a74b9 `AIMDLimit`.

use serde::Serialize;

use crate::policy::limiter::adaptive::Sample;
use crate::units::Duration;

/// The settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AimdConfig {
    /// The limit at the start.
    pub initial: u32,
    /// It never falls below this; at least 1.
    pub min: u32,
    /// It never rises above this.
    pub max: u32,
    /// What is left of the limit after a drop, in thousandths.
    pub backoff_milli: u32,
    /// Slower than this counts as dropped.
    pub timeout: Duration,
}

impl AimdConfig {
    /// Netflix's: 20, between 20 and 200, × 0.9, 5 s.
    pub const DEFAULT: Self = Self {
        initial: 20,
        min: 20,
        max: 200,
        backoff_milli: 900,
        timeout: Duration::from_secs(5),
    };

    /// The limit after a sample.
    pub fn next(&self, limit: u32, sample: Sample) -> u32 {
        let next = if sample.dropped || sample.rtt > self.timeout {
            (u64::from(limit) * u64::from(self.backoff_milli) / 1_000) as u32
        } else if u64::from(sample.in_flight) * 2 >= u64::from(limit) {
            limit.saturating_add(1)
        } else {
            limit
        };
        next.max(self.min).min(self.max)
    }
}
