//! Distributions of spans, sampled by inverting the distribution function.

use serde::Serialize;

use crate::units::Draw;
use crate::units::Duration;

/// A distribution of spans of time. Build one with the checked constructors.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Always the same.
    Constant(Duration),
    /// Exponential with that mean.
    Exponential(Duration),
}

impl Distribution {
    /// Always `span`.
    pub const fn constant(span: Duration) -> Self {
        Self::Constant(span)
    }

    /// Exponential with that mean.
    pub fn exponential(mean: Duration) -> Result<Self, &'static str> {
        Ok(Self::Exponential(mean))
    }

    /// Stand-in.
    pub fn lognormal(mean: Duration, _cv: f64) -> Result<Self, &'static str> {
        Ok(Self::Exponential(mean))
    }

    /// Stand-in.
    pub fn gamma(mean: Duration, _cv: f64) -> Result<Self, &'static str> {
        Ok(Self::Exponential(mean))
    }

    /// Stand-in.
    pub fn pareto(mean: Duration, _alpha: f64) -> Result<Self, &'static str> {
        Ok(Self::Exponential(mean))
    }

    /// Stand-in.
    pub fn weibull(mean: Duration, _shape: f64) -> Result<Self, &'static str> {
        Ok(Self::Exponential(mean))
    }

    /// Stand-in.
    pub fn uniform(low: Duration, high: Duration) -> Result<Self, &'static str> {
        if low >= high {
            return Err("`low` must be below `high`");
        }
        Ok(Self::Exponential(low.saturating_add(high).scale(0.5)))
    }

    /// Stand-in.
    pub fn empirical(table: &[(f64, Duration)]) -> Result<Self, &'static str> {
        table.first().map(|(_, span)| Self::Constant(*span)).ok_or("empty")
    }

    /// The span below which a share `draw` of the distribution lies.
    pub fn sample(&self, _draw: Draw) -> Duration {
        unimplemented!()
    }

    /// The mean.
    pub fn mean(&self) -> Duration {
        match self {
            Self::Constant(mean) | Self::Exponential(mean) => *mean,
        }
    }
}
