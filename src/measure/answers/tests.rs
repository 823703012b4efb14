//! Records written by hand, and what they answer.

use crate::measure::fixture::calm;
use crate::measure::fixture::model;
use crate::measure::record::EdgeWindow;
use crate::measure::record::Latencies;
use crate::scenario::model::CAUSES;
use crate::scenario::model::DEAD_LETTERS;
use crate::units::Duration;
use crate::units::Share;

use super::*;

const SECONDS: fn(u64) -> Duration = Duration::from_secs;

#[track_caller]
fn check(record: &RunRecord, question: &Question, expected: Option<f64>) {
    assert_eq!(answer(question, &model(), record), expected, "{question:?}");
}

/// 2 000 attempts in each second, 6 000 in those from 100 s to 105 s.
#[test]
fn attempts_are_those_of_the_windows_of_a_span_after_the_warm_up() {
    let record = calm(&model(), 0).storm(100..105, 0.0, 9);
    let attempts = |from: Option<u64>, to: Option<u64>| Question::Attempts {
        service: 0,
        from: from.map(SECONDS),
        to: to.map(SECONDS),
    };
    check(&record, &attempts(None, None), Some(400.0 * 2_000.0 + 5.0 * 4_000.0));
    check(&record, &attempts(Some(99), Some(102)), Some(2_000.0 + 2.0 * 6_000.0));
    check(&record, &attempts(Some(398), None), Some(4_000.0));
    check(&record, &attempts(None, Some(1)), Some(2_000.0));
    let most = |seconds| Question::MostAttempts { service: 0, within: SECONDS(seconds) };
    check(&record, &most(1), Some(6_000.0));
    check(&record, &most(5), Some(30_000.0));
    check(&record, &most(6), Some(32_000.0));
    check(&record, &most(401), None); // There is no such span in the run.
}

#[test]
fn shares_of_verdicts_are_of_those_that_ended() {
    let mut one = Verdicts { born: 20, ok: 10, late: 2, open: 4, ..Verdicts::default() };
    one.failed[Cause::Budget as usize] = 3;
    one.failed[Cause::Shed as usize] = 1;
    let two = Verdicts { born: 4, ok: 4, ..Verdicts::default() };
    let mut record = calm(&model(), 0);
    record.verdicts = vec![one, two];
    let ended = |verdict, population, cause| Question::Ended { verdict, population, cause };
    check(&record, &ended(AskedVerdict::Ok, Some(0), None), Some(10.0 / 16.0));
    check(&record, &ended(AskedVerdict::Ok, None, None), Some(14.0 / 20.0));
    check(&record, &ended(AskedVerdict::Late, Some(0), None), Some(2.0 / 16.0));
    check(&record, &ended(AskedVerdict::Failed, None, None), Some(4.0 / 20.0));
    check(&record, &ended(AskedVerdict::Failed, Some(0), Some("budget")), Some(3.0 / 16.0));
    check(&record, &ended(AskedVerdict::Failed, Some(1), Some("budget")), Some(0.0));
    check(&record, &Question::Unanswered { population: None }, Some(4.0 / 24.0));
    check(&record, &Question::Unanswered { population: Some(1) }, Some(0.0));
    check(&record, &Question::Unanswered { population: Some(2) }, None); // Nobody was born there.
}

#[test]
fn latencies_are_those_of_one_population_or_of_all() {
    let mut record = calm(&model(), 0);
    let mut latencies = Latencies::default();
    (1..=3).for_each(|second| latencies.ok.record(second * SECOND));
    latencies.failed.record(7 * SECOND);
    record.latencies = vec![Latencies::default(), latencies];
    record.latency_ok.record(9 * SECOND);
    let latency = |population, at, failed| Question::Latency { population, at, failed };
    check(&record, &latency(Some(1), Statistic::Mean, false), Some(2.0));
    check(&record, &latency(Some(1), Statistic::Max, false), Some(3.0));
    check(&record, &latency(Some(1), Statistic::Max, true), Some(7.0));
    check(&record, &latency(Some(0), Statistic::Max, false), None);
    check(&record, &latency(None, Statistic::Quantile(Share::ONE), false), Some(9.0));
}

#[test]
fn rejections_are_those_on_the_edges_to_a_service() {
    let mut record = calm(&model(), 0);
    let window = EdgeWindow {
        rejected_by_breaker: 1,
        rejected_by_bulkhead: 2,
        rejected_by_throttle: 4,
        ..EdgeWindow::default()
    };
    record.series.edges = vec![window; record.series.windows];
    let rejected = |service, class| Question::Rejected { service, class };
    check(&record, &rejected(0, None), Some(7.0 * 400.0)); // Not those of the warm-up.
    check(&record, &rejected(0, Some(Class::BreakerOpen)), Some(400.0));
    check(&record, &rejected(0, Some(Class::BulkheadFull)), Some(800.0));
    check(&record, &rejected(0, Some(Class::Throttled)), Some(1_600.0));
    check(&record, &rejected(1, None), Some(0.0));
}

#[test]
fn effects_are_of_one_service_or_of_all() {
    let mut record = calm(&model(), 0);
    record.series.services.iter_mut().for_each(|window| window.effects = 3);
    check(&record, &Question::Effects(None), Some(1_200.0));
    check(&record, &Question::Effects(Some(0)), Some(1_200.0));
}

#[test]
fn causes_have_the_same_names_in_scenarios_and_results() {
    assert_eq!(CAUSES.to_vec(), Cause::ALL.map(Cause::name).to_vec());
    assert_eq!(DEAD_LETTERS.to_vec(), DeadLetter::ALL.map(DeadLetter::name).to_vec());
}

#[test]
fn only_the_variant_spoken_of_is_asked() {
    let line = |variant, measure| Expectation {
        variant,
        measure,
        comparison: crate::scenario::model::Comparison::AtLeast(0.0),
        line: 1,
        text: String::new(),
    };
    let effects = || ExpectedMeasure::PerRun(Question::Effects(None));
    let expect = [line(0, effects()), line(1, effects()), line(0, ExpectedMeasure::StuckShare)];
    let found = answers(&expect, 0, &model(), &calm(&model(), 0));
    assert_eq!(found, [Some(0.0), None, None]);
}
