//! How long recovery takes, when some runs never recover.
//!
//! A run that was not seen to recover says "longer than this", and is counted as that: the share
//! recovered, the median (or that it was not reached) and the mean up to a limit τ tell the truth
//! where the mean of the runs that did recover hides the storm.
//!
//! A run that a limit ended before it recovered counts as not recovered for as long as a whole run
//! would have been watched: it was ended because it exploded, and leaving the risk set early would
//! make the rest look better.
//!
//! A quantile has an upper end only where enough runs lie above it: too few runs have none, however
//! they are drawn anew, and neither have runs too many of which did not recover.
//!
//! Source: Kaplan and Meier 1958; quantile intervals by bootstrap over runs.

use crate::analysis::estimate::LEVEL;
use crate::analysis::estimate::RESAMPLES;
use crate::analysis::estimate::rounded;
use crate::analysis::summary::Estimate;
use crate::analysis::summary::RecoveryTime;
use crate::measure::outcome::RunOutcome;
use crate::measure::outcome::Survival;
use crate::measure::record::Ending;
use crate::scenario::model::Model;
use crate::stats::interval::Interval;
use crate::stats::interval::wilson;
use crate::stats::quantile::bootstrap_interval;
use crate::stats::quantile::order_statistic_ranks;
use crate::stats::survival::SurvivalCurve;
use crate::units::Duration;

/// From which moment recovery counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// The end of the last trigger; time 0 where there is none.
    TriggerEnd,
    /// The first operator action.
    FirstAction,
}

impl Since {
    /// The moment in a model; `None` where there is no such moment.
    fn moment(self, model: &Model) -> Option<Duration> {
        match self {
            Self::TriggerEnd => {
                Some(model.trigger_span().map_or(Duration::ZERO, |(_, lifted)| lifted))
            }
            Self::FirstAction => model.operator.iter().map(|action| action.at).min(),
        }
    }

    /// How long a run is watched: a recovery that begins later cannot be held until the horizon.
    pub fn limit_s(self, model: &Model) -> Option<f64> {
        let watched = model.run.horizon.saturating_sub(model.run.recovery.hold);
        Some(watched.saturating_sub(self.moment(model)?).as_secs_f64())
    }

    fn survival(self, outcome: &RunOutcome) -> Option<Survival> {
        match self {
            Self::TriggerEnd => Some(outcome.recovery),
            Self::FirstAction => outcome.recovery_after_action,
        }
    }
}

/// The recovery times of runs of `model` as (seconds, recovered?), in the order of the runs.
pub fn times(model: &Model, outcomes: &[RunOutcome], since: Since) -> Vec<(f64, bool)> {
    let limit = since.limit_s(model).unwrap_or(0.0);
    let of = |outcome: &RunOutcome| {
        let Survival { time_s, happened } = since.survival(outcome)?;
        let cut_short = !happened && outcome.ending != Ending::Complete;
        Some((if cut_short { limit.max(time_s) } else { time_s }, happened))
    };
    outcomes.iter().filter_map(of).collect()
}

/// The smallest censoring limit of the models, τ; `None` where none has the moment.
///
/// Models without a trigger have nothing to recover from; they count only if none has one.
pub fn smallest_limit<'a>(
    models: impl Iterator<Item = &'a Model> + Clone,
    since: Since,
) -> Option<f64> {
    let limits = |triggered: bool| {
        let models = models.clone().filter(move |model| !model.triggers.is_empty() || !triggered);
        models.filter_map(|model| since.limit_s(model)).reduce(f64::min)
    };
    limits(true).or_else(|| limits(false))
}

/// A quantile that may lie beyond what was watched: infinite, then.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reach {
    /// The time by which the share has recovered; infinite: not reached.
    pub at: f64,
    /// Its interval, whose ends may be infinite; `None` for one run.
    pub bounds: Option<(f64, f64)>,
}

/// The time by which a share of the runs has recovered; `None` of no runs.
pub fn quantile(times: &[(f64, bool)], share: f64, seed: u64) -> Option<Reach> {
    let reached = |times: &[(f64, bool)]| {
        SurvivalCurve::fit(times).map(|curve| curve.quantile(share).unwrap_or(f64::INFINITY))
    };
    let at = reached(times)?;
    let mut drawn = Vec::with_capacity(times.len());
    let bounds = bootstrap_interval(times.len(), LEVEL, RESAMPLES, seed, |indices| {
        drawn.clear();
        drawn.extend(indices.iter().map(|index| times[*index]));
        reached(&drawn).unwrap_or(f64::NAN)
    });
    let bounds =
        bounds.filter(|_| times.len() > 1).map(|(low, high)| widened(times, share, low, high));
    Some(Reach { at, bounds })
}

/// The ends as far as order statistics allow: a bootstrap never looks beyond the largest value.
fn widened(times: &[(f64, bool)], share: f64, low: f64, high: f64) -> (f64, f64) {
    let runs = times.len() as u64;
    let recovered = times.iter().filter(|(_, happened)| *happened).count() as u64;
    match order_statistic_ranks(runs, share, LEVEL) {
        Some((_, upper)) if upper <= recovered => (low, high),
        Some(_) => (low, f64::INFINITY),
        None => {
            // The chance that every run is beyond the quantile: the lower rank has to be rarer.
            let all_beyond: f64 = times.iter().map(|_| 1.0 - share).product();
            (if all_beyond > 0.5 * (1.0 - LEVEL) { 0.0 } else { low }, f64::INFINITY)
        }
    }
}

/// The fewest runs with which a quantile can have an interval.
pub(super) fn fewest_runs(share: f64) -> Option<u64> {
    (2..MOST_RUNS_TOLD).find(|runs| order_statistic_ranks(*runs, share, LEVEL).is_some())
}

/// Nobody is told to make more runs than this.
const MOST_RUNS_TOLD: u64 = 10_000;

/// The mean of min(recovery time, τ) with its interval; without one for one run.
///
/// Where no run recovered before τ the formula knows no error, and runs that all say "longer than
/// τ" are no proof that all others would. The share that recovers may be as large as Wilson's
/// upper limit for none, and they might recover at once: the lower end is τ less that share of it.
pub fn restricted_mean(times: &[(f64, bool)], tau: f64) -> Option<Estimate> {
    /// The 97.5 % quantile of the normal distribution: half of the level on each side.
    const FACTOR: f64 = 1.959_963_984_540_054;
    let (mean, error) = SurvivalCurve::fit(times)?.restricted_mean(tau);
    if times.len() < 2 {
        return Some(Estimate::bare(mean));
    }
    if !times.iter().any(|(time, happened)| *happened && *time < tau) {
        let most = wilson(0, times.len() as u64, LEVEL)?.high;
        return Some(Estimate::of(Interval { estimate: mean, low: tau * (1.0 - most), high: tau }));
    }
    let Interval { estimate, low, high } = Interval::around(mean, FACTOR * error);
    Some(Estimate::of(Interval { estimate, low: low.max(0.0), high: high.min(tau) }))
}

impl From<Reach> for Estimate {
    /// What is not reached is left out.
    fn from(reach: Reach) -> Self {
        let (low, high) = reach.bounds.map_or((None, None), |(low, high)| (Some(low), Some(high)));
        Self {
            estimate: rounded(reach.at),
            low: low.and_then(rounded),
            high: high.and_then(rounded),
        }
    }
}

/// τ, where anything was watched: the mean of min(time, 0) is 0 and says nothing.
pub(super) fn observable(tau: Option<f64>) -> Option<f64> {
    tau.filter(|tau| *tau > 0.0)
}

/// Median, 95th percentile and restricted mean; `None` of no runs.
pub fn recovery_time(times: &[(f64, bool)], tau: Option<f64>, seed: u64) -> Option<RecoveryTime> {
    Some(RecoveryTime {
        median: quantile(times, 0.5, seed)?.into(),
        p95: quantile(times, 0.95, seed)?.into(),
        restricted_mean: observable(tau)
            .and_then(|tau| restricted_mean(times, tau))
            .unwrap_or_default(),
        tau: tau.and_then(rounded),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle T-3: seven runs recover, three never do.
    const STORM: [(f64, bool); 10] = [
        (1.2, true),
        (1.5, true),
        (1.9, true),
        (2.2, true),
        (2.4, true),
        (3.0, true),
        (4.0, true),
        (30.0, false),
        (30.0, false),
        (30.0, false),
    ];

    #[test]
    fn stuck_runs_are_not_dropped() {
        let found = recovery_time(&STORM, Some(30.0), 1).unwrap();
        let mean = found.restricted_mean;
        assert!((mean.estimate.unwrap() - 10.62).abs() < 1e-6);
        let half = 1.959_964 * 4.018_776;
        assert!((mean.low.unwrap() - (10.62 - half)).abs() < 1e-3, "{mean:?}");
        assert!((mean.high.unwrap() - (10.62 + half)).abs() < 1e-3, "{mean:?}");
        assert_eq!(found.median.estimate, Some(2.4));
        assert_eq!((found.p95.estimate, found.p95.high), (None, None)); // Seven of ten is not 95 %.
    }

    #[test]
    fn a_quantile_nobody_reached_has_no_number() {
        let stuck = [(30.0, false); 20];
        let median = quantile(&stuck, 0.5, 1).unwrap();
        assert_eq!(
            median,
            Reach { at: f64::INFINITY, bounds: Some((f64::INFINITY, f64::INFINITY)) }
        );
        assert_eq!(Estimate::from(median), Estimate::default());
        // Never 30 ± 0: Wilson's upper limit for none of 20 is 16.1 %.
        let mean = restricted_mean(&stuck, 30.0).unwrap();
        assert_eq!((mean.estimate, mean.high), (Some(30.0), Some(30.0)));
        assert!((mean.low.unwrap() - 30.0 * (1.0 - 0.161_125)).abs() < 1e-4, "{mean:?}");
        let late = restricted_mean(&[(30.0, true); 20], 30.0).unwrap();
        assert_eq!(late, mean, "an event at τ itself is beyond what the mean looks at");
    }

    #[test]
    fn a_mean_over_no_time_at_all_is_not_a_number() {
        let found = recovery_time(&[(0.0, false); 20], Some(0.0), 1).unwrap();
        assert_eq!(found.restricted_mean, Estimate::default());
    }

    #[test]
    fn a_quantile_has_no_upper_end_without_runs_above_it() {
        let bounds = |runs: usize, recovered: usize, share: f64| {
            let times: Vec<_> = (0..runs)
                .map(|run| if run < recovered { (run as f64 + 1.0, true) } else { (500.0, false) })
                .collect();
            quantile(&times, share, 1).unwrap().bounds.unwrap()
        };
        assert_eq!(bounds(71, 71, 0.95).1, f64::INFINITY);
        assert!(bounds(71, 71, 0.95).0 > 50.0);
        assert!(bounds(72, 72, 0.95).1 <= 72.0);
        assert_eq!(bounds(72, 71, 0.95).1, f64::INFINITY);
        assert_eq!(bounds(5, 5, 0.5), (0.0, f64::INFINITY));
        assert!(bounds(6, 6, 0.5).1 <= 6.0);
        assert!(bounds(20, 15, 0.5).1 <= 15.0); // The 15th of 20 bounds the median.
        assert_eq!(bounds(20, 14, 0.5).1, f64::INFINITY);
        assert_eq!((fewest_runs(0.95), fewest_runs(0.5)), (Some(72), Some(6)));
    }

    #[test]
    fn an_interval_is_the_same_every_time() {
        assert_eq!(quantile(&STORM, 0.5, 3), quantile(&STORM, 0.5, 3));
    }

    #[test]
    fn one_run_has_no_interval() {
        assert_eq!(quantile(&STORM[..1], 0.5, 1).unwrap().bounds, None);
        assert_eq!(restricted_mean(&STORM[..1], 30.0), Some(Estimate::bare(1.2)));
        assert_eq!(recovery_time(&[], Some(30.0), 1), None);
    }
}
