//! Distributions of spans, sampled by inverting the distribution function.
//!
//! One uniform number gives one span, and a larger number a longer span. A faster server is thus
//! faster for every request, and paired runs stay paired.
//!
//! Invariant: a sample never depends on the platform (`libm` alone, no powers), is monotone in the
//! draw, and saturates at "for ever".

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde::Serializer;
use serde::ser::SerializeMap;

use super::gamma::GammaTable;
use super::logarithm::hazard;
use super::normal;
use crate::units::Draw;
use crate::units::Duration;
use crate::units::SECOND;

/// A distribution of spans of time. Build one with the checked constructors.
///
/// ```
/// use stormlab::random::Distribution;
/// use stormlab::units::{Draw, Duration};
///
/// let work = Distribution::exponential(Duration::from_millis(20))?;
/// assert_eq!(work.sample(Draw::new(0.5).expect("in [0, 1)")), Duration::from_nanos(13_862_944));
/// assert_eq!(work.to_string(), "exponential(mean 20ms)");
/// # Ok::<(), &'static str>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution(Law);

/// The numbers of a law: first as written, then (from `scale` on) as the sampler wants them, in
/// nanoseconds.
#[derive(Clone, Debug, PartialEq)]
enum Law {
    Constant(Duration),
    Exponential { mean: Duration, scale: f64 },
    Lognormal { mean: Duration, cv: f64, scale: f64, sigma: f64 },
    Gamma { mean: Duration, cv: f64, scale: f64, table: GammaTable },
    Pareto { mean: Duration, alpha: f64, scale: f64, exponent: f64 },
    Weibull { mean: Duration, shape: f64, scale: f64, exponent: f64 },
    Uniform { low: Duration, high: Duration },
    Empirical(Arc<[(f64, Duration)]>),
}

impl Distribution {
    /// Always `span`.
    pub const fn constant(span: Duration) -> Self {
        Self(Law::Constant(span))
    }

    /// The exponential distribution.
    ///
    /// # Errors
    /// The mean is zero.
    pub fn exponential(mean: Duration) -> Result<Self, &'static str> {
        let scale = positive(mean)?;
        Ok(Self(Law::Exponential { mean, scale }))
    }

    /// The lognormal distribution; `cv` is the standard deviation ÷ the mean.
    ///
    /// # Errors
    /// The mean is zero, or `cv` lies outside `[0.001, 100]`.
    pub fn lognormal(mean: Duration, cv: f64) -> Result<Self, &'static str> {
        let cv = spread(cv)?;
        let variance = libm::log1p(cv * cv);
        let scale = positive(mean)? * libm::exp(-0.5 * variance);
        Ok(Self(Law::Lognormal { mean, cv, scale, sigma: variance.sqrt() }))
    }

    /// The gamma distribution; `cv` is the standard deviation ÷ the mean. `1 / √k` gives the
    /// Erlang distribution of k phases.
    ///
    /// # Errors
    /// The mean is zero, or `cv` lies outside `[0.001, 100]`.
    pub fn gamma(mean: Duration, cv: f64) -> Result<Self, &'static str> {
        let cv = spread(cv)?;
        let scale = positive(mean)? * (cv * cv);
        Ok(Self(Law::Gamma { mean, cv, scale, table: GammaTable::new(1.0 / (cv * cv)) }))
    }

    /// The Pareto distribution with tail index `alpha`: longer than x with probability
    /// (s/x)^alpha, where s = mean · (alpha − 1) / alpha is the smallest value.
    ///
    /// # Errors
    /// The mean is zero, or `alpha` is not a number above 1 (there would be no mean).
    pub fn pareto(mean: Duration, alpha: f64) -> Result<Self, &'static str> {
        if !(alpha > 1.0 && alpha.is_finite()) {
            return Err("alpha must be above 1: below, there is no mean");
        }
        let scale = positive(mean)? * ((alpha - 1.0) / alpha);
        Ok(Self(Law::Pareto { mean, alpha, scale, exponent: 1.0 / alpha }))
    }

    /// The Weibull distribution; shapes below 1 have a heavier tail than the exponential one.
    ///
    /// # Errors
    /// The mean is zero, or `shape` lies outside `[0.1, 100]`.
    pub fn weibull(mean: Duration, shape: f64) -> Result<Self, &'static str> {
        if !(0.1..=100.0).contains(&shape) {
            return Err("the shape must lie between 0.1 and 100");
        }
        let exponent = 1.0 / shape;
        let scale = positive(mean)? / libm::tgamma(1.0 + exponent);
        Ok(Self(Law::Weibull { mean, shape, scale, exponent }))
    }

    /// Every span from `low` to `high` alike.
    ///
    /// # Errors
    /// `low` is not below `high`.
    pub fn uniform(low: Duration, high: Duration) -> Result<Self, &'static str> {
        if low >= high {
            return Err("low must be below high");
        }
        Ok(Self(Law::Uniform { low, high }))
    }

    /// A measured distribution: a share `points[i].0` of the spans is at most `points[i].1`, and
    /// in between shares grow in a straight line. What the first point has is exactly its span.
    ///
    /// # Errors
    /// No points; shares that do not increase, leave `[0, 1]` or do not end at 1; spans that
    /// decrease.
    pub fn empirical(points: &[(f64, Duration)]) -> Result<Self, &'static str> {
        let (Some(first), Some(last)) = (points.first(), points.last()) else {
            return Err("at least one point is needed");
        };
        if first.0.is_nan() || first.0 < 0.0 || last.0 != 1.0 {
            return Err("shares start at 0 or above and end at 1");
        }
        for pair in points.windows(2) {
            if pair[0].0.is_nan() || pair[1].0.is_nan() || pair[0].0 >= pair[1].0 {
                return Err("shares must increase from point to point");
            }
            if pair[0].1 > pair[1].1 {
                return Err("spans must not decrease from point to point");
            }
        }
        Ok(Self(Law::Empirical(points.into())))
    }

    /// The span below which a share `draw` of the distribution lies.
    #[inline]
    pub fn sample(&self, draw: Draw) -> Duration {
        let u = draw.get();
        match &self.0 {
            Law::Constant(span) => *span,
            Law::Exponential { scale, .. } => Duration::from_nanos_f64(scale * hazard(u)),
            other => other.sample_slowly(u),
        }
    }

    /// The mean.
    pub fn mean(&self) -> Duration {
        match &self.0 {
            Law::Constant(span) => *span,
            Law::Exponential { mean, .. }
            | Law::Lognormal { mean, .. }
            | Law::Gamma { mean, .. }
            | Law::Pareto { mean, .. }
            | Law::Weibull { mean, .. } => *mean,
            Law::Uniform { .. } | Law::Empirical(_) => Duration::from_secs_f64(
                self.0.pieces().iter().map(|(share, a, b)| share * 0.5 * (a + b)).sum(),
            ),
        }
    }

    /// The mean of the square in square seconds; `None` where it is infinite.
    pub fn second_moment(&self) -> Option<f64> {
        let mean = self.mean().as_secs_f64();
        match &self.0 {
            Law::Constant(_) => Some(mean * mean),
            Law::Exponential { .. } => Some(2.0 * mean * mean),
            Law::Lognormal { cv, .. } | Law::Gamma { cv, .. } => {
                Some(mean * mean * (1.0 + cv * cv))
            }
            Law::Pareto { alpha, scale, .. } => {
                let smallest = scale / SECOND as f64;
                (*alpha > 2.0).then(|| alpha * smallest * smallest / (alpha - 2.0))
            }
            Law::Weibull { exponent, scale, .. } => {
                let scale = scale / SECOND as f64;
                Some(scale * scale * libm::tgamma(1.0 + 2.0 * exponent))
            }
            Law::Uniform { .. } | Law::Empirical(_) => {
                let square =
                    |(share, a, b): &(f64, f64, f64)| share * (a * a + a * b + b * b) / 3.0;
                Some(self.0.pieces().iter().map(square).sum())
            }
        }
    }

    /// The smallest span there can be.
    pub fn smallest(&self) -> Duration {
        match &self.0 {
            Law::Constant(span) => *span,
            Law::Pareto { scale, .. } => Duration::from_nanos_f64(*scale),
            Law::Uniform { low, .. } => *low,
            Law::Empirical(points) => points.first().map_or(Duration::ZERO, |point| point.1),
            _ => Duration::ZERO,
        }
    }

    /// The largest span there can be; `None` where there is no bound.
    pub fn largest(&self) -> Option<Duration> {
        match &self.0 {
            Law::Constant(span) => Some(*span),
            Law::Uniform { high, .. } => Some(*high),
            Law::Empirical(points) => points.last().map(|point| point.1),
            _ => None,
        }
    }

    /// The one span it always gives, if it is a constant.
    pub const fn as_constant(&self) -> Option<Duration> {
        match self.0 {
            Law::Constant(span) => Some(span),
            _ => None,
        }
    }
}

impl Law {
    /// [`Distribution::sample`] for all laws that are not on the hottest path.
    fn sample_slowly(&self, u: f64) -> Duration {
        let nanos = match self {
            Self::Constant(span) => return *span,
            Self::Exponential { scale, .. } => scale * hazard(u),
            Self::Lognormal { scale, sigma, .. } => {
                scale * libm::exp(sigma * normal::quantile(u.max(SMALLEST)))
            }
            Self::Gamma { scale, table, .. } => {
                scale * libm::exp(table.log_quantile(u.max(SMALLEST)))
            }
            Self::Pareto { scale, exponent, .. } => scale * libm::exp(exponent * hazard(u)),
            Self::Weibull { scale, exponent, .. } => {
                scale * libm::exp(exponent * libm::log(hazard(u.max(SMALLEST))))
            }
            Self::Uniform { low, high } => {
                let width = high.saturating_sub(*low);
                return low.saturating_add(width.scale(u)).min(*high);
            }
            Self::Empirical(points) => {
                let next = points.partition_point(|point| point.0 < u);
                let above = points[next.min(points.len() - 1)];
                let Some(below) = next.checked_sub(1).map(|i| points[i]) else {
                    return above.1;
                };
                let part = (u - below.0) / (above.0 - below.0);
                let width = above.1.saturating_sub(below.1);
                return below.1.saturating_add(width.scale(part)).min(above.1);
            }
        };
        Duration::from_nanos_f64(nanos)
    }

    /// Straight pieces of the distribution function: (share, from, to) in seconds.
    fn pieces(&self) -> Vec<(f64, f64, f64)> {
        match self {
            Self::Uniform { low, high } => vec![(1.0, low.as_secs_f64(), high.as_secs_f64())],
            Self::Empirical(points) => {
                let mut below = points.first().map_or((0.0, 0.0), |p| (0.0, p.1.as_secs_f64()));
                let piece = |&(share, span): &(f64, Duration)| {
                    let from = std::mem::replace(&mut below, (share, span.as_secs_f64()));
                    (share - from.0, from.1, span.as_secs_f64())
                };
                points.iter().map(piece).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Below the smallest draw that the generator makes (2⁻⁵³): stands for a draw of exactly 0.
const SMALLEST: f64 = 1.0 / (1u64 << 54) as f64;

/// The mean in nanoseconds, if it is not zero.
fn positive(mean: Duration) -> Result<f64, &'static str> {
    if mean.is_zero() {
        return Err("the mean must be above 0");
    }
    Ok(mean.as_nanos() as f64)
}

/// `cv`, if it lies within what the samplers were tested for.
fn spread(cv: f64) -> Result<f64, &'static str> {
    if !(0.001..=100.0).contains(&cv) {
        return Err("cv must lie between 0.001 and 100; use a constant for no spread at all");
    }
    Ok(cv)
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match &self.0 {
            Law::Constant(span) => span.to_string(),
            Law::Exponential { mean, .. } => format!("exponential(mean {mean})"),
            Law::Lognormal { mean, cv, .. } => format!("lognormal(mean {mean}, cv {cv})"),
            Law::Gamma { mean, cv, .. } => format!("gamma(mean {mean}, cv {cv})"),
            Law::Pareto { mean, alpha, .. } => format!("pareto(mean {mean}, alpha {alpha})"),
            Law::Weibull { mean, shape, .. } => format!("weibull(mean {mean}, shape {shape})"),
            Law::Uniform { low, high } => format!("uniform({low} to {high})"),
            Law::Empirical(points) => {
                format!("empirical({} points, mean {})", points.len(), self.mean())
            }
        };
        f.pad(&text)
    }
}

impl Serialize for Distribution {
    /// As it is written in a scenario: `{"lognormal": {"mean": "1ms", "cv": 0.5}}`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        match &self.0 {
            Law::Constant(span) => map.serialize_entry("constant", span)?,
            Law::Exponential { mean, .. } => map.serialize_entry("exponential", mean)?,
            Law::Lognormal { mean, cv, .. } => {
                map.serialize_entry("lognormal", &Written { cv: Some(*cv), ..Written::of(mean) })?;
            }
            Law::Gamma { mean, cv, .. } => {
                map.serialize_entry("gamma", &Written { cv: Some(*cv), ..Written::of(mean) })?;
            }
            Law::Pareto { mean, alpha, .. } => {
                map.serialize_entry(
                    "pareto",
                    &Written { alpha: Some(*alpha), ..Written::of(mean) },
                )?;
            }
            Law::Weibull { mean, shape, .. } => {
                map.serialize_entry(
                    "weibull",
                    &Written { shape: Some(*shape), ..Written::of(mean) },
                )?;
            }
            Law::Uniform { low, high } => {
                map.serialize_entry("uniform", &WrittenUniform { low, high })?;
            }
            Law::Empirical(points) => map.serialize_entry("empirical", &points[..])?,
        }
        map.end()
    }
}

/// The parameters of a law with a mean, as written.
#[derive(Serialize)]
struct Written<'a> {
    mean: &'a Duration,
    #[serde(skip_serializing_if = "Option::is_none")]
    cv: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    alpha: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<f64>,
}

impl<'a> Written<'a> {
    const fn of(mean: &'a Duration) -> Self {
        Self { mean, cv: None, alpha: None, shape: None }
    }
}

/// The parameters of a uniform law, as written.
#[derive(Serialize)]
struct WrittenUniform<'a> {
    low: &'a Duration,
    high: &'a Duration,
}
