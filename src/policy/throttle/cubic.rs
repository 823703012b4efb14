//! The client rate limiter of the AWS SDKs' adaptive mode: it holds attempts back instead of
//! turning them away, at a rate that falls when the server throttles and recovers on a cubic curve.
//!
//! ```text
//! K := cbrt(w_max · (1 − β) ÷ s)                                  β = 0.7, s = 0.4
//! success, t after the last throttle:  rate := s · (t − K)³ + w_max
//! throttled:  w_max := min(measured, fill rate), or measured before the first; rate := β · w_max
//! fill rate := max(0.5, min(rate, 2 · measured)); the bucket holds max(1, min(rate, 2 · measured))
//! measured := 0.8 · attempts in the last half seconds + 0.2 · measured
//! ```
//!
//! It does nothing until the first throttled answer. Rates are floating-point numbers as in the
//! original; everything but the cube root is made of the four operations, so a run is the same
//! everywhere.
//!
//! Who waits for a token asks again when the wait is over, as botocore does; a new rate does not
//! wake who waits already.
//!
//! Invariant: 0.5 ≤ fill rate, 1 ≤ capacity, tokens ≤ capacity, and a wait is at least 1 ns.
//! Source: botocore 1.44.8 `retries/{adaptive,throttling,bucket}.py`.

use crate::random::cube_root;
use crate::units::Duration;
use crate::units::SECOND;
use crate::units::SimTime;

const BETA: f64 = 0.7;
const SCALE: f64 = 0.4;
const SMOOTHING: f64 = 0.8;
const HALF_SECOND: u64 = SECOND / 2;
const LEAST_RATE: f64 = 0.5;
const MOST_OF_MEASURED: f64 = 2.0;

/// One client rate limiter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cubic {
    throttled_at: SimTime,
    filled_at: SimTime,
    /// The half second up to which attempts are measured.
    measured_until: u64,
    count: u64,
    measured: f64,
    w_max: f64,
    k: f64,
    fill_rate: f64,
    capacity: f64,
    tokens: f64,
    enabled: bool,
}

impl Cubic {
    /// A limiter that has seen nothing.
    pub const fn new(now: SimTime) -> Self {
        Self {
            throttled_at: now,
            filled_at: now,
            // The half second in which it begins is rounded down to a whole second.
            measured_until: now.as_nanos() / SECOND * 2,
            count: 0,
            measured: 0.0,
            w_max: 0.0,
            k: 0.0,
            fill_rate: 1.0,
            capacity: 1.0,
            tokens: 0.0,
            enabled: false,
        }
    }

    /// The same, filling at another rate than one token a second until the first answer: not at
    /// all in the SDK for JavaScript.
    #[must_use]
    pub const fn filling_at(mut self, rate: f64) -> Self {
        self.fill_rate = rate;
        self
    }

    /// Takes a token, or says how long to wait before asking again.
    #[inline]
    #[must_use]
    pub fn acquire(&mut self, now: SimTime) -> Option<Duration> {
        if !self.enabled {
            return None;
        }
        self.fill(now);
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            return None;
        }
        let wait = Duration::from_secs_f64((1.0 - self.tokens) / self.fill_rate);
        Some(wait.max(Duration::from_nanos(1)))
    }

    /// An attempt that was let through has been answered; `throttled`: with a throttling error.
    #[inline]
    pub fn settle(&mut self, now: SimTime, throttled: bool) {
        self.measure(now);
        let rate = if throttled {
            let sent = if self.enabled { self.measured.min(self.fill_rate) } else { self.measured };
            self.w_max = sent;
            self.k = cube_root(sent * (1.0 - BETA) / SCALE);
            self.throttled_at = now;
            self.enabled = true;
            sent * BETA
        } else {
            let x = now.since(self.throttled_at).as_secs_f64() - self.k;
            SCALE * (x * x * x) + self.w_max
        };
        let rate = rate.min(MOST_OF_MEASURED * self.measured);
        self.fill(now);
        self.fill_rate = rate.max(LEAST_RATE);
        self.capacity = rate.max(1.0);
        self.tokens = self.tokens.min(self.capacity);
    }

    /// Has it been throttled before?
    pub const fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Attempts per second as it sees them.
    pub const fn measured(&self) -> f64 {
        self.measured
    }

    /// Tokens per second.
    pub const fn fill_rate(&self) -> f64 {
        self.fill_rate
    }

    /// The most tokens it holds.
    pub const fn capacity(&self) -> f64 {
        self.capacity
    }

    /// Tokens left, as of the last question.
    pub const fn tokens(&self) -> f64 {
        self.tokens
    }

    /// Where the curve is flat, and how long after the last throttle, in seconds.
    pub const fn curve(&self) -> (f64, f64) {
        (self.w_max, self.k)
    }

    fn measure(&mut self, now: SimTime) {
        let half_seconds = now.as_nanos() / HALF_SECOND;
        self.count += 1;
        if half_seconds > self.measured_until {
            let span = (half_seconds - self.measured_until) as f64 / 2.0;
            let rate = self.count as f64 / span;
            self.measured = rate * SMOOTHING + self.measured * (1.0 - SMOOTHING);
            self.count = 0;
            self.measured_until = half_seconds;
        }
    }

    fn fill(&mut self, now: SimTime) {
        let earned = now.since(self.filled_at).as_secs_f64() * self.fill_rate;
        self.tokens = (self.tokens + earned).min(self.capacity);
        self.filled_at = now;
    }
}
