//! Runs written by hand, one for each class, and the oracle on a fixed trace.

use crate::measure::fixture::calm;
use crate::measure::fixture::model;
use crate::measure::outcome::RunClass;
use crate::measure::outcome::RunOutcome;
use crate::measure::record::RunRecord;
use crate::scenario::model::Action;
use crate::scenario::model::Deed;
use crate::scenario::model::Model;
use crate::scenario::model::Trigger;
use crate::units::Duration;

use super::*;

fn judged(record: RunRecord) -> RunOutcome {
    judge(&model(), &record)
}

fn base() -> RunRecord {
    calm(&model(), 0)
}

/// Oracle D-1: one good window at 10 s is not recovery, 14 s is.
#[test]
fn the_fixed_trace_recovers_after_fourteen_seconds() {
    let mut model = model();
    let seconds = Duration::from_secs;
    model.run.warm_up = Duration::ZERO;
    model.run.horizon = seconds(60);
    model.run.recovery = RecoverySettings {
        window: seconds(3),
        hold: seconds(9),
        tolerance: model.run.recovery.tolerance,
        baseline: seconds(10),
    };
    model.triggers[0] = Trigger { at: seconds(10), lasts: seconds(5), ..model.triggers[0].clone() };
    let mut record = calm(&model, 0);
    let good = [(10, 99_000), (5, 0), (10, 50_000), (3, 99_000), (1, 60_000), (31, 98_000)];
    let counts = good.iter().flat_map(|(bins, count)| std::iter::repeat_n(*count, *bins));
    for (window, ok) in record.series.populations.iter_mut().zip(counts) {
        window.born = 100_000;
        window.ok = ok;
    }
    let outcome = judge(&model, &record);
    assert_eq!(outcome.baseline_ratio, Some(0.99));
    assert_eq!(outcome.recovery, Survival { time_s: 14.0, happened: true });
    assert_eq!(outcome.class, RunClass::Recovered);

    // The first touch: with a hold of one window the early good stretch would do.
    model.run.recovery.hold = seconds(3);
    assert_eq!(judge(&model, &record).recovery, Survival { time_s: 10.0, happened: true });
}

#[test]
fn a_run_that_never_leaves_its_band_is_unaffected() {
    let outcome = judged(base().storm(103..104, 0.9, 2));
    assert_eq!(outcome.class, RunClass::Unaffected);
    assert_eq!(outcome.recovery, Survival { time_s: 0.0, happened: true });
    assert!(outcome.healthy);
    assert_eq!(outcome.first_failure_s, None);
}

#[test]
fn a_run_that_comes_back_and_stays_has_recovered() {
    let outcome = judged(base().storm(100..140, 0.0, 900));
    assert_eq!(outcome.class, RunClass::Recovered);
    // Goodput, amplification: the stretch [140, 145) is the first clean one. The backlog is back
    // at the end of the second [140, 141).
    assert_eq!(outcome.recovery, Survival { time_s: 30.0, happened: true });
    assert_eq!(outcome.amplification_recovery, Survival { time_s: 30.0, happened: true });
    assert_eq!(outcome.drain, Survival { time_s: 31.0, happened: true });
    assert_eq!(outcome.first_failure_s, Some(100.0));
    assert!(outcome.good_at_end);
}

#[test]
fn a_relapse_within_the_hold_time_is_not_recovery() {
    // Clean from 140 s to 155 s would do; a second second of trouble at 154 s breaks it.
    let relapse = |at: usize| base().storm(100..140, 0.0, 900).storm(at..at + 1, 0.0, 900);
    assert_eq!(judged(relapse(155)).recovery.time_s, 30.0);
    assert_eq!(judged(relapse(154)).recovery.time_s, 45.0);
}

#[test]
fn a_run_that_stays_down_is_stuck_and_censored() {
    let outcome = judged(base().storm(100..400, 0.1, 9_000));
    assert_eq!(outcome.class, RunClass::Stuck);
    // Horizon 400 s, hold 15 s, lifted at 110 s.
    assert_eq!(outcome.recovery, Survival { time_s: 275.0, happened: false });
    assert!(!outcome.good_at_end);
    assert_eq!(outcome.amplification[0].peak, Some(3.0));
    assert_eq!(outcome.amplification[0].after_trigger, Some(3.0));
    assert_eq!(outcome.goodput_ratio, [Some(1.0), Some(0.1), Some(0.1)]);
    assert_eq!(outcome.lost_share, Some(0.9));
}

#[test]
fn a_backlog_that_falls_fast_enough_is_recovering() {
    let falling = |per_window: u32| {
        let mut record = base().storm(100..400, 0.1, 0);
        for (index, backlog) in record.series.backlog.iter_mut().enumerate().skip(110) {
            *backlog = 100_000 - per_window * (index as u32 - 110);
        }
        record
    };
    assert_eq!(judged(falling(100)).class, RunClass::Recovering); // 700 s to go.
    assert_eq!(judged(falling(20)).class, RunClass::Stuck); // 4,700 s to go, 2,900 s allowed.
}

/// A swing of the last quarter is no fall: the half that holds it has gone up and down again.
#[test]
fn a_backlog_that_only_swings_is_stuck() {
    let swinging = |level: fn(u32) -> u32| {
        let mut record = base().storm(100..400, 0.1, 0);
        for (index, backlog) in record.series.backlog.iter_mut().enumerate().skip(110) {
            *backlog = level(index as u32 - 110);
        }
        judged(record).class
    };
    // Up over the third quarter and down over the last one, a hundred windows each.
    let peak = |i: u32| if i < 100 { 9_000 } else { 12_000 - 15 * i.abs_diff(200) };
    assert_eq!(swinging(peak), RunClass::Stuck);
    // The same last quarter after a fall of the third one.
    assert_eq!(swinging(|i| 15_000 - 15 * i), RunClass::Recovering);
}

#[test]
fn recovery_must_be_held_before_the_horizon() {
    let outcome = judged(base().storm(100..385, 0.0, 900));
    assert_eq!(outcome.recovery, Survival { time_s: 275.0, happened: true });
    let outcome = judged(base().storm(100..386, 0.0, 900));
    assert!(!outcome.recovery.happened);
    assert!(outcome.good_at_end);
}

#[test]
fn requests_the_operator_shed_are_not_offered() {
    let outcome = judged(base().storm(100..110, 0.0, 9).rewrite(110..400, |population, _, _| {
        population.shed = 1_800;
        population.ok = 200;
    }));
    assert_eq!(outcome.recovery, Survival { time_s: 0.0, happened: true });
    assert_eq!(outcome.goodput_ratio[2], Some(1.0));
}

#[test]
fn silence_is_neither_good_nor_bad() {
    let silent = |record: RunRecord, span| {
        record.rewrite(span, |population, service, _| {
            *population = Default::default();
            *service = Default::default();
        })
    };
    // Everybody waits and nobody asks: the storm before it is not over.
    assert_eq!(judged(silent(base().storm(100..200, 0.0, 9), 200..400)).class, RunClass::Stuck);
    // A pause in the schedule does no harm.
    assert_eq!(judged(silent(base(), 200..300)).class, RunClass::Unaffected);
}

#[test]
fn a_system_without_a_good_state_does_not_recover_to_it() {
    let outcome = judged(base().storm(0..400, 0.0, 9));
    assert_eq!(outcome.class, RunClass::Stuck);
    assert!(!outcome.healthy);
}

#[test]
fn counting_noise_widens_the_band() {
    let mut thin = base();
    for window in &mut thin.series.populations {
        (window.born, window.ok) = (18, 18); // 90 in a stretch: 3 · sqrt(2/90) = 0.447.
    }
    let outcome = judged(thin);
    assert!((outcome.tolerance - 3.0 * (2.0_f64 / 90.0).sqrt()).abs() < 1e-12);
    assert_eq!(judged(base()).tolerance, 0.05);
}

#[test]
fn a_control_run_is_judged_from_the_same_moment_and_by_its_own_failure() {
    let control = judge_control(&model(), &base().storm(300..400, 0.0, 9));
    assert_eq!(control.class, RunClass::Stuck); // It tipped over by itself.
    assert_eq!(control.first_failure_s, Some(296.0));
    assert!(!control.healthy);
    assert!(judge_control(&model(), &base().storm(0..40, 0.0, 9)).healthy); // Before the baseline.
    let poor = judge_control(&model(), &base().storm(0..400, 0.94, 2));
    assert_eq!((poor.class, poor.healthy), (RunClass::Unaffected, false));
}

#[test]
fn a_scenario_without_a_trigger_is_judged_from_its_start() {
    let model = Model { triggers: Vec::new(), ..model() };
    assert_eq!(judge(&model, &base()).class, RunClass::Unaffected);
    let outcome = judge(&model, &base().storm(200..400, 0.0, 9));
    assert_eq!(outcome.class, RunClass::Stuck);
    assert_eq!(outcome.goodput_ratio[0], Some(0.5));
    assert_eq!(outcome.goodput_ratio[2], None);
    let outcome = judge(&model, &base().storm(200..230, 0.0, 9));
    assert_eq!(outcome.class, RunClass::Recovered);
    assert_eq!(outcome.recovery.time_s, 34.0); // From the first stretch that failed, at 196 s.
}

#[test]
fn recovery_is_also_counted_from_the_first_action() {
    let mut model = model();
    let act = |at| Action { at: Duration::from_secs(at), what: Deed::Flush(0) };
    model.operator = vec![act(300), act(200)];
    let outcome = judge(&model, &calm(&model, 0).storm(100..220, 0.0, 9));
    assert_eq!(outcome.recovery.time_s, 110.0);
    assert_eq!(outcome.recovery_after_action, Some(Survival { time_s: 20.0, happened: true }));
    let stuck = judge(&model, &calm(&model, 0).storm(100..400, 0.0, 9));
    assert_eq!(stuck.recovery_after_action, Some(Survival { time_s: 185.0, happened: false }));
}

/// A stretch of 5 s is back in its band of 5 % a quarter of a second before all of it is good.
#[test]
fn who_acts_while_the_last_stretch_fills_may_have_helped() {
    let after_action = |at_ms: u64| {
        let mut model = model();
        let at = Duration::from_millis(at_ms);
        model.operator = vec![Action { at, what: Deed::Flush(0) }];
        judge(&model, &calm(&model, 0).storm(100..199, 0.0, 9)).recovery_after_action
    };
    assert!(after_action(199_200).is_some());
    assert_eq!(after_action(199_300), None);
}

#[test]
fn clients_that_never_give_up_have_recovered_when_the_backlog_has() {
    let mut model = model();
    model.policies[0].attempt_timeout = None;
    let record = calm(&model, 0).storm(100..110, 0.0, 900).rewrite(110..200, |_, _, backlog| {
        *backlog = 900;
    });
    let outcome = judge(&model, &record);
    assert_eq!(outcome.goodput_recovery.time_s, 0.0);
    assert_eq!(outcome.recovery.time_s, 91.0);
}

/// A run that a limit ended that many seconds after time 0.
fn cut(mut record: RunRecord, seconds: usize) -> RunRecord {
    let windows = 10 + seconds;
    record.series.windows = windows;
    record.series.populations.truncate(windows);
    record.series.services.truncate(windows);
    record.series.backlog.truncate(windows);
    record
}

#[test]
fn a_run_cut_short_is_censored_where_it_ended() {
    let outcome = judged(cut(base().storm(100..400, 0.0, 9), 200));
    assert_eq!(outcome.recovery, Survival { time_s: 75.0, happened: false });
    // Nothing failed so far, but too little was seen to say that nothing would.
    assert_eq!(judged(cut(base(), 124)).class, RunClass::Stuck);
    assert_eq!(judged(cut(base(), 125)).class, RunClass::Unaffected);
    assert_eq!(judged(cut(base(), 5)).class, RunClass::Stuck);
}
