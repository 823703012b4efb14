//! The curve behind decorrelated jitter "V2".
//!
//! It grows like a power, and its bend near zero keeps the first wait from being much longer or
//! shorter than the median that was asked for.
//!
//! Source: Polly.Contrib.WaitAndRetry, `DecorrelatedJitterBackoffV2`; Polly 8 `RetryHelper`;
//! cockatiel 3.2.1 `decorrelatedJitterGenerator`, where the factor is an option.

/// `factor^t · tanh(√(4t))` for t ≥ 0; infinite where the power is.
pub fn rising(factor: f64, t: f64) -> f64 {
    // Nearly every library doubles, and a power of two is had in a third of the time.
    let power = if factor == 2.0 { libm::exp2(t) } else { libm::pow(factor, t) };
    // A square root is exact to the last bit everywhere; the others are not.
    power * libm::tanh((4.0 * t).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_starts_at_nothing_and_grows_like_a_power() {
        assert_eq!(rising(2.0, 0.0), 0.0);
        assert!((rising(2.0, 1.0) / 1.928_055_160_151_634 - 1.0).abs() < 1e-14);
        assert!((rising(2.0, 20.0) / f64::from(1 << 20) - 1.0).abs() < 1e-7);
        assert_eq!(rising(2.0, 1_100.0), f64::INFINITY);
        assert!(
            (1..200).all(|i| rising(3.0, f64::from(i) / 8.0) > rising(3.0, f64::from(i - 1) / 8.0))
        );
    }
}
