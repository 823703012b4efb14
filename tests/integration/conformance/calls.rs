//! Whole calls of libraries under presets, in the engine: how many attempts, and when.
//!
//! Every attempt of a call is answered alike. Recordings that answer first one way and then another,
//! and methods that are not repeated, are left out: a policy here knows neither.

use serde_json::Value;

use crate::conformance::trace;
use crate::lab;

/// The server that answers so; `None` where no server here does.
fn server(answer: &str) -> Option<String> {
    let (status, hint) = answer.split_once(" retry-after=").unwrap_or((answer, ""));
    let class = match status {
        "200" => return Some("{ workers: 9, work: 0s }".to_owned()),
        "429" => "rate_limited",
        "500" | "599" => "internal",
        "502" => "bad_gateway",
        "503" => "unavailable",
        "504" => "gateway_timeout",
        "404" => "not_found",
        "408" | "501" => "rejected",
        "refused" | "broken" => "connection_lost",
        _ => return None,
    };
    let hint = match hint.parse::<u32>() {
        Ok(seconds) => format!(", retry_after: {{ {class}: {seconds}s }}"),
        Err(_) if hint.is_empty() => String::new(),
        Err(_) => return None, // A date, or what is none.
    };
    Some(format!("{{ workers: 9, work: 0s, errors: {{ class: {class}, share: 100% }}{hint} }}"))
}

/// The waits in seconds between the attempts of one call under a preset and what is laid over it.
fn waits(preset: &str, over: &str, answer: &str) -> Option<Vec<f64>> {
    let server = server(answer)?;
    let diary = lab::diary(&lab::model(&format!(
        "run: {{ horizon: 1h, warm_up: 0s, window: 10s }}\n\
         clients: {{ web: {{ arrivals: {}, calls: server, policy: p }} }}\n\
         services: {{ server: {server} }}\n\
         policies: {{ p: {{ preset: {preset}, retry: {{ {over} }} }} }}\n",
        lab::bursts(&[(1, 0)])
    )));
    let moments = diary.moments_ms(&["reached"]);
    Some(moments.windows(2).map(|pair| (pair[1] - pair[0]) / 1e3).collect())
}

#[track_caller]
fn check(case: &Value, found: &[f64], recorded: &[f64]) {
    let attempts = trace::number(&case["attempts_made"]) as usize;
    assert_eq!(found.len() + 1, attempts, "{case}");
    // Libraries that wait for nothing do not sleep, and no sleep is recorded.
    let slept: Vec<_> = found.iter().copied().filter(|wait| *wait > 0.0).collect();
    let recorded: Vec<_> = recorded.iter().copied().filter(|wait| *wait > 0.0).collect();
    assert_eq!(slept, recorded, "{case}");
}

#[test]
fn go_retryablehttp_calls() {
    let mut held = 0;
    for case in trace::cases("go-retryablehttp/calls.json") {
        let script = case["script"].as_array().expect("answers");
        let [answer] = script.as_slice() else { continue };
        let over = match case["retry_max"].as_u64() {
            Some(retries) => format!("max_attempts: {}", retries + 1),
            None => String::new(),
        };
        let answer = answer.as_str().expect("an answer");
        let Some(found) = waits("go-retryablehttp", &over, answer) else { continue };
        let recorded: Vec<_> =
            trace::numbers(&case["waits_ns"]).iter().map(|ns| ns / 1e9).collect();
        check(&case, &found, &recorded);
        held += 1;
    }
    assert!(held >= 70, "{held}");
}

#[test]
fn requests_calls() {
    let mut held = 0;
    for case in trace::cases("requests/calls.json") {
        let answer = case["answer"].as_str().expect("an answer");
        // An adapter with a number of retries is urllib3's Retry without errors of reading.
        let (preset, over) = match case["max_retries"].as_u64() {
            None | Some(0) => ("requests", ""),
            Some(3) if answer == "refused" => ("urllib3", "max_attempts: 4"),
            Some(3) if answer.contains("retry-after") && case["method"] == "GET" => {
                ("urllib3", "max_attempts: 4")
            }
            _ => continue,
        };
        // Without a retry, no class of failure is retried; the preset names one for want of none.
        let Some(found) = waits(preset, over, answer) else { continue };
        check(&case, &found, &trace::numbers(&case["waits_s"]));
        held += 1;
    }
    assert!(held >= 20, "{held}");
}

#[test]
fn urllib3_calls() {
    let mut held = 0;
    for case in trace::cases("urllib3/calls.json") {
        let answer = case["answer"].as_str().expect("an answer");
        let defaults = case["retry"].as_object().is_some_and(serde_json::Map::is_empty);
        // A 503 is retried only where it carries a hint; the preset says so (`not_yet`).
        let told = answer == "refused" || answer == "broken" || answer.contains("retry-after");
        if !defaults || case["method"] != "GET" || !told {
            continue;
        }
        if !answer.starts_with("503") && answer.contains("retry-after") {
            continue; // 413 and 429, whose classes the preset leaves out for the same reason.
        }
        let Some(found) = waits("urllib3", "", answer) else { continue };
        check(&case, &found, &trace::numbers(&case["waits_s"]));
        held += 1;
    }
    assert!(held >= 3, "{held}");
}

#[test]
fn tenacity_calls() {
    let over = |retry: &str| match retry {
        "stop_after_attempt(4)" => Some("max_attempts: 4"),
        "stop_after_attempt(4), wait_exponential(multiplier=1, max=10)" => {
            Some("max_attempts: 4, backoff: { exponential: { base: 1s, cap: 10s } }")
        }
        "stop_after_delay(10), wait_fixed(3)" => {
            Some("backoff: 3s, max_elapsed: { after: 10s, counts_wait: false }")
        }
        "stop_before_delay(10), wait_fixed(3)" => Some("backoff: 3s, max_elapsed: 10s"),
        "stop_after_attempt(2) | stop_after_delay(1), wait_fixed(3)" => {
            Some("max_attempts: 2, backoff: 3s, max_elapsed: { after: 1s, counts_wait: false }")
        }
        _ => None, // Answered well at the sixth attempt.
    };
    let mut held = 0;
    for case in trace::cases("tenacity/calls.json") {
        let Some(over) = over(case["retry"].as_str().expect("a retry")) else { continue };
        let found = waits("tenacity", over, "500").expect("an answer");
        assert_eq!(found, trace::numbers(&case["waits_s"]), "{case}");
        held += 1;
    }
    assert_eq!(held, 5);
}

#[test]
fn cenkalti_calls() {
    for case in trace::cases("go-cenkalti-backoff/calls.json") {
        let policy = case["policy"].as_str().expect("a policy");
        let retries = policy.trim_start_matches("WithMaxRetries(ZeroBackOff, ");
        let retries: u32 =
            retries.split(')').next().and_then(|n| n.parse().ok()).expect("recorded");
        let over = format!("max_attempts: {}, backoff: none, on: transient", retries + 1);
        let answer = if case["error"] == "never" { "501" } else { "503" };
        let found = waits("cenkalti", &format!("{over}, jitter: none"), answer).expect("an answer");
        check(&case, &found, &[]);
    }
}
