//! Recordings of what clients make of Retry-After and push-back.

use super::*;
use stormlab::policy::hint::Beyond;
use stormlab::policy::hint::Hint;
use stormlab::policy::hint::HintConfig;
use stormlab::policy::hint::HintRule;
use stormlab::policy::hint::Sequence;

/// The waits of a call whose every answer carries the same hint, or none.
#[track_caller]
fn heeds(
    name: &str,
    config: &HintConfig,
    backoff: &Backoff,
    hints: impl Iterator<Item = Option<Hint>>,
    uniforms: &[f64],
    expected: &[Duration],
) {
    let mut past = Past::new();
    for (i, (theirs, hint)) in expected.iter().zip(hints).enumerate() {
        let luck = uniforms.get(i).map_or(Draw::MIDDLE, |u| draw(*u));
        let ours = config.wait(backoff, i as u32 + 1, &mut past, hint, luck);
        let ours = ours.unwrap_or_else(|| panic!("{name}: gave up"));
        assert!(trace::agree(ours, *theirs, 2), "{name}, {}: {ours} for {theirs}", i + 1);
    }
}

/// `hint=2000` in an answer, in milliseconds; what cannot be read is no hint.
fn hint_ms(answer: &str) -> Option<Hint> {
    let value = answer.split("hint=").nth(1)?.parse::<f64>().ok()?;
    (value >= 0.0).then(|| Hint::After(ms(value)))
}

/// `retry-after=7` in an answer, in seconds.
fn retry_after(answer: &str) -> Option<Hint> {
    let value = answer.split("retry-after=").nth(1)?.trim().parse::<f64>().ok()?;
    (value >= 0.0).then(|| Hint::After(seconds(value)))
}

#[test]
fn botocore_smithy_and_rust_clamp_to_the_wait_and_five_seconds() {
    let clamp = HintConfig::of(HintRule::Clamp(seconds(5.0)));
    let mut compared = 0;
    for case in trace::cases("botocore/delays.json") {
        let answer = case["answer"].as_str().expect("recorded");
        if case["mode"] != "standard" || !answer.contains("hint") {
            continue;
        }
        let base = if case["service"] == "dynamodb" { 25.0 } else { 50.0 };
        let backoff = aws(answer, ms(base), SECOND, Rules::PLAIN);
        let waits = each(&case["waits_s"], seconds);
        let hints = std::iter::repeat(hint_ms(answer));
        heeds(answer, &clamp, &backoff, hints, &trace::numbers(&case["uniforms"]), &waits);
        compared += 1;
    }
    for case in trace::cases("smithy/delays.json") {
        let answer = case["answer"].as_str().expect("recorded");
        let hint = hint_ms(answer).or_else(|| retry_after(answer));
        let waits = each(&case["waits_ms"], ms);
        if waits.is_empty() || !(answer.contains("hint") || answer.contains("retry-after")) {
            continue;
        }
        let cut = Rules { rounding: Rounding::Down(MS), ..Rules::PLAIN };
        let old = Rules { order: CapOrder::JitterThenCap, ..cut.clone() };
        let (backoff, config, hint) = match case["strategy"].as_str().expect("recorded") {
            "standard" => (aws(answer, ms(50.0), SECOND, cut), clamp, hint),
            "standard_dynamodb" => (aws(answer, ms(25.0), SECOND, cut), clamp, hint),
            // It knows Retry-After alone, takes the larger, and no more than 20 s.
            _ => (
                aws(answer, ms(200.0), SECOND, old),
                HintConfig { cap: seconds(20.0), ..HintConfig::of(HintRule::Larger) },
                retry_after(answer),
            ),
        };
        let hints = std::iter::repeat(hint);
        heeds(answer, &config, &backoff, hints, &trace::numbers(&case["uniforms"]), &waits);
        compared += 1;
    }
    for case in trace::cases("aws-smithy-runtime/delays.json") {
        let answer = case["answer"].as_str().expect("recorded");
        if !answer.contains("hint") {
            continue;
        }
        let (base, config) = if case["spec"] == "v2_0" {
            let capped = HintConfig { cap: seconds(20.0), ..HintConfig::of(HintRule::Override) };
            (SECOND, capped)
        } else {
            (ms(50.0), clamp)
        };
        let backoff = aws(answer, base, SECOND, Rules::PLAIN);
        let waits = each(&case["waits_ns"], |ns| Duration::from_nanos(ns as u64));
        let hints = std::iter::repeat(hint_ms(answer));
        heeds(answer, &config, &backoff, hints, &trace::numbers(&case["uniforms"]), &waits);
        compared += 1;
    }
    assert!(compared > 40, "{compared}");
}

const PUSHBACK: HintConfig =
    HintConfig { sequence: Sequence::Restarts, ..HintConfig::of(HintRule::Override) };

/// `pushback=20` of each attempt of a script whose last entry repeats.
fn pushbacks(script: &Value) -> impl Iterator<Item = Option<Hint>> {
    let hint = |answer: &Value| {
        let value = answer.as_str()?.split("pushback=").nth(1)?;
        match value.parse::<i64>() {
            Ok(after) if after >= 0 => Some(Hint::After(Duration::from_millis(after as u64))),
            _ if value.is_empty() => None,
            _ => Some(Hint::Never),
        }
    };
    let hints: Vec<_> = script.as_array().expect("recorded").iter().map(hint).collect();
    (0..).map(move |i: usize| hints[i.min(hints.len() - 1)])
}

#[test]
fn grpc_js_push_back_restarts_the_sequence() {
    let mut compared = 0;
    for case in trace::cases("grpc-js/backoff.json") {
        let name = case["name"].as_str().expect("recorded");
        if !name.starts_with("pushback") || name == "pushback_not_a_number" {
            continue; // grpc-js waits for NaN there; core does not retry.
        }
        let backoff = grpc(&case["retry_policy"], First::Uncapped);
        let waits = each(&case["waits_ms"], ms);
        // A push-back draws no number.
        let mut drawn = trace::numbers(&case["uniforms"]).into_iter();
        let hints: Vec<_> = pushbacks(&case["script"]).take(waits.len()).collect();
        let uniforms: Vec<_> = hints
            .iter()
            .map(|hint| if hint.is_some() { 0.5 } else { drawn.next().unwrap_or(0.5) })
            .collect();
        heeds(name, &PUSHBACK, &backoff, hints.into_iter(), &uniforms, &waits);
        compared += 1;
    }
    assert!(compared >= 6, "{compared}");
}

#[test]
fn grpc_core_stops_where_the_server_asks_it_to() {
    let mut compared = 0;
    for case in trace::cases("grpc-core/attempts.json") {
        let name = case["name"].as_str().expect("recorded");
        if !name.starts_with("pushback") || name.contains("code_not_listed") {
            continue;
        }
        let backoff = grpc(&case["retry_policy"], First::Alike);
        let mut past = Past::new();
        let mut attempts = 1;
        for (hint, retry) in pushbacks(&case["script"]).zip(1..5) {
            match PUSHBACK.wait(&backoff, retry, &mut past, hint, Draw::MIDDLE) {
                Some(_) => attempts += 1,
                None => break,
            }
        }
        assert_eq!(attempts, case["attempts_made"].as_u64().expect("recorded"), "{name}");
        compared += 1;
    }
    assert!(compared >= 4, "{compared}");
}

#[test]
fn grpc_core_and_envoy_bands_under_hints() {
    let core = trace::cases("grpc-core/backoff-bands.json");
    let envoy = trace::cases("envoy/backoff-bands.json");
    let scaled = |cap| HintConfig {
        cap: seconds(cap),
        beyond: Beyond::Ignore,
        sequence: Sequence::Pauses,
        ..HintConfig::of(HintRule::Scaled(0.5))
    };
    let mut compared = 0;
    for case in core.iter().chain(&envoy) {
        let (name, policy) = (case["name"].as_str().expect("recorded"), &case["retry_policy"]);
        let is_core = policy.get("maxAttempts").is_some();
        let (config, backoff) = match name {
            _ if is_core && name.starts_with("pushback") => (PUSHBACK, grpc(policy, First::Alike)),
            "rate_limited_backoff_1_s" | "rate_limited_then_not" => {
                (scaled(300.0), envoy_default())
            }
            "rate_limited_backoff_above_its_cap" => (scaled(2.0), envoy_default()),
            "retry_after_is_ignored_by_default" => (HintConfig::IGNORE, envoy_default()),
            _ => continue,
        };
        let last = case["script"].as_array().expect("recorded").len() - 1;
        let mut pasts = [Past::new(), Past::new()];
        let mut core_hints = pushbacks(&case["script"]);
        for (i, gap) in case["gaps_ms"].as_array().expect("recorded").iter().enumerate() {
            let hint = match is_core {
                true => core_hints.next().expect("recorded"),
                false => retry_after(case["script"][i.min(last)].as_str().expect("recorded")),
            };
            let ends = [0.0, 1.0 - 1e-9].map(draw);
            let mut bound = |which: usize| {
                let wait =
                    config.wait(&backoff, i as u32 + 1, &mut pasts[which], hint, ends[which]);
                wait.expect("recorded").as_millis_f64()
            };
            let (low, high) = (bound(0), bound(1));
            let (least, most) = (trace::number(&gap["least"]), trace::number(&gap["most"]));
            assert!(low - 0.1 <= least && most <= high + 12.0, "{name} {i}: {gap}, {low}..{high}");
            assert!(most >= high * 0.8, "{name} {i}: {gap}, {low}..{high}");
        }
        compared += 1;
    }
    assert_eq!(compared, 7);
}

fn envoy_default() -> Backoff {
    doubling(ms(25.0), ms(250.0), Jitter::Full)
        .with_rules(Rules { grain: Grain::Whole(MS), ..Rules::PLAIN })
}

#[test]
fn urllib3_overrides_up_to_six_hours_but_for_a_hint_of_nothing() {
    let mut compared = 0;
    for case in trace::cases("urllib3/retry-after.json") {
        let (retry, answer) = (&case["retry"], case["answer"].as_str().unwrap_or("mixed"));
        let Some(hint) = retry_after(answer) else { continue };
        let obeyed = retry.get("respect_retry_after_header") != Some(&Value::Bool(false));
        let cap = retry["retry_after_max"].as_f64().unwrap_or(21_600.0);
        let rule = if obeyed { HintRule::Override } else { HintRule::Ignore };
        let config = HintConfig { cap: seconds(cap), obeys_zero: false, ..HintConfig::of(rule) };
        let backoff = doubling(seconds(0.5), seconds(120.0), Jitter::None)
            .with_rules(Rules { first: First::Fixed(Duration::ZERO), ..Rules::PLAIN });
        let mut past = Past::new();
        let total = retry["total"].as_u64().expect("recorded") as u32;
        let ours: Vec<_> = (1..=total)
            .filter_map(|k| config.wait(&backoff, k, &mut past, Some(hint), Draw::MIDDLE))
            .filter(|wait| !wait.is_zero()) // A wait of nothing is no sleep.
            .collect();
        let theirs = each(&case["waits_s"], seconds);
        if !theirs.is_empty() {
            assert_eq!(ours, theirs, "{answer} {retry}");
            compared += 1;
        }
    }
    assert!(compared > 18, "{compared}");
}

#[test]
fn go_retryablehttp_overrides_without_a_cap() {
    let config = HintConfig::of(HintRule::Override);
    for case in trace::cases("go-retryablehttp/retry-after.json") {
        let ns = |key: &str| Duration::from_nanos(case[key].as_u64().expect("recorded"));
        let answer = case["answer"].as_str().expect("recorded");
        // -5 is a moment that has passed.
        let hint = if answer.ends_with("=-5") {
            Some(Hint::After(Duration::ZERO))
        } else if answer.contains('.') {
            None
        } else {
            retry_after(answer)
        };
        let heard = answer.starts_with("429") || answer.starts_with("503");
        let backoff = doubling(ns("min_ns"), ns("max_ns"), Jitter::None);
        let retry = case["attempt_number"].as_u64().expect("recorded") as u32 + 1;
        let hint = hint.filter(|_| heard);
        let theirs = trace::number(&case["delay_ns"]).max(0.0);
        if !answer.contains("soon") && !answer.contains("1.5") {
            let ours = config
                .wait(&backoff, retry, &mut Past::new(), hint, Draw::MIDDLE)
                .expect("recorded");
            let theirs = Duration::from_nanos(theirs as u64);
            assert!(trace::agree(ours, theirs, 0) || answer.contains("GMT"), "{case}: {ours}");
        }
    }
}

#[test]
fn undici_overrides_up_to_its_longest_wait() {
    let config =
        HintConfig { cap: seconds(30.0), obeys_zero: false, ..HintConfig::of(HintRule::Override) };
    for case in trace::cases("npm-others/undici.json") {
        let hint = case["error"]["hint"].as_str().and_then(|text| text.parse().ok());
        let waits = each(&case["delays_ms"], ms);
        if waits.is_empty() || !case["options"].as_object().expect("recorded").is_empty() {
            continue;
        }
        if case["name"] == "retry_after_date" {
            continue; // Nine seconds from now: the engine has no calendar.
        }
        let backoff = doubling(ms(500.0), seconds(30.0), Jitter::None);
        let hint = hint.map(|after| Hint::After(seconds(after)));
        heeds(&case["name"].to_string(), &config, &backoff, std::iter::repeat(hint), &[], &waits);
    }
}

#[test]
fn got_gives_up_above_its_limit() {
    let mut compared = 0;
    for case in trace::cases("npm-others/got.json") {
        let name = case["name"].as_str().expect("recorded");
        if !name.starts_with("hint_") {
            continue;
        }
        let limit = ms(trace::number(&case["changes"]["maxRetryAfter"]));
        let config =
            HintConfig { cap: limit, beyond: Beyond::GiveUp, ..HintConfig::of(HintRule::Override) };
        let backoff = doubling(SECOND, Duration::MAX, Jitter::None);
        let hint = Hint::After(ms(trace::number(&case["error"]["hint"])));
        let ours = config.wait(&backoff, 1, &mut Past::new(), Some(hint), Draw::MIDDLE);
        let theirs = Some(ms(trace::numbers(&case["delays_ms"])[0])).filter(|w| !w.is_zero());
        assert_eq!(ours, theirs, "{name}");
        compared += 1;
    }
    assert!(compared >= 2);
}
