//! Histories on record. A change of any of them is a change of results: it needs an entry under
//! *Results* in `CHANGELOG.md`, with the numbers before and after and the reason.

use crate::lab::model;
use crate::lab::run;

/// Fingerprint, events, and the verdicts of all populations: ok, late, failed, open.
#[track_caller]
fn check(system: &str, fingerprint: u64, events: u64, verdicts: [u64; 4]) {
    let record = run(&model(system));
    let mut sums = [0; 4];
    for of in &record.verdicts {
        let failed = of.failed.iter().sum();
        for (sum, count) in sums.iter_mut().zip([of.ok, of.late, failed, of.open]) {
            *sum += count;
        }
    }
    assert_eq!(
        (format!("{:#018x}", record.fingerprint), record.events, sums),
        (format!("{fingerprint:#018x}"), events, verdicts)
    );
}

#[test]
fn a_textbook_queue() {
    check(
        "
run: { horizon: 100s, warm_up: 10s, window: 1s }
clients: { everyone: { arrivals: { poisson: 50/s }, calls: server } }
services: { server: { workers: 1, work: { exponential: 10ms } } }
",
        0x2bcd_1e9d_df55_0c58,
        11_310,
        [5166, 0, 0, 0],
    );
}

#[test]
fn every_law_of_chance() {
    check(
        "
run: { horizon: 100s, warm_up: 0s, window: 1s, seed: 2 }
clients:
  a: { arrivals: { poisson: 10/s }, calls: lognormal }
  b: { arrivals: { poisson: 10/s }, calls: gamma }
  c: { arrivals: { poisson: 10/s }, calls: pareto }
  d: { arrivals: { poisson: 10/s }, calls: weibull }
  e: { arrivals: { poisson: 10/s }, calls: uniform }
services:
  lognormal: { workers: 2, work: { lognormal: { mean: 100ms, cv: 2 } } }
  gamma: { workers: 2, work: { gamma: { mean: 100ms, cv: 0.5 } } }
  pareto: { workers: 2, work: { pareto: { mean: 100ms, alpha: 1.5 } } }
  weibull: { workers: 2, work: { weibull: { mean: 100ms, shape: 0.7 } } }
  uniform: { workers: 2, work: { uniform: { low: 50ms, high: 150ms } } }
",
        0xb7c6_a62f_339c_68ff,
        10_046,
        [5019, 0, 0, 8],
    );
}

#[test]
fn a_chain_that_tries_again_at_every_layer() {
    check(
        "
run: { horizon: 60s, warm_up: 5s, window: 1s, seed: 3 }
clients: { web: { population: 9, arrivals: { poisson: 40/s }, calls: a, policy: p, deadline: 2s } }
policies:
  p: { attempt_timeout: 700ms, retry: { max_attempts: 3, backoff: 50ms, jitter: equal } }
services:
  a: { replicas: 2, workers: 20, work: 1ms, calls: [{ to: b, policy: p }] }
  b: { workers: 20, work: 1ms, holds_worker: false, calls: [{ to: c, policy: p }] }
  c: { workers: 2, work: { exponential: 45ms }, errors: { class: unavailable, share: 5% } }
links: { default: { latency: { exponential: 2ms }, loss: 0.5% } }
",
        0x8972_a336_d7ce_37a2,
        51_643,
        [110, 0, 2220, 84],
    );
}

#[test]
fn breakers_budgets_and_bulkheads() {
    check(
        "
run: { horizon: 60s, warm_up: 5s, window: 1s, seed: 4 }
clients:
  web: { population: 30, arrivals: { poisson: 50/s }, calls: server, policy: p }
  batch: { population: 5, users: { think: { exponential: 100ms } }, calls: server, policy: q }
policies:
  p:
    timeout: 3s
    attempt_timeout: { after: { exponential: 200ms } }
    retry:
      max_attempts: 5
      backoff: { exponential: { base: 20ms, cap: 1s } }
      jitter: decorrelated
      budget: { token_bucket: { max_tokens: 10, token_ratio: 0.1 } }
    breaker: { window: { length: 10s, failure_share: 50%, minimum_calls: 5 }, open_for: 1s }
  q:
    order: [retry, bulkhead, attempt_timeout]
    attempt_timeout: 300ms
    retry: { max_attempts: 3, backoff: { drawn: { exponential: 50ms } },
             budget: { ratio: { share: 20%, deposit: success, floor: 1/s, per: [group] } } }
    bulkhead: { limit: 3, queue: 2, per: [group, target] }
services:
  server: { replicas: 2, workers: 3, work: { exponential: 100ms }, balance: random,
            cancellation: full, queue: { limit: 10, order: lifo, drop_expired: true } }
",
        0xd8f2_1886_bec2_1d9e,
        10_645,
        [2774, 0, 1449, 5],
    );
}

#[test]
fn crashes_and_what_people_do_about_them() {
    check(
        "
run: { horizon: 120s, warm_up: 0s, window: 1s, seed: 5 }
clients: { web: { arrivals: [{ constant: 50/s }, { burst: { count: 200, at: 20s } }],
                  calls: server, policy: p } }
policies: { p: { attempt_timeout: 1s, retry: { max_attempts: 4, backoff: 100ms } } }
services:
  server: { replicas: 2, workers: 4, work: { exponential: 100ms },
            overload: { crashes_at: { connections: 60 }, restarts_after: 3300ms,
                        cold: { work_factor: 2, lasts: 5s } } }
operator:
  - { at: 60s, shed: { clients: web, share: 60%, lasts: 15s } }
  - { at: 65s, flush: server }
  - { at: 70s, restart: server }
  - { at: 90s, set: { policies.p.retry.max_attempts: 2, services.server.workers: 6 } }
",
        0x04e4_9498_05cc_70c7,
        34_509,
        [3578, 0, 2619, 2],
    );
}

#[test]
fn a_day_that_rises_and_falls() {
    check(
        "
run: { horizon: 200s, warm_up: 10s, window: 1s, seed: 6 }
clients:
  web:
    arrivals: { schedule: { rates: [{ rate: 5/s }, { at: 50s, rate: 60/s, ramp: 50s },
                                    { at: 150s, rate: 5/s, ramp: 10s }] } }
    calls: server
    policy: p
policies: { p: { attempt_timeout: { after: 500ms, scope: queue } } }
services: { server: { workers: 4, work: { exponential: 90ms }, cancellation: queue } }
",
        0x450e_d693_6a35_2e4e,
        11_997,
        [4548, 0, 935, 0],
    );
}

#[test]
fn everything_that_can_go_wrong_in_turn() {
    check(
        "
run:
  { horizon: 80s, warm_up: 20s, window: 1s, seed: 6,
    recovery: { window: 5s, hold: 5s, baseline: 15s } }
clients: { web: { arrivals: { poisson: 240/s }, calls: a, policy: p } }
policies: { p: { attempt_timeout: 500ms, retry: { max_attempts: 3, backoff: 80ms, jitter: full } } }
services:
  a: { workers: 30, work: 2ms, calls: [{ to: b, policy: p }] }
  b: { replicas: 2, workers: 2, work: { exponential: 10ms }, queue: { limit: 40, when_full: drop } }
triggers:
  - { at: 16s, lasts: 3s, service: b, effect: refuse }
  - { at: 22s, lasts: 3s, service: b, effect: hang }
  - { at: 28s, lasts: 5s, service: b, effect: { slow: 3 } }
  - { at: 35s, lasts: 5s, service: b, effect: { errors: { class: unavailable, share: 40% } } }
  - { at: 45s, lasts: 5s, service: b, effect: { workers: 50% } }
  - { at: 55s, lasts: 2s, service: b, effect: restart }
  - { at: 65s, lasts: 5s, clients: web, effect: { surge: 2 } }
",
        0xa7de_0121_21c0_abbc,
        169_756,
        [3802, 0, 16_258, 408],
    );
}
