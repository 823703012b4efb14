//! The runner on records written by hand: order, sharing, interruption, errors, limits.

use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use crate::measure::fixture;
use crate::measure::fixture::calm;
use crate::measure::fixture::model;
use crate::measure::outcome::RunClass;
use crate::measure::record::LimitKind;
use crate::units::Duration;
use crate::units::SimTime;

use super::*;

/// The base; `mild` with another trigger on the same system; `other` with another system; `calm`
/// without a trigger.
fn scenario() -> Scenario {
    let changed = |change: &dyn Fn(&mut Model)| {
        let mut model = model();
        change(&mut model);
        model
    };
    let later = |model: &mut Model| model.triggers[0].at = Duration::from_secs(200);
    fixture::scenario(vec![
        ("base", model()),
        ("mild", changed(&later)),
        ("other", changed(&|model| model.services[0].workers = 2)),
        ("calm", changed(&|model| model.triggers.clear())),
    ])
}

/// A storm in which every third replication stays down, and latencies that tell them apart.
fn synthetic(
    model: &Model,
    _: u64,
    replication: u32,
    _: &AtomicBool,
) -> Result<RunRecord, RunError> {
    let mut record = calm(model, replication);
    if let Some((began, _)) = model.trigger_span() {
        let began = began.as_secs_f64() as usize;
        let lasts = if replication.is_multiple_of(3) { 400 } else { 20 + replication as usize };
        record = record.storm(began..began + lasts, 0.1 * f64::from(replication % 7), 9);
    }
    for nanos in 1..=100_u64 {
        record.latency_ok.record(nanos * 1_000 * u64::from(replication + 1));
    }
    Ok(record)
}

fn plan(variants: &[usize], threads: usize) -> Plan {
    Plan { variants: variants.to_vec(), threads: Some(threads), ..Plan::default() }
}

fn go(plan: &Plan, simulate: &Simulate<'_>) -> Result<Experiment, ExperimentError> {
    run_with(&scenario(), plan, &Silent, &AtomicBool::new(false), simulate)
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let one = go(&plan(&[0, 1, 2, 3], 1), &synthetic).unwrap();
    for threads in [2, 3, 8] {
        // Later replications finish first.
        let uneven = |model: &Model, seed, replication, stop: &AtomicBool| {
            let mut spin = u64::from(20 - replication) * 20_000;
            while std::hint::black_box(spin) > 0 {
                spin -= 1;
            }
            synthetic(model, seed, replication, stop)
        };
        assert_eq!(go(&plan(&[0, 1, 2, 3], threads), &uneven).unwrap(), one);
    }
    let numbers: Vec<_> = one.results[0].runs.iter().map(|run| run.replication).collect();
    assert_eq!(numbers, (0..20).collect::<Vec<_>>());
    assert_eq!(one.results[0].example.replication, 0);
    assert_eq!(one.results[0].latency_ok.count(), 2_000);
    let stuck = one.results[0].runs.iter().filter(|run| run.class == RunClass::Stuck);
    assert_eq!(stuck.count(), 7);
    assert!(!one.interrupted);
}

/// Counts runs and hears what is planned.
#[derive(Default)]
struct Ears {
    planned: AtomicU64,
    finished: AtomicU64,
    names: Mutex<Vec<String>>,
}

impl Progress for Ears {
    fn planned(&self, runs: u64) {
        self.planned.store(runs, Ordering::Relaxed);
    }
    fn finished(&self, _events: u64) {
        self.finished.fetch_add(1, Ordering::Relaxed);
    }
    fn variant(&self, name: &str) {
        self.names.lock().unwrap().push(name.into());
    }
}

#[test]
fn variants_that_differ_in_triggers_share_a_control_twin() {
    let ears = Ears::default();
    let plan = plan(&[0, 1, 2, 3], 2);
    let stop = AtomicBool::new(false);
    let experiment = run_with(&scenario(), &plan, &ears, &stop, &synthetic).unwrap();
    // Four variants and two twins, twenty runs each; `calm` is its own control.
    assert_eq!(ears.planned.into_inner(), 120);
    assert_eq!(ears.finished.into_inner(), 120);
    assert_eq!(ears.names.into_inner().unwrap(), ["base", "mild", "other", "calm"]);
    let controls: Vec<_> = experiment.results.iter().map(|result| result.controls.len()).collect();
    assert_eq!(controls, [20, 20, 20, 0]);
    assert!(experiment.results[1].controls.iter().all(|control| control.healthy));
}

#[test]
fn an_interrupted_experiment_keeps_the_replications_that_finished() {
    let stop = AtomicBool::new(false);
    let stops = |model: &Model, seed, replication, stop: &AtomicBool| {
        if replication == 5 && !model.triggers.is_empty() {
            stop.store(true, Ordering::Relaxed);
            return Err(RunError::Interrupted);
        }
        synthetic(model, seed, replication, stop)
    };
    let interrupted = run_with(&scenario(), &plan(&[0, 1], 1), &Silent, &stop, &stops).unwrap();
    assert!(interrupted.interrupted);
    assert_eq!(interrupted.results.len(), 1);
    let kept = &interrupted.results[0];
    assert_eq!((kept.runs.len(), kept.controls.len(), kept.planned), (5, 5, 20));
    // What is kept is what five replications would have given: nothing of the unfinished one.
    let five = Plan { replications: Some(5), ..plan(&[0], 1) };
    let whole = &go(&five, &synthetic).unwrap().results[0];
    assert_eq!(kept.runs, whole.runs);
    assert_eq!(kept.latency_ok, whole.latency_ok);
    assert_eq!(kept.band, whole.band);
}

#[test]
fn the_example_is_the_first_replication_that_finished() {
    let stop = AtomicBool::new(false);
    let stops = |model: &Model, seed, replication, stop: &AtomicBool| match replication {
        0 => Err(RunError::Interrupted),
        _ => synthetic(model, seed, replication, stop),
    };
    let experiment = run_with(&scenario(), &plan(&[0], 2), &Silent, &stop, &stops).unwrap();
    assert_eq!(experiment.results[0].example.replication, 1);
    assert_eq!(experiment.results[0].runs.len(), 19);
    assert!(experiment.interrupted);
}

#[test]
fn nothing_finished_leaves_nothing() {
    let stop = AtomicBool::new(true);
    let experiment = run_with(&scenario(), &plan(&[0, 1], 2), &Silent, &stop, &synthetic).unwrap();
    assert!(experiment.results.is_empty() && experiment.interrupted);
}

#[test]
fn a_broken_invariant_names_the_run() {
    let breaks = |model: &Model, seed, replication, stop: &AtomicBool| match replication {
        7 if model.triggers.is_empty() => Err(RunError::Invariant("born = 3, ended = 4".into())),
        _ => synthetic(model, seed, replication, stop),
    };
    let error = go(&Plan { seed: Some(42), ..plan(&[0], 1) }, &breaks).unwrap_err();
    assert_eq!(
        error.to_string(),
        "invariant broken in variant `base` (its control run), seed 42, replication 7: \
         born = 3, ended = 4"
    );
}

#[test]
fn a_run_that_a_limit_ended_is_kept_and_named() {
    let at = SimTime::from_nanos(5);
    let explodes = |model: &Model, seed, replication, stop: &AtomicBool| {
        let mut record = synthetic(model, seed, replication, stop)?;
        if replication == 3 && !model.triggers.is_empty() {
            record.ending = Ending::Limit { limit: LimitKind::InFlight, at };
        }
        Ok(record)
    };
    let experiment = go(&plan(&[2], 2), &explodes).unwrap();
    let hit =
        LimitHit { variant: 2, replication: 3, control: false, limit: LimitKind::InFlight, at };
    assert_eq!(experiment.limits_hit, [hit]);
    assert_eq!(experiment.results[0].runs.len(), 20);
}

#[test]
fn every_variant_runs_under_the_seed_of_the_base_unless_told() {
    let seeds = Mutex::new(Vec::new());
    let notes = |model: &Model, seed, replication, stop: &AtomicBool| {
        seeds.lock().unwrap().push(seed);
        synthetic(model, seed, replication, stop)
    };
    assert_eq!(go(&plan(&[0, 3], 1), &notes).unwrap().seed, 7);
    assert_eq!(go(&Plan { seed: Some(9), ..plan(&[3], 1) }, &notes).unwrap().seed, 9);
    let mut seeds = seeds.into_inner().unwrap();
    seeds.dedup();
    assert_eq!(seeds, [7, 9]);
}
