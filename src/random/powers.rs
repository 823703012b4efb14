//! Powers with broken exponents, for the few policies whose formulas have them.

/// `base` to the power of `exponent`; `base` is not negative.
#[inline]
pub fn power(base: f64, exponent: f64) -> f64 {
    libm::pow(base, exponent)
}

/// The cube root.
#[inline]
pub fn cube_root(value: f64) -> f64 {
    libm::cbrt(value)
}
