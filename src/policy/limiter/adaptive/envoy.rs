//! Envoy's adaptive concurrency: the gradient of minRTT over a sampled percentile, with headroom.
//!
//! ```text
//! g = clamp(minRTT · (1 + buffer) / sampleRTT, 0.5, 2);  L := clamp(⌊g · L + √(g · L)⌋, min, max)
//! ```
//!
//! minRTT is measured by holding the limit at `min` for a number of requests, every so often (with
//! jitter, so that not all hosts do it at once), and again when five windows in a row began and
//! ended at `min`. Requests sent before the measurement began are no samples of it. Every answer is a sample, good or bad; what is cut off by its caller is none.
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
/// Answers that are looked at in one window, or one measurement: the first so many.
pub const MOST_SAMPLES: u32 = 1_024;

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
    /// Requests that a measurement takes, at most [`MOST_SAMPLES`].
    pub min_rtt_requests: u32,
    /// Which percentile stands for a window, in thousandths.
    pub percentile_milli: u32,
    /// How often the limit is worked out anew.
    pub update_interval: Duration,
}

impl EnvoyGradientConfig {
    /// Envoy's, with the intervals of its documentation's example, 60 s and 100 ms (it has no
    /// defaults for them).
    pub const DEFAULT: Self = Self {
        min: 3,
        max: 1_000,
        buffer: 0.25,
        min_rtt_interval: Duration::from_secs(60),
        min_rtt_jitter: 0.15,
        min_rtt_requests: 50,
        percentile_milli: 500,
        update_interval: Duration::from_millis(100),
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

    /// It is time to measure minRTT anew.
    pub const fn measure(&mut self, config: &EnvoyGradientConfig) {
        self.limit_before = self.limit;
        self.limit = config.min;
        self.min_rtt = None;
        self.remeasure_at = SimTime::NEVER;
    }

    /// A window ends; `percentile` is that of its requests.
    pub fn window_ended(&mut self, config: &EnvoyGradientConfig, percentile: Duration) {
        let Some(min_rtt) = self.min_rtt else { return };
        let gradient = nanos(min_rtt) * (1.0 + config.buffer) / nanos(percentile);
        let scaled = f64::from(self.limit) * gradient.clamp(0.5, 2.0);
        let next = ((scaled + scaled.sqrt()) as u32).min(config.max).max(config.min);
        let stays = self.limit == config.min && next == config.min;
        self.pinned = if stays { self.pinned + 1 } else { 0 };
        self.limit = next;
        if self.pinned >= PINNED {
            self.measure(config);
        }
    }
}

/// The limit with the samples that it goes by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampledGradient {
    gradient: EnvoyGradient,
    /// Round trips of the window, or of the measurement, in nanoseconds. Its memory is asked for
    /// once, and is enough.
    samples: Vec<u64>,
    /// When the window ends; while minRTT is measured: since when.
    mark: SimTime,
}

impl SampledGradient {
    /// As at the start: measuring.
    pub fn new(config: &EnvoyGradientConfig) -> Self {
        let samples = Vec::with_capacity(MOST_SAMPLES as usize);
        Self { gradient: config.start(), samples, mark: SimTime::ZERO }
    }

    /// How many may be under way.
    pub const fn limit(&self) -> u32 {
        self.gradient.limit()
    }

    /// Windows that are over by `now` end, those without a sample without effect; and a measurement
    /// begins that is due.
    pub fn pass_time(&mut self, config: &EnvoyGradientConfig, now: SimTime) {
        if self.gradient.is_measuring() {
            return;
        }
        let due = self.gradient.remeasure_at;
        if now >= self.mark && self.mark <= due {
            if let Some(percentile) = self.take_percentile(config) {
                self.gradient.window_ended(config, percentile);
            }
            if self.gradient.is_measuring() {
                return; // Since the window ended.
            }
            let update = config.update_interval.as_nanos().max(1);
            let behind = now.since(self.mark).as_nanos() / update;
            self.mark = self.mark + Duration::from_nanos(update.saturating_mul(behind + 1));
        }
        if now >= due {
            self.gradient.measure(config);
            self.samples.clear();
            self.mark = due;
        }
    }

    /// An answer came after `rtt`. `draw` decides when minRTT is measured again.
    pub fn record(
        &mut self,
        config: &EnvoyGradientConfig,
        now: SimTime,
        rtt: Duration,
        draw: Draw,
    ) {
        self.pass_time(config, now);
        let measuring = self.gradient.is_measuring();
        if measuring && now < self.mark + rtt {
            return; // It was sent before, under another load.
        }
        if self.samples.len() < MOST_SAMPLES as usize {
            self.samples.push(rtt.as_nanos());
        }
        if measuring
            && self.samples.len() >= config.min_rtt_requests.min(MOST_SAMPLES) as usize
            && let Some(percentile) = self.take_percentile(config)
        {
            self.gradient.measured(config, now, percentile, draw);
            self.mark = now + config.update_interval;
        }
    }

    /// The percentile of the samples, which are dropped.
    fn take_percentile(&mut self, config: &EnvoyGradientConfig) -> Option<Duration> {
        let last = self.samples.len().checked_sub(1)?;
        let rank = last as u64 * u64::from(config.percentile_milli.min(1_000)) / 1_000;
        let (_, percentile, _) = self.samples.select_nth_unstable(rank as usize);
        let percentile = Duration::from_nanos(*percentile);
        self.samples.clear();
        Some(percentile)
    }
}
