//! The engine against closed forms, published results and exact schedules: the oracles.
//!
//! Each test is named after its oracle, drives the engine by a scenario text, and compares what
//! an observer counted with what theory says. Tolerances are about 4.5 standard errors of the full
//! version, so a correct engine fails a line about 7 times in a million; since seeds are fixed, a
//! failure here is a bug until shown otherwise. A seed is never changed to make a line pass.
//!
//! - Every `cargo test` runs the quick version: ten times fewer requests (or runs), tolerances
//!   √10 times as wide, exact lines as exact as ever.
//! - `STORMLAB_ORACLES=full cargo test --test integration theory::` runs the full version: where an
//!   oracle does not say otherwise, 20 replications of 1,000,000 requests each after a warm-up of
//!   50,000. Add `-- --nocapture --test-threads 1` to see every line; `theory/README.md` keeps them.
//!
//! Source: Erlang 1917; Pollaczek 1930, Khinchine 1932; Jackson 1957; Reiser and Lavenberg 1980;
//! Falin and Templeton 1997 (retrial queues); Huang et al. 2022 (the published storm).

mod breakers;
mod hedging;
mod meter;
mod networks;
mod orbits;
mod queues;
mod rescues;
mod retries;
mod schedules;
mod statistics;
mod storms;
mod throttles;

use std::sync::atomic::AtomicBool;

use rayon::prelude::*;
use stormlab::engine;
use stormlab::engine::observe::Ending;
use stormlab::engine::observe::Observer;
use stormlab::measure::record::RunRecord;
use stormlab::measure::simulate;
use stormlab::scenario;
use stormlab::scenario::model::Model;
use stormlab::stats::interval;

use meter::Meter;

/// The seed of every oracle, fixed before the first run.
const SEED: u64 = 1;
/// Replications of a steady state.
const REPLICATIONS: u32 = 20;
/// Windows of a steady state, and of the warm-up before it.
const WINDOWS: u64 = 1_000;
const WARM_UP_WINDOWS: u64 = 50;

/// Is this the full version?
fn full() -> bool {
    std::env::var("STORMLAB_ORACLES").is_ok_and(|version| version == "full")
}

/// So many in the full version, a tenth of it in the quick one.
fn size(full_size: u32) -> u32 {
    if full() { full_size } else { full_size / 10 }
}

/// Holds a line: `estimate` is within `tolerance` of `expected`, or, at a tolerance of zero, equal
/// to it.
#[track_caller]
fn check(line: &str, estimate: f64, expected: f64, tolerance: f64) {
    let slack = if full() { 1.0 } else { 10f64.sqrt() };
    let allowed = tolerance * slack + 1e-9 * expected.abs();
    println!("{line}: {estimate:.7} for {expected} ± {:.2e}", tolerance * slack);
    let off = (estimate - expected).abs();
    assert!(
        off <= allowed,
        "{line}: {estimate} is {off:.2e} off {expected}, allowed {allowed:.2e}"
    );
}

/// Holds a line that states a range.
#[track_caller]
fn check_within(line: &str, estimate: f64, low: f64, high: f64) {
    println!("{line}: {estimate:.7} within {low} to {high}");
    assert!((low..=high).contains(&estimate), "{line}: {estimate} is not within {low} to {high}");
}

/// The models of a scenario text without its head: the base, then the variants.
#[track_caller]
fn models(body: &str) -> Vec<Model> {
    let text = format!("schema: 1\nname: oracle\n{body}");
    let scenario = match scenario::parse("oracle.yaml", text.as_bytes()) {
        Ok(scenario) => scenario,
        Err(problems) => panic!("{}", problems.iter().map(ToString::to_string).collect::<String>()),
    };
    scenario.variants.into_iter().map(|variant| variant.model).collect()
}

/// The only model of a scenario text.
#[track_caller]
fn model(body: &str) -> Model {
    models(body).remove(0)
}

/// What observers heard of the first `runs` replications, in their order.
fn observe<O: Observer + Send>(model: &Model, runs: u32, new: impl Fn() -> O + Sync) -> Vec<O> {
    let one = |replication| {
        let mut observer = new();
        let stop = AtomicBool::new(false);
        let report = engine::observe(model, SEED, replication, &stop, &mut observer);
        assert_eq!(report.expect("every invariant holds").ending, Ending::Complete);
        observer
    };
    (0..runs).into_par_iter().map(one).collect()
}

/// The records of the first `runs` replications, in their order.
fn records(model: &Model, runs: u32) -> Vec<RunRecord> {
    let one = |replication| {
        let record = simulate(model, SEED, replication, &AtomicBool::new(false));
        let record = record.expect("every invariant holds");
        assert_eq!(record.ending, Ending::Complete);
        record
    };
    (0..runs).into_par_iter().map(one).collect()
}

/// Replications of one system in its steady state.
struct Steady(Vec<Meter>);

/// Runs a system to which requests come at `rate` per second, long enough for `requests` of them
/// in each replication (in the full version).
#[track_caller]
fn steady_for(requests: u32, rate: f64, system: &str) -> Steady {
    let window = f64::from(size(requests)) / rate / WINDOWS as f64;
    let window = (window * 1e9) as u64;
    let (horizon, warm_up) = (WINDOWS * window, WARM_UP_WINDOWS * window);
    let model = model(&format!(
        "run: {{ horizon: {horizon}ns, warm_up: {warm_up}ns, window: {window}ns }}\n{system}"
    ));
    Steady(observe(&model, REPLICATIONS, || Meter::new(&model)))
}

/// As `steady_for`, with the million requests of most oracles.
#[track_caller]
fn steady(rate: f64, system: &str) -> Steady {
    steady_for(1_000_000, rate, system)
}

impl Steady {
    /// The mean over replications.
    fn mean(&self, of: impl Fn(&Meter) -> f64) -> f64 {
        mean(&self.0.iter().map(of).collect::<Vec<_>>())
    }
}

fn mean(values: &[f64]) -> f64 {
    interval::mean(values).expect("there are values")
}

fn deviation(values: &[f64]) -> f64 {
    interval::variance(values).expect("there are two values").sqrt()
}

/// The share of `items` of which something holds.
fn share<T>(items: &[T], holds: impl Fn(&T) -> bool) -> f64 {
    items.iter().filter(|item| holds(item)).count() as f64 / items.len() as f64
}
