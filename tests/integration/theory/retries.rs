//! What retries add to the load, and what budgets take off it.
//!
//! p is the share of attempts that fail, n the attempts a call may make, λ the arrival rate.

use stormlab::theory::queues::Queue;
use stormlab::theory::retries::TimeoutRetries;
use stormlab::theory::retries::amplification_under_budget;
use stormlab::theory::retries::attempts_by_layer;
use stormlab::theory::retries::attempts_per_call;

use crate::theory::check;
use crate::theory::check_within;
use crate::theory::meter::Meter;
use crate::theory::model;
use crate::theory::observe;
use crate::theory::steady;
use crate::theory::steady_for;

/// attempts fail independently. (1 − pⁿ)/(1 − p) attempts per request; pⁿ fail. The wait
/// before the third retry is 4 s, so it tells who makes a fourth attempt.
/// False alarms: 7 in a million per line.
#[test]
fn r_1_independent_failures() {
    let runs = steady(
        100.0,
        "
clients: { all: { arrivals: { poisson: 100/s }, calls: server, policy: four } }
services: { server: { workers: 1000, work: 1ms, errors: { class: unavailable, share: 30% } } }
policies: { four: { retry: { max_attempts: 4, backoff: { exponential: { base: 1s } } } } }
",
    );
    let expected = attempts_per_call(0.3, 4);
    check("R-1 attempts", runs.mean(|m| m.amplification(0)), expected, 0.000_82);
    check("R-1 P(fails)", runs.mean(Meter::failing), 0.0081, 7.9e-5);
    let fourth = |m: &Meter| {
        let backoffs = &m.sides[0].backoffs;
        backoffs.share_above(3.0) * backoffs.count() / m.born
    };
    check("R-1 P(4 attempts)", runs.mean(fourth), 0.027, 0.0004);
}

/// errors retried into the same M/M/1. Product form: M/M/1 at rate λ (1 − pⁿ)/(1 − p) and an
/// endless row of waiting places; the law of the back-off does not matter.
/// False alarms: 7 in a million per line.
#[track_caller]
fn errors_retried_into_the_same_queue(line: &str, backoff: &str, mean_backoff: f64) {
    let runs = steady(
        0.5,
        &format!(
            "
clients: {{ all: {{ arrivals: {{ poisson: 0.5/s }}, calls: server, policy: four }} }}
services:
  server:
    workers: 1
    work: {{ exponential: 1s }}
    errors: {{ class: unavailable, share: 30% }}
policies: {{ four: {{ retry: {{ max_attempts: 4, backoff: {backoff} }} }} }}
"
        ),
    );
    let attempts = attempts_per_call(0.3, 4);
    let queue = Queue { arrival_rate: 0.5 * attempts, service_rate: 1.0, servers: 1 };
    let sojourn = queue.sojourn_time().expect("it is stable");
    let present = queue.present().expect("it is stable");
    let line = |what: &str| format!("R-2 {line}: {what}");
    let rate = runs.mean(|m| m.rate(m.stations[0].reached));
    check(&line("attempt rate"), rate, 0.7085, 0.000_91);
    check(&line("L"), runs.mean(|m| m.present(0)), present, 0.016);
    check(&line("W"), runs.mean(|m| m.stations[0].sojourns.mean()), sojourn, 0.02);
    check(&line("P(fails)"), runs.mean(Meter::failing), 0.0081, 8.7e-5);
    let orbit = 0.5 * (attempts - 1.0) * mean_backoff;
    check(&line("in back-off"), runs.mean(|m| m.orbit(0)), orbit, 0.000_94);
    let response = attempts * sojourn + (attempts - 1.0) * mean_backoff;
    check(&line("response"), runs.mean(|m| m.latencies.mean()), response, 0.03);
}

/// R-2, back-off constant.
#[test]
fn r_2_errors_after_a_constant_wait() {
    errors_retried_into_the_same_queue("constant", "2s", 2.0);
}

/// R-2, back-off exponential.
#[test]
fn r_2_errors_after_an_exponential_wait() {
    errors_retried_into_the_same_queue("exponential", "{ drawn: { exponential: 2s } }", 2.0);
}

/// R-2, back-off uniform.
#[test]
fn r_2_errors_after_a_uniform_wait() {
    let backoff = "{ drawn: { uniform: { low: 0s, high: 4s } } }";
    errors_retried_into_the_same_queue("uniform", backoff, 2.0);
}

/// R-2, no back-off.
#[test]
fn r_2_errors_after_no_wait() {
    errors_retried_into_the_same_queue("none", "none", 0.0);
}

/// Three layers under one policy; attempts at the last one fail in that share.
fn three_layers(arrivals: &str, max_attempts: u32, failing: &str) -> String {
    format!(
        "
clients: {{ all: {{ arrivals: {arrivals}, calls: first, policy: again }} }}
services:
  first: {{ workers: 1000, holds_worker: false, work: 0s, calls: [{{ to: second, policy: again }}] }}
  second: {{ workers: 1000, holds_worker: false, work: 0s, calls: [{{ to: third, policy: again }}] }}
  third: {{ workers: 1000, work: 0s, errors: {{ class: unavailable, share: {failing} }} }}
policies: {{ again: {{ retry: {{ max_attempts: {max_attempts}, backoff: none }} }} }}
"
    )
}

/// with the last of three layers down, n^d attempts at layer d. Exact.
#[test]
fn r_3_three_layers_multiply() {
    let system = three_layers("{ burst: { count: 1, at: 0s } }", 4, "100%");
    let model = model(&format!("run: {{ horizon: 1s, warm_up: 0s }}\n{system}"));
    let run = observe(&model, 1, || Meter::new(&model)).remove(0);
    for (layer, expected) in attempts_by_layer(1.0, 4, 3).into_iter().enumerate() {
        check(&format!("R-3 layer {}", layer + 1), run.amplification(layer), expected, 0.0);
    }
    check("R-3 failed", run.failed, 1.0, 0.0);
}

/// when the last layer fails half of its attempts, (1 − p^(n³))/(1 − p^(n^(3 − d))) attempts
/// per request at layer d. False alarms: 7 in a million per line.
#[test]
fn r_4_three_layers_of_independent_failures() {
    let runs = steady_for(200_000, 100.0, &three_layers("{ poisson: 100/s }", 3, "50%"));
    let tolerances = [0.000_12, 0.000_87, 0.0025];
    for (layer, expected) in attempts_by_layer(0.5, 3, 3).into_iter().enumerate() {
        let attempts = runs.mean(|m| m.amplification(layer));
        check(&format!("R-4 layer {}", layer + 1), attempts, expected, tolerances[layer]);
    }
}

/// a budget of 20 % in a full outage, without and with 10 retries per second on top.
/// 1 + r + floor/λ, to 0.5 % (more than 6 standard errors even in one run).
#[test]
fn r_5_a_ratio_budget_bounds_the_outage() {
    #[track_caller]
    fn check_floor(floor: u32) {
        let model = model(&format!(
            "
run: {{ horizon: 600s, warm_up: 60s }}
clients: {{ all: {{ arrivals: {{ poisson: 100/s }}, calls: server, policy: careful }} }}
services: {{ server: {{ workers: 1, work: 0s, errors: {{ class: unavailable, share: 100% }} }} }}
policies:
  careful:
    retry:
      max_attempts: 4
      backoff: 10ms
      budget: {{ ratio: {{ share: 20%, deposit: call, floor: {floor}/s, start: 0 }} }}
"
        ));
        let run = observe(&model, 1, || Meter::new(&model)).remove(0);
        let expected = amplification_under_budget(0.2, floor.into(), 100.0, 4);
        let found = run.amplification(0) / expected;
        check_within(&format!("R-5 floor {floor}/s"), found, 0.995, 1.005);
    }
    check_floor(0);
    check_floor(10);
}

/// The bucket of gRPC's throttle, ten tokens and a tenth back, around n attempts.
fn throttled(max_attempts: u32) -> String {
    format!(
        "
policies:
  throttled:
    retry:
      max_attempts: {max_attempts}
      backoff: none
      budget: {{ token_bucket: {{ max_tokens: 10, token_ratio: 0.1 }} }}
"
    )
}

/// in an outage the decrement comes first, so the retries ever sent depend on n. Exact.
#[test]
fn r_6_a_token_bucket_in_an_outage() {
    for (max_attempts, expected) in [(2, 2.0), (3, 3.0), (4, 3.0), (5, 4.0)] {
        let model = model(&format!(
            "
run: {{ horizon: 100s, warm_up: 0s }}
clients: {{ all: {{ arrivals: {{ constant: 1/s }}, calls: server, policy: throttled }} }}
services: {{ server: {{ workers: 1, work: 1ms, errors: {{ class: unavailable, share: 100% }} }} }}
{}",
            throttled(max_attempts)
        ));
        let run = observe(&model, 1, || Meter::new(&model)).remove(0);
        check(
            &format!("R-6 retries, n = {max_attempts}"),
            run.sides[0].backoffs.count(),
            expected,
            0.0,
        );
    }
}

/// from an empty bucket it takes 61 successes in a row until a failure is retried again: a
/// second outage after 60 answers, and after 61. Exact.
#[test]
fn r_6_a_token_bucket_fills_again() {
    for (answers, expected) in [(60, 3.0), (61, 4.0)] {
        let model = model(&format!(
            "
run: {{ horizon: 2300s, warm_up: 0s }}
clients: {{ all: {{ arrivals: {{ constant: 1/s }}, calls: server, policy: throttled }} }}
services: {{ server: {{ workers: 1, work: 1ms }} }}
triggers:
  - {{ at: 2000.5s, lasts: 100s, service: server, effect: refuse }}
  - {{ at: {}.5s, lasts: 100s, service: server, effect: refuse }}
{}",
            2100 + answers,
            throttled(4)
        ));
        let run = observe(&model, 1, || Meter::new(&model)).remove(0);
        check(
            &format!("R-6 after {answers} answers"),
            run.sides[0].backoffs.count(),
            expected,
            0.0,
        );
    }
}

/// the throttle under independent failures of 5 %, below its cut-off of 1/11: a Markov chain
/// on the tokens. Without it 1.052625. False alarms: 7 in a million.
#[test]
fn r_7_a_token_bucket_under_partial_failure() {
    let runs = steady(
        100.0,
        &format!(
            "
clients: {{ all: {{ arrivals: {{ constant: 100/s }}, calls: server, policy: throttled }} }}
services: {{ server: {{ workers: 1, work: 1ms, errors: {{ class: unavailable, share: 5% }} }} }}
{}",
            throttled(4)
        ),
    );
    check("R-7 attempts", runs.mean(|m| m.amplification(0)), 1.052_093, 0.000_25);
}

/// timeouts retried after a long back-off: x = λ (1 + p), p = exp(−(1 − x) T), exact as the
/// back-off grows. Never vulnerable, for 2 λ < 1. False alarms: 7 in a million per line.
#[test]
fn r_24_timeouts_retried_much_later() {
    let runs = steady(
        0.45,
        "
clients: { all: { arrivals: { poisson: 0.45/s }, calls: server, policy: twice } }
services: { server: { workers: 1, work: { exponential: 1s } } }
policies:
  twice:
    attempt_timeout: 3s
    retry: { max_attempts: 2, backoff: { drawn: { exponential: 3000s } }, on: [timeout] }
",
    );
    let theory = TimeoutRetries { service_rate: 1.0, timeout: 3.0, max_attempts: 2 };
    let expected = theory.equilibria(0.45).healthy.unwrap();
    let rate = runs.mean(|m| m.rate(m.stations[0].reached));
    check("R-24 attempt rate", rate, expected, 0.0045);
    let timed_out = runs.mean(|m| m.sides[0].timed_out / m.stations[0].reached);
    check("R-24 P(timeout)", timed_out, 0.280_435_3, 0.005);
}
