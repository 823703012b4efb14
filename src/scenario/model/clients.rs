//! Who asks, and when: populations and their arrivals.
//!
//! Moments count from the start of the warm-up, so that the engine adds nothing to them.

use serde::Serialize;

use crate::random::Distribution;
use crate::scenario::model::EdgeId;
use crate::scenario::model::QueueId;
use crate::units::Duration;
use crate::units::Rate;

/// A population of equal clients.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Population {
    /// Its name in the scenario.
    pub name: String,
    /// Instances; at least 1.
    pub size: u32,
    /// When they ask.
    pub arrivals: Arrivals,
    /// The one call that a request makes.
    pub calls: EdgeId,
    /// How long after its birth an answer is still worth something.
    pub deadline: Option<Duration>,
    /// The queue in which its requests wait as jobs; `None`: they call at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueId>,
}

impl Population {
    /// The mean arrival rate over `span` after the warm-up, in requests per second; a closed
    /// population counts as if answers took no time.
    pub fn mean_rate(&self, warm_up: Duration, span: Duration) -> f64 {
        match &self.arrivals {
            Arrivals::Open(open) => open.mean_rate(warm_up, warm_up.saturating_add(span)),
            Arrivals::Closed { think } => {
                let think = think.mean().as_secs_f64();
                if think > 0.0 { f64::from(self.size) / think } else { 0.0 }
            }
        }
    }
}

/// When requests are born.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Arrivals ignore replies; each request comes from one instance, drawn evenly.
    Open(OpenArrivals),
    /// Each instance waits for its verdict, thinks, and asks again; it starts with a think time.
    Closed {
        /// The time between a verdict and the next request.
        think: Distribution,
    },
}

/// An open-loop arrival process: a rate over time, and bursts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpenArrivals {
    /// How arrivals lie around the rate.
    pub process: Process,
    /// The total rate of the population, piecewise linear, by time from the start of the warm-up.
    /// Segments follow one another without gaps and cover the run; the first starts at 0.
    pub segments: Vec<RateSegment>,
    /// Requests born together.
    pub bursts: Vec<Burst>,
}

impl OpenArrivals {
    /// The mean rate from `from` to `until` (since the start of the warm-up), bursts left out, in
    /// requests per second; the rate at the start when the span is empty.
    pub fn mean_rate(&self, from: Duration, until: Duration) -> f64 {
        let (from, until) = (from.as_secs_f64(), until.as_secs_f64());
        if until <= from {
            return self.segments.first().map_or(0.0, |segment| segment.start.as_per_second());
        }
        let births: f64 = self.segments.iter().map(|segment| segment.births(from, until)).sum();
        births / (until - from)
    }
}

impl RateSegment {
    /// The requests expected between two moments, in seconds.
    fn births(&self, from: f64, until: f64) -> f64 {
        let (start, end) = (self.from.as_secs_f64(), self.until.as_secs_f64());
        let (a, b) = (start.max(from), end.min(until));
        if a >= b {
            return 0.0;
        }
        let (low, high) = (self.start.as_per_second(), self.end.as_per_second());
        let rate = |t: f64| low + (high - low) * ((t - start) / (end - start));
        (b - a) * (rate(a) + rate(b)) / 2.0
    }
}

/// How arrivals lie around their rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Process {
    /// A Poisson process of that rate.
    Poisson,
    /// One arrival each time the integral of the rate passes a whole number.
    Even,
}

/// A stretch of time on which the arrival rate is a straight line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RateSegment {
    /// Its start, since the start of the warm-up.
    pub from: Duration,
    /// Its end; the last segment ends at `Duration::MAX`, and is level.
    pub until: Duration,
    /// The rate at its start.
    pub start: Rate,
    /// The rate at its end.
    pub end: Rate,
}

/// Requests born at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Burst {
    /// When, since the start of the warm-up.
    pub at: Duration,
    /// How many.
    pub count: u32,
}
