//! What the engine costs: events per second of CPU time, and how that holds with scale.
//!
//! `cargo bench --profile dist --bench engine` prints every figure; the ratios, measured side by
//! side in one run, say more than the absolute numbers, which change with the machine and with its
//! neighbours. With the words `w2 20` after `--` it prints one line about W2 instead, for
//! comparisons with other simulators. Without `--bench`, as under `cargo test --all-targets`,
//! everything runs once and small. Linux only, since CPU time and memory are read from `/proc`.

mod clock;
mod works;

use std::process::Command;
use std::sync::atomic::AtomicBool;

use stormlab::engine;
use stormlab::engine::RunReport;
use stormlab::engine::observe::Observer;
use stormlab::engine::observe::Unobserved;
use stormlab::engine::observe::Verdict;
use stormlab::experiment;
use stormlab::experiment::Plan;
use stormlab::experiment::Silent;
use stormlab::measure;
use stormlab::scenario::model::Model;
use stormlab::scenario::model::Scenario;
use stormlab::units::Duration;
use stormlab::units::SimTime;

static GO_ON: AtomicBool = AtomicBool::new(false);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["memory", what, count] => memory_of_child(what, count.parse().expect("a number")),
        ["w2", runs, ..] => one_line_about_w2(runs.parse().expect("a number of runs")),
        words if !clock::is_there() => println!("no /proc here: nothing is measured {words:?}"),
        words => everything(words.contains(&"--bench")),
    }
}

/// How much of everything is done.
struct Size {
    rounds: usize,
    runs: u32,
    users: [u64; 3],
    user_seconds: u64,
    crowd: u64,
}

const FULL: Size = Size {
    rounds: 5,
    runs: 40,
    users: [10_000, 100_000, 1_000_000],
    user_seconds: 10_000_000,
    crowd: 1_000_000,
};
const QUICK: Size =
    Size { rounds: 1, runs: 1, users: [100, 200, 400], user_seconds: 8_000, crowd: 1_000 };

fn everything(full: bool) {
    let size = if full { FULL } else { QUICK };
    if !full {
        println!("everything once and small: without `--bench` these figures mean nothing");
    }
    let w2 = works::shipped("validation/w2.yaml").expect("it is shipped");
    let model = &w2.variants[0].model;
    let counted = canonical(model, 0);
    println!("W2: {} events in 180 s of simulated time, {counted:?}", counted.events());
    let alone = median(size.rounds, || per_run(size.runs, |i| bare(model, i)));
    let recorded = median(size.rounds, || per_run(size.runs, |i| with_record(model, i)));
    let events = (0..size.runs).map(|i| canonical(model, i).events()).sum::<u64>() as f64
        / f64::from(size.runs);
    row("W2, canonical events per CPU second, million", events / alone * 1e3);
    row("W2, the same with everything measured", events / recorded * 1e3);
    row("measuring: CPU time over that of the bare run", recorded / alone);
    println!("W2, fingerprint of replication 0: {:016x}", bare(model, 0).fingerprint);

    if let Some(headline) = works::shipped("storms/failover-20s.yaml") {
        let model = &headline.variants[0].model;
        let live = bare(model, 0);
        let cost = median(size.rounds, || per_run(size.runs.div_ceil(8), |i| bare(model, i)));
        row("failover-20s, live events per CPU second, million", live.events as f64 / cost * 1e3);
    }
    scale(&size);
    herd(&size);
    bytes(&size);
    threads(&size, &w2);
}

/// What an event costs among ever more users.
fn scale(size: &Size) {
    let models = size.users.map(|users| works::layers(users, size.user_seconds));
    let mut costs = vec![Vec::new(); models.len()];
    for _ in 0..size.rounds.div_ceil(2) {
        for (model, costs) in models.iter().zip(&mut costs) {
            let (report, ns) = timed(|| bare(model, 0));
            costs.push(ns / report.events as f64);
        }
    }
    let costs: Vec<f64> = costs.into_iter().map(middle).collect();
    for (users, cost) in size.users.iter().zip(&costs) {
        row(&format!("three healthy layers, {users} users, ns per event"), *cost);
    }
    row("cost of an event, most users over fewest", costs[2] / costs[0]);
}

/// What an event costs when all happen at once.
fn herd(size: &Size) {
    let (together, spread) = (works::crowd(size.crowd, true), works::crowd(size.crowd, false));
    let mut costs = [Vec::new(), Vec::new()];
    for _ in 0..size.rounds {
        for (model, costs) in [&together, &spread].into_iter().zip(&mut costs) {
            let (report, ns) = timed(|| bare(model, 0));
            costs.push(ns / report.events as f64);
        }
    }
    let [together, spread] = costs.map(middle);
    row(&format!("{} requests at one instant, ns per event", size.crowd), together);
    row("the same spread over a second, ns per event", spread);
    row("cost of an event, at one instant over spread", together / spread);
}

/// Memory, each figure from processes of its own: peaks do not go back.
fn bytes(size: &Size) {
    for (what, name) in [
        ("idle", "idle user"),
        ("spread", "request in flight, its call, attempt, timer and work too"),
        ("together", "the same, when all is to end at one instant"),
    ] {
        let few = peak_of_child(what, size.crowd / 100);
        let many = peak_of_child(what, size.crowd);
        let each = many.saturating_sub(few) as f64 / (size.crowd - size.crowd / 100) as f64;
        row(&format!("bytes per {name}"), each);
    }
}

fn peak_of_child(what: &str, count: u64) -> u64 {
    let program = std::env::current_exe().expect("this program");
    let output = Command::new(program)
        .args(["memory", what, &count.to_string()])
        .output()
        .expect("this program runs");
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().expect("the child says how many bytes")
}

fn memory_of_child(what: &str, count: u64) {
    let model = match what {
        "idle" => works::idle(count),
        _ => works::crowd(count, what == "together"),
    };
    bare(&model, 0);
    println!("{}", clock::peak_bytes());
}

/// What it costs to share the work between two threads.
fn threads(size: &Size, scenario: &Scenario) {
    let cost = |threads| {
        let plan = Plan {
            replications: Some(size.runs.max(2)),
            threads: Some(threads),
            ..Plan::everything(scenario)
        };
        let before = clock::process_ns();
        experiment::run(scenario, &plan, &Silent, &GO_ON).expect("no invariant breaks");
        // A tick at least, so that a ratio is a number.
        (clock::process_ns() - before).max(10_000_000) as f64
    };
    let ratios = (0..size.rounds).map(|_| cost(2) / cost(1)).collect();
    row("W2, CPU time on two threads over one, the same replications", middle(ratios));
}

/// The line that comparisons read: canonical events, CPU seconds, checksum.
fn one_line_about_w2(runs: u32) {
    let scenario = works::shipped("validation/w2.yaml").expect("it is shipped");
    let model = &scenario.variants[0].model;
    let counts: Vec<_> = (0..runs).map(|i| canonical(model, i)).collect();
    let events: u64 = counts.iter().map(Canonical::events).sum();
    let ok: u64 = counts.iter().map(|count| count.ok).sum();
    let (_, ns) = timed(|| (0..runs).for_each(|i| drop(bare(model, i))));
    println!(
        "{{\"peer\": \"stormlab\", \"events\": {events}, \"ok\": {ok}, \"cpu_s\": {:.6}, \
         \"peak_bytes\": {}, \"fingerprint\": \"{:016x}\"}}",
        ns / 1e9,
        clock::peak_bytes(),
        bare(model, 0).fingerprint
    );
}

/// Canonical events of W2: what every simulator has to do, however it does it.
#[derive(Debug, Default)]
struct Canonical {
    requests: u64,
    completions: u64,
    timeouts: u64,
    retries: u64,
    ok: u64,
}

impl Canonical {
    fn events(&self) -> u64 {
        self.requests + self.completions + self.timeouts + self.retries
    }
}

impl Observer for Canonical {
    fn born(&mut self, _: SimTime, _: usize, _: bool) {
        self.requests += 1;
    }
    fn worked(&mut self, _: SimTime, _: usize, _: Duration, _: bool) {
        self.completions += 1;
    }
    fn timed_out(&mut self, _: SimTime, _: usize) {
        self.timeouts += 1;
    }
    fn backs_off(&mut self, _: SimTime, _: usize, _: Duration) {
        self.retries += 1;
    }
    fn ended(&mut self, _: SimTime, _: usize, _: SimTime, verdict: Verdict) {
        self.ok += u64::from(verdict == Verdict::Ok);
    }
}

fn canonical(model: &Model, replication: u32) -> Canonical {
    let mut counts = Canonical::default();
    engine::observe(model, 1, replication, &GO_ON, &mut counts).expect("no invariant breaks");
    counts
}

fn bare(model: &Model, replication: u32) -> RunReport {
    engine::observe(model, 1, replication, &GO_ON, &mut Unobserved).expect("no invariant breaks")
}

fn with_record(model: &Model, replication: u32) {
    measure::simulate(model, 1, replication, &GO_ON).expect("no invariant breaks");
}

/// CPU nanoseconds of one run, over replications that differ.
fn per_run<T>(runs: u32, mut run: impl FnMut(u32) -> T) -> f64 {
    timed(|| (0..runs).for_each(|i| drop(run(i)))).1 / f64::from(runs)
}

/// A result and its CPU nanoseconds.
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let before = clock::thread_ns();
    let result = work();
    (result, clock::thread_ns().saturating_sub(before).max(1) as f64)
}

fn median(rounds: usize, mut cost: impl FnMut() -> f64) -> f64 {
    middle((0..rounds).map(|_| cost()).collect())
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn row(what: &str, value: f64) {
    println!("{what:<72} {value:>10.3}");
}
