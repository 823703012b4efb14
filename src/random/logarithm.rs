//! The logarithm behind exponential samples, by a short table and a polynomial.
//!
//! An exponential sample waits for its logarithm, and the event that it times waits for the
//! sample: what counts is how long the chain of operations is. This one is half as long as a
//! general logarithm's, has no division, and is as exact as 52 random bits are worth.
//!
//! Only additions and multiplications are used, on a table made by `libm`, so the bits are the
//! same everywhere.
//!
//! Source: table-driven logarithm after Tang, "Table-driven implementation of the logarithm
//! function in IEEE floating-point arithmetic", ACM TOMS 16 (1990).

use std::sync::LazyLock;

const BITS: u32 = 7;
const CELLS: usize = 1 << BITS;

/// For each cell of the mantissa's range `[1, 2)`: the reciprocal of its middle, and the logarithm
/// of that reciprocal's own reciprocal.
static TABLE: LazyLock<[(f64, f64); CELLS]> = LazyLock::new(|| {
    std::array::from_fn(|cell| {
        let middle = 1.0 + (cell as f64 + 0.5) / CELLS as f64;
        let reciprocal = 1.0 / middle;
        (reciprocal, -libm::log(reciprocal))
    })
});

/// −ln(1 − u) for u in `[0, 1)`: the exponential quantile of mean 1. Its error is below 10⁻¹⁵ or
/// one part in 10¹⁵, whichever is larger.
#[inline]
pub(super) fn hazard(u: f64) -> f64 {
    // 1 − u is exact for the draws of the generator, positive, and never subnormal.
    let bits = (1.0 - u).to_bits();
    let exponent = (bits >> 52) as i32 - 1023;
    let cell = (bits >> (52 - BITS)) as usize & (CELLS - 1);
    let mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    let (reciprocal, logarithm) = TABLE[cell];
    let r = mantissa * reciprocal - 1.0; // At most 1/256 either way.
    let square = r * r;
    // ln(1 + r), in two halves that do not wait for each other.
    let low = r - 0.5 * square;
    let high = (1.0 / 3.0 - 0.25 * r) + square * (0.2 - r * (1.0 / 6.0));
    let base = f64::from(exponent) * std::f64::consts::LN_2 + logarithm;
    -(base + (low + square * r * high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_the_general_logarithm() {
        let cells = 200_000;
        for i in 0..cells {
            let u = (f64::from(i) + 0.5) / f64::from(cells);
            let exact = -libm::log1p(-u);
            let error = (hazard(u) - exact).abs();
            assert!(error < 1e-15 * exact.max(1.0), "at {u}: {error:e}");
        }
        let last = 1.0 - 0.5 / (1u64 << 52) as f64;
        assert!((hazard(last) + libm::log(1.0 - last)).abs() < 1e-13);
        assert!(hazard(0.0).abs() < 1e-15);
    }

    #[test]
    fn it_never_decreases_by_more_than_it_errs() {
        let mut before = 0.0;
        for i in 0..1 << 20 {
            let now = hazard(f64::from(i) / f64::from(1 << 20));
            assert!(now > before - 1e-15);
            before = now;
        }
    }
}
