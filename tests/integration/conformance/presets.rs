//! The waits of presets against recordings of their libraries, under the draws that those had.

use serde_json::Value;
use stormlab::policy::backoff::Past;
use stormlab::policy::outcome::Class;
use stormlab::scenario::presets;
use stormlab::units::Draw;
use stormlab::units::Duration;

use super::trace;

fn seconds(value: f64) -> Duration {
    Duration::from_secs_f64(value)
}

fn nanos(value: f64) -> Duration {
    Duration::from_nanos(value as u64)
}

/// Holds the waits of a preset after failures of `class` against recorded ones; how many.
#[track_caller]
fn agrees(name: &str, class: Class, uniforms: &Value, waits: &[Duration]) -> usize {
    let backoff =
        &presets::find(name).expect("recorded").policy.retry.as_ref().expect("recorded").backoff;
    let uniforms = uniforms.as_array().map_or(Vec::new(), |all| {
        all.iter().map(|u| trace::number(u).min(1.0 - f64::EPSILON / 2.0)).collect()
    });
    let mut past = Past::new();
    for (i, theirs) in waits.iter().enumerate() {
        let draw = uniforms.get(i).map_or(Draw::MIDDLE, |u| trace::draw(*u));
        let ours = backoff.after(class).wait(i as u32 + 1, &mut past, draw);
        assert!(trace::agree(ours, *theirs, 3), "{name}, retry {}: {ours} for {theirs}", i + 1);
    }
    waits.len()
}

fn each(value: &Value, unit: fn(f64) -> Duration) -> Vec<Duration> {
    trace::numbers(value).into_iter().map(unit).collect()
}

#[test]
fn cockatiel_exponential_waits_as_recorded() {
    let mut held = 0;
    for case in trace::cases("cockatiel/delays.json") {
        let defaults =
            serde_json::json!({ "initialDelay": 128, "maxDelay": 30_000, "exponent": 2 });
        if case["generator"] == "decorrelated" && case["settings"] == defaults {
            let waits = each(&case["delays_ms"], trace::millis);
            let class = Class::Unavailable;
            held += agrees("cockatiel-exponential", class, &case["uniforms"], &waits);
        }
    }
    assert!(held >= 90, "{held}");
}

#[test]
fn aws_modes_wait_as_recorded() {
    let names = [
        ("botocore/delays.json", "standard", "aws-standard"),
        ("botocore/delays.json", "standard", "aws-adaptive"),
        ("botocore/delays.json", "legacy", "aws-legacy"),
        ("botocore-1.40/delays.json", "standard", "aws-standard-before-2026"),
    ];
    for (file, mode, name) in names {
        let (mut held, mut throttled) = (0, 0);
        for case in trace::cases(file) {
            let answer = case["answer"].as_str().expect("recorded");
            let waits = each(&case["waits_s"], seconds);
            if case["mode"] != mode || case["service"] != "sqs" || waits.is_empty() {
                continue;
            }
            match answer {
                "503" => held += agrees(name, Class::Unavailable, &case["uniforms"], &waits),
                "throttled" => {
                    throttled += agrees(name, Class::RateLimited, &case["uniforms"], &waits);
                }
                _ => {}
            }
        }
        assert!(held >= 45, "{name}: {held}");
        assert!(throttled >= 45, "{name}: {throttled} after throttling");
    }
}

#[test]
fn go_and_rust_libraries_wait_as_recorded() {
    let class = Class::Unavailable;
    let mut held = 0;
    for case in trace::cases("go-cenkalti-backoff/delays.json") {
        let settings = &case["settings"];
        let is_default = settings["initial_ns"] == 500_000_000
            && settings["max_interval_ns"] == 60_000_000_000_u64
            && trace::number(&settings["multiplier"]) == 1.5
            && trace::number(&settings["randomization_factor"]) == 0.5;
        if is_default {
            held += agrees("cenkalti", class, &case["uniforms"], &each(&case["delays_ns"], nanos));
        }
    }
    assert!(held > 0, "no recording of cenkalti's defaults");

    let cases = trace::cases("go-retryablehttp/delays.json");
    let default = cases
        .iter()
        .find(|case| case["min_ns"] == 1_000_000_000 && case["max_ns"] == 30_000_000_000_u64);
    let waits = each(&default.expect("recorded")["delays_ns"], nanos);
    agrees("go-retryablehttp", class, &Value::Null, &waits[..40]);

    let cases = trace::cases("backon/delays.json");
    let default = cases.iter().find(|case| case["builder"] == "ExponentialBuilder::default()");
    agrees("backon", class, &Value::Null, &each(&default.expect("recorded")["delays_ns"], nanos));

    let mut held = 0;
    for case in trace::cases("tower/backoff.json") {
        let is_default = case["max_ms"] == "u64::MAX" && case["jitter"] == 0.99;
        if is_default && case["min_ms"] == 50 {
            // Its factor stops growing at 2³² − 1.
            let waits = each(&case["delays_ns"], nanos);
            held += agrees("tower", class, &case["uniforms"], &waits[..30]);
        }
    }
    assert!(held >= 90, "{held}");
}

#[test]
fn python_libraries_wait_as_recorded() {
    let cases = trace::cases("urllib3/backoff.json");
    let default = serde_json::json!({ "backoff_factor": 0 });
    let default = cases.iter().find(|case| case["retry"] == default).expect("recorded");
    agrees("urllib3", Class::Timeout, &Value::Null, &each(&default["delays_s"], seconds));

    let mut held = 0;
    for case in trace::cases("python-others/google-api-core.json") {
        let settings = case.get("settings").and_then(Value::as_object);
        if settings.is_some_and(|settings| settings.is_empty()) {
            let waits = each(&case["waits_s"], seconds);
            held += agrees("google-api-core", Class::Unavailable, &case["uniforms"], &waits);
        }
    }
    assert!(held > 0, "no recording of google-api-core's defaults");
}
