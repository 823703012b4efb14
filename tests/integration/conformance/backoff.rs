//! Recordings of backoffs: the wait before each retry, under the draws that the library had.
//!
//! Polly, resilience4j, Finagle, Sidekiq, EF Core, Temporal and Kubernetes have no recording: they
//! are held against formulas in `cases/delays.rs`.

mod bands;
mod hints;
mod others;

use serde_json::Value;
use stormlab::policy::backoff::Backoff;
use stormlab::policy::backoff::CapOrder;
use stormlab::policy::backoff::First;
use stormlab::policy::backoff::Grain;
use stormlab::policy::backoff::Growth;
use stormlab::policy::backoff::Jitter;
use stormlab::policy::backoff::Past;
use stormlab::policy::backoff::Rounding;
use stormlab::policy::backoff::Rules;
use stormlab::policy::outcome::Class;
use stormlab::policy::outcome::ClassSet;
use stormlab::units::Draw;
use stormlab::units::Duration;

use super::trace;

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

fn seconds(value: f64) -> Duration {
    Duration::from_secs_f64(value)
}

fn ms(value: f64) -> Duration {
    trace::millis(value)
}

/// A recorded uniform number. The reader of JSON makes 1 of what lies just below it.
fn draw(value: f64) -> Draw {
    trace::draw(if value == 1.0 { 1.0 - f64::EPSILON / 2.0 } else { value })
}

/// The waits before as many retries as there are in `expected`, a uniform number for each.
#[track_caller]
fn agrees(name: &str, backoff: &Backoff, uniforms: &[f64], expected: &[Duration], tolerance: u64) {
    assert!(!expected.is_empty(), "{name} has no waits");
    let mut past = Past::new();
    for (i, theirs) in expected.iter().enumerate() {
        let retry = i as u32 + 1;
        let luck = uniforms.get(i).map_or(Draw::MIDDLE, |u| draw(*u));
        let ours = backoff.wait(retry, &mut past, luck);
        let (low, high) = backoff.bounds(retry);
        assert!(
            trace::agree(ours, *theirs, tolerance),
            "{name}, retry {retry}: {} ns for {} ns",
            ours.as_nanos(),
            theirs.as_nanos()
        );
        assert!(low <= ours && ours <= high, "{name}, retry {retry}: {ours} of {low}..{high}");
    }
}

fn each(value: &Value, unit: fn(f64) -> Duration) -> Vec<Duration> {
    trace::numbers(value).into_iter().map(unit).collect()
}

/// One uniform number a retry where the library draws none for the first.
fn after_a_first(mut uniforms: Vec<f64>) -> Vec<f64> {
    uniforms.insert(0, 0.5);
    uniforms
}

fn doubling(base: Duration, cap: Duration, jitter: Jitter) -> Backoff {
    Backoff::exponential(base, 2.0, cap, jitter)
}

fn cockatiel(case: &Value) -> Backoff {
    let settings = &case["settings"];
    let base = ms(trace::number(&settings["initialDelay"]));
    let cap = ms(trace::number(&settings["maxDelay"]));
    let cut = Rules { rounding: Rounding::Down(MS), ..Rules::PLAIN };
    match case["generator"].as_str().expect("recorded") {
        // The option `exponent` is not used by these three.
        "none" => doubling(base, cap, Jitter::None),
        "full" => doubling(base, cap, Jitter::Full).with_rules(cut),
        "half" => doubling(base, cap, Jitter::Equal).with_rules(cut),
        "decorrelated" => {
            let factor = trace::number(&settings["exponent"]);
            Backoff::exponential(base, factor, cap, Jitter::DecorrelatedV2)
        }
        other => panic!("{other}"),
    }
}

#[test]
fn cockatiel_generators() {
    for case in trace::cases("cockatiel/delays.json") {
        if case["generator"] == "half" && case["script"] == "almost_one" {
            continue; // Just below 1 a sum of floats is rounded up to the end of the window.
        }
        let name = format!("{} {}", case["generator"], case["settings"]);
        let (uniforms, waits) = (trace::numbers(&case["uniforms"]), each(&case["delays_ms"], ms));
        agrees(&name, &cockatiel(&case), &uniforms, &waits, 2);
    }
}

#[test]
fn cockatiel_very_late_retries() {
    for case in trace::cases("cockatiel/delays-far.json") {
        let backoff = cockatiel(&case);
        let retries = trace::numbers(&case["retries"]);
        let waits = trace::numbers(&case["delays_ms"]);
        let (mut past, mut last) = (Past::new(), 0);
        for (retry, theirs) in retries.into_iter().zip(waits) {
            // The sequence has a past: follow it.
            let mut ours = Duration::ZERO;
            for k in last + 1..=retry as u32 {
                ours = backoff.wait(k, &mut past, Draw::MIDDLE);
            }
            last = retry as u32;
            // Where theirs is longer than a span can be, or infinite, ours is the longest span,
            // but for what full and half jitter leave of it.
            let theirs = ms(theirs);
            let endless = theirs == Duration::MAX && ours.as_nanos() > u64::MAX / 3;
            assert!(
                endless || trace::agree(ours, theirs, 2),
                "{} {}, retry {retry}: {ours} for {theirs}",
                case["generator"],
                case["settings"]
            );
        }
    }
}

/// What the AWS SDKs wait after an answer, hints aside.
fn aws(answer: &str, base: Duration, throttling: Duration, rules: Rules) -> Backoff {
    let cap = Duration::from_secs(20);
    let of = |base| doubling(base, cap, Jitter::Full).with_rules(rules.clone());
    let by_class = vec![(ClassSet::of(&[Class::RateLimited]), of(throttling))];
    let backoff = of(base).with_rules(Rules { by_class, ..rules.clone() });
    let throttled = answer.starts_with("throttled") || answer.starts_with("429");
    backoff.after(if throttled { Class::RateLimited } else { Class::Unavailable }).clone()
}

#[test]
fn botocore_legacy_and_standard() {
    for file in ["botocore/delays.json", "botocore-1.40/delays.json"] {
        for case in trace::cases(file) {
            let text = |key: &str| case[key].as_str().unwrap_or_default().to_owned();
            let (mode, service, answer) = (text("mode"), text("service"), text("answer"));
            let waits = each(&case["waits_s"], seconds);
            let is_new = file == "botocore/delays.json";
            if waits.is_empty() || (answer.contains("hint") && mode == "standard" && is_new) {
                continue; // Not retried, or in `hints`.
            }
            let backoff = match (mode.as_str(), service.as_str()) {
                ("legacy", "dynamodb") => doubling(ms(50.0), Duration::MAX, Jitter::None),
                ("legacy", _) => doubling(SECOND, Duration::MAX, Jitter::Full),
                _ if !is_new => aws(&answer, SECOND, SECOND, Rules::PLAIN),
                (_, "dynamodb") => aws(&answer, ms(25.0), SECOND, Rules::PLAIN),
                _ => aws(&answer, ms(50.0), SECOND, Rules::PLAIN),
            };
            let uniforms = trace::numbers(&case["uniforms"]);
            agrees(&format!("{file} {mode} {service} {answer}"), &backoff, &uniforms, &waits, 2);
        }
    }
}

#[test]
fn smithy_standard_and_deprecated() {
    let cut = Rules { rounding: Rounding::Down(MS), ..Rules::PLAIN };
    for case in trace::cases("smithy/delays.json") {
        let (strategy, answer) = (
            case["strategy"].as_str().expect("recorded"),
            case["answer"].as_str().expect("recorded"),
        );
        let waits = each(&case["waits_ms"], ms);
        if waits.is_empty() || answer.contains("hint") || answer.contains("retry-after") {
            continue;
        }
        let backoff = match strategy {
            "standard" => aws(answer, ms(50.0), SECOND, cut.clone()),
            "standard_dynamodb" => aws(answer, ms(25.0), SECOND, cut.clone()),
            _ => {
                // The strategy of the first clients begins at 2¹, and caps after the jitter.
                let last = Rules { order: CapOrder::JitterThenCap, ..cut.clone() };
                aws(answer, ms(200.0), SECOND, last)
            }
        };
        let uniforms = trace::numbers(&case["uniforms"]);
        agrees(&format!("{strategy} {answer}"), &backoff, &uniforms, &waits, 0);
    }
}

#[test]
fn aws_sdk_for_rust() {
    for case in trace::cases("aws-smithy-runtime/delays.json") {
        let (spec, answer) =
            (case["spec"].as_str().expect("recorded"), case["answer"].as_str().expect("recorded"));
        if answer.contains("hint") {
            continue;
        }
        let base = if spec == "v2_0" { SECOND } else { ms(50.0) };
        let backoff = aws(answer, base, SECOND, Rules::PLAIN);
        let waits = each(&case["waits_ns"], |ns| Duration::from_nanos(ns as u64));
        let uniforms = trace::numbers(&case["uniforms"]);
        agrees(&format!("{spec} {answer}"), &backoff, &uniforms, &waits, 1);
    }
}

/// `"0.3s"`.
fn google_seconds(value: &Value) -> Duration {
    seconds(value.as_str().expect("recorded").trim_end_matches('s').parse().expect("recorded"))
}

/// The back-off of a gRPC service config; grpc-js does not cap the first wait, core does.
fn grpc(policy: &Value, first: First) -> Backoff {
    Backoff::exponential(
        google_seconds(&policy["initialBackoff"]),
        trace::number(&policy["backoffMultiplier"]),
        google_seconds(&policy["maxBackoff"]),
        Jitter::PlusMinus(0.2),
    )
    .with_rules(Rules { first, ..Rules::PLAIN })
}

#[test]
fn grpc_js_exact_waits() {
    let mut compared = 0;
    for case in trace::cases("grpc-js/backoff.json") {
        let waits = each(&case["waits_ms"], ms);
        if case["script"].to_string().contains("pushback") || waits.is_empty() {
            continue; // In `hints`.
        }
        let backoff = grpc(&case["retry_policy"], First::Uncapped);
        agrees(&case["name"].to_string(), &backoff, &trace::numbers(&case["uniforms"]), &waits, 2);
        compared += 1;
    }
    assert!(compared > 15);
}

#[test]
fn tower_exponential_backoff() {
    for case in trace::cases("tower/backoff.json") {
        let (base, share) = (ms(trace::number(&case["min_ms"])), trace::number(&case["jitter"]));
        // Its factor stops growing at 2³² − 1.
        let most = base.scale(f64::from(u32::MAX));
        let cap = case["max_ms"].as_f64().map_or(Duration::MAX, ms);
        let rules =
            Rules { order: CapOrder::JitterThenCap, grain: Grain::SecondsApart, ..Rules::PLAIN };
        let backoff = doubling(base, cap, Jitter::AddedShare(share)).with_rules(rules);
        let waits = each(&case["delays_ns"], |ns| Duration::from_nanos(ns as u64));
        let waits: Vec<_> = waits.into_iter().take(32).take_while(|wait| *wait < most).collect();
        let uniforms = trace::numbers(&case["uniforms"]);
        if base > Duration::ZERO {
            agrees(&case.to_string()[..60], &backoff, &uniforms, &waits, 2);
        }
    }
}

#[test]
fn cenkalti_exponential_backoff() {
    for case in trace::cases("go-cenkalti-backoff/delays.json") {
        let settings = &case["settings"];
        let ns = |key: &str| Duration::from_nanos(settings[key].as_u64().expect("recorded"));
        let share = trace::number(&settings["randomization_factor"]);
        let nanosecond = Duration::from_nanos(1);
        let backoff = Backoff {
            growth: Growth::Stepped {
                base: ns("initial_ns"),
                factor: trace::number(&settings["multiplier"]),
                unit: nanosecond,
            },
            cap: ns("max_interval_ns"),
            jitter: if share > 0.0 { Jitter::PlusMinus(share) } else { Jitter::None },
            rules: Rules {
                first: First::Uncapped,
                grain: Grain::OneMore(nanosecond),
                ..Rules::PLAIN
            },
        };
        let waits = each(&case["delays_ns"], |ns| Duration::from_nanos(ns as u64));
        let uniforms =
            case["uniforms"].as_array().map_or(Vec::new(), |_| trace::numbers(&case["uniforms"]));
        agrees(&settings.to_string(), &backoff, &uniforms, &waits, 1);
    }
}

#[test]
fn go_retryablehttp_default_and_linear() {
    for case in trace::cases("go-retryablehttp/delays.json") {
        let ns = |key: &str| case[key].as_u64().map(Duration::from_nanos);
        let (Some(base), Some(cap)) = (ns("min_ns"), ns("max_ns")) else { continue };
        let backoff = doubling(base, cap, Jitter::None);
        let attempts = trace::numbers(&case["attempt_numbers"]);
        for (attempt, theirs) in attempts.into_iter().zip(trace::numbers(&case["delays_ns"])) {
            if base.is_zero() && attempt > 1_023.0 {
                continue; // A minimum of 0 becomes the maximum there: a fault of theirs.
            }
            let ours = backoff.window(attempt as u32 + 1);
            let theirs = Duration::from_nanos(theirs as u64);
            assert!(trace::agree(ours, theirs, 0), "{base} {cap} {attempt}: {ours}");
        }
    }
    for case in trace::cases("go-retryablehttp/linear-jitter-bounds.json") {
        let ns = |key: &str| Duration::from_nanos(case[key].as_u64().expect("recorded"));
        let (least, most) = (ns("min_ns"), ns("max_ns"));
        let share = most.as_secs_f64() / least.as_secs_f64() - 1.0;
        let growth = Growth::Linear { base: least, step: least };
        let jitter = Jitter::AddedShare(share);
        let backoff = Backoff { growth, jitter, ..Backoff::NONE };
        let (low, high) =
            backoff.bounds(case["attempt_number"].as_u64().expect("recorded") as u32 + 1);
        assert!(low <= ns("least_ns") && ns("most_ns") <= high.saturating_add(MS), "{case}");
        assert!(ns("least_ns") <= low.scale(1.02) && high.scale(0.98) <= ns("most_ns"), "{case}");
    }
}
