//! What one decision costs: nanoseconds per wait, payment, admission and draw.
//!
//! A policy may cost no more than an event of the engine (some 100 ns), or a storm is slower to
//! simulate under the very policies that are to be compared.

use std::hint::black_box;

use criterion::Criterion;
use criterion::criterion_group;
use criterion::criterion_main;
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
use stormlab::policy::outcome::Class;
use stormlab::policy::outcome::ClassSet;
use stormlab::random::Distribution;
use stormlab::random::Keys;
use stormlab::random::Purpose;
use stormlab::stats::histogram::Histogram;
use stormlab::units::Draw;
use stormlab::units::Duration;
use stormlab::units::Share;
use stormlab::units::SimTime;

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
        group.bench_function(format!("backoff, {name} jitter"), |b| {
            b.iter(|| {
                retry = retry % 8 + 1;
                backoff.wait(black_box(retry), &mut past, black_box(half))
            });
        });
    }

    let bucket = BudgetConfig::TokenBucket {
        max_milli: 10_000,
        ratio_milli: 100,
        threshold_milli: 5_000,
        counts: ClassSet::TRANSIENT,
    };
    let ratio = BudgetConfig::Ratio {
        ratio_milli: 200,
        deposit: DepositPoint::Call,
        floor_milli_per_s: 10_000,
        cap_milli: 100_000,
        start_milli: 0,
    };
    for (name, config) in [("token bucket", bucket), ("ratio with a floor", ratio)] {
        let mut budget = config.start(SimTime::ZERO);
        let mut now = 0;
        group.bench_function(format!("budget, {name}: a call that fails"), |b| {
            b.iter(|| {
                now += 1_000_000;
                let at = SimTime::from_nanos(black_box(now));
                budget.call_started(&config, at);
                budget.attempt_failed(&config, at, Class::Timeout);
                budget.may_retry(&config, at)
            });
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
        };
        let mut breaker = Breaker::default();
        let mut now = 0;
        group.bench_function(format!("breaker, {name}: admit and settle"), |b| {
            b.iter(|| {
                now += 1_000_000;
                let at = SimTime::from_nanos(black_box(now));
                let settled =
                    if now % 3_000_000 == 0 { Settled::Failure } else { Settled::Success };
                if let Some(permit) = breaker.admit(&config, at) {
                    breaker.settle(&config, permit, at, settled);
                }
            });
        });
    }
    group.finish();
}

fn chance(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("chance");
    let keys = Keys::new(1, 0);
    let mut entity = 0;
    group.bench_function("a draw", |b| {
        b.iter(|| {
            entity += 1;
            keys.draw(Purpose::Work, black_box(entity), 0)
        });
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
        group.bench_function(format!("a draw and a sample: {law}"), |b| {
            b.iter(|| {
                entity += 1;
                law.sample(keys.draw(Purpose::Work, black_box(entity), 0))
            });
        });
    }
    let mut histogram = Histogram::default();
    let mut value = 1u64;
    group.bench_function("a value into a histogram", |b| {
        b.iter(|| {
            value = value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            histogram.record(black_box(value >> 34));
        });
    });
    group.finish();
}

criterion_group!(benches, decisions, chance);
criterion_main!(benches);
