//! Hedged calls of grpc-js and Envoy, replayed on the machine.

use serde_json::Value;
use stormlab::policy::hedge::Hedge;
use stormlab::policy::hedge::HedgeConfig;
use stormlab::policy::hedge::HedgeDelay;
use stormlab::policy::hedge::Next;
use stormlab::policy::hedge::PushBack;
use stormlab::policy::outcome::Class;
use stormlab::policy::outcome::ClassSet;
use stormlab::units::Duration;

use crate::conformance::trace;

/// One answer of a scripted server.
#[derive(Clone, Copy)]
struct Answer {
    outcome: Result<(), Class>,
    after_ms: u64,
    push_back: PushBack,
}

fn answer(text: &str) -> Answer {
    let mut words = text.split(' ');
    let outcome = match words.next() {
        Some("OK" | "200") => Ok(()),
        Some("UNAVAILABLE" | "503") => Err(Class::Unavailable),
        Some("INTERNAL") => Err(Class::Internal),
        other => panic!("unknown answer {other:?}"),
    };
    let mut answer = Answer { outcome, after_ms: 0, push_back: PushBack::None };
    for word in words {
        match word.split_once('=') {
            Some(("after", ms)) => answer.after_ms = ms.parse().expect("milliseconds"),
            Some(("pushback", "-1")) => answer.push_back = PushBack::Stop,
            _ => panic!("unknown word {word}"),
        }
    }
    answer
}

/// Replays a call in milliseconds: attempts made, and how it ended; after `deadline_ms` nothing is
/// heard or sent any more.
fn replay(
    config: &HedgeConfig,
    script: &Value,
    backoff_ms: u64,
    deadline_ms: u64,
) -> (u32, Option<Result<(), Class>>) {
    let script = script.as_array().expect("a script");
    let script: Vec<_> = script.iter().map(|text| answer(text.as_str().expect("text"))).collect();
    let mut out: Vec<(u64, Answer)> = Vec::new();
    let send = |now: u64, sent: u32, out: &mut Vec<(u64, Answer)>| {
        let answer = script[(sent as usize - 1).min(script.len() - 1)];
        out.push((now + answer.after_ms, answer));
    };
    let timer = |now: u64| {
        let wait = config.timer(Duration::from_millis(backoff_ms), None)?;
        Some(now + wait.as_nanos() / 1_000_000)
    };
    let mut hedge: Hedge = Hedge::START;
    for sent in 1..=hedge.sent() {
        send(0, sent, &mut out);
    }
    let mut due = timer(0);
    loop {
        let first = out.iter().enumerate().min_by_key(|(_, (at, _))| *at);
        let heard = first.map(|(index, (at, _))| (*at, index));
        let now = match (heard, due) {
            (Some((at, _)), Some(due)) => at.min(due),
            (Some((at, _)), None) => at,
            (None, Some(due)) => due,
            (None, None) => panic!("a call that never ends"),
        };
        if now >= deadline_ms {
            return (hedge.sent(), None);
        }
        if let Some((at, index)) = heard
            && at == now
        {
            let (_, answer) = out.remove(index);
            match hedge.settle(config, answer.outcome, answer.push_back) {
                Next::Send => {
                    send(now, hedge.sent(), &mut out);
                    due = timer(now);
                }
                Next::SendAfter(wait) => due = Some(now + wait.as_nanos() / 1_000_000),
                Next::Await => {}
                Next::Over(outcome) => return (hedge.sent(), Some(outcome)),
            }
        } else if hedge.due(config) {
            send(now, hedge.sent(), &mut out);
            due = timer(now);
        } else {
            due = None;
        }
    }
}

fn seconds(text: &Value) -> Duration {
    let text = text.as_str().expect("a span").trim_end_matches('s');
    Duration::from_secs_f64(text.parse().expect("seconds"))
}

/// Its client cuts `maxAttempts` to five, and takes a delay that is not set for zero.
#[test]
fn grpc_js_hedging_attempts_and_results() {
    let mut held = 0;
    for case in trace::cases("grpc-js/hedging.json") {
        let policy = &case["hedging_policy"];
        let delay = policy.get("hedgingDelay").map_or(Duration::ZERO, seconds);
        let max_attempts = policy["maxAttempts"].as_u64().expect("attempts").min(5) as u32;
        let delay = HedgeDelay::After(delay);
        let on = ClassSet::of(&[Class::Unavailable]);
        let config = HedgeConfig { delay, max_attempts, on };
        let (attempts, outcome) = replay(&config, &case["script"], 0, u64::MAX);
        assert_eq!(case["attempts_made"], attempts, "{case}");
        let result = match outcome.expect("no deadline") {
            Ok(()) => "OK",
            Err(Class::Unavailable) => "UNAVAILABLE",
            Err(_) => "INTERNAL",
        };
        assert_eq!(case["result"], result, "{case}");
        held += 1;
    }
    assert_eq!(held, 10);
}

/// A per-try timeout does not end the try, it starts a retry, after a back-off of up to 25 ms.
#[test]
fn envoy_hedges_on_per_try_timeout() {
    let mut held = 0;
    for case in trace::cases("envoy/attempts.json") {
        if case["hedge_on_per_try_timeout"] != true {
            continue;
        }
        let policy = &case["retry_policy"];
        let config = HedgeConfig {
            delay: HedgeDelay::OnTimeout(seconds(&policy["per_try_timeout"])),
            max_attempts: policy["num_retries"].as_u64().expect("retries") as u32 + 1,
            on: ClassSet::TRANSIENT,
        };
        let deadline = seconds(&case["route_timeout"]).as_nanos() / 1_000_000;
        for backoff_ms in [0, 12, 24] {
            let (attempts, outcome) = replay(&config, &case["script"], backoff_ms, deadline);
            assert_eq!(case["attempts_made"], attempts, "{case}");
            let status = if outcome == Some(Ok(())) { 200 } else { 504 };
            assert_eq!(case["status"], status, "{case}");
        }
        held += 1;
    }
    assert_eq!(held, 2);
}
