//! Impatience, and retrial queues: those who leave the queue, and those who come again.
//!
//! Service times are one second on average. ν is the rate at which each waiting client tries again.

use crate::theory::check;
use crate::theory::meter::Spans;
use crate::theory::steady;

/// Erlang-A, M/M/10 + M, overloaded: a birth–death chain with deaths at min(n, 10) +
/// max(n − 10, 0) θ; P(abandon) = θ Lq/λ.
/// False alarms: 7 in a million per line.
#[test]
fn q_11_exponential_patience() {
    let runs = steady(
        12.0,
        "
clients: { all: { arrivals: { poisson: 12/s }, calls: server, policy: patient } }
services: { server: { workers: 10, work: { exponential: 1s }, cancellation: queue } }
policies: { patient: { attempt_timeout: { after: { exponential: 2s }, scope: queue } } }
",
    );
    let abandoned = runs.mean(|m| m.sides[0].timed_out / m.sides[0].calls);
    check("Q-11 P(abandon)", abandoned, 0.195_655_9, 0.001);
    let at_once = |waits: &Spans| waits.count() * (1.0 - waits.share_above(0.0));
    let waiting = runs.mean(|m| 1.0 - at_once(&m.stations[0].waits) / m.stations[0].reached);
    check("Q-11 P(wait)", waiting, 0.850_384_9, 0.0012);
    check("Q-11 Lq", runs.mean(|m| m.waiting(0)), 4.695_743, 0.03);
}

/// M/M/1 whose clients wait three seconds at most. The density of the virtual wait is
/// λ p exp(−(1 − λ) x) below 3 and decays at rate 1 above; P(abandon) is its mass above.
/// False alarms: 7 in a million per line.
#[test]
fn q_12_fixed_patience() {
    let runs = steady(
        0.9,
        "
clients: { all: { arrivals: { poisson: 0.9/s }, calls: server, policy: patient } }
services: { server: { workers: 1, work: { exponential: 1s }, cancellation: queue } }
policies: { patient: { attempt_timeout: { after: 3s, scope: queue } } }
",
    );
    let abandoned = runs.mean(|m| m.sides[0].timed_out / m.sides[0].calls);
    check("Q-12 P(abandon)", abandoned, 0.166_710_3, 0.000_69);
    check("Q-12 Wq", runs.mean(|m| m.stations[0].waits.mean()), 0.997_489_1, 0.0023);
    check("Q-12 Lq", runs.mean(|m| m.waiting(0)), 1.198_195, 0.0035);
    check("Q-12 throughput", runs.mean(|m| m.rate(m.stations[0].answered)), 0.749_960_8, 0.000_75);
}

/// the M/M/1 retrial queue. E[orbit] = r (λ + ν r)/(ν (1 − r)); attempts per request
/// 1 + ν E[orbit]/λ.
/// False alarms: 7 in a million per line.
#[test]
fn q_13_coming_again_until_served() {
    let runs = steady(
        0.8,
        "
clients: { all: { arrivals: { poisson: 0.8/s }, calls: server, policy: stubborn } }
services: { server: { workers: 1, work: { exponential: 1s }, queue: { limit: 0 } } }
policies:
  stubborn: { retry: { max_attempts: unlimited, backoff: { drawn: { exponential: 1s } } } }
",
    );
    check("Q-13 busy", runs.mean(|m| m.busy(0)), 0.8, 0.0013);
    check("Q-13 orbit", runs.mean(|m| m.orbit(0)), 6.4, 0.067);
    check("Q-13 attempts", runs.mean(|m| m.amplification(0)), 9.0, 0.077);
    check("Q-13 response", runs.mean(|m| m.latencies.mean()), 9.0, 0.078);
}

/// the M/M/5 retrial queue, ν = 1/2: a chain of (busy, orbit), solved numerically.
/// False alarms: 7 in a million per line.
#[test]
fn q_16_coming_again_to_five_workers() {
    let runs = steady(
        4.0,
        "
clients: { all: { arrivals: { poisson: 4/s }, calls: server, policy: stubborn } }
services: { server: { workers: 5, work: { exponential: 1s }, queue: { limit: 0 } } }
policies:
  stubborn: { retry: { max_attempts: unlimited, backoff: { drawn: { exponential: 2s } } } }
",
    );
    check("Q-16 busy", runs.mean(|m| m.busy(0)), 4.0, 0.0064);
    check("Q-16 orbit", runs.mean(|m| m.orbit(0)), 8.131_978, 0.094);
    check("Q-16 attempts", runs.mean(|m| m.amplification(0)), 2.016_497, 0.011);
}
