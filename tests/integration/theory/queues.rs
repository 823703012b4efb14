//! One queue in its steady state: Poisson arrivals, any law of service, room and order.
//!
//! Service times are one second on average. λ is the arrival rate, r the load, c the workers.

use stormlab::theory::queues::BoundedQueue;
use stormlab::theory::queues::Queue;
use stormlab::theory::queues::erlang_b;
use stormlab::theory::queues::pollaczek_khinchine;

use crate::theory::Steady;
use crate::theory::check;
use crate::theory::meter::Meter;
use crate::theory::steady;

/// Requests at `rate` per second to one service, given by its settings.
#[track_caller]
fn queue(rate: f64, service: &str) -> Steady {
    let system = format!(
        "
clients: {{ all: {{ arrivals: {{ poisson: {rate}/s }}, calls: server }} }}
services: {{ server: {{ {service} }} }}
"
    );
    steady(rate, &system)
}

const fn theory(arrival_rate: f64, servers: u32) -> Queue {
    Queue { arrival_rate, service_rate: 1.0, servers }
}

/// M/M/1. L = r/(1 − r), W = 1/(1 − λ), P(W > t) = exp(−(1 − λ) t).
/// False alarms: 7 in a million per line.
#[test]
fn q_1_one_worker() {
    let runs = queue(0.8, "workers: 1, work: { exponential: 1s }");
    let expected = theory(0.8, 1);
    check("Q-1 busy", runs.mean(|m| m.busy(0)), 0.8, 0.0013);
    check("Q-1 L", runs.mean(|m| m.present(0)), expected.present().unwrap(), 0.039);
    let waiting = expected.waiting_time().unwrap();
    check("Q-1 Wq", runs.mean(|m| m.stations[0].waits.mean()), waiting, 0.045);
    let sojourn = expected.sojourn_time().unwrap();
    check("Q-1 W", runs.mean(|m| m.latencies.mean()), sojourn, 0.045);
    let tail = (-0.2f64 * 15.0).exp();
    check("Q-1 P(W > 15)", runs.mean(|m| m.latencies.share_above(15.0)), tail, 0.0018);
    let p99 = 100f64.ln() / 0.2;
    check("Q-1 W p99", runs.mean(|m| m.latencies.quantile(0.99)), p99, 0.025 * p99);
}

/// M/M/4. P(wait) is Erlang C, P(Wq > t) = C exp(−(c − λ) t).
/// False alarms: 7 in a million per line.
#[test]
fn q_2_four_workers() {
    let runs = queue(3.0, "workers: 4, work: { exponential: 1s }");
    let expected = theory(3.0, 4);
    let tail = |seconds| runs.mean(|m| m.stations[0].waits.share_above(seconds));
    check("Q-2 P(wait)", tail(0.0), expected.share_waiting(), 0.0023);
    let waiting = expected.waiting_time().unwrap();
    check("Q-2 Wq", runs.mean(|m| m.stations[0].waits.mean()), waiting, 0.0064);
    check("Q-2 Lq", runs.mean(|m| m.waiting(0)), 3.0 * waiting, 0.021);
    check("Q-2 P(Wq > 1)", tail(1.0), expected.share_waiting_longer(1.0), 0.0022);
    check("Q-2 P(Wq > 3.93)", tail(3.930_715_138), 0.01, 0.000_62);
}

/// M/M/10/10, a full house turns away. P(reject) = B(10, 8), carried load 8 (1 − B).
/// False alarms: 7 in a million per line.
#[test]
fn q_3_no_room_to_wait() {
    let runs = queue(8.0, "workers: 10, work: { exponential: 1s }, queue: { limit: 0 }");
    let blocked = erlang_b(10, 8.0);
    check("Q-3 P(reject)", runs.mean(refused), blocked, 0.0006);
    check("Q-3 busy", runs.mean(|m| m.busy(0)), 8.0 * (1.0 - blocked), 0.0072);
}

/// M/M/2/10, room for two in service and eight waiting: a birth–death chain.
/// False alarms: 7 in a million per line.
#[test]
fn q_4_little_room_to_wait() {
    let runs = queue(1.8, "workers: 2, work: { exponential: 1s }, queue: { limit: 8 }");
    let BoundedQueue { blocked, throughput, present, waiting_time } = theory(1.8, 2).bounded(10);
    check("Q-4 P(reject)", runs.mean(refused), blocked, 0.000_59);
    check("Q-4 throughput", runs.mean(|m| m.rate(m.stations[0].answered)), throughput, 0.0014);
    check("Q-4 L", runs.mean(|m| m.present(0)), present, 0.016);
    check("Q-4 Wq", runs.mean(|m| m.stations[0].waits.mean()), waiting_time, 0.0078);
}

/// M/M/1/20 at load 1 is uniform over 0..=K. P(reject) = 1/(K + 1), L = K/2.
/// False alarms: 7 in a million per line.
#[test]
fn q_5_full_load_and_little_room() {
    let runs = queue(1.0, "workers: 1, work: { exponential: 1s }, queue: { limit: 19 }");
    check("Q-5 P(reject)", runs.mean(refused), 1.0 / 21.0, 0.000_82);
    check("Q-5 L", runs.mean(|m| m.present(0)), 10.0, 0.06);
}

/// M/D/1. Wq = r/(2 (1 − r)); the tail from the closed form of Erlang.
/// False alarms: 7 in a million per line.
#[test]
fn q_6_constant_service() {
    let runs = queue(0.8, "workers: 1, work: 1s");
    let waiting = pollaczek_khinchine(0.8, 1.0, 1.0).unwrap();
    let tail = |seconds| runs.mean(|m| m.stations[0].waits.share_above(seconds));
    check("Q-6 Wq", runs.mean(|m| m.stations[0].waits.mean()), waiting, 0.016);
    check("Q-6 L", runs.mean(|m| m.present(0)), 2.4, 0.015);
    check("Q-6 P(no wait)", 1.0 - tail(0.0), 0.2, 0.000_88);
    check("Q-6 P(Wq > 10.36)", tail(10.355_886_79), 0.01, 0.000_68);
}

/// M/G/1, lognormal service of cv 2. Wq = λ E[S²]/(2 (1 − r)), E[S²] = 1 + cv².
/// False alarms: 7 in a million per line.
#[test]
fn q_7_lognormal_service() {
    let runs = queue(0.7, "workers: 1, work: { lognormal: { mean: 1s, cv: 2 } }");
    let waiting = pollaczek_khinchine(0.7, 1.0, 5.0).unwrap();
    check("Q-7 Wq", runs.mean(|m| m.stations[0].waits.mean()), waiting, 0.17);
    check("Q-7 L", runs.mean(|m| m.present(0)), 0.7 * (waiting + 1.0), 0.13);
    let at_once = 1.0 - runs.mean(|m| m.stations[0].waits.share_above(0.0));
    check("Q-7 P(no wait)", at_once, 0.3, 0.0019);
}

/// M/G/1, Pareto service of tail index 5 and smallest value xm = 0.8. E[S²] = 5 xm²/3;
/// E[Wq²] = 2 Wq² + λ E[S³]/(3 (1 − r)), E[S³] = 5 xm³/2.
/// False alarms: 7 in a million per line.
#[test]
fn q_8_pareto_service() {
    let runs = queue(0.7, "workers: 1, work: { pareto: { mean: 1s, alpha: 5 } }");
    let waiting = pollaczek_khinchine(0.7, 1.0, 5.0 * 0.64 / 3.0).unwrap();
    let square = 2.0 * waiting * waiting + 0.7 * (5.0 * 0.512 / 2.0) / (3.0 * 0.3);
    check("Q-8 Wq", runs.mean(|m| m.stations[0].waits.mean()), waiting, 0.0081);
    check("Q-8 E[Wq²]", runs.mean(|m| m.stations[0].waits.mean_square()), square, 0.064);
}

/// M/M/1 served last in, first out: the mean of Q-1, and E[Wq²] = 40/(1 − r) = 200.
/// False alarms: 7 in a million per line.
#[test]
fn q_9_last_in_first_out() {
    let service = "workers: 1, work: { exponential: 1s }, queue: { order: lifo }";
    let runs = queue(0.8, service);
    check("Q-9 Wq", runs.mean(|m| m.stations[0].waits.mean()), 4.0, 0.045);
    check("Q-9 L", runs.mean(|m| m.present(0)), 4.0, 0.039);
    check("Q-9 E[Wq²]", runs.mean(|m| m.stations[0].waits.mean_square()), 200.0, 8.0);
}

/// The share of attempts turned away.
fn refused(meter: &Meter) -> f64 {
    meter.stations[0].refused / meter.stations[0].reached
}
