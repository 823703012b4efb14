//! The schedules of presets against the numbers of their libraries.

use serde_json::Value;

use super::json;
use super::millis;

/// A line of "defaults at a glance": retries (`None`: without limit) and the windows of the first
/// waits, in milliseconds.
type Glance = (&'static str, Option<u64>, &'static [(f64, f64)]);

const S: f64 = 1e3;
const MIN: f64 = 60e3;
const NO_WAIT: &[(f64, f64)] = &[(0.0, 0.0), (0.0, 0.0)];
/// The longest first wait of decorrelated jitter V2 for d = 1: f(1) ÷ 1.4.
const V2: f64 = 1.377_182;

const GLANCE: [Glance; 41] = [
    ("polly-8", Some(3), &[(2.0 * S, 2.0 * S), (2.0 * S, 2.0 * S)]),
    ("polly-8-jitter", Some(3), &[(1.5 * S, 2.5 * S), (1.5 * S, 2.5 * S)]),
    ("dotnet-standard-handler", Some(3), &[(0.0, 2.0 * S * V2)]),
    ("efcore-sqlserver", Some(6), &[(0.0, 0.0), (1.0 * S, 1.1 * S), (3.0 * S, 3.3 * S)]),
    ("cockatiel", None, NO_WAIT),
    ("cockatiel-exponential", None, &[(0.0, 128.0 * V2)]),
    ("resilience4j", Some(2), &[(500.0, 500.0), (500.0, 500.0)]),
    ("grpc", Some(3), &[(80.0, 120.0), (160.0, 240.0), (320.0, 480.0)]),
    ("grpc-before-2024", Some(3), &[(0.0, 100.0), (0.0, 200.0), (0.0, 400.0)]),
    ("envoy", Some(1), &[(0.0, 24.0)]),
    ("istio", Some(2), &[(0.0, 24.0), (0.0, 49.0)]),
    ("linkerd-service-profile", None, NO_WAIT),
    ("linkerd-annotations", Some(1), &[(25.0, 50.0)]),
    ("finagle", Some(20), NO_WAIT),
    ("tower", None, &[(50.0, 99.5), (100.0, 199.0)]),
    ("aws-standard", Some(2), &[(0.0, 50.0), (0.0, 100.0)]),
    ("aws-standard-before-2026", Some(2), &[(0.0, S), (0.0, 2.0 * S)]),
    ("aws-legacy", Some(4), &[(0.0, S), (0.0, 2.0 * S), (0.0, 4.0 * S), (0.0, 8.0 * S)]),
    ("lambda-async", Some(2), &[(MIN, MIN), (2.0 * MIN, 2.0 * MIN)]),
    ("lambda-async-throttled", None, &[(S, S), (2.0 * S, 2.0 * S), (4.0 * S, 4.0 * S)]),
    ("requests", Some(0), &[]),
    ("bullmq", Some(0), &[]),
    ("client-go", None, &[(5.0, 5.0), (10.0, 10.0), (20.0, 20.0)]),
    ("sidekiq", Some(25), &[(15.0 * S, 24.0 * S), (16.0 * S, 35.0 * S)]),
    ("celery", Some(3), &[(180.0 * S, 180.0 * S), (180.0 * S, 180.0 * S)]),
    ("urllib3", Some(10), NO_WAIT),
    ("tenacity", None, NO_WAIT),
    (
        "go-retryablehttp",
        Some(4),
        &[(S, S), (2.0 * S, 2.0 * S), (4.0 * S, 4.0 * S), (8.0 * S, 8.0 * S)],
    ),
    ("cenkalti", None, &[(250.0, 750.0), (375.0, 1_125.0), (562.5, 1_687.5)]),
    ("backon", Some(3), &[(S, S), (2.0 * S, 2.0 * S), (4.0 * S, 4.0 * S)]),
    ("temporal", None, &[(S, S), (2.0 * S, 2.0 * S), (4.0 * S, 4.0 * S)]),
    ("google-gax", None, &[(0.0, S), (0.0, 2.0 * S), (0.0, 4.0 * S)]),
    ("failsafe", Some(2), NO_WAIT),
    ("chokaq", Some(2), &[(6.0 * S, 7.0 * S), (12.0 * S, 13.0 * S)]),
    ("webhook-producer", Some(15), &[(0.5 * MIN, MIN), (MIN, 2.0 * MIN), (2.0 * MIN, 4.0 * MIN)]),
    ("chokaq-documentation", Some(3), &[(3.0 * S, 4.0 * S), (6.0 * S, 7.0 * S)]),
    ("webhook-producer-code", Some(15), &[(MIN, 2.0 * MIN), (2.0 * MIN, 4.0 * MIN)]),
    ("courier", Some(4), &[(MIN, MIN), (5.0 * MIN, 5.0 * MIN), (30.0 * MIN, 30.0 * MIN)]),
    ("nest-payments", Some(3), &[(0.0, 275.436), (0.0, 567.45), (0.0, 865.183)]),
    ("deferred-consumer", Some(1), &[]),
    ("polly-budget", Some(3), &[(0.0, 688.6), (0.0, 1_418.6), (0.0, 2_163.2)]),
];

#[test]
fn the_schedules_of_presets_are_those_of_their_libraries() {
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-3 * b.max(1.0);
    for (name, retries, windows) in GLANCE {
        let found = json(&["explain", "--policy", name, "--json"]);
        let attempts = retries.map_or("unlimited".into(), |retries| Value::from(retries + 1));
        assert_eq!(found["attempts"], attempts, "{name}");
        let waits = found["waits"].as_array().unwrap();
        let same = windows.iter().zip(waits).all(|((low, high), wait)| {
            let wait = &wait["wait"];
            close(millis(&wait["smallest"]), *low) && close(millis(&wait["largest"]), *high)
        });
        assert!(same, "{name}: {waits:#?}");
        assert!(waits.len() >= windows.len(), "{name}");
    }
}

#[test]
fn waits_at_their_cap_stay_there() {
    #[track_caller]
    fn check(name: &str, retry: usize, low: f64, high: f64) {
        let found = json(&["explain", "--policy", name, "--json"]);
        let wait = &found["waits"][retry - 1]["wait"];
        let (from, to) = (millis(&wait["smallest"]), millis(&wait["largest"]));
        assert!((from - low).abs() < 0.001 && (to - high).abs() < 0.001, "{name}: {wait}");
    }
    check("temporal", 8, 100.0 * S, 100.0 * S);
    check("lambda-async-throttled", 10, 300.0 * S, 300.0 * S);
    check("webhook-producer", 15, 30.0 * MIN, 60.0 * MIN);
    check("google-gax", 6, 0.0, 30.0 * S);
    check("go-retryablehttp", 4, 8.0 * S, 8.0 * S);
    check("efcore-sqlserver", 6, 30.0 * S, 30.0 * S);
    check("cenkalti", 12, 0.5 * 43_248.779_296, 1.5 * 43_248.779_296);
}

#[test]
fn sums_and_times_of_attempts_are_those_of_the_whole_systems() {
    let webhook = json(&["explain", "--policy", "webhook-producer", "--json"]);
    let sum = &webhook["waits"][14]["sum"];
    // 10.05 h without hints, at least 5.03 h, 7.54 h on average.
    assert_eq!(millis(&sum["largest"]), 603.0 * MIN);
    assert_eq!(millis(&sum["smallest"]), 301.5 * MIN);
    assert_eq!(millis(&sum["mean"]), 452.25 * MIN);

    let webhook = webhook["waits"].as_array().unwrap();
    let most: Vec<_> = webhook.iter().map(|it| millis(&it["wait"]["largest"]) / MIN).collect();
    assert_eq!(most[..7], [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0]);
    assert!(most[7..].iter().all(|it| *it == 60.0) && most.len() == 15);

    // Decorrelated jitter V2: the sum telescopes.
    let sum = |name: &str, retry: usize, of: &str| {
        millis(&json(&["explain", "--policy", name, "--json"])["waits"][retry - 1]["sum"][of])
    };
    assert!((sum("polly-budget", 3, "largest") - 2_852.0).abs() < 1.0);
    assert!((sum("dotnet-standard-handler", 3, "largest") - 11_410.0).abs() < 5.0);
    // About 20.4 days until a job of Sidekiq is dead.
    assert!((sum("sidekiq", 25, "mean") / 86_400e3 - 20.43).abs() < 0.01);
}
