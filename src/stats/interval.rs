//! Intervals for means, differences and shares.
//!
//! A mean over replications gets Student's t, because replications are independent whatever
//! happens inside them; a share of runs gets Wilson's interval, which is never 0 ± 0.
//!
//! Source: Student 1908; Welch 1947; Wilson 1927.

use statrs::distribution::ContinuousCDF;
use statrs::distribution::Normal;
use statrs::distribution::StudentsT;

/// A number with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The number.
    pub estimate: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// `estimate ± half_width`.
    pub const fn around(estimate: f64, half_width: f64) -> Self {
        Self { estimate, low: estimate - half_width, high: estimate + half_width }
    }

    /// Half the distance between the ends.
    pub const fn half_width(&self) -> f64 {
        0.5 * (self.high - self.low)
    }
}

/// The mean; `None` of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The sample variance (n − 1 below); `None` below two values.
pub fn variance(values: &[f64]) -> Option<f64> {
    let centre = mean(values).filter(|_| values.len() > 1)?;
    let squares: f64 = values.iter().map(|value| (value - centre) * (value - centre)).sum();
    Some(squares / (values.len() - 1) as f64)
}

/// The correlation of two lists of equal length; `None` where either does not vary.
pub fn correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    let (mean_a, mean_b) = (mean(a)?, mean(b)?);
    let spread = (variance(a)? * variance(b)?).sqrt();
    let product: f64 = a.iter().zip(b).map(|(x, y)| (x - mean_a) * (y - mean_b)).sum();
    (a.len() == b.len() && spread > 0.0).then(|| product / (a.len() - 1) as f64 / spread)
}

/// The value that a share `p` of Student's t distribution lies below.
///
/// # Panics
/// When `degrees` is not positive or `p` lies outside `(0, 1)`.
pub fn t_quantile(degrees: f64, p: f64) -> f64 {
    assert!(p > 0.0 && p < 1.0, "a share strictly between 0 and 1, not {p}");
    StudentsT::new(0.0, 1.0, degrees).expect("degrees of freedom are positive").inverse_cdf(p)
}

/// The two-sided p-value of a t statistic.
///
/// # Panics
/// When `degrees` is not positive.
pub fn t_p_value(statistic: f64, degrees: f64) -> f64 {
    let law = StudentsT::new(0.0, 1.0, degrees).expect("degrees of freedom are positive");
    2.0 * law.cdf(-statistic.abs())
}

/// The mean of independent values with its t interval at `level`; `None` below two values.
pub fn mean_interval(values: &[f64], level: f64) -> Option<Interval> {
    let error = (variance(values)? / values.len() as f64).sqrt();
    let factor = t_quantile((values.len() - 1) as f64, 0.5 + 0.5 * level);
    Some(Interval::around(mean(values)?, factor * error))
}

/// The mean of `a − b`, pair by pair, with its t interval; `None` below two pairs or when the
/// lists differ in length.
pub fn paired_difference(a: &[f64], b: &[f64], level: f64) -> Option<Interval> {
    mean_interval(&differences(a, b)?, level)
}

/// The p-value of "no difference" in a paired comparison; 1 when every pair is equal.
pub fn paired_p_value(a: &[f64], b: &[f64]) -> Option<f64> {
    let differences = differences(a, b)?;
    let error = (variance(&differences)? / differences.len() as f64).sqrt();
    let centre = mean(&differences)?;
    if error == 0.0 {
        return Some(if centre == 0.0 { 1.0 } else { 0.0 });
    }
    Some(t_p_value(centre / error, (differences.len() - 1) as f64))
}

/// The difference of the means of two independent samples, with Welch's interval; `None` below
/// two values on either side.
pub fn welch_difference(a: &[f64], b: &[f64], level: f64) -> Option<Interval> {
    let (part_a, part_b) = (variance(a)? / a.len() as f64, variance(b)? / b.len() as f64);
    let error = part_a + part_b;
    let centre = mean(a)? - mean(b)?;
    if error == 0.0 {
        return Some(Interval::around(centre, 0.0));
    }
    let (free_a, free_b) = ((a.len() - 1) as f64, (b.len() - 1) as f64);
    let degrees = error * error / (part_a * part_a / free_a + part_b * part_b / free_b);
    Some(Interval::around(centre, t_quantile(degrees, 0.5 + 0.5 * level) * error.sqrt()))
}

/// The share `hits` of `of` with Wilson's interval; `None` of nothing.
///
/// # Panics
/// When `level` lies outside `(0, 1)`.
pub fn wilson(hits: u64, of: u64, level: f64) -> Option<Interval> {
    if of == 0 {
        return None;
    }
    assert!(level > 0.0 && level < 1.0, "a level strictly between 0 and 1, not {level}");
    let z = Normal::standard().inverse_cdf(0.5 + 0.5 * level);
    let (n, share) = (of as f64, hits as f64 / of as f64);
    let centre = (share + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n) * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    // At the ends the formula is exact; rounding must not make it −10⁻¹⁷.
    let low = if hits == 0 { 0.0 } else { (centre - half).max(0.0) };
    let high = if hits == of { 1.0 } else { (centre + half).min(1.0) };
    Some(Interval { estimate: share, low, high })
}

/// `a − b`, pair by pair; `None` when the lists differ in length.
fn differences(a: &[f64], b: &[f64]) -> Option<Vec<f64>> {
    (a.len() == b.len()).then(|| a.iter().zip(b).map(|(x, y)| x - y).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn near(found: f64, expected: f64, tolerance: f64) {
        assert!((found - expected).abs() <= tolerance, "{found} for {expected}");
    }

    #[test]
    fn t_1_quantiles_of_students_t() {
        near(t_quantile(4.0, 0.975), 2.776_445, 1e-5);
        near(t_quantile(9.0, 0.975), 2.262_157, 1e-5);
        near(t_quantile(19.0, 0.975), 2.093_024, 1e-5);
        near(t_quantile(29.0, 0.975), 2.045_23, 1e-5);
        near(t_quantile(59.0, 0.975), 2.000_995, 1e-5);
        near(t_p_value(2.045_23, 29.0), 0.05, 1e-6);
    }

    #[test]
    fn t_4_wilson_intervals() {
        #[track_caller]
        fn check(hits: u64, of: u64, low: f64, high: f64) {
            let interval = wilson(hits, of, 0.95).unwrap();
            near(interval.low, low, 1e-5);
            near(interval.high, high, 1e-5);
        }
        check(0, 30, 0.0, 0.113_513);
        check(0, 60, 0.0, 0.060_172);
        check(0, 73, 0.0, 0.049_992);
        check(3, 40, 0.025_836, 0.198_642);
        check(40, 40, 0.912_378, 1.0);
        assert_eq!(wilson(0, 30, 0.95).unwrap().low, 0.0);
        assert_eq!(wilson(40, 40, 0.95).unwrap().high, 1.0);
        assert_eq!(wilson(0, 0, 0.95), None);
    }

    #[test]
    fn t_8_paired_comparison() {
        let a = [12.1, 11.8, 12.9, 12.4, 11.5, 12.7, 12.0, 12.3];
        let b = [11.6, 11.5, 12.2, 12.1, 11.2, 12.1, 11.7, 11.6];
        let paired = paired_difference(&a, &b, 0.95).unwrap();
        near(paired.estimate, 0.4625, 1e-9);
        near(paired.half_width(), 0.154_397_3, 1e-6);
        near(welch_difference(&a, &b, 0.95).unwrap().half_width(), 0.442_218_2, 1e-5);
        assert!(correlation(&a, &b).unwrap() > 0.9);
        // The interval at 1 − p just touches zero.
        let p = paired_p_value(&a, &b).unwrap();
        near(paired_difference(&a, &b, 1.0 - p).unwrap().low, 0.0, 1e-6);
    }

    #[test]
    fn equal_policies_differ_by_exactly_nothing() {
        let values = [0.1, 0.2, 0.7];
        assert_eq!(paired_difference(&values, &values, 0.95), Some(Interval::around(0.0, 0.0)));
        assert_eq!(paired_p_value(&values, &values), Some(1.0));
        assert_eq!(paired_difference(&values, &values[..2], 0.95), None);
        assert_eq!(mean_interval(&[1.0], 0.95), None);
        assert_eq!(mean(&[]), None);
    }
}
