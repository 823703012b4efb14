//! From runs written by hand to the summary: findings, measures, marks, and what a file may hold.

use std::sync::atomic::AtomicBool;

use crate::analysis::estimate::rounded;
use crate::experiment::Plan;
use crate::experiment::Silent;
use crate::experiment::replicate::run_with;
use crate::measure::fixture;
use crate::measure::fixture::BORN;
use crate::measure::fixture::calm;
use crate::measure::fixture::model;
use crate::measure::record::Ending;
use crate::measure::record::LimitKind;
use crate::measure::record::RunRecord;
use crate::random::Distribution;
use crate::scenario::model::Action;
use crate::scenario::model::Deed;
use crate::scenario::model::Model;
use crate::units::Duration;
use crate::units::SimTime;

use super::*;

/// Runs whose storm, if they have a trigger, is written by `storm`; control runs by `control`.
fn experiment(
    scenario: &Scenario,
    replications: u32,
    storm: impl Fn(&Model, RunRecord) -> RunRecord + Sync,
    control: impl Fn(RunRecord) -> RunRecord + Sync,
) -> Experiment {
    let plan = Plan { replications: Some(replications), ..Plan::everything(scenario) };
    let simulate = |model: &Model, _: u64, replication: u32, _: &AtomicBool| {
        let record = calm(model, replication);
        Ok(if model.triggers.is_empty() { control(record) } else { storm(model, record) })
    };
    run_with(scenario, &plan, &Silent, &AtomicBool::new(false), &simulate).unwrap()
}

/// The base alone, with `stuck` runs that stay down and the rest back after 20 to 39 s.
fn summarised(replications: u32, stuck: u32) -> VariantSummary {
    let scenario = fixture::scenario(vec![("base", model())]);
    let runs = experiment(&scenario, replications, |_, record| mixed(record, stuck), |run| run);
    summarise(&scenario, &runs).variants.remove(0).1
}

fn mixed(record: RunRecord, stuck: u32) -> RunRecord {
    let replication = record.replication;
    let until = if replication < stuck { 400 } else { 130 + replication as usize % 20 };
    record.storm(100..until, 0.0, 900)
}

#[test]
fn the_finding_follows_the_share_of_stuck_runs() {
    #[track_caller]
    fn check(replications: u32, stuck: u32, expected: Finding) {
        let summary = summarised(replications, stuck);
        assert_eq!(summary.finding, expected, "{}", summary.because);
        assert_eq!(summary.replications, replications);
    }
    check(20, 20, Finding::Metastable);
    check(20, 3, Finding::Vulnerable);
    check(20, 0, Finding::Inconclusive);
    check(73, 0, Finding::Safe);
}

#[test]
fn an_unhealthy_control_twin_makes_it_overloaded() {
    let scenario = fixture::scenario(vec![("base", model())]);
    let runs = experiment(
        &scenario,
        20,
        |_, record| record.storm(0..400, 0.0, 9),
        |record| record.storm(0..400, 0.0, 9),
    );
    let summary = &summarise(&scenario, &runs).variants[0].1;
    assert_eq!(summary.finding, Finding::Overloaded);
    assert_eq!(summary.control_healthy_share.estimate, Some(0.0));
}

#[test]
fn control_runs_that_tip_over_by_themselves_are_marked() {
    let scenario = fixture::scenario(vec![("base", model())]);
    let tips = |record: RunRecord| match record.replication {
        0 => record.storm(304..400, 0.0, 9),
        _ => record,
    };
    let runs = experiment(&scenario, 20, |_, record| record.storm(100..400, 0.0, 9), tips);
    let summary = &summarise(&scenario, &runs).variants[0].1;
    assert_eq!(summary.finding, Finding::Metastable); // 19 of 20 are healthy.
    // 300 s of the one and 400 s of each of the others.
    let rate = format!("{:.3} per simulated hour", 3_600.0 / (300.0 + 19.0 * 400.0));
    let mark = mark_of(summary, "spontaneous");
    assert!(mark.contains("1 of 20 control runs") && mark.contains(&rate), "{mark}");
}

#[track_caller]
fn mark_of<'a>(summary: &'a VariantSummary, keyword: &str) -> &'a str {
    let mut marks = summary.marks.iter().filter(|mark| mark.starts_with(keyword));
    marks.next().unwrap_or_else(|| panic!("no mark `{keyword}` in {:?}", summary.marks))
}

#[test]
fn a_short_horizon_is_inconclusive_and_marked() {
    let mut short = model();
    short.services[0].work = Distribution::constant(Duration::from_nanos(490_000));
    let scenario = fixture::scenario(vec![("base", short)]);
    let runs = experiment(&scenario, 20, |_, record| record.storm(100..400, 0.0, 9), |run| run);
    let summary = &summarise(&scenario, &runs).variants[0].1;
    assert_eq!(summary.finding, Finding::Inconclusive);
    assert!(summary.because.contains("horizon too short"));
    mark_of(summary, "short horizon");
}

#[test]
fn measures_carry_intervals_and_the_parts_add_up() {
    let summary = summarised(20, 10);
    assert_eq!(summary.classes.iter().map(|(_, runs)| runs).sum::<u32>(), 20);
    assert_eq!(summary.stuck_share.estimate, Some(0.5));
    assert_eq!(summary.recovered_share.estimate, Some(0.5));
    let found = &summary.amplification[0].1;
    let whole = found.whole.estimate.unwrap();
    assert!((found.by_reason.iter().sum::<f64>() - whole).abs() < 1e-8);
    assert!(found.whole.low.unwrap() < whole && whole < found.whole.high.unwrap());
    assert_eq!(found.peak.estimate, Some(3.0));
    assert_eq!(summary.goodput_ratio.before.estimate, Some(1.0));
    assert_eq!(summary.requests.born, 20 * 400 * u64::from(BORN));
    assert_eq!(summary.recovery_time_s.tau, Some(275.0));
    // Ten runs back at 40 to 49 s after the start of their storm, ten never.
    assert_eq!(summary.recovery_time_s.median.estimate, Some(39.0));
    assert_eq!(summary.recovery_time_s.p95.estimate, None);
    assert_eq!(summary.recovery_time_s.median.high, None);
    mark_of(&summary, "censored: 10 of 20 runs");
    mark_of(&summary, "no interval: latency");
}

#[test]
fn one_replication_has_no_interval_and_few_are_marked() {
    let one = summarised(1, 0);
    assert!(!one.amplification[0].1.whole.has_interval());
    assert!(!one.recovery_time_s.median.has_interval());
    mark_of(&one, "no interval: one replication");
    mark_of(&summarised(5, 0), "few runs: 5");
    assert!(summarised(20, 0).marks.iter().all(|mark| !mark.starts_with("few runs")));
}

#[test]
fn a_quantile_without_an_upper_end_is_marked() {
    let few = summarised(20, 0);
    assert!(few.recovery_time_s.p95.estimate.is_some());
    assert_eq!(few.recovery_time_s.p95.high, None);
    assert!(few.recovery_time_s.median.high.is_some());
    assert_eq!(mark_of(&few, "no upper end"), "no upper end: recovery p95 with 20 runs (needs 72)");
    let enough = summarised(73, 0);
    assert!(enough.recovery_time_s.p95.high.is_some());
    assert!(enough.marks.iter().all(|mark| !mark.starts_with("no upper end")));
    mark_of(&summarised(20, 8), "no upper end: recovery median, for too many");
}

#[test]
fn a_limit_marks_the_summary_incomplete() {
    let scenario = fixture::scenario(vec![("base", model())]);
    let ends = |_: &Model, record: RunRecord| {
        let record = record.storm(100..400, 0.0, 9);
        if record.replication == 2 { ended(record, 150) } else { record }
    };
    let runs = experiment(&scenario, 20, ends, |run| run);
    let summary = summarise(&scenario, &runs);
    assert!(!summary.complete);
    assert_eq!(summary.variants[0].1.finding, Finding::Metastable);
    assert!(mark_of(&summary.variants[0].1, "incomplete").contains("(memory) ended 1 run"));
}

/// Leaving early must not make the rest look better: ten runs are back after 200 s, the others not
/// within 275 s, and the one that a limit ended after 40 s counts like them.
#[test]
fn a_run_that_a_limit_ended_stays_among_those_that_did_not_recover() {
    let scenario = fixture::scenario(vec![("base", model())]);
    let storm = |_: &Model, record: RunRecord| match record.replication {
        0..10 => record.storm(100..310, 0.0, 9),
        10 => ended(record.storm(100..400, 0.0, 9), 150),
        _ => record.storm(100..400, 0.0, 9),
    };
    let summary = summarise(&scenario, &experiment(&scenario, 20, storm, |run| run));
    let mean = summary.variants[0].1.recovery_time_s.restricted_mean;
    assert_eq!(mean.estimate, Some((10.0 * 200.0 + 10.0 * 275.0) / 20.0));
}

/// A run that a limit ended that many seconds after time 0.
fn ended(mut record: RunRecord, seconds: usize) -> RunRecord {
    let windows = 10 + seconds;
    record.series.windows = windows;
    record.series.populations.truncate(windows);
    record.series.services.truncate(windows);
    record.series.backlog.truncate(windows);
    record.ending = Ending::Limit { limit: LimitKind::Memory, at: SimTime::from_nanos(1) };
    record
}

#[test]
fn variants_are_compared_with_the_base_pair_by_pair() {
    let mut cured = model();
    cured.triggers[0].lasts = Duration::from_secs(9);
    let scenario = fixture::scenario(vec![("base", model()), ("same", model()), ("cured", cured)]);
    let storm = |model: &Model, record: RunRecord| {
        let cured = model.triggers[0].lasts == Duration::from_secs(9);
        mixed(record, if cured { 0 } else { 15 })
    };
    let summary = summarise(&scenario, &experiment(&scenario, 20, storm, |run| run));
    assert_eq!(summary.variant("base").unwrap().versus_base, None);
    let same = summary.variant("same").unwrap().versus_base.clone().unwrap();
    assert_eq!(same.stuck_share.difference.estimate, Some(0.0));
    assert_eq!(
        same.lost_share.difference,
        Estimate { estimate: Some(0.0), low: Some(0.0), high: Some(0.0) }
    );
    assert_eq!((same.stuck_p, same.stuck_p_adjusted), (Some(1.0), Some(1.0)));
    let cured = summary.variant("cured").unwrap().versus_base.clone().unwrap();
    assert_eq!(cured.pairs, 20);
    assert_eq!(cured.stuck_share.difference.estimate, Some(-0.75));
    assert!(cured.stuck_share.difference.high.unwrap() < 0.0);
    assert_eq!(cured.stuck_p, Some(2.0_f64.powi(-14)).and_then(rounded));
    assert_eq!(cured.stuck_p_adjusted, Some(2.0_f64.powi(-13)).and_then(rounded));
    assert!(cured.recovery_restricted_mean_s.difference.high.unwrap() < -100.0);
    assert!(cured.amplification[0].1.difference.high.unwrap() < 0.0);
}

#[test]
fn recovery_after_an_action_is_given_where_people_act() {
    let mut helped = model();
    helped.operator = vec![Action { at: Duration::from_secs(200), what: Deed::Flush(0) }];
    let scenario = fixture::scenario(vec![("base", model()), ("helped", helped)]);
    let storm = |model: &Model, record: RunRecord| {
        record.storm(100..if model.operator.is_empty() { 400 } else { 210 }, 0.0, 9)
    };
    let runs = experiment(&scenario, 20, storm, |run| run);
    assert_eq!(runs.results[1].controls.len(), 20);
    let summary = summarise(&scenario, &runs);
    assert_eq!(summary.variant("base").unwrap().recovery_after_action_s, None);
    let found = summary.variant("helped").unwrap().recovery_after_action_s.unwrap();
    assert_eq!(found.median.estimate, Some(10.0));
    assert_eq!(found.tau, Some(185.0));
    assert_eq!(summary.variant("helped").unwrap().recovery_time_s.median.estimate, Some(100.0));
}

/// Down from 100 s; back at 120 s, at 210 s, or at 120 s and down again from 150 s to 210 s.
#[test]
fn runs_that_were_back_before_the_action_are_not_credited_to_it() {
    let mut helped = model();
    helped.operator = vec![Action { at: Duration::from_secs(200), what: Deed::Flush(0) }];
    let scenario = fixture::scenario(vec![("base", helped)]);
    let storm = |again: bool| {
        move |_: &Model, record: RunRecord| match record.replication {
            0..5 => record.storm(100..120, 0.0, 9),
            5..10 if again => record.storm(100..120, 0.0, 9).storm(150..210, 0.0, 9),
            5..10 => record.storm(100..120, 0.0, 9),
            10..15 if again => record.storm(100..210, 0.0, 9),
            10..15 => record.storm(100..120, 0.0, 9),
            _ => record,
        }
    };
    let runs = experiment(&scenario, 20, storm(true), |run| run);
    let down = |experiment: &Experiment| -> Vec<u32> {
        let runs = experiment.results[0].runs.iter();
        let down = runs.filter(|run| run.recovery_after_action.is_some());
        down.map(|run| run.replication).collect()
    };
    assert_eq!(down(&runs), (5..15).collect::<Vec<_>>());
    let found = &summarise(&scenario, &runs).variants[0].1;
    assert_eq!(found.recovery_after_action_s.unwrap().median.estimate, Some(10.0));
    mark_of(found, "after action: 10 of 20 runs");
    let runs = experiment(&scenario, 20, storm(false), |run| run);
    let found = &summarise(&scenario, &runs).variants[0].1;
    assert_eq!(found.recovery_after_action_s, None);
    mark_of(found, "after action: no run was down");
}

#[test]
fn a_scenario_without_a_trigger_is_its_own_control() {
    let mut quiet = model();
    quiet.triggers.clear();
    let scenario = fixture::scenario(vec![("base", quiet)]);
    let runs = experiment(&scenario, 73, |_, run| run, |run| run);
    assert_eq!(summarise(&scenario, &runs).variants[0].1.finding, Finding::Safe);
    let tips = |record: RunRecord| record.storm(200..400, 0.0, 9);
    let runs = experiment(&scenario, 73, |_, run| run, tips);
    assert_eq!(summarise(&scenario, &runs).variants[0].1.finding, Finding::Overloaded);
}

#[test]
fn the_file_holds_plain_numbers_only() {
    let scenario = fixture::scenario(vec![("base", model()), ("more", model())]);
    let runs = experiment(&scenario, 3, |_, record| record.storm(0..400, 0.0, 9), |run| run);
    let text = serde_json::to_string(&summarise(&scenario, &runs)).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["variants"]["base"]["classes"]["stuck"], 3);
    assert_eq!(value["variants"]["base"]["finding"], "vulnerable");
    assert!(value["variants"]["base"]["recovery_time_s"]["median"]["estimate"].is_null());
    assert!(!text.contains("NaN") && !text.contains("inf"));
}
