//! ChokaQ: executions, waits and waves of retries (K1, K2, K7, K8, K9, K11, K12, K15, K16,
//! K22).

use stormlab::policy::backoff::Past;
use stormlab::units::Draw;

use super::*;

/// Every failure is retried alike, three times, as in the prose; the jitter is to be put in.
fn uniform(jitter: &str) -> String {
    format!(
        "{{ retry: {{ max_attempts: 4, backoff: {{ exponential: {{ base: 3s, factor: 2, cap: 1h }} }},
           jitter: {jitter}, on: [transient, permanent, ambiguous] }} }}"
    )
}

const ADDED: &str = "{ added: { most: 1s, clipped: true } }";

#[test]
fn k1_a_poisoned_job_retried_alike_costs_21_s_and_three_executions() {
    let told = run(&system(&uniform("none"), &burst(1), &failing("fatal")), 1);
    assert_eq!(told.reached, [0.0, 3.0, 9.0, 21.0]);
    assert_eq!(told.ends, [(0.0, 21.0, false)]);
    let told = run(&system(&uniform(ADDED), &burst(5_000), &failing("fatal")), 1);
    assert_eq!(told.reached.len(), 4 * 5_000);
    let ends: Vec<_> = told.ends.iter().map(|it| it.1).collect();
    assert!(ends.iter().all(|end| (21.0..24.0).contains(end)));
    // Three seconds of jitter with a deviation of 0.5 s: 0.03 are four standard errors.
    near("mean", mean(&ends), 22.5, 0.03);
}

/// A breaker would refuse what comes after the first: one job at a time.
#[test]
fn k2_a_fatal_failure_is_executed_once() {
    for preset in ["chokaq-documentation", "chokaq-mended", "chokaq"] {
        let policy = format!("{{ preset: {preset} }}");
        let told = run(&system(&policy, &burst(1), &failing("fatal")), 1);
        assert_eq!(told.reached, [0.0], "{preset}: a quarter of four executions");
        assert_eq!(told.ends, [(0.0, 0.0, false)], "{preset}");
        let told = run(&system(&policy, &burst(1), &failing("internal")), 1);
        assert_eq!(told.reached.len(), if preset == "chokaq" { 3 } else { 4 }, "{preset}");
    }
}

#[test]
fn k7_k9_the_cap_is_a_true_maximum_and_clips_the_jitter() {
    let backoff = backoff("{ preset: chokaq-documentation }");
    for retry in 1..=40 {
        let (low, high) = bounds(&backoff, retry);
        let capped = (3.0 * 2f64.powi(retry as i32 - 1)).min(3_600.0);
        is("from", low, capped);
        assert!(high <= 3_600.0 && high <= capped + 1.0, "retry {retry}: {high}");
        for u in [0.0, 0.123_456_7, 0.5, 0.999_999] {
            let wait = backoff.wait(retry, &mut Past::new(), Draw::new(u).expect("a draw"));
            let nanos = wait.as_nanos();
            assert!(nanos.is_multiple_of(1_000_000), "whole milliseconds: {wait}");
            let expected = capped + u * 1f64.min(3_600.0 - capped);
            near("wait", wait.as_secs_f64(), expected, 0.001_001);
            assert!(wait.as_secs_f64() <= expected + 1e-9, "cut, not rounded");
        }
    }
    is("the last that grows", bounds(&backoff, 11).0, 3_072.0);
    assert!(bounds(&backoff, 11).1 > 3_072.9);
    for retry in [12, 13, 40] {
        assert_eq!(bounds(&backoff, retry), (3_600.0, 3_600.0), "no further spread");
    }
}

#[test]
fn k8_the_table_of_waits() {
    let backoff = backoff(&uniform(ADDED));
    let table = [(3.0, 4.0), (6.0, 7.0), (12.0, 13.0), (24.0, 25.0), (48.0, 49.0)];
    for (retry, (low, high)) in (1..).zip(table) {
        let found = bounds(&backoff, retry);
        is("from", found.0, low);
        near("to", found.1, high, 0.001);
    }
}

/// The text names 3, 6 and 12 s, which are the waits; the waves come at 3, 9 and 21 s.
#[test]
fn k11_a_hundred_jobs_come_back_as_one_without_jitter() {
    let told = run(&system(&uniform("none"), &burst(100), &failing("unavailable")), 1);
    assert_eq!([0.0, 3.0, 9.0, 21.0].map(|at| told.at(at)), [100; 4]);
    assert_eq!([6.0, 12.0].map(|at| told.at(at)), [0; 2]);
    assert_eq!(told.reached.len(), 400);
}

#[test]
fn k12_with_jitter_the_waves_are_one_two_and_three_seconds_long() {
    const RUNS: u32 = 400;
    let model = system(&uniform(ADDED), &burst(100), &failing("unavailable"));
    let (mut in_wave, mut bins) = ([0; 3], [0.0; 3]);
    for seed in 0..u64::from(RUNS) {
        let told = run(&model, seed);
        for (i, from) in [3.0, 9.0, 21.0].into_iter().enumerate() {
            let to = from + (i + 1) as f64;
            in_wave[i] += told.between(from, to);
            bins[i] += told.largest_tenth(from, to) as f64 / f64::from(RUNS);
        }
    }
    // All of them, and in the first wave ten of them in a tenth of a second, on average.
    assert_eq!(in_wave, [100 * RUNS as usize; 3]);
    // Four standard errors.
    near("first wave", bins[0], 15.0, 0.4);
    near("second wave", bins[1], 12.7, 0.4);
    near("third wave", bins[2], 11.2, 0.4);
}

#[test]
fn k22_the_prose_retries_three_times_and_the_shipped_code_twice() {
    let prose = backoff("{ preset: chokaq-documentation, retry: { jitter: none } }");
    assert_eq!(summed(&prose, 3), (21.0, 21.0));
    let shipped = policy("{ preset: chokaq }").retry.expect("it retries");
    assert_eq!(shipped.max_attempts, Some(3));
    let (low, high) = summed(&shipped.backoff, 2);
    is("without", low, 18.0);
    near("with jitter", high, 20.0, 0.003);
    let first = |preset: &str| bounds(&backoff(&format!("{{ preset: {preset} }}")), 1);
    let (by_text, by_code) = (first("chokaq-documentation"), first("chokaq"));
    assert_eq!((by_text.0, by_code.0), (3.0, 6.0));
    near("by text", by_text.1, 4.0, 0.001);
    near("by code", by_code.1, 7.0, 0.001);
}

/// Five failures at 0 s open the breaker for 30 s, and the dependency is back after one. K16: the code
/// of the documentation archives whatever comes meanwhile; its text postpones, and at the price of an
/// attempt that saves only who comes late enough for its last wait to outlive the open time.
#[test]
fn k16_an_open_breaker_archives_or_postpones() {
    let lost = |preset: &str, at_ms: u64| {
        let arrivals = lab::bursts(&[(5, 0), (10, at_ms)]);
        let told = refused_for(system(&format!("{{ preset: {preset} }}"), &arrivals, WELL), 1);
        let of_them = told.ends.iter().filter(|it| it.0 > 0.0);
        of_them.filter(|it| !it.2).count()
    };
    assert_eq!([5_000, 20_000].map(|at| lost("chokaq-documentation", at)), [10, 10]);
    assert_eq!([5_000, 20_000].map(|at| lost("chokaq-postponed", at)), [10, 0]);
}

/// K15: poisoned jobs open the breaker of their whole type, at the fifth or, shipped, at the first;
/// mended, a job's own failure says nothing.
#[test]
fn k15_poisoned_jobs_displace_healthy_ones() {
    let displaced = |preset: &str, poisoned: u32| {
        let model = lab::model(&format!(
            "
run: {{ horizon: 20s, warm_up: 0s, window: 1s }}
clients:
  poisoned: {{ arrivals: {}, calls: job, policy: it }}
  healthy: {{ arrivals: {}, calls: good, policy: it }}
services:
  job: {{ workers: 100, work: 0s, errors: {{ class: fatal, share: 100% }} }}
  good: {{ workers: 100, work: 0s }}
policies: {{ it: {{ preset: {preset}, breaker: {{ per: [] }} }} }}
",
            burst(poisoned),
            lab::bursts(&[(10, 5_000)])
        ));
        lab::diary(&model).count(&["good", "reached"])
    };
    assert_eq!([1, 4, 5].map(|count| displaced("chokaq-documentation", count)), [10, 10, 0]);
    assert_eq!([1, 5].map(|count| displaced("chokaq", count)), [0, 0]);
    assert_eq!(displaced("chokaq-mended", 50), 10);
}
