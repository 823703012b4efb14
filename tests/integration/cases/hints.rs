//! Faults around Retry-After and push-back.

use std::sync::atomic::AtomicBool;

use stormlab::engine;
use stormlab::engine::observe::Cause;
use stormlab::engine::observe::Observer;
use stormlab::engine::observe::Reason;
use stormlab::engine::observe::Verdict;
use stormlab::policy::backoff::Backoff;
use stormlab::policy::backoff::Jitter;
use stormlab::policy::backoff::Past;
use stormlab::policy::hint::Beyond;
use stormlab::policy::hint::Hint;
use stormlab::policy::hint::HintConfig;
use stormlab::policy::hint::HintRule;
use stormlab::policy::hint::Sequence;
use stormlab::scenario;
use stormlab::units::Draw;
use stormlab::units::Duration;
use stormlab::units::SimTime;

fn secs(value: f64) -> Duration {
    Duration::from_secs_f64(value)
}

fn doubling() -> Backoff {
    Backoff::exponential(secs(0.5), 2.0, secs(3.0), Jitter::None)
}

/// The wait before the first retry under a hint of so many seconds.
fn first(config: HintConfig, hint: f64, u: f64) -> Option<f64> {
    let hint = Some(Hint::After(secs(hint)));
    let draw = Draw::new(u).expect("as asked");
    config.wait(&doubling(), 1, &mut Past::new(), hint, draw).map(Duration::as_secs_f64)
}

const OVERRIDE: HintConfig = HintConfig::of(HintRule::Override);

/// When attempts reached the service, and why requests failed.
#[derive(Default)]
struct Seen {
    arrivals: Vec<f64>,
    failed: Vec<Cause>,
}

impl Observer for Seen {
    fn reached(&mut self, now: SimTime, _: usize, _: Reason) {
        self.arrivals.push(now.as_secs_f64());
    }

    fn ended(&mut self, _: SimTime, _: usize, _: SimTime, verdict: Verdict) {
        if let Verdict::Failed(cause) = verdict {
            self.failed.push(cause);
        }
    }
}

/// Runs clients that all come at 0 against a service; `policy` is a policy and `api` a service.
fn run(count: u32, policy: &str, api: &str, horizon: &str) -> Seen {
    let text = format!(
        "{{schema: 1, name: t, run: {{warm_up: 0s, horizon: {horizon}}}, \
         clients: {{c: {{arrivals: {{burst: {{count: {count}, at: 0s}}}}, calls: api, policy: p}}}}, \
         services: {{api: {api}}}, policies: {{p: {policy}}}}}"
    );
    let scenario = scenario::parse("t", text.as_bytes()).unwrap_or_else(|problems| {
        panic!("{}", problems.iter().map(ToString::to_string).collect::<String>())
    });
    let mut seen = Seen::default();
    let model = &scenario.variants[0].model;
    engine::observe(model, 1, 0, &AtomicBool::new(false), &mut seen).expect("as asked");
    seen
}

const REFUSING: &str = "workers: 1000, work: 0s, errors: {class: rate_limited, share: 100%}";

#[test]
fn c33_honour_clamp_and_give_up_are_all_there() {
    assert_eq!(first(OVERRIDE, 3_600.0, 0.5), Some(3_600.0));
    let capped = |beyond| HintConfig { cap: secs(3.0), beyond, ..OVERRIDE };
    assert_eq!(first(capped(Beyond::Clamp), 3_600.0, 0.5), Some(3.0));
    assert_eq!(first(capped(Beyond::GiveUp), 3_600.0, 0.5), None);
    assert_eq!(first(capped(Beyond::Ignore), 3_600.0, 0.5), Some(0.5));
    assert_eq!(first(HintConfig::IGNORE, 3_600.0, 0.5), Some(0.5));
}

#[test]
fn c34_a_hint_beyond_the_total_timeout_ends_the_call_at_once() {
    let seen = run(
        1,
        "{timeout: 30s, retry: {max_attempts: 5, backoff: 1s, hint: override}}",
        &format!("{{{REFUSING}, retry_after: 60s}}"),
        "5min",
    );
    assert_eq!(seen.arrivals, [0.0], "one attempt, and no second");
    assert_eq!(seen.failed, [Cause::Time]);
}

#[test]
fn c35_pushed_back_further_than_it_waits_is_a_cause_of_its_own() {
    for (hint, after) in [("{give_up_above: 15min}", "30min"), ("larger", "never")] {
        let seen = run(
            1,
            &format!("{{retry: {{max_attempts: 5, backoff: 1s, hint: {hint}}}}}"),
            &format!("{{{REFUSING}, retry_after: {after}}}"),
            "2h",
        );
        assert_eq!(seen.arrivals.len(), 1, "{hint}");
        assert_eq!(seen.failed, [Cause::PushedBack], "{hint}");
    }
}

#[test]
fn c37_a_share_on_top_spreads_the_herd_and_nobody_comes_early() {
    let peak = |hint: &str| {
        let seen = run(
            2_000,
            &format!("{{retry: {{max_attempts: 2, hint: {hint}}}}}"),
            &format!("{{{REFUSING}, retry_after: {{rate_limited: 60s}}}}"),
            "2min",
        );
        let retries: Vec<_> = seen.arrivals.into_iter().filter(|at| *at > 0.0).collect();
        assert_eq!(retries.len(), 2_000);
        assert!(retries.iter().all(|at| *at >= 60.0), "never earlier than asked");
        let mut bins = [0; 13];
        for at in retries {
            bins[(at - 60.0) as usize] += 1;
        }
        bins.into_iter().max()
    };
    assert_eq!(peak("override"), Some(2_000));
    let spread = peak("{override: {spread: 20%}}").expect("as asked");
    assert!((170..230).contains(&spread), "{spread}: 2 000 over 12 s");
}

#[test]
fn c39_the_same_word_for_all_is_a_saw_and_a_drawn_one_is_not() {
    let peak = |after: &str| {
        let seen = run(
            1_000,
            "{retry: {max_attempts: unlimited, hint: override}}",
            &format!(
                "{{workers: 1, work: 5ms, queue: {{limit: 20}}, retry_after: {{overloaded: {after}}}}}"
            ),
            "20s",
        );
        let late = seen.arrivals.iter().filter(|at| (2.0..5.0).contains(*at));
        let mut bins = [0u32; 31];
        for at in late {
            bins[((at - 2.0) * 10.0) as usize] += 1;
        }
        bins.into_iter().max().expect("as asked")
    };
    let saw = peak("1s");
    let flat = peak("{uniform: {low: 1s, high: 8s}}");
    assert!(saw > 800, "{saw}: all but the few that were served come back together");
    assert!(flat < 60, "{flat}");
}

#[test]
fn c41_a_short_cap_asks_a_dead_endpoint_a_thousand_times_a_second() {
    let rate = |cap: f64| {
        let backoff = Backoff::exponential(secs(0.03), 2.0, secs(cap), Jitter::None);
        200.0 / backoff.window(100).as_secs_f64()
    };
    assert_eq!((rate(0.1), rate(5.0)), (2_000.0, 40.0));
    let backoff = Backoff::exponential(secs(0.03), 2.0, Duration::MAX, Jitter::None);
    assert!(backoff.window(8) < secs(5.0) && backoff.window(9) > secs(5.0), "eight doublings");
}

#[test]
fn each_rule_by_the_library_that_has_it() {
    let of = HintConfig::of;
    // Webhook producers: the larger of both, jitter before.
    assert_eq!(first(of(HintRule::Larger), 0.2, 0.5), Some(0.5));
    assert_eq!(first(of(HintRule::Larger), 7_200.0, 0.5), Some(7_200.0), "beyond the cap");
    // AWS from 2026: within the own wait and 5 s more.
    let aws = of(HintRule::Clamp(secs(5.0)));
    assert_eq!(first(aws, 0.01, 0.5), Some(0.5));
    assert_eq!(first(aws, 2.0, 0.5), Some(2.0));
    assert_eq!(first(aws, 60.0, 0.5), Some(5.5));
    // Envoy: U[i, 1.5 i).
    let envoy = of(HintRule::Scaled(0.5));
    assert_eq!((first(envoy, 2.0, 0.0), first(envoy, 2.0, 0.5)), (Some(2.0), Some(2.5)));
    // urllib3: a hint of nothing is none.
    assert_eq!(first(HintConfig { obeys_zero: false, ..OVERRIDE }, 0.0, 0.5), Some(0.5));
    assert_eq!(first(OVERRIDE, 0.0, 0.5), Some(0.0));
    // axios-retry: max(100 · 2ʳ, hint) · (1 + 0.2 u).
    let axios = Backoff::exponential(secs(0.2), 2.0, Duration::MAX, Jitter::AddedShare(0.2));
    let wait = |hint: f64| {
        let hint = Some(Hint::After(secs(hint)));
        of(HintRule::LargerWindow).wait(&axios, 1, &mut Past::new(), hint, Draw::MIDDLE)
    };
    assert_eq!((wait(0.1), wait(1.0)), (Some(secs(0.22)), Some(secs(1.1))));
}

#[test]
fn the_own_sequence_goes_on_restarts_or_pauses() {
    let waits = |sequence| {
        let config = HintConfig { sequence, ..OVERRIDE };
        let mut past = Past::new();
        let hint = |retry| (retry == 3).then_some(Hint::After(secs(0.02)));
        let mut wait = |retry| {
            let wait = config.wait(&doubling(), retry, &mut past, hint(retry), Draw::MIDDLE);
            wait.expect("as asked").as_secs_f64()
        };
        (1..=5).map(&mut wait).collect::<Vec<_>>()
    };
    assert_eq!(waits(Sequence::GoesOn), [0.5, 1.0, 0.02, 3.0, 3.0]);
    assert_eq!(waits(Sequence::Restarts), [0.5, 1.0, 0.02, 0.5, 1.0]);
    assert_eq!(waits(Sequence::Pauses), [0.5, 1.0, 0.02, 2.0, 3.0]);
}

#[test]
fn push_back_restarts_the_sequence_in_a_run() {
    // The second attempt finds the queue full and is pushed back; the first and third are refused
    // with an error that carries no hint.
    let seen = run(
        1,
        "{retry: {max_attempts: 4, backoff: {exponential: {base: 100ms}}, on: rate_limited, \
         hint: {override: {sequence: restarts}}}}",
        &format!("{{{REFUSING}, retry_after: {{rate_limited: 20ms}}}}"),
        "10s",
    );
    let near = |found: &[f64], expected: &[f64]| {
        found.len() == expected.len()
            && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9)
    };
    assert!(near(&seen.arrivals, &[0.0, 0.02, 0.04, 0.06]), "{:?}", seen.arrivals);
    let plain = run(
        1,
        "{retry: {max_attempts: 4, backoff: {exponential: {base: 100ms}}}}",
        &format!("{{{REFUSING}, retry_after: {{rate_limited: 20ms}}}}"),
        "10s",
    );
    assert!(
        near(&plain.arrivals, &[0.0, 0.1, 0.3, 0.7]),
        "ignored unless asked: {:?}",
        plain.arrivals
    );
}
