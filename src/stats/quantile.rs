//! Quantiles of samples, and their intervals.
//!
//! Independent values have an interval between two of their own order statistics. A quantile of
//! values that were pooled from several runs has none of that kind, for values of one run are not
//! independent: there, whole runs are drawn anew (bootstrap).
//!
//! Source: David and Nagaraja, "Order statistics"; Efron 1979 (percentile interval).

use rand::Rng;
use rand_pcg::Pcg64;
use statrs::distribution::Binomial;
use statrs::distribution::DiscreteCDF;

/// The `p`-quantile of ascending `sorted`, in a straight line between neighbours; `None` of
/// nothing, and for a `p` outside `[0, 1]`.
pub fn of_sorted(sorted: &[f64], p: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    if !(0.0..=1.0).contains(&p) {
        return None;
    }
    let place = p * last as f64;
    let (below, part) = (place.floor() as usize, place.fract());
    let (low, high) = (sorted[below], sorted[(below + 1).min(last)]);
    // Where nothing lies between, infinities must not become NaN.
    Some(if part == 0.0 || low == high { low } else { low + part * (high - low) })
}

/// The ranks (from 1) of the order statistics that bound the `p`-quantile of `n` independent
/// values at `level`; `None` where `n` is too small for either bound.
///
/// The lower rank is the largest l with P(B ≤ l − 1) ≤ α/2, the upper one the smallest u with
/// P(B ≥ u) ≤ α/2, for B binomial (n, p) and α = 1 − level.
pub fn order_statistic_ranks(n: u64, p: f64, level: f64) -> Option<(u64, u64)> {
    let law = Binomial::new(p, n).ok()?;
    let half = 0.5 * (1.0 - level);
    // Ranks l ≤ `lower` satisfy the first condition, for the distribution function rises.
    let lower = first_that(n + 1, |l| law.cdf(l) > half);
    let upper = first_that(n + 1, |u| u > 0 && law.sf(u - 1) <= half);
    (lower >= 1 && upper <= n).then_some((lower, upper))
}

/// The percentile interval at `level` of a statistic of `n` independent items (say, runs), from
/// `resamples` samples with replacement under `seed`.
///
/// The statistic gets the indices drawn. It may be infinite ("not reached"), and so may the ends;
/// resamples where it is NaN are left out. `None` when none is left.
pub fn bootstrap_interval(
    n: usize,
    level: f64,
    resamples: u32,
    seed: u64,
    mut statistic: impl FnMut(&[usize]) -> f64,
) -> Option<(f64, f64)> {
    const STREAM: u128 = 0xb007; // Any constant: resampling is its own stream.
    if n == 0 {
        return None;
    }
    let mut random = Pcg64::new(u128::from(seed), STREAM);
    let mut drawn = vec![0; n];
    let mut values: Vec<f64> = (0..resamples)
        .map(|_| {
            for index in &mut drawn {
                // The high half of the product: even to within n · 2⁻⁶⁴.
                *index = ((u128::from(random.next_u64()) * n as u128) >> 64) as usize;
            }
            statistic(&drawn)
        })
        .filter(|value| !value.is_nan())
        .collect();
    values.sort_by(f64::total_cmp);
    let half = 0.5 * (1.0 - level);
    Some((of_sorted(&values, half)?, of_sorted(&values, 1.0 - half)?))
}

/// The first number below `end` for which `holds`, which stays true once it is; else `end`.
fn first_that(end: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, end);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_6_ranks_of_order_statistics() {
        assert_eq!(order_statistic_ranks(1_000, 0.99, 0.95), Some((983, 997)));
        assert_eq!(order_statistic_ranks(200, 0.95, 0.95), Some((184, 197)));
        assert_eq!(order_statistic_ranks(50, 0.5, 0.95), Some((18, 33)));
        assert_eq!(order_statistic_ranks(100, 0.99, 0.95), None, "no rank bounds it from above");
        assert_eq!(order_statistic_ranks(3, 0.5, 0.95), None);
    }

    #[test]
    fn quantiles_lie_on_a_straight_line_between_values() {
        let sorted = [1.0, 2.0, 4.0, f64::INFINITY];
        assert_eq!(of_sorted(&sorted, 0.0), Some(1.0));
        assert_eq!(of_sorted(&sorted, 0.5), Some(3.0));
        assert_eq!(of_sorted(&sorted, 1.0), Some(f64::INFINITY));
        assert_eq!(of_sorted(&[], 0.5), None);
        assert_eq!(of_sorted(&[f64::INFINITY; 2], 0.3), Some(f64::INFINITY));
    }

    /// 400 studies of 40 uniform values; the interval for the mean should cover in about 94 %.
    /// Below 90 % or above 98 % in one of 10⁴ such tests (binomial).
    #[test]
    fn a_bootstrap_interval_covers_about_as_often_as_it_says() {
        let mut random = Pcg64::new(11, 12);
        let mut covered = 0;
        for study in 0..400 {
            let values: Vec<f64> =
                (0..40).map(|_| (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64).collect();
            let mean = |drawn: &[usize]| {
                drawn.iter().map(|i| values[*i]).sum::<f64>() / drawn.len() as f64
            };
            let (low, high) = bootstrap_interval(40, 0.95, 500, study, mean).unwrap();
            covered += u32::from(low <= 0.5 && 0.5 <= high);
        }
        assert!((360..=392).contains(&covered), "{covered} of 400");
    }

    #[test]
    fn a_seed_gives_one_interval() {
        let spread = |drawn: &[usize]| drawn.iter().map(|i| (i * i) as f64).sum();
        let of = |seed| bootstrap_interval(20, 0.9, 200, seed, spread);
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        assert_eq!(bootstrap_interval(0, 0.9, 200, 1, spread), None);
        assert_eq!(bootstrap_interval(5, 0.9, 200, 1, |_| f64::NAN), None);
    }
}
