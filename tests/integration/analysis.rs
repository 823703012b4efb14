//! From records to findings, through the public functions, on records written by hand.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

use stormlab::analysis::summarise;
use stormlab::analysis::summary::Finding;
use stormlab::check::Decision;
use stormlab::check::Exit;
use stormlab::check::check;
use stormlab::engine::RunError;
use stormlab::experiment::Plan;
use stormlab::experiment::Silent;
use stormlab::experiment::replicate::run_with;
use stormlab::measure::deferred::DeferredCounts;
use stormlab::measure::record::Ending;
use stormlab::measure::record::PopulationWindow;
use stormlab::measure::record::RunRecord;
use stormlab::measure::record::Series;
use stormlab::measure::record::ServiceWindow;
use stormlab::measure::record::Verdicts;
use stormlab::scenario::model::*;
use stormlab::stats::histogram::Histogram;
use stormlab::units::Duration;

/// Windows of 100 ms with so many births that counting noise plays no part.
const BORN: u32 = 100_000;

/// Down from 5 s to 6 s; a recovery within 30 s can be seen (horizon 36.3 s, hold 0.3 s).
const TEXT: &str = "
schema: 1
name: fixed-trace
run:
  horizon: 36300ms
  warm_up: 0s
  window: 100ms
  replications: 10
  recovery: { window: 300ms, hold: 900ms, baseline: 5s }
clients: { web: { arrivals: { poisson: 1000000/s }, calls: shop, policy: once } }
services: { shop: { workers: 10000, work: { constant: 1ms } } }
policies: { once: { attempt_timeout: 50ms } }
triggers: [{ at: 5s, lasts: 1s, service: shop, effect: refuse }]
";

fn scenario() -> Scenario {
    let mut scenario = stormlab::scenario::parse("fixed-trace", TEXT.as_bytes())
        .unwrap_or_else(|problems| panic!("{}", problems[0]));
    // The oracle judges single windows; the language asks for three of them.
    let recovery = &mut scenario.variants[0].model.run.recovery;
    recovery.window = Duration::from_millis(100);
    recovery.hold = Duration::from_millis(300);
    scenario
}

/// A run that is down from 5 s until `back` tenths of a second after the trigger's end.
fn record(model: &Model, replication: u32, back: Option<usize>) -> RunRecord {
    let windows = 363;
    let down = match back {
        _ if model.triggers.is_empty() => 0..0,
        Some(tenths) => 50..60 + tenths,
        None => 50..windows,
    };
    let window = |index: usize| {
        let ok = if down.contains(&index) { 0 } else { BORN };
        PopulationWindow { born: BORN, ok, born_ok: ok, born_lost: BORN - ok, ..Default::default() }
    };
    let born = u64::from(BORN) * windows as u64;
    RunRecord {
        replication,
        ending: Ending::Complete,
        events: born,
        fingerprint: u64::from(replication),
        peak_attempts: 1,
        verdicts: vec![Verdicts { born, ok: born, ..Verdicts::default() }],
        deferred: vec![DeferredCounts::default(); model.services.len()],
        series: Series {
            window: model.run.window,
            warm_up_windows: 0,
            windows,
            populations: (0..windows).map(window).collect(),
            services: vec![ServiceWindow { first: BORN, ..ServiceWindow::default() }; windows],
            edges: Vec::new(),
            queues: Vec::new(),
            backlog: vec![0; windows],
        },
        latency_ok: Histogram::default(),
        latency_failed: Histogram::default(),
        latencies: Vec::new(),
        jobs: Vec::new(),
    }
}

/// Oracle T-3 in tenths of a second: seven runs recover, three never do.
const BACK: [Option<usize>; 10] =
    [Some(12), None, Some(15), Some(19), Some(22), None, Some(24), Some(30), Some(40), None];

fn oracle(model: &Model, _: u64, replication: u32, _: &AtomicBool) -> Result<RunRecord, RunError> {
    Ok(record(model, replication, BACK[replication as usize]))
}

/// Dropping the stuck runs would say 2.314 s; the truth is 10.62 s, and three in ten never.
#[test]
fn runs_that_never_recover_are_in_the_recovery_time() {
    let (scenario, never) = (scenario(), AtomicBool::new(false));
    let plan = Plan::everything(&scenario);
    let runs = run_with(&scenario, &plan, &Silent, &never, &oracle).unwrap();
    let summary = summarise(&scenario, &runs);
    let base = summary.variant("base").unwrap();
    assert_eq!(base.stuck_share.estimate, Some(0.3));
    let found = base.recovery_time_s;
    assert_eq!(found.tau, Some(30.0));
    assert_eq!(found.restricted_mean.estimate, Some(10.62));
    assert!((found.restricted_mean.high.unwrap() - (10.62 + 1.959_964 * 4.018_776)).abs() < 1e-3);
    assert_eq!(found.median.estimate, Some(2.4));
    assert_eq!(found.p95.estimate, None); // Not reached.
    assert_eq!(base.finding, Finding::Vulnerable);
    let text = serde_json::to_string(&summary).unwrap();
    assert!(!text.contains("2.314"), "the mean of the runs that did recover is not a result");
}

#[test]
fn the_bytes_do_not_depend_on_the_number_of_threads() {
    let (scenario, never) = (scenario(), AtomicBool::new(false));
    let bytes = |threads| {
        let plan = Plan { threads: Some(threads), ..Plan::everything(&scenario) };
        let runs = run_with(&scenario, &plan, &Silent, &never, &oracle).unwrap();
        serde_json::to_vec(&summarise(&scenario, &runs)).unwrap()
    };
    let one = bytes(1);
    for threads in [2, 3, 8] {
        assert!(bytes(threads) == one, "{threads} threads tell something else");
    }
}

#[test]
fn an_interrupted_experiment_says_so_and_counts_what_finished() {
    let (scenario, stop) = (scenario(), AtomicBool::new(false));
    let stops = |model: &Model, seed, replication, stop: &AtomicBool| {
        if replication == 4 {
            stop.store(true, Ordering::Relaxed);
            return Err(RunError::Interrupted);
        }
        oracle(model, seed, replication, stop)
    };
    let plan = Plan { threads: Some(1), ..Plan::everything(&scenario) };
    let runs = run_with(&scenario, &plan, &Silent, &stop, &stops).unwrap();
    assert!(runs.interrupted);
    let summary = summarise(&scenario, &runs);
    assert!(!summary.complete);
    let base = summary.variant("base").unwrap();
    assert_eq!(base.replications, 4);
    assert_eq!(base.stuck_share.estimate, Some(0.25));
    assert!(base.marks.iter().any(|mark| mark == "interrupted: 4 of 10 replications finished"));
}

#[test]
fn an_expectation_is_judged_by_its_interval() {
    let (mut scenario, never) = (scenario(), AtomicBool::new(false));
    let expectation = |line, comparison| Expectation {
        variant: 0,
        measure: ExpectedMeasure::StuckShare,
        comparison,
        line,
        text: format!("line {line}"),
    };
    scenario.expect = vec![
        expectation(1, Comparison::AtMost(0.7)),
        expectation(2, Comparison::AtMost(0.3)),
        expectation(3, Comparison::AtMost(0.1)),
    ];
    let plan = Plan::everything(&scenario);
    let runs = run_with(&scenario, &plan, &Silent, &never, &oracle).unwrap();
    let judged = check(&scenario, &summarise(&scenario, &runs), &runs);
    let decisions: Vec<_> = judged.iter().map(|judgement| judgement.decision).collect();
    // Wilson: 3 of 10 lies between 10.8 % and 60.3 %.
    assert_eq!(decisions, [Decision::Pass, Decision::Undecided, Decision::Fail]);
    assert_eq!(Exit::of(&judged).code(), 1);
}
