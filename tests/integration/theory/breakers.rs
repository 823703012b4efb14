//! Circuit breakers in front of a dependency that is down, or half down.

use crate::theory::check;
use crate::theory::full;
use crate::theory::meter::Meter;
use crate::theory::model;
use crate::theory::observe;
use crate::theory::records;
use crate::theory::steady_for;

/// five failures in a row, open for 10 s, one probe, dependency down, traffic without gaps:
/// 5 + 5 attempts in the first minute, then one per open period. Exact.
#[test]
fn r_18_a_breaker_without_gaps_in_traffic() {
    let model = model(
        "
run: { horizon: 180s, warm_up: 0s, window: 60s }
clients: { all: { arrivals: { constant: 1000/s }, calls: server, policy: guarded } }
services: { server: { workers: 1, work: 0s, errors: { class: unavailable, share: 100% } } }
policies: { guarded: { breaker: { consecutive: 5, open_for: 10s } } }
",
    );
    let run = records(&model, 1).remove(0);
    let attempts: Vec<_> = run.series.service(0).map(|minute| minute.offered()).collect();
    for (minute, expected) in [10.0, 6.0, 6.0].into_iter().enumerate() {
        check(&format!("R-18 minute {minute}"), attempts[minute].into(), expected, 0.0);
    }
}

/// the same under Poisson traffic of 2/s and failures after 0.1 s: one attempt per
/// open + 1/λ + latency. False alarms: 7 in a million.
#[test]
fn r_19_a_breaker_under_thin_traffic() {
    let runs = steady_for(
        200_000,
        2.0,
        "
clients: { all: { arrivals: { poisson: 2/s }, calls: server, policy: guarded } }
services: { server: { workers: 9, work: 100ms, errors: { class: unavailable, share: 100% } } }
policies: { guarded: { breaker: { consecutive: 5, open_for: 10s } } }
",
    );
    let rate = runs.mean(|m| 60.0 * m.rate(m.stations[0].reached));
    check("R-19 attempts per minute", rate, 60.0 / 10.6, 0.0032);
}

/// half of all attempts fail, answers take no time. A renewal process: closed for
/// (p⁻⁵ − 1)/((1 − p) λ) = 31 s, then open periods, geometric of mean 2, each followed by half a
/// second until the probe. Arrivals see the share of time open; the breaker is not closed for
/// 21 s in 52. False alarms: 7 in a million per line.
#[test]
fn r_22_a_breaker_under_random_failures() {
    let runs = steady_for(
        2_000_000,
        2.0,
        "
clients: { all: { arrivals: { poisson: 2/s }, calls: server, policy: guarded } }
services: { server: { workers: 1, work: 0s, errors: { class: unavailable, share: 50% } } }
policies: { guarded: { breaker: { consecutive: 5, open_for: 10s } } }
",
    );
    let open = runs.mean(|m| m.sides[0].rejected / m.sides[0].calls);
    check("R-22 share open", open, 20.0 / 52.0, 0.0019);
    let rate = runs.mean(|m| m.rate(m.stations[0].reached));
    check("R-22 attempts per second", rate, 64.0 / 52.0, 0.004);
    let not_closed = runs.mean(|m| m.breakers_not_closed(0));
    check("R-22 share not closed", not_closed, 21.0 / 52.0, 0.0156);
}

/// A breaker around a call that tries four times with waits of 0.2, 0.4 and 0.8 s; it counts
/// exhausted sequences.
const AROUND_A_RETRY: &str = "
services: { server: { workers: 1, work: 0s, errors: { class: unavailable, share: 100% } } }
policies:
  guarded:
    order: [breaker, retry]
    breaker: { consecutive: 5, open_for: 10s }
    retry: { max_attempts: 4, backoff: { exponential: { base: 200ms } } }
";

/// calls one after another: 20 attempts before it opens, and 4 per probe. Exact.
#[test]
fn r_41_a_breaker_around_a_retry_opens() {
    let model = model(&format!(
        "
run: {{ horizon: 10s, warm_up: 0s }}
clients: {{ all: {{ users: {{ think: 1ms }}, calls: server, policy: guarded }} }}
{AROUND_A_RETRY}"
    ));
    let run = observe(&model, 1, || Meter::new(&model)).remove(0);
    check("R-41 attempts until open", run.stations[0].reached, 20.0, 0.0);
    assert!(run.sides[0].rejected > 0.0, "it is open at the end");
}

/// in the long run each probe is a whole sequence of 1.4 s: 4 · 60/(10 + 1/λ + 1.4)
/// attempts per minute, to 1 % (more than 10 standard errors).
#[test]
fn r_41_a_breaker_around_a_retry_in_the_long_run() {
    let runs = steady_for(
        1_000_000,
        10.0,
        &format!(
            "clients: {{ all: {{ arrivals: {{ poisson: 10/s }}, calls: server, policy: guarded }} }}
{AROUND_A_RETRY}"
        ),
    );
    let rate = runs.mean(|m| 60.0 * m.rate(m.stations[0].reached));
    let tolerance = if full() { 0.01 } else { 0.01 / 10f64.sqrt() };
    check("R-41 attempts per minute", rate, 240.0 / 11.5, tolerance * 240.0 / 11.5);
}
