//! The client rate limiter of the AWS SDKs' adaptive mode: botocore and JavaScript.

use serde_json::Value;
use stormlab::policy::throttle::cubic::Cubic;
use stormlab::units::Duration;
use stormlab::units::SimTime;

use crate::conformance::trace::cases;
use crate::conformance::trace::number;
use crate::conformance::trace::numbers;

/// Times in the file, as nanoseconds.
type Clock = fn(f64) -> u64;

#[track_caller]
fn near(place: &str, what: &str, ours: f64, theirs: f64, slack: f64) {
    let apart = (ours - theirs).abs();
    assert!(apart <= slack * theirs.abs().max(1.0), "{place}: {what} {ours} and not {theirs}");
}

/// Each attempt is let through when it was, and leaves the limiter as it did.
fn replay(case: &Value, unit: &str, clock: Clock, [slack, fill_rate]: [f64; 2]) {
    let mut cubic = Cubic::new(SimTime::from_nanos(100_000_000_000)).filling_at(fill_rate);
    let mut held = 0;
    for (index, step) in case["steps"].as_array().expect("steps").iter().enumerate() {
        let place = format!("{}, call {index}: {step}", case["name"]);
        let sent = numbers(&step[format!("sent_at_{unit}")]);
        let backoffs = match &step[format!("backoff_waits_{unit}")] {
            Value::Null => Vec::new(),
            waits => numbers(waits),
        };
        let mut now = clock(number(&step[format!("called_at_{unit}")]));
        for (attempt, sent_at) in sent.iter().enumerate() {
            if attempt > 0 && backoffs.is_empty() {
                now = clock(*sent_at); // The waits between attempts are not in this file.
            }
            while let Some(wait) = cubic.acquire(SimTime::from_nanos(now)) {
                now += wait.as_nanos();
                held += 1;
            }
            let sent_at = clock(*sent_at);
            assert!(now.abs_diff(sent_at) <= 1_000, "{place}: sent at {now} ns, not {sent_at}");
            now = sent_at;
            let throttled = step["outcomes"][attempt] == "throttled";
            cubic.settle(SimTime::from_nanos(now), throttled);
            let wait = backoffs.get(attempt).map_or(0, |wait| clock(*wait));
            now += Duration::from_nanos(wait).as_nanos();
        }
        assert_eq!(Some(cubic.is_enabled()), step["enabled"].as_bool(), "{place}");
        let (w_max, k) = cubic.curve();
        for (what, ours) in [
            ("measured_rate", cubic.measured()),
            ("fill_rate", cubic.fill_rate()),
            ("capacity", cubic.capacity()),
            ("w_max", w_max),
            ("k", k),
        ] {
            near(&place, what, ours, number(&step[what]), slack);
        }
        if cubic.is_enabled() {
            near(&place, "tokens", cubic.tokens(), number(&step["tokens"]), 1e3 * slack);
        }
    }
    let random = case["name"] == "random";
    assert!(!random || held > 10, "the limiter holds attempts back");
}

#[test]
fn botocore_adaptive_mode() {
    for case in cases("botocore/adaptive.json") {
        replay(&case, "s", |seconds| (seconds * 1e9).round() as u64, [1e-8, 1.0]);
    }
}

/// Its bucket does not fill before the first answer, botocore's does, at 1/s.
#[test]
fn smithy_javascript_adaptive_mode() {
    for case in cases("smithy/adaptive.json") {
        replay(&case, "ms", |millis| (millis * 1e6).round() as u64, [1e-6, 0.0]);
    }
}
