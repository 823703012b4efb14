//! cockatiel 3.2.1: its three breakers under a circuitBreaker policy, call by call.

use std::collections::BTreeMap;

use serde_json::Value;
use stormlab::policy::breaker::Answer;
use stormlab::policy::breaker::Breaker;
use stormlab::policy::breaker::BreakerConfig;
use stormlab::policy::breaker::BreakerState;
use stormlab::policy::breaker::LateResults;
use stormlab::policy::breaker::Permit;
use stormlab::policy::breaker::Report;
use stormlab::policy::breaker::Settled;
use stormlab::policy::breaker::Trip;
use stormlab::policy::breaker::config::Divisor;
use stormlab::policy::breaker::config::HalfOpen;
use stormlab::policy::breaker::config::Judged;
use stormlab::policy::breaker::config::Limit;
use stormlab::policy::breaker::config::Others;
use stormlab::policy::breaker::config::Rate;
use stormlab::policy::breaker::config::Turns;
use stormlab::policy::breaker::config::WindowKind;
use stormlab::policy::breaker::opening::MOST_OPENINGS;
use stormlab::policy::breaker::opening::OpenGrowth;
use stormlab::policy::breaker::release::Uncounted;
use stormlab::units::Draw;
use stormlab::units::Duration;
use stormlab::units::Share;

use super::at;
use crate::conformance::trace::cases;
use crate::conformance::trace::millis;
use crate::conformance::trace::number;
use crate::conformance::trace::numbers;

fn trip(case: &Value) -> Trip {
    let options = &case["options"];
    let threshold = number(&options["threshold"]);
    if case["breaker"] == "consecutive" {
        return Trip::Consecutive(threshold as u32);
    }
    let limit = Limit::MoreThan(Share::new(threshold).expect("as recorded"));
    let (window, minimum_calls) = if case["breaker"] == "count" {
        let size = number(&options["size"]) as u32;
        let minimum = options.get("minimumNumberOfCalls").map_or(size, |n| number(n) as u32);
        (WindowKind::Calls(size), minimum)
    } else {
        let duration = number(&options["duration_ms"]);
        let buckets = (duration / 1_000.0).ceil().max(5.0);
        // Windows of whole milliseconds; the length is then a multiple of theirs.
        let length = (duration / buckets).round() * buckets;
        let per_ms = match options.get("minimum_rps") {
            Some(rps) => number(rps) / 1_000.0,
            None => 5.0 / (threshold * 1_000.0),
        };
        let turns = Turns::WithOutcomes;
        let window = WindowKind::Time { length: millis(length), buckets: buckets as u32, turns };
        (window, (length * per_ms - 1e-9).ceil() as u32)
    };
    Trip::Rate(Rate {
        window,
        limit,
        minimum_calls,
        slow: None,
        judged: Judged::OnFailure,
        divisor: Divisor::Outcomes,
        warm_up: Duration::ZERO,
    })
}

fn config(case: &Value) -> BreakerConfig {
    let half_open_after = &case["half_open_after_ms"];
    let (open_for, growth) = if half_open_after.is_array() {
        let list = numbers(half_open_after);
        let mut times = [Duration::ZERO; MOST_OPENINGS];
        times.iter_mut().zip(&list).for_each(|(time, value)| *time = millis(*value));
        (times[0], OpenGrowth::Table { times, len: list.len() as u8 })
    } else {
        (millis(number(half_open_after)), OpenGrowth::Constant)
    };
    BreakerConfig {
        trip: trip(case),
        open_for,
        growth,
        uncounted: Uncounted::Closes,
        late_results: LateResults::Record,
        half_open: HalfOpen { others: Others::Wait, probes_count: true, ..HalfOpen::PLAIN },
        ..BreakerConfig::PLAIN
    }
}

fn half(_: u32) -> Draw {
    Draw::MIDDLE
}

/// Replays a case step by step, and counts what was compared.
fn replay(case: &Value) -> usize {
    let (name, config) = (&case["name"], config(case));
    let mut breaker = Breaker::default();
    let mut permits: BTreeMap<u64, Permit> = BTreeMap::new();
    let mut compared = 0;
    let steps = case["steps"].as_array().expect("as recorded");
    for (index, step) in steps.iter().enumerate() {
        let now = at(number(&step["at_ms"]));
        let id = step["id"].as_u64();
        match step["event"].as_str().expect("as recorded") {
            "call" | "resumed" => {
                let id = id.expect("as recorded");
                let verdict = match breaker.ask(&config, now, &half) {
                    Answer::Granted(permit) => {
                        permits.insert(id, permit);
                        if permit.is_probe() { "probe" } else { "run" }
                    }
                    Answer::Refused => "refused",
                    Answer::Wait(_) => "wait",
                };
                assert_eq!(verdict, step["verdict"], "{name}: {step}");
            }
            "end" => {
                let permit = permits.remove(&id.expect("as recorded")).expect("it was let in");
                let settled = match step["result"].as_str().expect("as recorded") {
                    "success" => Settled::Success,
                    "failure" => Settled::Failure,
                    _ => Settled::Unhandled,
                };
                let report = Report { settled, took: Duration::ZERO };
                breaker.report(&config, permit, now, report, &half);
                // Callers that are resumed together end together, and are written down after that.
                let mut rest = steps[index + 1..].iter().filter(|step| step["event"] != "state");
                if rest
                    .next()
                    .is_some_and(|next| next["event"] == "end" && next["at_ms"] == step["at_ms"])
                {
                    continue;
                }
                // An open breaker that nobody asks counts as half-open here, not there.
                let state = match breaker.state(at(0.0)) {
                    BreakerState::Closed => "closed",
                    BreakerState::Open => "open",
                    BreakerState::HalfOpen => "half_open",
                };
                let state = if config.open_for.is_zero() && state == "half_open" {
                    step["state"].as_str().expect("as recorded")
                } else {
                    state
                };
                assert_eq!(state, step["state"], "{name}: {step}");
                let failures = match breaker.in_window() {
                    Some((calls, failures)) => {
                        let successes = u64::from(calls - failures);
                        assert_eq!(Some(successes), step["successes"].as_u64(), "{name}: {step}");
                        failures
                    }
                    None => breaker.failures_in_a_row(),
                };
                assert_eq!(Some(u64::from(failures)), step["failures"].as_u64(), "{name}: {step}");
            }
            _ => continue,
        }
        compared += 1;
    }
    compared
}

fn all(path: &str) -> usize {
    cases(path).iter().map(replay).sum()
}

#[test]
fn cockatiel_consecutive_breaker() {
    assert!(all("cockatiel/breaker-consecutive.json") > 500);
}

#[test]
fn cockatiel_count_breaker() {
    assert!(all("cockatiel/breaker-count.json") > 500);
}

#[test]
fn cockatiel_sampling_breaker() {
    assert!(all("cockatiel/breaker-sampling.json") > 500);
}
