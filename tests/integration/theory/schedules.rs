//! When retries happen: schedules to the nanosecond, and how jitter spreads them.

use stormlab::engine::observe::Cause;
use stormlab::measure::record::RunRecord;

use crate::theory::check;
use crate::theory::deviation;
use crate::theory::mean;
use crate::theory::meter::Meter;
use crate::theory::model;
use crate::theory::observe;
use crate::theory::records;
use crate::theory::size;

/// four attempts of 2 s and waits of 0.5, 1 and 2 s take 11.5 s at worst; a total timeout of
/// 10 s cuts the fourth attempt. Exact.
#[test]
fn r_13_the_time_a_call_may_take() {
    #[track_caller]
    fn check_total(timeout: &str, expected: f64, cause: Cause) {
        let model = model(&format!(
            "
run: {{ horizon: 20s, warm_up: 0s }}
clients: {{ all: {{ arrivals: {{ burst: {{ count: 1, at: 0s }} }}, calls: server, policy: four }} }}
services: {{ server: {{ workers: 10, work: 1h }} }}
policies:
  four:
    attempt_timeout: 2s
    timeout: {timeout}
    retry: {{ max_attempts: 4, backoff: {{ exponential: {{ base: 500ms }} }} }}
"
        ));
        let run = records(&model, 1).remove(0);
        let latency = run.latency_failed.mean().expect("it failed") / 1e9;
        check(&format!("R-13 total under {timeout}"), latency, expected, 0.0);
        assert_eq!(run.verdicts[0].failed[cause as usize], 1);
        assert_eq!(run.series.service(0).map(|window| window.offered()).sum::<u32>(), 4);
    }
    check_total("1h", 11.5, Cause::Attempts);
    check_total("10s", 10.0, Cause::Time);
}

/// full jitter, base 0.1 s, five retries, from the first instant of an outage of 1 s.
/// P(U(0, 0.1) + U(0, 0.2) + … + U(0, 1.6) > 1), by convolution.
/// False alarms: 7 in a million.
#[test]
fn r_31_outliving_an_outage() {
    let model = model(
        "
run: { horizon: 5s, warm_up: 0s, window: 100ms, recovery: { window: 300ms, baseline: 900ms } }
clients: { all: { arrivals: { burst: { count: 10000, at: 1s } }, calls: server, policy: six } }
services: { server: { workers: 1000000, work: 0s } }
triggers: [{ at: 1s, lasts: 1s, service: server, effect: refuse }]
policies:
  six:
    retry: { max_attempts: 6, jitter: full, backoff: { exponential: { base: 100ms, cap: 1h } } }
",
    );
    let runs = observe(&model, size(100), || Meter::new(&model));
    let failing: Vec<_> = runs.iter().map(Meter::failing).collect();
    check("R-31 P(success)", 1.0 - mean(&failing), 0.828_377_3, 0.0018);
}

/// Retries in bins of 100 ms after `count` clients failed together at time 0, run by run.
fn bins(count: u32, jitter: &str, window: &str, runs: u32) -> Vec<Vec<f64>> {
    let model = model(&format!(
        "
run: {{ horizon: 3s, warm_up: 0s, window: 100ms }}
clients:
  all:
    population: {count}
    arrivals: {{ burst: {{ count: {count}, at: 0s }} }}
    calls: server
    policy: twice
services: {{ server: {{ workers: 1000, work: 0s, errors: {{ class: unavailable, share: 100% }} }} }}
policies: {{ twice: {{ retry: {{ max_attempts: 2, jitter: {jitter}, backoff: {window} }} }} }}
"
    ));
    let retries = |record: RunRecord| {
        record.series.service(0).map(|window| window.retries().into()).collect()
    };
    records(&model, runs).into_iter().map(retries).collect()
}

/// a thousand clients under full jitter over 1 s: binomial (1000, 0.1) in each of ten bins.
/// Without jitter all of them at once, exactly.
/// Means to 1 % and deviations to 5 % over 2000 runs are 4.7 and 3.1 standard errors: false alarms
/// 3 in a million and 2 in a thousand per line.
#[test]
fn r_33_full_jitter_spreads_a_crowd() {
    let runs = bins(1000, "full", "1s", size(2000));
    for bin in 0..10 {
        let counts: Vec<_> = runs.iter().map(|run| run[bin]).collect();
        check(&format!("R-33 mean, bin {bin}"), mean(&counts), 100.0, 1.0);
        let expected = 90f64.sqrt();
        check(&format!("R-33 sd, bin {bin}"), deviation(&counts), expected, 0.05 * expected);
    }
    let together = bins(1000, "none", "1s", 1);
    check("R-33 without jitter", together[0][10], 1000.0, 0.0);
    check("R-33 without jitter, all", together[0].iter().sum(), 1000.0, 0.0);
}

/// five hundred clients under equal jitter over 2 s leave the first second empty, exactly,
/// and come at 50 per bin in the second one.
/// 3 % over 200 runs is 3.2 standard errors: false alarms 1.5 in a thousand per line.
#[test]
fn r_34_equal_jitter_leaves_half_the_window_empty() {
    let runs = bins(500, "equal", "2s", size(200));
    check("R-34 first second", runs.iter().flat_map(|run| &run[..10]).sum(), 0.0, 0.0);
    for bin in 10..20 {
        let counts: Vec<_> = runs.iter().map(|run| run[bin]).collect();
        check(&format!("R-34 mean, bin {bin}"), mean(&counts), 50.0, 1.5);
    }
}

/// three layers of four attempts with waits of 1, 2 and 4 s, failures taking no time:
/// T(L) = 4 T(L − 1) + 7 gives 7, 35, 147. In an outage of 19.5 s from birth the eleventh attempt
/// succeeds, at 20 s. Exact.
#[test]
fn r_40_three_layers_nest_their_schedules() {
    #[track_caller]
    fn check_outage(lasts: &str, until: f64, attempts: f64) {
        let model = model(&format!(
            "
run: {{ horizon: 300s, warm_up: 0s, recovery: {{ window: 3s, baseline: 9s }} }}
clients: {{ all: {{ arrivals: {{ burst: {{ count: 1, at: 10s }} }}, calls: first, policy: four }} }}
services:
  first: {{ workers: 1, holds_worker: false, work: 0s, calls: [{{ to: second, policy: four }}] }}
  second: {{ workers: 1, holds_worker: false, work: 0s, calls: [{{ to: third, policy: four }}] }}
  third: {{ workers: 1, work: 0s }}
triggers: [{{ at: 10s, lasts: {lasts}, service: third, effect: refuse }}]
policies:
  four: {{ retry: {{ max_attempts: 4, backoff: {{ exponential: {{ base: 1s }} }} }} }}
"
        ));
        let run = observe(&model, 1, || Meter::new(&model)).remove(0);
        check(&format!("R-40 time, outage {lasts}"), run.latencies.mean(), until, 0.0);
        check(&format!("R-40 attempts, outage {lasts}"), run.amplification(2), attempts, 0.0);
        assert_eq!(run.ok, f64::from(u8::from(lasts == "19.5s")));
    }
    check_outage("290s", 147.0, 64.0);
    check_outage("19.5s", 20.0, 11.0);
}
