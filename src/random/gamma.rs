//! The gamma distribution: its distribution function, and a table that inverts it.
//!
//! Inverting the incomplete gamma function anew for each draw costs a microsecond. The table holds
//! the logarithm of the quantile against the *normal score* of the share: on these axes the curve
//! is smooth from one end to the other, for every shape, so that cubic pieces with exact slopes
//! leave an error far below what any test can see.
//!
//! Source: Abramowitz and Stegun 6.5.29 (series) and 6.5.31 (continued fraction).

use std::sync::Arc;

use super::normal;

/// The normal scores that the table covers: beyond the smallest and the largest draw there are.
const REACH: f64 = 8.5;
/// Pieces of the table.
const PIECES: usize = 544;
/// Width of one piece.
const STEP: f64 = 2.0 * REACH / PIECES as f64;

/// The quantiles of a gamma distribution with scale 1.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GammaTable(Arc<[Node]>);

/// A point of the curve: the logarithm of the quantile, and its slope times [`STEP`].
#[derive(Clone, Copy, Debug, PartialEq)]
struct Node {
    value: f64,
    rise: f64,
}

impl GammaTable {
    /// The table for `shape` > 0.
    pub(super) fn new(shape: f64) -> Self {
        let log_gamma = libm::lgamma(shape);
        // Far on the left the distribution function is x^shape / Γ(shape + 1).
        let start = (log_tail(REACH) + libm::lgamma(shape + 1.0)) / shape;
        let mut guess = start;
        let nodes = (0..=PIECES)
            .map(|i| {
                let score = -REACH + i as f64 * STEP;
                let value = invert(shape, log_gamma, score, guess);
                // d ln x / d score = normal density / (x · gamma density), in logarithms.
                let slope = libm::exp(
                    -0.5 * score * score - HALF_LOG_TAU - log_density(shape, log_gamma, value),
                );
                guess = value + slope * STEP;
                Node { value, rise: slope * STEP }
            })
            .collect();
        Self(nodes)
    }

    /// The logarithm of the quantile at the share `p`, `0 < p < 1`.
    #[inline]
    pub(super) fn log_quantile(&self, p: f64) -> f64 {
        let place = (normal::quantile(p) + REACH) * (1.0 / STEP);
        let piece = (place as usize).min(PIECES - 1);
        let t = place - piece as f64;
        let (left, right) = (self.0[piece], self.0[piece + 1]);
        // Hermite's cubic through both values with both slopes.
        let rise = right.value - left.value;
        let early = left.rise - rise;
        let late = right.rise - rise;
        left.value + t * (rise + (1.0 - t) * ((1.0 - t) * early - t * late))
    }
}

/// ½ ln 2π.
const HALF_LOG_TAU: f64 = 0.918_938_533_204_672_8;

/// The logarithm of the normal tail beyond `score`.
fn log_tail(score: f64) -> f64 {
    libm::log(0.5 * libm::erfc(score * std::f64::consts::FRAC_1_SQRT_2))
}

/// The logarithm of x times the gamma density at x, for `y` = ln x.
fn log_density(shape: f64, log_gamma: f64, y: f64) -> f64 {
    shape * y - libm::exp(y) - log_gamma
}

/// ln x such that the gamma distribution has below x what the normal one has below `score`.
///
/// Newton's rule on the logarithm of the smaller tail, which is concave in ln x; the step is
/// bounded, so that a poor guess cannot throw it off.
fn invert(shape: f64, log_gamma: f64, score: f64, guess: f64) -> f64 {
    let target = log_tail(score.abs());
    let mut y = guess;
    for _ in 0..200 {
        let (log_below, log_above) = log_tails(shape, log_gamma, y);
        let (log_share, sign) = if score < 0.0 { (log_below, 1.0) } else { (log_above, -1.0) };
        let slope = libm::exp(log_density(shape, log_gamma, y) - log_share);
        let step =
            (sign * (target - log_share) / slope).clamp(-1.0 / shape - 1.0, 1.0 / shape + 1.0);
        y += step;
        if step.abs() <= 1e-14 * y.abs().max(1.0) {
            break;
        }
    }
    y
}

/// The logarithms of the shares below and above x, for `y` = ln x.
fn log_tails(shape: f64, log_gamma: f64, y: f64) -> (f64, f64) {
    let x = libm::exp(y);
    let log_front = log_density(shape, log_gamma, y);
    if x < shape + 1.0 {
        let (mut term, mut sum, mut n) = (1.0, 1.0, shape);
        while term > sum * 1e-17 {
            n += 1.0;
            term *= x / n;
            sum += term;
        }
        let log_below = log_front - libm::log(shape) + libm::log(sum);
        (log_below, log_of_rest(log_below))
    } else {
        // Lentz's rule for the continued fraction.
        let tiny = 1e-300;
        let mut b = x + 1.0 - shape;
        let mut c = 1.0 / tiny;
        let mut d = 1.0 / b;
        let mut fraction = d;
        for i in 1..100_000 {
            let a = -f64::from(i) * (f64::from(i) - shape);
            b += 2.0;
            d = 1.0 / nonzero(a * d + b, tiny);
            c = nonzero(b + a / c, tiny);
            let factor = c * d;
            fraction *= factor;
            if (factor - 1.0).abs() < 1e-16 {
                break;
            }
        }
        let log_above = log_front + libm::log(fraction);
        (log_of_rest(log_above), log_above)
    }
}

/// ln(1 − e^`log_share`).
fn log_of_rest(log_share: f64) -> f64 {
    libm::log1p(-libm::exp(log_share))
}

/// `value`, or `tiny` where it vanishes.
fn nonzero(value: f64, tiny: f64) -> f64 {
    if value.abs() < tiny { tiny } else { value }
}
