//! Where the start of a run stops mattering: MSER-5.
//!
//! Apply it to the average over replications only. On single runs it tends to cut after an early
//! busy spell and so removes high values: the bias is always downward.
//!
//! Source: White 1997; Spratt 1998.

/// Values in one batch.
const BATCH: usize = 5;

/// Where to cut a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// How many values to delete.
    pub values: usize,
    /// The best cut lies at the middle of the series: it is too short to tell.
    pub too_short: bool,
}

/// The MSER-5 cut: over d ≤ m/2 of the m batches of five, the smallest d that minimises
/// Σ (z − mean)² / (m − d)² over what is left. `None` below two batches.
pub fn mser5(series: &[f64]) -> Option<Cut> {
    let batches: Vec<f64> =
        series.chunks_exact(BATCH).map(|batch| batch.iter().sum::<f64>() / BATCH as f64).collect();
    if batches.len() < 2 {
        return None;
    }
    let mut best = (f64::INFINITY, 0);
    for cut in 0..=batches.len() / 2 {
        let rest = &batches[cut..];
        let count = rest.len() as f64;
        let mean = rest.iter().sum::<f64>() / count;
        let squares: f64 = rest.iter().map(|value| (value - mean) * (value - mean)).sum();
        let score = squares / (count * count);
        if score < best.0 {
            best = (score, cut);
        }
    }
    Some(Cut { values: BATCH * best.1, too_short: best.1 == batches.len() / 2 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_7_cut_of_a_fixed_series() {
        let series: Vec<f64> = (0..240)
            .map(|i| f64::from(if i < 40 { 100 - 2 * i } else { 20 + (7 * i) % 11 }))
            .collect();
        assert_eq!(mser5(&series), Some(Cut { values: 45, too_short: false }));
        let rest = &series[45..];
        let mean = rest.iter().sum::<f64>() / rest.len() as f64;
        assert!((mean - 25.015_384_6).abs() < 1e-6, "{mean}");
    }

    #[test]
    fn a_series_that_only_falls_is_too_short() {
        let falling: Vec<f64> = (0..100).map(|i| f64::from(-i)).collect();
        assert!(mser5(&falling).unwrap().too_short);
        assert_eq!(mser5(&falling[..9]), None);
    }
}
