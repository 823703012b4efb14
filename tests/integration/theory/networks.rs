//! Closed loops, layers, an endless row of workers, a cold start, and a herd.

use stormlab::engine::observe::EdgeLevel;
use stormlab::engine::observe::Observer;
use stormlab::engine::observe::ServiceLevel;
use stormlab::engine::observe::Verdict;
use stormlab::theory::queues::ClosedLoop;
use stormlab::theory::queues::mean_value_analysis;
use stormlab::units::SimTime;

use crate::theory::check;
use crate::theory::mean;
use crate::theory::model;
use crate::theory::observe;
use crate::theory::size;
use crate::theory::steady;

/// 20 users think for 5 s and share one worker of 0.5 s. Exact mean value analysis:
/// R(n) = D (1 + Q(n − 1)), X = n/(R + Z).
/// False alarms: 7 in a million per line.
#[test]
fn q_18_a_closed_loop() {
    let ClosedLoop { throughput, response_time, utilisation } =
        mean_value_analysis(20, 5.0, &[0.5]);
    let runs = steady(
        throughput,
        "
clients: { all: { population: 20, users: { think: { exponential: 5s } }, calls: server } }
services: { server: { workers: 1, work: { exponential: 500ms } } }
",
    );
    check("Q-18 throughput", runs.mean(|m| m.rate(m.ok)), throughput, 0.0021);
    check("Q-18 response", runs.mean(|m| m.latencies.mean()), response_time, 0.013);
    check("Q-18 busy", runs.mean(|m| m.busy(0)), utilisation[0], 0.0001);
}

/// 10 users think for 2 s before two layers of 0.1 s and 0.15 s, none holding its worker.
/// Mean value analysis. False alarms: 7 in a million per line.
#[test]
fn q_19_a_closed_loop_through_two_layers() {
    let ClosedLoop { throughput, response_time, utilisation } =
        mean_value_analysis(10, 2.0, &[0.1, 0.15]);
    let runs = steady(
        throughput,
        "
clients: { all: { population: 10, users: { think: { exponential: 2s } }, calls: first } }
services:
  first: { workers: 1, holds_worker: false, work: { exponential: 100ms }, calls: [{ to: second }] }
  second: { workers: 1, work: { exponential: 150ms } }
",
    );
    check("Q-19 throughput", runs.mean(|m| m.rate(m.ok)), throughput, 0.0033);
    check("Q-19 response", runs.mean(|m| m.latencies.mean()), response_time, 0.000_69);
    check("Q-19 busy", runs.mean(|m| m.busy(1)), utilisation[1], 0.000_69);
}

/// 30 users think for 3 s before three layers. Mean value analysis.
/// False alarms: 7 in a million per line.
#[test]
fn q_20_a_closed_loop_through_three_layers() {
    let ClosedLoop { throughput, response_time, utilisation } =
        mean_value_analysis(30, 3.0, &[0.08, 0.1, 0.05]);
    let runs = steady(
        throughput,
        "
clients: { all: { population: 30, users: { think: { exponential: 3s } }, calls: first } }
services:
  first: { workers: 1, holds_worker: false, work: { exponential: 80ms }, calls: [{ to: second }] }
  second: { workers: 1, holds_worker: false, work: { exponential: 100ms }, calls: [{ to: third }] }
  third: { workers: 1, work: { exponential: 50ms } }
",
    );
    check("Q-20 throughput", runs.mean(|m| m.rate(m.ok)), throughput, 0.005);
    check("Q-20 response", runs.mean(|m| m.latencies.mean()), response_time, 0.0017);
    check("Q-20 busy", runs.mean(|m| m.busy(1)), utilisation[1], 0.0008);
}

/// an open tandem (Jackson): sojourns are independent exponentials of rates μ − λ = 3, 5, 1.
/// False alarms: 7 in a million per line.
#[test]
fn q_21_three_layers_in_a_row() {
    let runs = steady(
        5.0,
        "
clients: { all: { arrivals: { poisson: 5/s }, calls: first } }
services:
  first: { workers: 1, holds_worker: false, work: { exponential: 125ms }, calls: [{ to: second }] }
  second: { workers: 1, holds_worker: false, work: { exponential: 100ms }, calls: [{ to: third }] }
  third: { workers: 1, work: { exponential: 166666667ns } }
",
    );
    check("Q-21 mean", runs.mean(|m| m.latencies.mean()), 1.0 / 3.0 + 0.2 + 1.0, 0.011);
    let tail = runs.mean(|m| m.latencies.share_above(5.233_759_9));
    check("Q-21 P(> 5.23)", tail, 0.01, 0.0011);
    check("Q-21 L3", runs.mean(|m| m.present(2)), 5.0, 0.051);
}

/// with a worker for everyone the number present is Poisson of mean λ E[S], whatever the law.
/// False alarms: 7 in a million per line.
#[test]
fn q_22_a_worker_for_everyone() {
    let runs = steady(
        50.0,
        "
clients: { all: { arrivals: { poisson: 50/s }, calls: server } }
services: { server: { workers: 1000000, work: { lognormal: { mean: 400ms, cv: 2 } } } }
",
    );
    check("Q-22 in service", runs.mean(|m| m.present(0)), 20.0, 0.054);
}

/// The number present at the end of every window.
#[derive(Default)]
struct Census(Vec<f64>);

impl Observer for Census {
    fn window_ends(&mut self, _now: SimTime, services: &[ServiceLevel], _edges: &[EdgeLevel]) {
        self.0.push(services[0].present.into());
    }
}

/// the number present in M/M/1 from an empty start, by uniformisation.
/// False alarms: 7 in a million per line.
#[test]
fn q_23_a_start_from_empty() {
    let model = model(
        "
run: { horizon: 80s, warm_up: 0s, window: 5s }
clients: { all: { arrivals: { poisson: 0.8/s }, calls: server } }
services: { server: { workers: 1, work: { exponential: 1s } } }
",
    );
    let runs = observe(&model, size(20_000), Census::default);
    let present = |window: usize| mean(&runs.iter().map(|run| run.0[window]).collect::<Vec<_>>());
    check("Q-23 E[N(5)]", present(0), 1.469_461, 0.051);
    check("Q-23 E[N(20)]", present(3), 2.647_635, 0.087);
    check("Q-23 E[N(80)]", present(15), 3.691_259, 0.13);
}

/// When requests ended, in seconds.
#[derive(Default)]
struct Ends(Vec<f64>);

impl Observer for Ends {
    fn ended(&mut self, now: SimTime, _population: usize, _born_at: SimTime, _verdict: Verdict) {
        self.0.push(now.as_secs_f64());
    }
}

/// 200 requests at once on 8 workers of 100 ms. The last is done after
/// ((n − c)/c + H(c)) · 100 ms on average; with constant work after 25 rounds, exactly.
/// False alarms: 7 in a million per line; none for the exact one.
#[test]
fn q_26_a_herd() {
    let herd = |work: &str, runs| {
        let model = model(&format!(
            "
run: {{ horizon: 20s, warm_up: 0s }}
clients: {{ all: {{ arrivals: {{ burst: {{ count: 200, at: 0s }} }}, calls: server }} }}
services: {{ server: {{ workers: 8, work: {work} }} }}
"
        ));
        let runs = observe(&model, runs, Ends::default);
        assert!(runs.iter().all(|run| run.0.len() == 200));
        runs
    };
    let runs = herd("{ exponential: 100ms }", size(400));
    let last: Vec<_> = runs.iter().map(|run| run.0[199]).collect();
    check("Q-26 last done", mean(&last), 2.671_786, 0.049);
    let means: Vec<_> = runs.iter().map(|run| mean(&run.0)).collect();
    check("Q-26 mean", mean(&means), 1.258, 0.024);
    check("Q-26 last done, constant", herd("100ms", 1)[0].0[199], 2.5, 0.0);
}
