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
use stormlab::policy::backoff::Backoff;
use stormlab::policy::backoff::Jitter;
use stormlab::policy::backoff::Past;
use stormlab::policy::breaker::Breaker;
use stormlab::policy::breaker::BreakerConfig;
use stormlab::policy::breaker::LateResults;
use stormlab::policy::breaker::Settled;
use stormlab::policy::breaker::Trip;
use stormlab::policy::budget::BudgetConfig;
use stormlab::policy::budget::DepositPoint;
use stormlab::policy::budget::Failure;
use stormlab::policy::budget::Tab;
use stormlab::policy::budget::slots::ActiveShare;
use stormlab::policy::budget::window::WindowConfig;
use stormlab::policy::budget::window::WindowRule;
use stormlab::policy::hedge::HedgeConfig;
use stormlab::policy::hedge::HedgeDelay;
use stormlab::policy::hedge::PushBack;
use stormlab::policy::limiter::Bulkhead;
use stormlab::policy::limiter::BulkheadConfig;
use stormlab::policy::limiter::adaptive::AdaptiveConfig;
use stormlab::policy::limiter::adaptive::Sample;
use stormlab::policy::limiter::adaptive::aimd::AimdConfig;
use stormlab::policy::limiter::adaptive::gradient::Gradient2Config;
use stormlab::policy::limiter::adaptive::gradient::GradientConfig;
use stormlab::policy::limiter::adaptive::vegas::VegasConfig;
use stormlab::policy::limiter::rate::TokenBucket;
use stormlab::policy::limiter::rate::TokenBucketConfig;
use stormlab::policy::outcome::Class;
use stormlab::policy::outcome::ClassSet;
use stormlab::policy::shedding::CoDelConfig;
use stormlab::policy::shedding::Standing;
use stormlab::random::Distribution;
use stormlab::random::Keys;
use stormlab::random::Purpose;
use stormlab::stats::histogram::Histogram;
use stormlab::units::Draw;
use stormlab::units::Duration;
use stormlab::units::Share;
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

fn decisions(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("a decision");
    let half = Draw::new(0.5).expect("in [0, 1)");
    let kinds = [
        ("full", Jitter::Full),
        ("decorrelated", Jitter::Decorrelated),
        ("decorrelated V2", Jitter::DecorrelatedV2),
        ("added share", Jitter::AddedShare(0.5)),
    ];
    for (name, jitter) in kinds {
        let (base, cap) = (Duration::from_millis(100), Duration::from_secs(20));
        let backoff = Backoff::exponential(base, 2.0, cap, jitter);
        let (mut retry, mut past) = (0, Past::new());
        decide(&mut group, &format!("backoff, {name} jitter"), || {
            retry = retry % 8 + 1;
            backoff.wait(black_box(retry), &mut past, black_box(half))
        });
    }

    let bucket = BudgetConfig::token_bucket(10_000, 100, 5_000, ClassSet::TRANSIENT);
    let ratio = BudgetConfig::Ratio {
        ratio_milli: 200,
        deposit: DepositPoint::Call,
        floor_milli_per_s: 10_000,
        cap_milli: 100_000,
        start_milli: 0,
    };
    let (rule, deposit, ttl) = (WindowRule::Tower, DepositPoint::Call, Duration::from_secs(10));
    let window = BudgetConfig::Window(WindowConfig::new(rule, 200, deposit, ttl, 10));
    let active = BudgetConfig::ActiveShare(ActiveShare {
        share_milli: 200,
        least: 3,
        interval: Duration::ZERO,
    });
    for (name, config) in [
        ("token bucket", bucket),
        ("ratio with a floor", ratio),
        ("window", window),
        ("share of active", active),
    ] {
        let mut tab = Tab::NEW;
        let mut budget = config.start(SimTime::ZERO);
        let mut now = 0;
        decide(&mut group, &format!("budget, {name}: a call that fails"), || {
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

    let window = Trip::Window {
        length: Duration::from_secs(30),
        failure_share: Share::new(0.5).expect("a share"),
        minimum_calls: 100,
    };
    for (name, trip) in [("in a row", Trip::Consecutive(5)), ("in a window", window)] {
        let config = BreakerConfig {
            trip,
            open_for: Duration::from_secs(5),
            probes: 1,
            counts: ClassSet::TRANSIENT,
            late_results: LateResults::Ignore,
            ..BreakerConfig::PLAIN
        };
        let mut breaker = Breaker::default();
        let mut now = 0;
        decide(&mut group, &format!("breaker, {name}: admit and settle"), || {
            now += 1_000_000;
            let at = SimTime::from_nanos(black_box(now));
            let settled = if now % 3_000_000 == 0 { Settled::Failure } else { Settled::Success };
            if let Some(permit) = breaker.admit(&config, at) {
                breaker.settle(&config, permit, at, settled);
            }
        });
    }
    limiters(&mut group);
    group.finish();
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
    ] {
        let (mut limit, mut nanos) = (config.start(half), 0);
        decide(group, &format!("adaptive limit, {name}: a sample"), || {
            nanos = (nanos + 7_777_777) % 50_000_000;
            let rtt = Duration::from_nanos(black_box(nanos));
            limit.update(&config, Sample { rtt, in_flight: 100, dropped: false }, half);
            limit.limit()
        });
    }
    let (interval, max_wait) = (Duration::from_millis(1), Duration::ZERO);
    let config = TokenBucketConfig { interval, burst: 10, max_wait };
    let (mut bucket, mut now) = (TokenBucket::default(), 0);
    decide(group, "rate, token bucket: acquire", || {
        now += 900_000;
        bucket.acquire(&config, SimTime::from_nanos(black_box(now)))
    });
    let delay = HedgeDelay::After(Duration::from_millis(200));
    let config = HedgeConfig { delay, max_attempts: 2, on: ClassSet::TRANSIENT };
    decide(group, "hedge: start, due and settle", || {
        let mut hedge = black_box(&config).start();
        (hedge.due(&config), hedge.settle(&config, Ok(()), PushBack::None))
    });
    let (config, mut standing) = (CoDelConfig::DEFAULT, Standing::default());
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
