//! Expectations on runs written by hand, one line per case.

use std::sync::atomic::AtomicBool;

use crate::analysis::summarise;
use crate::check::exit::Exit;
use crate::experiment::Plan;
use crate::experiment::Silent;
use crate::experiment::replicate::run_with;
use crate::measure::fixture;
use crate::measure::fixture::calm;
use crate::measure::fixture::model;
use crate::scenario::model::Action;
use crate::scenario::model::Deed;

use super::*;

/// Forty runs, of which the first `stuck` stay down and the others are back after 30 s, or 10 s
/// after an action at 120 s.
fn judge_all(
    stuck: u32,
    replications: u32,
    expect: Vec<(ExpectedMeasure, Comparison)>,
) -> Vec<Judgement> {
    judge_within(400, stuck, replications, expect)
}

/// The same with a horizon of so many seconds.
fn judge_within(
    horizon_s: u64,
    stuck: u32,
    replications: u32,
    expect: Vec<(ExpectedMeasure, Comparison)>,
) -> Vec<Judgement> {
    let mut model = model();
    model.run.horizon = Duration::from_secs(horizon_s);
    model.operator = vec![Action { at: Duration::from_secs(130), what: Deed::Flush(0) }];
    let mut scenario = fixture::scenario(vec![("base", model)]);
    scenario.expect = expect
        .into_iter()
        .enumerate()
        .map(|(index, (measure, comparison))| Expectation {
            variant: 0,
            measure,
            comparison,
            line: index + 1,
            text: String::new(),
        })
        .collect();
    let plan = Plan { replications: Some(replications), ..Plan::everything(&scenario) };
    let simulate = |model: &Model, _: u64, replication: u32, _: &AtomicBool| {
        let until = if replication < stuck { 400 } else { 140 };
        let record = calm(model, replication);
        Ok(if model.triggers.is_empty() { record } else { record.storm(100..until, 0.0, 9) })
    };
    let runs = run_with(&scenario, &plan, &Silent, &AtomicBool::new(false), &simulate).unwrap();
    check(&scenario, &summarise(&scenario, &runs), &runs)
}

#[track_caller]
fn decided(stuck: u32, measure: ExpectedMeasure, comparison: Comparison, expected: Decision) {
    let judged = judge_all(stuck, 40, vec![(measure, comparison)]).remove(0);
    assert_eq!(judged.decision, expected, "{judged:?}");
}

use Comparison::AtLeast;
use Comparison::AtMost;
use Decision::Fail;
use Decision::Pass;
use Decision::Undecided;

#[test]
fn shares_are_judged_by_whole_intervals() {
    use ExpectedMeasure::StuckShare;
    decided(40, StuckShare, AtLeast(0.9), Pass); // From 91.2 %.
    decided(40, StuckShare, AtLeast(0.95), Undecided);
    decided(40, StuckShare, AtMost(0.5), Fail);
    decided(0, StuckShare, AtMost(0.1), Pass); // Up to 8.8 %.
    decided(0, StuckShare, AtMost(0.05), Undecided);
    decided(0, StuckShare, AtLeast(0.5), Fail);
    decided(0, ExpectedMeasure::ControlHealthyShare, AtLeast(0.9), Pass);
    decided(0, ExpectedMeasure::RecoveredShare(None), AtLeast(0.9), Pass);
    decided(40, ExpectedMeasure::RecoveredShare(None), AtLeast(0.9), Fail);
}

#[test]
fn recovery_within_a_span_counts_what_could_not_be_seen_both_ways() {
    let within = |secs| ExpectedMeasure::RecoveredShare(Some(Duration::from_secs(secs)));
    decided(0, within(30), AtLeast(0.9), Pass);
    decided(0, within(29), AtLeast(0.9), Fail);
    decided(40, within(275), AtLeast(0.9), Fail);
    decided(40, within(276), AtLeast(0.9), Undecided); // Watched for 275 s only.
    let acted = |secs| ExpectedMeasure::RecoveredAfterActionShare(Duration::from_secs(secs));
    decided(0, acted(10), AtLeast(0.9), Pass);
    decided(0, acted(9), AtLeast(0.9), Fail);
}

#[test]
fn a_median_that_was_not_reached_is_longer_than_any_limit() {
    use ExpectedMeasure::RecoveryMedian;
    decided(0, RecoveryMedian, AtMost(30.0), Pass);
    decided(0, RecoveryMedian, AtMost(29.0), Fail);
    decided(40, RecoveryMedian, AtMost(1e9), Fail);
    decided(40, RecoveryMedian, AtLeast(100.0), Pass);
    decided(20, RecoveryMedian, AtMost(100.0), Undecided); // Half of the runs: 30 s or never.
}

#[test]
fn a_restricted_mean_says_nothing_of_limits_beyond_tau() {
    use ExpectedMeasure::RecoveryRestrictedMean;
    decided(0, RecoveryRestrictedMean, AtMost(30.0), Pass);
    decided(40, RecoveryRestrictedMean, AtMost(200.0), Fail);
    decided(40, RecoveryRestrictedMean, AtMost(275.0), Undecided);
    decided(40, RecoveryRestrictedMean, AtLeast(300.0), Undecided);
    decided(0, RecoveryRestrictedMean, AtMost(300.0), Pass);
}

#[test]
fn means_are_judged_by_their_intervals() {
    decided(40, ExpectedMeasure::PeakAmplification(0), AtLeast(3.0), Pass);
    decided(40, ExpectedMeasure::PeakAmplification(0), AtMost(2.9), Fail);
    decided(20, ExpectedMeasure::WholeAmplification(0), AtMost(1.85), Undecided);
    decided(0, ExpectedMeasure::GoodputRatio(Phase::Before), AtLeast(0.99), Pass);
    decided(0, ExpectedMeasure::GoodputRatio(Phase::During), AtLeast(0.5), Fail);
    decided(40, ExpectedMeasure::GoodputRatio(Phase::After), AtMost(0.01), Pass);
    decided(40, ExpectedMeasure::LostShare, AtLeast(0.99), Pass);
}

#[test]
fn findings_are_compared_by_name() {
    let finding = |name: &str| ExpectedMeasure::Finding(name.into());
    decided(40, finding("metastable"), Comparison::Is, Pass);
    decided(40, finding("safe"), Comparison::Is, Fail);
    decided(0, finding("safe"), Comparison::Is, Undecided); // Forty runs cannot say it.
    decided(0, finding("inconclusive"), Comparison::Is, Pass);
}

#[test]
fn one_run_decides_nothing() {
    let expect = vec![
        (ExpectedMeasure::WholeAmplification(0), AtMost(100.0)),
        (ExpectedMeasure::RecoveryMedian, AtMost(1e6)),
    ];
    let judged = judge_all(0, 1, expect);
    assert_eq!(judged[0].decision, Undecided);
    assert_eq!(judged[1].decision, Undecided);
    assert_eq!(judged[0].because, "there is no interval");
    assert_eq!(Exit::of(&judged), Exit::Undecided);
}

#[test]
fn one_failure_outweighs_what_is_undecided() {
    let expect = vec![
        (ExpectedMeasure::StuckShare, AtLeast(0.9)),
        (ExpectedMeasure::StuckShare, AtLeast(0.95)),
        (ExpectedMeasure::StuckShare, AtMost(0.5)),
    ];
    let judged = judge_all(40, 40, expect);
    assert_eq!(Exit::of(&judged), Exit::CheckFailed);
    assert_eq!(Exit::of(&judged[..2]), Exit::Undecided);
    assert_eq!(Exit::of(&judged[..1]), Exit::Success);
    assert_eq!(judged[2].line, 3);
    assert_eq!(judged[2].because, "the 95% interval, 0.9124 to 1, lies on the bad side");
}

#[test]
fn a_variant_that_was_not_run_is_undecided() {
    let mut scenario = fixture::scenario(vec![("base", model()), ("other", model())]);
    scenario.expect = vec![Expectation {
        variant: 1,
        measure: ExpectedMeasure::StuckShare,
        comparison: AtMost(0.5),
        line: 9,
        text: String::new(),
    }];
    let plan = Plan { variants: vec![0], replications: Some(2), ..Plan::default() };
    let simulate =
        |model: &Model, _: u64, replication: u32, _: &AtomicBool| Ok(calm(model, replication));
    let runs = run_with(&scenario, &plan, &Silent, &AtomicBool::new(false), &simulate).unwrap();
    let judged = check(&scenario, &summarise(&scenario, &runs), &runs).remove(0);
    assert_eq!((judged.decision, judged.line), (Undecided, 9));
    assert_eq!(judged.because, "the variant was not run");
}

#[test]
fn a_horizon_that_is_too_short_decides_nothing_about_recovery() {
    let span = Duration::from_secs(60);
    let of_recovery = [
        ExpectedMeasure::StuckShare,
        ExpectedMeasure::RecoveredShare(None),
        ExpectedMeasure::RecoveredShare(Some(span)),
        ExpectedMeasure::RecoveredAfterActionShare(span),
        ExpectedMeasure::RecoveryMedian,
        ExpectedMeasure::RecoveryRestrictedMean,
    ];
    let expect = of_recovery
        .into_iter()
        .flat_map(|measure| [(measure.clone(), AtLeast(0.5)), (measure, AtMost(0.5))]);
    let expect: Vec<_> = expect.collect();
    for stuck in [0, 40] {
        // 110 s and 100 s to watch: 210 s would do.
        for judged in judge_within(200, stuck, 40, expect.clone()) {
            assert_eq!(judged.decision, Undecided, "{judged:?}");
            assert!(judged.because.contains("too short"), "{judged:?}");
        }
    }
    let lost = vec![(ExpectedMeasure::LostShare, AtLeast(0.9))];
    assert_eq!(judge_within(200, 40, 40, lost)[0].decision, Pass);
}

/// What ran before somebody interrupted is no sample of what was asked for.
#[test]
fn nothing_is_decided_on_runs_that_were_cut_short() {
    let mut scenario = fixture::scenario(vec![("base", model())]);
    scenario.expect = vec![Expectation {
        variant: 0,
        measure: ExpectedMeasure::StuckShare,
        comparison: AtLeast(0.9),
        line: 1,
        text: "stuck_share >= 90%".into(),
    }];
    let plan = Plan { replications: Some(60), ..Plan::everything(&scenario) };
    let simulate = |model: &Model, _: u64, replication: u32, _: &AtomicBool| {
        if replication >= 40 {
            return Err(crate::engine::RunError::Interrupted);
        }
        let record = calm(model, replication);
        Ok(if model.triggers.is_empty() { record } else { record.storm(100..400, 0.0, 9) })
    };
    let runs = run_with(&scenario, &plan, &Silent, &AtomicBool::new(false), &simulate).unwrap();
    let judged = check(&scenario, &summarise(&scenario, &runs), &runs).remove(0);
    assert_eq!(judged.decision, Undecided);
    assert_eq!(judged.because, "interrupted after 40 of 60 runs");
    assert!(judged.measured.estimate.is_some(), "what was seen is shown all the same");
}

/// Forty runs with 10 to 14 effects each, the first of which is the only one of its write.
#[test]
fn writes_are_judged_by_their_mean_over_the_runs() {
    use crate::scenario::model::Operation;
    let judged = |operation: Operation, expect: Vec<(ExpectedMeasure, Comparison)>| {
        let mut model = model();
        model.edges[0].operation = operation;
        let mut scenario = fixture::scenario(vec![("base", model)]);
        let line = |(measure, comparison)| Expectation {
            variant: 0,
            measure,
            comparison,
            line: 1,
            text: String::new(),
        };
        scenario.expect = expect.into_iter().map(line).collect();
        let plan = Plan { replications: Some(40), ..Plan::everything(&scenario) };
        let simulate = |model: &Model, _: u64, replication: u32, _: &AtomicBool| {
            let mut record = calm(model, replication);
            let last = record.series.services.last_mut().unwrap();
            last.effects = 10 + replication % 5;
            last.duplicate_effects = last.effects - 1;
            last.duplicated = 1;
            last.conflicts = 3;
            Ok(record)
        };
        let runs = run_with(&scenario, &plan, &Silent, &AtomicBool::new(false), &simulate).unwrap();
        let summary = summarise(&scenario, &runs);
        (check(&scenario, &summary, &runs), summary)
    };
    let duplicates = ExpectedMeasure::DuplicateEffects;
    let (found, summary) = judged(
        Operation::Write(None),
        vec![
            (duplicates(None), Comparison::AtLeast(10.0)),
            (duplicates(Some(0)), Comparison::AtMost(10.0)),
            (duplicates(Some(0)), Comparison::AtMost(11.0)),
            (ExpectedMeasure::Conflicts(Some(0)), Comparison::AtMost(3.0)),
        ],
    );
    assert_eq!(found[0].measured.estimate, Some(11.0)); // The mean of 9 to 13.
    let decisions: Vec<_> = found.iter().map(|it| it.decision).collect();
    use Decision::{Fail, Pass, Undecided};
    assert_eq!(decisions, [Pass, Fail, Undecided, Pass]);
    let writes = summary.variants[0].1.writes.clone().unwrap();
    assert_eq!(writes.all, writes.services[0].1);
    assert_eq!(writes.all.duplicated_share.estimate, Some(1.0));
    let (found, _) = judged(Operation::Read, vec![(duplicates(None), Comparison::AtMost(1e9))]);
    assert_eq!(found[0].decision, Undecided, "nothing is written");
}
