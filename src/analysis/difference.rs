//! Variant against base, pair by pair: both met the same arrivals, service times and luck.
//!
//! The difference is variant − base over the replications that both finished. The share of stuck
//! runs is the primary measure: its p-values are adjusted over all variants, and everything else
//! is exploratory.
//!
//! Source: paired shares: Newcombe 1998 (method 10) and McNemar's exact
//! test; restricted means: bootstrap over seeds; several variants: Holm 1979.

use serde::Serialize;

use crate::analysis::estimate::LEVEL;
use crate::analysis::estimate::RESAMPLES;
use crate::analysis::estimate::rounded;
use crate::analysis::recovery::Since;
use crate::analysis::recovery::observable;
use crate::analysis::recovery::times;
use crate::analysis::summary::Estimate;
use crate::analysis::summary::as_map;
use crate::experiment::result::Experiment;
use crate::experiment::result::VariantResult;
use crate::measure::outcome::RunClass;
use crate::measure::outcome::RunOutcome;
use crate::scenario::model::Scenario;
use crate::stats::holm::adjusted;
use crate::stats::interval::Interval;
use crate::stats::interval::correlation;
use crate::stats::interval::mean;
use crate::stats::interval::paired_difference;
use crate::stats::interval::wilson;
use crate::stats::quantile::bootstrap_interval;
use crate::stats::survival::SurvivalCurve;

/// A difference variant − base, with what pairing did for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Difference {
    /// Variant − base.
    pub difference: Estimate,
    /// Correlation of the pairs; `None` where one side does not vary. Negative: pairing did harm.
    pub correlation: Option<f64>,
}

/// A variant against the base.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VersusBase {
    /// Replications that both finished.
    pub pairs: u32,
    /// The share of stuck runs: the primary measure.
    pub stuck_share: Difference,
    /// p-value of "no difference in the share of stuck runs", for this variant alone.
    pub stuck_p: Option<f64>,
    /// The same adjusted over all variants; at most 0.05: significant.
    pub stuck_p_adjusted: Option<f64>,
    /// Exploratory: the share of requests lost since the first trigger began.
    pub lost_share: Difference,
    /// Exploratory: the restricted mean of the recovery time, in seconds.
    pub recovery_restricted_mean_s: Difference,
    /// Exploratory: amplification over the whole run, per service that both have.
    #[serde(serialize_with = "as_map")]
    pub amplification: Vec<(String, Difference)>,
}

/// One entry per result of the experiment: `None` for the base, and where the base was not run.
pub(super) fn versus_base(
    scenario: &Scenario,
    experiment: &Experiment,
    tau: Option<f64>,
) -> Vec<Option<VersusBase>> {
    let base = experiment.results.iter().find(|result| result.variant == 0);
    let mut all: Vec<Option<VersusBase>> = experiment
        .results
        .iter()
        .map(|result| {
            let base = base.filter(|_| result.variant != 0)?;
            let pairs = Pairs::of(base, result);
            (!pairs.base.is_empty()).then(|| pairs.compare(scenario, experiment.seed, tau))
        })
        .collect();
    let family: Vec<f64> = all.iter().flatten().filter_map(|versus| versus.stuck_p).collect();
    let mut adjusted = adjusted(&family).into_iter();
    for versus in all.iter_mut().flatten().filter(|versus| versus.stuck_p.is_some()) {
        versus.stuck_p_adjusted = adjusted.next().and_then(rounded);
        versus.stuck_p = versus.stuck_p.and_then(rounded);
    }
    all
}

/// The runs of the replications that both variants finished, in their order.
struct Pairs {
    variants: [usize; 2],
    base: Vec<RunOutcome>,
    other: Vec<RunOutcome>,
}

impl Pairs {
    fn of(base: &VariantResult, other: &VariantResult) -> Self {
        let partner = |run: &RunOutcome| {
            let place = other.runs.binary_search_by_key(&run.replication, |run| run.replication);
            Some((run.clone(), other.runs[place.ok()?].clone()))
        };
        let (first, second) = base.runs.iter().filter_map(partner).unzip();
        Self { variants: [base.variant, other.variant], base: first, other: second }
    }

    fn compare(&self, scenario: &Scenario, seed: u64, tau: Option<f64>) -> VersusBase {
        let [base, other] = self.variants.map(|variant| &scenario.variants[variant].model);
        let stuck = |runs: &[RunOutcome]| -> Vec<bool> {
            runs.iter().map(|run| run.class == RunClass::Stuck).collect()
        };
        let (stuck_base, stuck_other) = (stuck(&self.base), stuck(&self.other));
        let base_times = times(base, &self.base, Since::TriggerEnd);
        let other_times = times(other, &self.other, Since::TriggerEnd);
        let services = base.services.iter().enumerate().filter_map(|(id, service)| {
            let partner = other.services.iter().position(|other| other.name == service.name)?;
            let whole = |id: usize| move |run: &RunOutcome| run.amplification[id].whole;
            Some((service.name.clone(), self.mean(whole(id), whole(partner))))
        });
        VersusBase {
            pairs: self.base.len() as u32,
            stuck_share: share_difference(&stuck_base, &stuck_other),
            stuck_p: Some(mcnemar(&stuck_base, &stuck_other)),
            stuck_p_adjusted: None,
            lost_share: self.mean(|run| run.lost_share, |run| run.lost_share),
            recovery_restricted_mean_s: observable(tau)
                .and_then(|tau| restricted_difference(&base_times, &other_times, tau, seed))
                .unwrap_or_default(),
            amplification: services.collect(),
        }
    }

    /// The paired difference of the mean of a measure, over the pairs where both have it.
    fn mean(
        &self,
        of_base: impl Fn(&RunOutcome) -> Option<f64>,
        of_other: impl Fn(&RunOutcome) -> Option<f64>,
    ) -> Difference {
        let both = self.base.iter().zip(&self.other);
        let (base, other): (Vec<f64>, Vec<f64>) =
            both.filter_map(|(base, other)| Some((of_base(base)?, of_other(other)?))).unzip();
        let bare = || Some(Estimate::bare(mean(&other)? - mean(&base)?));
        Difference {
            difference: paired_difference(&other, &base, LEVEL)
                .map(Estimate::of)
                .or_else(bare)
                .unwrap_or_default(),
            correlation: correlation(&base, &other).and_then(rounded),
        }
    }
}

/// The difference of two paired shares, with Newcombe's interval: Wilson's limits of each,
/// squared and added, less what the pairs have in common. A few pairs agree by chance, so what they
/// have in common is corrected for continuity.
fn share_difference(base: &[bool], other: &[bool]) -> Difference {
    let numbers =
        |flags: &[bool]| -> Vec<f64> { flags.iter().map(|flag| f64::from(*flag)).collect() };
    let share = |flags: &[bool]| {
        let hits = flags.iter().filter(|flag| **flag).count();
        wilson(hits as u64, flags.len() as u64, LEVEL)
    };
    let correlation = correlation(&numbers(base), &numbers(other));
    let (Some(first), Some(second)) = (share(other), share(base)) else {
        return Difference::default();
    };
    let common = shared(base, other);
    let half = |a: f64, b: f64| (a * a - 2.0 * common * a * b + b * b).max(0.0).sqrt();
    let estimate = first.estimate - second.estimate;
    let below = half(first.estimate - first.low, second.high - second.estimate);
    let above = half(first.high - first.estimate, second.estimate - second.low);
    let interval = Interval { estimate, low: estimate - below, high: estimate + above };
    Difference { difference: Estimate::of(interval), correlation: correlation.and_then(rounded) }
}

/// The correlation of two lists of flags, its numerator brought closer to zero by half a pair where
/// it is positive; zero where either does not vary.
fn shared(base: &[bool], other: &[bool]) -> f64 {
    let pairs = base.len() as f64;
    let of = |first: bool, second: bool| {
        let alike = base.iter().zip(other).filter(|(a, b)| **a == first && **b == second);
        alike.count() as f64
    };
    let (both, neither) = (of(true, true), of(false, false));
    let (left, right) = (of(true, false), of(false, true));
    let excess = both * neither - left * right;
    let corrected = if excess > 0.0 { (excess - pairs / 2.0).max(0.0) } else { excess };
    let spread = (both + left) * (right + neither) * (both + right) * (left + neither);
    if spread > 0.0 { corrected / spread.sqrt() } else { 0.0 }
}

/// McNemar's exact test: of the pairs that differ, is the split even?
fn mcnemar(base: &[bool], other: &[bool]) -> f64 {
    let only = |a: &[bool], b: &[bool]| a.iter().zip(b).filter(|(a, b)| **a && !**b).count();
    let (left, right) = (only(base, other), only(other, base));
    let pairs = left + right;
    // Binomial terms from the middle on would overflow; start from 2⁻ⁿ in logarithms of two.
    let mut sum = 0.0;
    let mut log2_term = -(pairs as f64);
    for hits in 0..=left.min(right) {
        sum += log2_term.exp2();
        log2_term += ((pairs - hits) as f64 / (hits + 1) as f64).log2();
    }
    (2.0 * sum).min(1.0)
}

/// The difference of two restricted means, whole pairs drawn anew for the interval.
fn restricted_difference(
    base: &[(f64, bool)],
    other: &[(f64, bool)],
    tau: f64,
    seed: u64,
) -> Option<Difference> {
    let mean = |times: &[(f64, bool)]| Some(SurvivalCurve::fit(times)?.restricted_mean(tau).0);
    let estimate = mean(other)? - mean(base)?;
    let drawn = |times: &[(f64, bool)], indices: &[usize]| {
        mean(&indices.iter().map(|index| times[*index]).collect::<Vec<_>>()).unwrap_or(f64::NAN)
    };
    let bounds = bootstrap_interval(base.len(), LEVEL, RESAMPLES, seed, |indices| {
        drawn(other, indices) - drawn(base, indices)
    });
    let capped = |times: &[(f64, bool)]| -> Vec<f64> {
        times.iter().map(|(time, _)| time.min(tau)).collect()
    };
    let difference = match bounds.filter(|_| base.len() > 1) {
        Some((low, high)) => Estimate::of(Interval { estimate, low, high }),
        None => Estimate::bare(estimate),
    };
    let correlation = correlation(&capped(base), &capped(other)).and_then(rounded);
    Some(Difference { difference, correlation })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(hits: usize, of: usize) -> Vec<bool> {
        (0..of).map(|index| index < hits).collect()
    }

    #[test]
    fn equal_variants_differ_by_exactly_nothing() {
        let same = flags(7, 20);
        assert_eq!(share_difference(&same, &same).difference.estimate, Some(0.0));
        assert_eq!(mcnemar(&same, &same), 1.0);
        let times = [(1.0, true), (2.0, true), (9.0, false)];
        let found = restricted_difference(&times, &times, 9.0, 1).unwrap();
        let nothing = Some(0.0);
        assert_eq!(found.difference, Estimate { estimate: nothing, low: nothing, high: nothing });
        assert_eq!(found.correlation, Some(1.0));
    }

    #[test]
    fn a_complete_cure_has_an_interval_all_the_same() {
        let found = share_difference(&flags(20, 20), &flags(0, 20)).difference;
        assert_eq!(found.estimate, Some(-1.0));
        // Wilson: 0 of 20 up to 0.1611, 20 of 20 from 0.8389; no correlation to speak of.
        assert!((found.high.unwrap() - (-1.0 + 2.0_f64.sqrt() * 0.161_125)).abs() < 1e-4);
        assert_eq!(found.low, Some(-1.0));
    }

    /// The first table is the airway study of Bentur et al. (2009), published with −0.507 to −0.026;
    /// the others were computed with Wilson's limits of another library.
    #[test]
    fn paired_shares_have_newcombes_interval() {
        #[track_caller]
        fn check([both, other, base, neither]: [usize; 4], low: f64, high: f64) {
            let part = |of: usize, flag: bool| std::iter::repeat_n(flag, of);
            let others = part(both + other, true).chain(part(base + neither, false));
            let bases = part(both, true)
                .chain(part(other, false))
                .chain(part(base, true))
                .chain(part(neither, false));
            let found = share_difference(&bases.collect::<Vec<_>>(), &others.collect::<Vec<_>>());
            assert!((found.difference.low.unwrap() - low).abs() < 1e-6, "{found:?}");
            assert!((found.difference.high.unwrap() - high).abs() < 1e-6, "{found:?}");
        }
        check([1, 1, 7, 12], -0.506_920_2, -0.025_559_1);
        check([36, 12, 2, 0], 0.056_929_6, 0.340_427_6); // Less alike than by chance.
        check([20, 12, 2, 16], 0.056_156_4, 0.329_207_0);
        check([30, 20, 2, 48], 0.091_524_1, 0.263_152_1);
    }

    #[test]
    fn the_exact_test_counts_only_pairs_that_differ() {
        #[track_caller]
        fn check(base: &[bool], other: &[bool], expected: f64) {
            assert!((mcnemar(base, other) - expected).abs() < 1e-12);
        }
        check(&flags(5, 20), &flags(0, 20), 2.0 / 32.0);
        check(&flags(0, 20), &flags(10, 20), 2.0 / 1_024.0);
        let base = [true, true, true, true, true, false, false];
        let other = [false, false, false, false, false, true, false];
        check(&base, &other, 2.0 * (1.0 + 6.0) / 64.0);
        check(&flags(0, 5_000), &flags(5_000, 5_000), 0.0); // No overflow, no NaN.
    }
}
