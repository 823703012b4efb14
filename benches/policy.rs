//! What one decision costs: nanoseconds per wait, payment, admission and draw. None allocates.
//!
//! A policy may cost no more than an event of the engine (some 100 ns), or a storm is slower to
//! simulate under the very policies that are to be compared.

use std::hint::black_box;

use criterion::BenchmarkGroup;
use criterion::Criterion;
use criterion::criterion_group;
use criterion::criterion_main;
use criterion::measurement::WallTime;
use stormlab::policy::backoff::Past;
use stormlab::policy::breaker::Breaker;
use stormlab::policy::breaker::Settled;
use stormlab::policy::budget::Failure;
use stormlab::policy::budget::Tab;
use stormlab::policy::ejection::Choice;
use stormlab::policy::hedge::Hedge;
use stormlab::policy::hedge::HedgeConfig;
use stormlab::policy::hedge::HedgeDelay;
use stormlab::policy::hedge::PushBack;
use stormlab::policy::limiter::Bulkhead;
use stormlab::policy::limiter::BulkheadConfig;
use stormlab::policy::limiter::adaptive::AdaptiveConfig;
use stormlab::policy::limiter::adaptive::Sample;
use stormlab::policy::limiter::adaptive::aimd::AimdConfig;
use stormlab::policy::limiter::adaptive::envoy::EnvoyGradientConfig;
use stormlab::policy::limiter::adaptive::gradient::Gradient2Config;
use stormlab::policy::limiter::adaptive::gradient::GradientConfig;
use stormlab::policy::limiter::adaptive::vegas::VegasConfig;
use stormlab::policy::outcome::Class;
use stormlab::policy::outcome::ClassSet;
use stormlab::policy::shedding::CoDelConfig;
use stormlab::policy::shedding::Standing;
use stormlab::policy::stack::Policy;
use stormlab::random::Distribution;
use stormlab::random::Keys;
use stormlab::random::Purpose;
use stormlab::scenario;
use stormlab::stats::histogram::Histogram;
use stormlab::units::Draw;
use stormlab::units::Duration;
use stormlab::units::SimTime;

/// Measures a decision, once it is certain that it allocates nothing: after the first ones, which
/// may make a state that is kept.
fn decide<T>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    mut decision: impl FnMut() -> T,
) {
    for _ in 0..100 {
        black_box(decision());
    }
    let told = allocation_counter::measure(|| {
        for _ in 0..1_000 {
            black_box(decision());
        }
    });
    assert_eq!(told.count_total, 0, "{name}: a decision allocates");
    group.bench_function(name, |b| b.iter(&mut decision));
}

/// What can be written under `backoff` and `jitter`.
const WAITS: [(&str, &str); 18] = [
    ("{ constant: 1s }", "none"),
    ("{ linear: { base: 1s, step: 1s } }", "{ plus_minus: 25% }"),
    ("{ exponential: { base: 100ms, cap: 20s } }", "full"),
    ("{ exponential: { base: 100ms, cap: 20s } }", "equal"),
    ("{ exponential: { base: 100ms, cap: 20s } }", "decorrelated"),
    ("{ exponential: { base: 100ms, cap: 20s } }", "decorrelated_v2"),
    ("{ exponential: { base: 100ms, cap: 20s } }", "monotone"),
    ("{ exponential: { base: 100ms, cap: 20s } }", "compounding"),
    ("{ exponential: { base: 100ms, cap: 20s } }", "{ plus_minus: 20% }"),
    ("{ exponential: { base: 100ms, cap: 20s } }", "{ absolute: 50ms }"),
    ("{ exponential: { base: 100ms, cap: 20s } }", "{ added: 50ms }"),
    ("{ exponential: { base: 100ms, cap: 20s } }", "{ added_share: 50% }"),
    ("{ exponential: { base: 100ms, cap: 20s } }", "{ down: 50% }"),
    ("{ exponential: { base: 1s, less_one: true }, cap: 30s }", "{ added_share: 10% }"),
    ("{ exponential: { base: 500ms, factor: 1.5, truncated_to: 1ms } }", "none"),
    (
        "{ polynomial: { unit: 1s, exponent: 4, plus: 15s } }",
        "{ added: { most: 10s, grows: 10s } }",
    ),
    ("{ fibonacci: 1s }", "full"),
    ("{ table: [5s, 5min, 30min] }", "none"),
];
/// What can be written under `budget`.
const BUDGETS: [&str; 11] = [
    "token_bucket: { max_tokens: 10, token_ratio: 0.1 }",
    "ratio: { share: 20%, deposit: call, floor: 10/s }",
    "quota: { capacity: 500, costs: { default: 14, rate_limited: 5 } }",
    "window: { share: 20%, deposit: call, rule: exact }",
    "window: { share: 20%, deposit: success, rule: tower }",
    "concurrent: { limit: 3 }",
    "active_share: { share: 20%, min: 3 }",
    "active_share: { share: 20%, min: 3, interval: 1s }",
    "client_ratio: { share: 10%, window: 2min }",
    "rate: { rate: 10/s, burst: 100, when_empty: wait }",
    "counter: { limit: 3, ttl: 1h }",
];
/// What can be written under `throttle`.
const THROTTLES: [&str; 5] = [
    "adaptive: { k: 2, window: 2min }",
    "admission: { threshold: 95%, window: 30s }",
    "cubic: { throttled: [rate_limited] }",
    "rate: { rate: 100/s, burst: 5, when_empty: reject }",
    "fixed_window: { limit: 50, period: 100ms, max_wait: 1s }",
];
/// What can be written under `breaker`.
const BREAKERS: [&str; 9] = [
    "consecutive: 5, open_for: 5s",
    "consecutive: { failures: 5, forget_after: 60s }, open_for: 30s",
    "window: { length: 30s, failure_share: 50%, minimum_calls: 100 }, open_for: 5s",
    "window: { calls: 100, failure_share: 50%, minimum_calls: 100 }, open_for: 60s",
    "window: { length: 10s, buckets: 20, failure_share: 50%, minimum_calls: 20, turns: on_the_clock, judged: at_turns }, open_for: 5s",
    "window: { calls: 100, failure_share: 50%, minimum_calls: 10, slow: { longer_than: 2s, share: 80% } }, open_for: 60s",
    "average: { window: 30s, below: 80%, minimum_calls: 5 }, open_for: 5s",
    "exhausted: { attempts: 3, within: 5s }, open_for: 20s",
    "consecutive: 5, open_for: { base: 5s, exponential: { factor: 2, cap: 60s } }, half_open: { closes_after: 3 }",
];
/// What can be written under `ejection`.
const EJECTIONS: [&str; 3] = [
    "outlier: { most_ejected: 50% }",
    "outlier: { most_ejected: 50%, failure_share: {} }",
    "breaker: { consecutive: 7, open_for: 1s }",
];

/// A policy as a scenario writes it.
fn policy(text: &str) -> Policy {
    let file = format!(
        "schema: 1
name: bench
run: {{ horizon: 60s, warm_up: 0s, window: 1s }}
clients: {{ web: {{ arrivals: {{ poisson: 10/s }}, calls: server, policy: p }} }}
services: {{ server: {{ workers: 1, work: 1ms }} }}
policies: {{ p: {{ {text} }} }}
"
    );
    let scenario = scenario::parse("bench.yaml", file.as_bytes())
        .unwrap_or_else(|problems| panic!("{text}: {}", problems[0]));
    let model = &scenario.variants[0].model;
    model.policies.iter().find(|policy| policy.name == "p").expect("it is there").clone()
}

fn decisions(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("a decision");
    let half = Draw::new(0.5).expect("in [0, 1)");
    for (backoff, jitter) in WAITS {
        let policy = policy(&format!("retry: {{ backoff: {backoff}, jitter: {jitter} }}"));
        let waits = policy.retry.expect("it retries").backoff;
        let (mut retry, mut past) = (0, Past::new());
        decide(&mut group, &format!("backoff {backoff} jitter {jitter}"), || {
            retry = retry % 8 + 1;
            waits.wait(black_box(retry), &mut past, black_box(half))
        });
    }
    for text in BUDGETS {
        let policy = policy(&format!("retry: {{ backoff: 1s, budget: {{ {text} }} }}"));
        let config = policy.retry.and_then(|retry| retry.budget).expect("a budget").config;
        let (mut budget, mut tab) = (config.start(SimTime::ZERO), Tab::NEW);
        let mut now = 0;
        // All that a budget hears of a call that fails at first.
        decide(&mut group, &format!("budget {text}"), || {
            now += 1_000_000;
            let at = SimTime::from_nanos(black_box(now));
            budget.call_started(&config, at);
            budget.attempt_sent(&config, at, &mut tab);
            budget.attempt_failed(&config, at, Failure::of(Class::Timeout), &mut tab);
            let answer = budget.may_retry(&config, at, Class::Timeout, &mut tab);
            budget.attempt_over(&config, at, &mut tab);
            answer
        });
    }
    for text in THROTTLES {
        let config =
            policy(&format!("throttle: {{ {text} }}")).throttle.expect("a throttle").config;
        let mut throttle = config.start(SimTime::ZERO);
        let mut now = 0;
        decide(&mut group, &format!("throttle {text}: ask and settle"), || {
            now += 1_000_000;
            let at = SimTime::from_nanos(black_box(now));
            let failure = (now % 3_000_000 == 0).then_some(Class::RateLimited);
            let passage = throttle.ask(&config, at, half, false);
            throttle.settle(&config, at, failure);
            passage
        });
    }
    for text in BREAKERS {
        let config = policy(&format!("breaker: {{ {text} }}")).breaker.expect("a breaker").config;
        let mut breaker = Breaker::default();
        let mut now = 0;
        decide(&mut group, &format!("breaker {text}: admit and settle"), || {
            now += 1_000_000;
            let at = SimTime::from_nanos(black_box(now));
            let settled = if now % 3_000_000 == 0 { Settled::Failure } else { Settled::Success };
            if let Some(permit) = breaker.admit(&config, at) {
                breaker.settle(&config, permit, at, settled);
            }
        });
    }
    ejections(&mut group);
    limiters(&mut group);
    group.finish();
}

/// The choice among ten replicas, one of which always fails, and what came of it.
fn ejections(group: &mut BenchmarkGroup<'_, WallTime>) {
    let half = Draw::new(0.5).expect("in [0, 1)");
    for text in EJECTIONS {
        let config = policy(&format!("ejection: {{ {text} }}")).ejection.expect("one").config;
        let (mut pool, mut now, mut turn) = (config.start(10), 0, 0);
        decide(group, &format!("ejection {text}: choose and report"), || {
            now += 1_000_000;
            let at = SimTime::from_nanos(black_box(now));
            let chosen = pool.choose(&config, at, Choice::From(turn), &|_, _| half);
            if let Some(chosen) = chosen {
                turn = (chosen.replica + 1) % 10;
                let failure = (chosen.replica == 0).then_some(Class::Unavailable);
                pool.report(&config, chosen, at, failure, &|_, _| half);
            }
        });
    }
}

fn limiters(group: &mut BenchmarkGroup<'_, WallTime>) {
    let half = Draw::new(0.5).expect("in [0, 1)");
    let (config, mut bulkhead) = (BulkheadConfig::new(10, 20), Bulkhead::default());
    decide(group, "bulkhead: enter and leave", || {
        (bulkhead.enter(black_box(&config)), bulkhead.leave(&config))
    });
    for (name, config) in [
        ("AIMD", AdaptiveConfig::Aimd(AimdConfig::DEFAULT)),
        ("Vegas", AdaptiveConfig::Vegas(VegasConfig::DEFAULT)),
        ("gradient", AdaptiveConfig::Gradient(GradientConfig::DEFAULT)),
        ("second gradient", AdaptiveConfig::Gradient2(Gradient2Config::DEFAULT)),
        ("least round trip", AdaptiveConfig::MinRtt(EnvoyGradientConfig::DEFAULT)),
    ] {
        let (mut limit, mut nanos, mut now) = (config.start(half), 0, 0);
        decide(group, &format!("adaptive limit, {name}: a sample"), || {
            nanos = (nanos + 7_777_777) % 50_000_000;
            let rtt = Duration::from_nanos(black_box(nanos));
            let sample = Sample { rtt, in_flight: 100, dropped: false };
            now += 1_000_000;
            limit.update(&config, SimTime::from_nanos(now), sample, half);
            limit.limit()
        });
    }
    let delay = HedgeDelay::After(Duration::from_millis(200));
    let config = HedgeConfig { delay, max_attempts: 2, on: ClassSet::TRANSIENT };
    decide(group, "hedge: start, due and settle", || {
        let mut hedge = black_box(Hedge::START);
        (hedge.due(&config), hedge.settle(&config, Ok(()), PushBack::None))
    });
    let (config, mut standing, mut now) = (CoDelConfig::DEFAULT, Standing::default(), 0);
    standing.fill(SimTime::ZERO);
    decide(group, "CoDel: is it stale?", || {
        now += 900_000;
        let at = SimTime::from_nanos(black_box(now));
        standing.is_stale(&config, at, at - Duration::from_millis(9))
    });
}

fn chance(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("chance");
    let keys = Keys::new(1, 0);
    let mut entity = 0;
    decide(&mut group, "a draw", || {
        entity += 1;
        keys.draw(Purpose::Work, black_box(entity), 0)
    });
    let mean = Duration::from_millis(20);
    let laws = [
        Distribution::exponential(mean),
        Distribution::lognormal(mean, 0.5),
        Distribution::gamma(mean, 0.5),
        Distribution::pareto(mean, 5.0),
        Distribution::weibull(mean, 0.7),
    ];
    for law in laws {
        let law = law.expect("valid");
        let mut entity = 0;
        decide(&mut group, &format!("a draw and a sample: {law}"), || {
            entity += 1;
            law.sample(keys.draw(Purpose::Work, black_box(entity), 0))
        });
    }
    let mut histogram = Histogram::default();
    let mut value = 1u64;
    decide(&mut group, "a value into a histogram", || {
        value = value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        histogram.record(black_box(value >> 34));
    });
    group.finish();
}

criterion_group!(benches, decisions, chance);
criterion_main!(benches);
