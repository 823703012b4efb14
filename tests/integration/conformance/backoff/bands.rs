//! Recordings on real time: bands that the waits of a policy must fill, and not leave.

use super::*;

/// What the transport and the scheduler may add.
const SLACK_MS: f64 = 12.0;

#[track_caller]
fn fills(name: &str, gap: &Value, (low, high): (Duration, Duration), median: Duration) {
    let (low, high) = (low.as_millis_f64(), high.as_millis_f64());
    let of = |key: &str| trace::number(&gap[key]);
    assert!(of("least") >= low - 0.1, "{name}: {gap} below {low}");
    assert!(of("most") <= high + SLACK_MS, "{name}: {gap} above {high}");
    // The band is about as wide as it should be, and its middle where it should be.
    let width = high - low;
    assert!(of("least") <= low + 0.2 * width + SLACK_MS, "{name}: {gap} for {low}..{high}");
    assert!(of("most") >= high - 0.2 * width - 1.0, "{name}: {gap} for {low}..{high}");
    let off = (of("median") - median.as_millis_f64()).abs();
    assert!(off <= 0.2 * width + SLACK_MS, "{name}: {gap} for a median of {median}");
}

#[test]
fn grpc_core_plus_minus_twenty_per_cent_after_the_cap() {
    for case in trace::cases("grpc-core/backoff-bands.json") {
        if case["script"].to_string().contains("pushback") {
            continue;
        }
        let backoff = grpc(&case["retry_policy"], First::Alike);
        for (retry, gap) in (1..).zip(case["gaps_ms"].as_array().expect("recorded")) {
            let name = format!("{} {retry}", case["name"]);
            // With a multiplier below one the windows fall.
            fills(&name, gap, backoff.bounds(retry), backoff.median(retry));
        }
    }
}

#[test]
fn envoy_full_jitter_in_whole_milliseconds() {
    let seconds = |value: &Value| value.as_str().map(|_| google_seconds(value));
    let mut compared = 0;
    for case in trace::cases("envoy/backoff-bands.json") {
        if case["script"].to_string().contains("retry-after") {
            continue;
        }
        let written = &case["retry_policy"]["retry_back_off"];
        let base = seconds(&written["base_interval"]).unwrap_or(ms(25.0));
        let cap = seconds(&written["max_interval"]).unwrap_or(base.scale(10.0));
        let backoff = doubling(base, cap, Jitter::Full)
            .with_rules(Rules { grain: Grain::Whole(MS), ..Rules::PLAIN });
        for (retry, gap) in (1..).zip(case["gaps_ms"].as_array().expect("recorded")) {
            let name = format!("{} {retry}", case["name"]);
            fills(&name, gap, backoff.bounds(retry), backoff.median(retry));
            compared += 1;
        }
    }
    assert!(compared > 15);
}

#[test]
fn cenkalti_jitter_bounds() {
    for case in trace::cases("go-cenkalti-backoff/jitter-bounds.json") {
        let settings = &case["settings"];
        let ns = |key: &str| Duration::from_nanos(settings[key].as_u64().expect("recorded"));
        let jitter = Jitter::PlusMinus(trace::number(&settings["randomization_factor"]));
        let factor = trace::number(&settings["multiplier"]);
        let backoff = Backoff::exponential(ns("initial_ns"), factor, ns("max_interval_ns"), jitter);
        bounds_hold(&case, &backoff);
    }
}

#[test]
fn backon_jitter_bounds() {
    let added = |growth, cap, jitter| Backoff { growth, cap, jitter, rules: Rules::PLAIN };
    let twice = |base| Growth::Exponential { base, factor: 2.0, start: 0 };
    for case in trace::cases("backon/jitter-bounds.json") {
        let builder = case["builder"].as_str().expect("recorded");
        let once = Jitter::AddedShare(1.0);
        let backoff = match builder {
            b if b.contains("min 100 ms, max 1 s") => added(twice(ms(100.0)), SECOND, once),
            b if b.starts_with("Exp") => added(twice(SECOND), SECOND.scale(60.0), once),
            b if b.starts_with("Const") => added(Growth::Constant(SECOND), Duration::MAX, once),
            // The cap is passed once; what is added is at most the first wait.
            _ => added(Growth::Fibonacci { base: SECOND }, SECOND.scale(89.0), added_second()),
        };
        bounds_hold(&case["bounds"], &backoff);
    }
}

/// `U[0, 1 s)`.
pub(super) fn added_second() -> Jitter {
    Jitter::Added { most: SECOND, grows: Duration::ZERO, clipped: false }
}

/// The least and the greatest of many draws lie within the bounds, and close to them.
#[track_caller]
fn bounds_hold(case: &Value, backoff: &Backoff) {
    let (least, most) = (trace::numbers(&case["least_ns"]), trace::numbers(&case["most_ns"]));
    for (retry, (least, most)) in (1..).zip(least.into_iter().zip(most)) {
        let (low, high) = backoff.bounds(retry);
        let (low, high) = (low.as_nanos() as f64, high.as_nanos() as f64);
        let near = (high - low) * 0.01;
        // Their factors are of 32 bits, or cut at every step.
        assert!(low * (1.0 - 1e-6) <= least && least <= low + near, "{retry}: {least} for {low}");
        assert!(high - near <= most && most <= high * (1.0 + 1e-6), "{retry}: {most} for {high}");
    }
}
