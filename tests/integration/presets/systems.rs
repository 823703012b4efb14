//! Presets in the engine: the numbers by which budgets, breakers and whole systems are known.

use crate::lab;
use crate::lab::Diary;

/// What becomes of calls under a preset while every attempt ends with an error after `work`.
fn failing(preset: &str, arrivals: &str, class: &str, work: &str) -> Diary {
    lab::diary(&lab::model(&format!(
        "
run: {{ horizon: 120s, warm_up: 0s, window: 1s }}
clients: {{ web: {{ arrivals: {arrivals}, calls: server, policy: it }} }}
services:
  server: {{ workers: 1000, work: {work}, errors: {{ class: {class}, share: 100% }} }}
policies: {{ it: {{ preset: {preset} }} }}
"
    )))
}

fn burst(count: u32, at: &str) -> String {
    format!("{{ burst: {{ count: {count}, at: {at} }} }}")
}

/// Mission (e): 35 calls at once make 56 raw calls while it is closed, and 4 when half-open; the
/// preset's own jitter changes nothing of that.
#[test]
fn cockatiel_wrap_by_its_golden_numbers() {
    let closed = failing("cockatiel-wrap", &burst(35, "0s"), "unavailable", "0s");
    assert_eq!(closed.count(&["reached"]), 56);
    assert_eq!(closed.count(&["ended", "attempts"]), 14);
    assert_eq!(closed.count(&["ended", "breaker"]), 16);
    assert_eq!(closed.count(&["ended", "bulkhead"]), 5);

    let twice = format!("[{}, {}]", burst(35, "0s"), burst(35, "30s"));
    let twice = failing("cockatiel-wrap", &twice, "unavailable", "0s");
    assert_eq!(twice.count(&["reached"]), 56 + 4, "one probe: a whole sequence of retries");
    assert_eq!(twice.count(&["ended", "attempts"]), 14 + 1);
    assert_eq!(twice.count(&["ended", "breaker"]), 16 + 29);
    assert_eq!(twice.count(&["ended", "bulkhead"]), 5 + 5);
}

/// Mission (c), and gRPC: from full tokens the first failing call makes four attempts, each further
/// one a single attempt.
#[test]
fn a_token_bucket_lets_the_first_call_retry_and_no_other() {
    for preset in ["polly-budget", "grpc"] {
        for (calls, attempts) in [(1, 4), (2, 5), (3, 6)] {
            let bursts: Vec<_> = (0..calls).map(|i| burst(1, &format!("{}s", 20 * i))).collect();
            let arrivals = format!("[{}]", bursts.join(", "));
            let diary = failing(preset, &arrivals, "unavailable", "0s");
            assert_eq!(diary.count(&["reached"]), attempts, "{preset}, {calls} calls");
        }
    }
}

/// 500 tokens: 35 retries at 14, 100 at 5.
#[test]
fn aws_quotas_pay_for_so_many_retries() {
    for (preset, class, calls, retries) in [
        ("aws-standard", "unavailable", 60, 35),
        ("aws-standard", "rate_limited", 60, 100),
        ("aws-adaptive", "unavailable", 60, 35),
        ("aws-standard-before-2026", "unavailable", 60, 100),
        ("aws-standard-before-2026", "timeout", 60, 50),
    ] {
        let diary = failing(preset, &burst(calls, "0s"), class, "0s");
        assert_eq!(diary.count(&["reached"]), calls as usize + retries, "{preset} {class}");
    }
}

/// 50 calls that fail at once come to 3 retries under Envoy's default (recorded); under Istio's each
/// makes both of its own.
#[test]
fn envoy_retries_three_at_once_and_istio_without_bound() {
    let envoy = failing("envoy", &burst(50, "0s"), "unavailable", "100ms");
    assert_eq!(envoy.count(&["reached"]), 53);
    let istio = failing("istio", &burst(50, "0s"), "unavailable", "100ms");
    assert_eq!(istio.count(&["reached"]), 150);
}

/// The reserve of a ServiceProfile, 10/s for 10 s, is all that ends a request.
#[test]
fn linkerd_spends_its_whole_reserve_on_one_request() {
    let diary = failing("linkerd-service-profile", &burst(1, "0s"), "unavailable", "1ms");
    let at = diary.moments_ms(&["reached"]);
    assert_eq!(at.iter().filter(|at| **at < 5_000.0).count(), 101);
}

/// Mission (a): one fatal failure opens the breaker of the whole type; a timeout says nothing.
#[test]
fn one_fatal_job_opens_the_breaker_of_chokaq() {
    let arrivals = format!("[{}, {}]", burst(1, "0s"), burst(10, "5s"));
    let diary = failing("chokaq", &arrivals, "fatal", "10ms");
    assert_eq!(diary.count(&["reached"]), 1);
    assert_eq!(diary.count(&["ended", "breaker"]), 10);
    let diary = failing("chokaq", "{ constant: 1/s }", "timeout", "10ms");
    assert!(diary.count(&["reached"]) >= 119, "no timeout is retried, and none opens it");
    assert_eq!(diary.count(&["ended", "breaker"]), 0);
}

/// Mission (b): the 101st permanent failure in a row suspends a receiver for good.
#[test]
fn more_than_a_hundred_permanent_failures_suspend_a_receiver() {
    let diary = failing("webhook-producer", "{ constant: 2/s }", "gone", "10ms");
    assert_eq!(diary.count(&["reached"]), 101);
}
