//! What statistics make of storms.

use stormlab::measure::storm::judge;
use stormlab::stats::survival::SurvivalCurve;
use stormlab::units::SimTime;

use crate::theory::check_within;
use crate::theory::mean;
use crate::theory::model;
use crate::theory::observe;
use crate::theory::records;
use crate::theory::storms::FirstEmpty;
use crate::theory::storms::outage;

/// T-13: after an outage of 1.18 s three runs in four never come back. The mean over those that do
/// says 3.5 s; the restricted mean over all of them, up to 30 s, says 23.1 s. Back means here that
/// the service was empty again; judged by goodput, which suffers less, the restricted mean is in
/// the same range.
/// The ranges are those of the study that measured both over 200 runs.
#[test]
fn t_13_dropping_stuck_runs_hides_the_storm() {
    let model = model(&outage("1180ms", "41s"));
    let after = SimTime::from_nanos(6_180_000_000);
    let times: Vec<_> = observe(&model, 200, || FirstEmpty::new(after))
        .iter()
        .map(|run| run.at.map_or(30.0, |at| at.since(after).as_secs_f64()))
        .map(|time| (time, time < 30.0))
        .collect();
    let recovered: Vec<_> = times.iter().filter(|time| time.1).map(|time| time.0).collect();
    check_within("T-13 mean of recovered runs", mean(&recovered), 2.5, 5.0);
    check_within("T-13 restricted mean", restricted_mean(&times), 19.0, 27.0);

    let judged: Vec<_> = records(&model, 200)
        .iter()
        .map(|record| judge(&model, record).recovery)
        .map(|recovery| (recovery.time_s, recovery.happened))
        .collect();
    check_within("T-13 restricted mean, by goodput", restricted_mean(&judged), 19.0, 27.0);
}

/// Up to 30 s.
fn restricted_mean(times: &[(f64, bool)]) -> f64 {
    SurvivalCurve::fit(times).expect("there are runs").restricted_mean(30.0).0
}
