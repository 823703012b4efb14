//! Policies against the oracles of chance: hand loops over seeded draws, without the engine.
//!
//! Seeds are fixed. Tolerances are 4.5 standard errors of the run made here unless the line says
//! otherwise: a correct program fails a line about 7 times in a million.

mod mistakes;
mod sampled;

use stormlab::policy::backoff::Backoff;
use stormlab::policy::backoff::Jitter;
use stormlab::policy::backoff::Past;
use stormlab::policy::breaker::Breaker;
use stormlab::policy::breaker::BreakerConfig;
use stormlab::policy::breaker::LateResults;
use stormlab::policy::breaker::Settled;
use stormlab::policy::breaker::Trip;
use stormlab::policy::budget::BudgetConfig;
use stormlab::policy::budget::Failure;
use stormlab::policy::budget::Tab;
use stormlab::policy::outcome::Class;
use stormlab::policy::outcome::ClassSet;
use stormlab::random::Distribution;
use stormlab::random::Keys;
use stormlab::random::Purpose;
use stormlab::theory::retries;
use stormlab::units::Draw;
use stormlab::units::Duration;
use stormlab::units::SimTime;

const KEYS: Keys = Keys::new(20_261_129, 0);

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[track_caller]
fn near(what: &str, found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{what}: {found} for {expected} ± {tolerance}");
}

#[track_caller]
fn within(what: &str, found: f64, expected: f64, share: f64) {
    near(what, found, expected, expected * share);
}

fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (mean, (squares / (n - 1.0)).sqrt())
}

/// `count` sequences of `retries` waits each, in seconds.
fn waits(backoff: &Backoff, count: u64, retries: u32) -> Vec<Vec<f64>> {
    let sequence = |call| {
        let mut past = Past::new();
        let mut next = |retry| {
            let draw = KEYS.draw(Purpose::Backoff, call, retry);
            backoff.wait(retry, &mut past, draw).as_secs_f64()
        };
        (1..=retries).map(&mut next).collect()
    };
    (0..count).map(sequence).collect()
}

fn column(rows: &[Vec<f64>], index: usize) -> Vec<f64> {
    rows.iter().map(|row| row[index]).collect()
}

fn totals(rows: &[Vec<f64>]) -> Vec<f64> {
    rows.iter().map(|row| row.iter().sum()).collect()
}

fn doubling(base: Duration, cap: Duration, jitter: Jitter) -> Backoff {
    Backoff::exponential(base, 2.0, cap, jitter)
}

#[test]
fn r9_full_and_equal_jitter() {
    let windows = [0.1, 0.2, 0.4, 0.8, 1.6, 2.0];
    let full = waits(&doubling(ms(100), ms(2_000), Jitter::Full), 100_000, 6);
    let equal = waits(&doubling(ms(100), ms(2_000), Jitter::Equal), 100_000, 6);
    for (i, window) in windows.into_iter().enumerate() {
        let mut values = column(&full, i);
        let (mean, deviation) = mean_and_deviation(&values);
        within("full mean", mean, window / 2.0, 0.01);
        within("full deviation", deviation, window / 12f64.sqrt(), 0.01);
        // Kolmogorov–Smirnov, p > 0.001: √n D < 1.95.
        values.sort_by(f64::total_cmp);
        let n = values.len() as f64;
        let distance = values.iter().enumerate().fold(0.0f64, |worst, (rank, value)| {
            worst.max((value / window - rank as f64 / n).abs() + 1.0 / n)
        });
        assert!(distance * n.sqrt() < 1.95, "retry {}: {distance}", i + 1);
        let (mean, deviation) = mean_and_deviation(&column(&equal, i));
        within("equal mean", mean, 0.75 * window, 0.01);
        within("equal deviation", deviation, window / 48f64.sqrt(), 0.01);
    }
    let (mean, deviation) = mean_and_deviation(&totals(&full));
    near("total of six", mean, 2.55, 0.0112);
    within("its deviation", deviation, 0.785_811_7, 0.01);
}

#[test]
fn r10_decorrelated_jitter() {
    let backoff = doubling(ms(100), ms(2_000), Jitter::Decorrelated);
    // Enough sequences for 0.5 % to be 4.5 standard errors.
    let rows = waits(&backoff, 400_000, 8);
    let means =
        [0.2, 0.350_000_1, 0.573_931_2, 0.820_313_4, 1.000_694, 1.118_198, 1.192_546, 1.239_224];
    let at_cap =
        [0.0, 0.0, 0.006_416_948, 0.103_946, 0.209_570_8, 0.283_861_6, 0.331_778, 0.362_016_5];
    let share = |values: &[f64]| {
        values.iter().filter(|value| **value == 2.0).count() as f64 / values.len() as f64
    };
    for i in 0..8 {
        let values = column(&rows, i);
        within("mean", mean_and_deviation(&values).0, means[i], 0.005);
        near("share at the cap", share(&values), at_cap[i], 0.005);
    }
    let rows = waits(&backoff, 20_000, 120);
    let late: Vec<f64> = rows.iter().flat_map(|row| row[60..].iter().copied()).collect();
    near("long-run mean", mean_and_deviation(&late).0, 1.317_43, 0.013);
    near("long-run share at the cap", share(&late), 0.412_765_2, 0.006);
}

#[test]
fn r16_a_webhook_schedule() {
    let of = |jitter| doubling(Duration::from_secs(60), Duration::from_secs(3_600), jitter);
    let plain = waits(&of(Jitter::None), 1, 15);
    assert_eq!(totals(&plain), [36_180.0]);
    let spread = totals(&waits(&of(Jitter::Equal), 100_000, 15));
    let (mean, deviation) = mean_and_deviation(&spread);
    within("mean", mean, 27_135.0, 0.01);
    within("deviation", deviation, 1_591.344, 0.02);
    assert!(spread.iter().all(|total| *total >= 18_090.0));
}

#[test]
fn r31_surviving_a_short_outage() {
    let backoff = doubling(ms(100), Duration::MAX, Jitter::Full);
    let rows = waits(&backoff, 1_000_000, 5);
    let survived = totals(&rows).iter().filter(|total| **total > 1.0).count();
    near("P(success)", survived as f64 / 1e6, 0.828_377_3, 0.0018);
}

#[test]
fn r33_a_herd_under_full_jitter() {
    let backoff = doubling(ms(1_000), ms(1_000), Jitter::Full);
    let rows = waits(&backoff, 2_000 * 1_000, 1);
    let mut counts = Vec::new();
    for herd in rows.chunks(1_000) {
        let mut bins = [0.0; 10];
        herd.iter().for_each(|wait| bins[(wait[0] * 10.0) as usize] += 1.0);
        counts.extend(bins);
    }
    let (mean, deviation) = mean_and_deviation(&counts);
    within("mean per bin", mean, 100.0, 0.01);
    within("deviation per bin", deviation, 9.486_833, 0.05);
    let together = waits(&doubling(ms(1_000), ms(1_000), Jitter::None), 1_000, 1);
    assert!(together.iter().all(|wait| wait[0] == 1.0));
}

#[test]
fn r34_a_herd_under_equal_jitter() {
    let rows = waits(&doubling(ms(2_000), ms(2_000), Jitter::Equal), 200 * 500, 1);
    assert!(rows.iter().all(|wait| (1.0..2.0).contains(&wait[0])));
    let mut bins = [0.0; 10];
    rows.iter().for_each(|wait| bins[((wait[0] - 1.0) * 10.0) as usize] += 1.0 / 200.0);
    bins.iter().for_each(|count| within("mean per bin", *count, 50.0, 0.03));
}

/// 2 000 000 calls; the tolerance is that of ten times as many, times 3.2.
#[test]
fn r7_a_token_bucket_under_partial_failure() {
    let config = BudgetConfig::token_bucket(10_000, 100, 5_000, ClassSet::TRANSIENT);
    let (now, down) = (SimTime::ZERO, Class::Unavailable);
    let mut budget = config.start(now);
    let mut tab = Tab::NEW;
    let mut attempts = 0u64;
    for call in 0..2_000_000 {
        for attempt in 1..=4 {
            attempts += 1;
            if KEYS.draw(Purpose::ServiceError, call, attempt).get() >= 0.05 {
                budget.attempt_succeeded(&config, now, attempt == 1, &mut tab);
                break;
            }
            budget.attempt_failed(&config, now, Failure::of(down), &mut tab);
            if !budget.may_retry(&config, now, down, &mut tab).is_granted() {
                break;
            }
        }
    }
    near("attempts per request", attempts as f64 / 2e6, 1.052_093, 0.0008);
}

fn breaker(limit: u32) -> BreakerConfig {
    BreakerConfig {
        trip: Trip::Consecutive(limit),
        open_for: Duration::from_secs(10),
        probes: 1,
        counts: ClassSet::TRANSIENT,
        late_results: LateResults::Ignore,
        ..BreakerConfig::PLAIN
    }
}

#[test]
fn r18_attempts_of_continuous_traffic_against_a_dead_server() {
    let config = breaker(5);
    let mut breaker = Breaker::default();
    let attempts = |breaker: &mut Breaker, from_ms: u64, until_ms: u64| {
        let mut attempts = 0;
        for millis in from_ms..until_ms {
            let now = SimTime::from_nanos(millis * 1_000_000);
            while let Some(permit) = breaker.admit(&config, now) {
                attempts += 1;
                breaker.settle(&config, permit, now, Settled::Failure);
            }
        }
        attempts
    };
    assert_eq!(attempts(&mut breaker, 0, 60_000), 10);
    assert_eq!(attempts(&mut breaker, 60_000, 120_000), 6);
    assert_eq!(attempts(&mut breaker, 120_000, 180_000), 6);
}

/// A Poisson stream of `rate` per second: the moments of its arrivals.
fn poisson(rate: f64, purpose_entity: u64) -> impl Iterator<Item = SimTime> {
    let gap = Distribution::exponential(Duration::from_secs_f64(1.0 / rate)).expect("a rate");
    (0..).scan(SimTime::ZERO, move |now, index| {
        *now = *now + gap.sample(KEYS.draw(Purpose::Arrival, purpose_entity, index));
        Some(*now)
    })
}

/// 200 000 s; the tolerance is that of ten times as many, times 3.2.
#[test]
fn r19_attempts_of_poisson_traffic_against_a_dead_server() {
    let config = breaker(5);
    let mut breaker = Breaker::default();
    let mut out = std::collections::VecDeque::new();
    let mut attempts = 0u32;
    for now in poisson(2.0, 19).take_while(|now| now.as_secs_f64() < 200_000.0) {
        while let Some((ends_at, permit)) = out.front().copied().filter(|(at, _)| *at <= now) {
            breaker.settle(&config, permit, ends_at, Settled::Failure);
            out.pop_front();
        }
        if let Some(permit) = breaker.admit(&config, now) {
            attempts += 1;
            out.push_back((now + ms(100), permit));
        }
    }
    near("attempts per minute", f64::from(attempts) * 60.0 / 200_000.0, 5.660_377, 0.0102);
}

/// 200 000 trips; the tolerance is that of ten times as many, times 3.2.
#[test]
fn r20_and_r21_attempts_until_it_trips() {
    #[track_caller]
    fn check(failing: f64, entity: u64, expected: f64, tolerance: f64) {
        const TRIPS: u32 = 200_000;
        let config = breaker(5);
        let mut attempts = 0u32;
        for _ in 0..TRIPS {
            let mut breaker = Breaker::default();
            while let Some(permit) = breaker.admit(&config, SimTime::ZERO) {
                let fails = KEYS.draw(Purpose::ServiceError, entity, attempts).get() < failing;
                let settled = if fails { Settled::Failure } else { Settled::Success };
                breaker.settle(&config, permit, SimTime::ZERO, settled);
                attempts += 1;
            }
        }
        near("attempts", f64::from(attempts) / f64::from(TRIPS), expected, tolerance);
        near("theory", retries::attempts_to_trip(failing, 5), expected, 1e-5);
    }
    check(0.5, 20, 62.0, 0.61);
    check(0.8, 21, 10.258_79, 0.061);
}

/// 2 000 000 s; the tolerances are those of ten times as many, times 3.2.
#[test]
fn r22_share_of_time_open_under_random_failures() {
    const SECONDS: f64 = 2e6;
    let config = breaker(5);
    let mut breaker = Breaker::default();
    let (mut attempts, mut openings) = (0u32, 0u32);
    for now in poisson(2.0, 22).take_while(|now| now.as_secs_f64() < SECONDS) {
        let Some(permit) = breaker.admit(&config, now) else { continue };
        let fails = KEYS.draw(Purpose::ServiceError, 22, attempts).get() < 0.5;
        breaker.settle(
            &config,
            permit,
            now,
            if fails { Settled::Failure } else { Settled::Success },
        );
        attempts += 1;
        openings += u32::from(fails && !breaker.is_closed());
    }
    near("share of time open", 10.0 * f64::from(openings) / SECONDS, 0.384_615_4, 0.0061);
    near("attempts per second", f64::from(attempts) / SECONDS, 1.230_769, 0.0128);
}

/// The breaker stands outside the retry: a whole sequence of four attempts is one failure.
#[test]
fn r41_a_breaker_around_a_retrying_call() {
    let config = breaker(5);
    let mut breaker = Breaker::default();
    let mut attempts = 0u32;
    while let Some(permit) = breaker.admit(&config, SimTime::ZERO) {
        attempts += 4;
        breaker.settle(&config, permit, SimTime::ZERO, Settled::Failure);
    }
    assert_eq!(attempts, 20);

    let mut breaker = Breaker::default();
    let mut out = std::collections::VecDeque::new();
    let mut attempts = 0u32;
    for now in poisson(10.0, 41).take_while(|now| now.as_secs_f64() < 200_000.0) {
        while let Some((ends_at, permit)) = out.front().copied().filter(|(at, _)| *at <= now) {
            breaker.settle(&config, permit, ends_at, Settled::Failure);
            out.pop_front();
        }
        if let Some(permit) = breaker.admit(&config, now) {
            attempts += 4; // At 0, 0.2, 0.6 and 1.4 s, each failing at once.
            out.push_back((now + ms(1_400), permit));
        }
    }
    within("attempts per minute", f64::from(attempts) * 60.0 / 200_000.0, 20.869_57, 0.01);
}

/// 500 breakers that opened within 100 ms all send their probe within 100 ms (C73): what the
/// shared trigger put in step, a constant open time keeps in step.
#[test]
fn c73_breakers_that_opened_together_probe_together() {
    let config = BreakerConfig { open_for: Duration::from_secs(30), ..breaker(1) };
    let first_probe = |instance: u64| {
        let mut breaker = Breaker::default();
        let opens_at = SimTime::ZERO + ms(100).scale(KEYS.draw(Purpose::Work, instance, 0).get());
        let permit = breaker.admit(&config, opens_at).expect("closed");
        breaker.settle(&config, permit, opens_at, Settled::Failure);
        (0..)
            .map(|tick| SimTime::ZERO + ms(tick))
            .find(|now| breaker.admit(&config, *now).is_some())
    };
    let probes: Vec<_> = (0..500).filter_map(first_probe).collect();
    let (first, last) = (probes.iter().min().unwrap(), probes.iter().max().unwrap());
    assert_eq!(probes.len(), 500);
    assert!(last.since(*first) <= ms(100), "{first:?} to {last:?}");
}

#[test]
fn a_wait_at_the_end_of_the_scale_does_not_overflow_the_clock() {
    let backoff = doubling(Duration::from_secs(1), Duration::MAX, Jitter::PlusMinus(0.2));
    let wait = backoff.wait(u32::MAX, &mut Past::new(), Draw::new(0.99).unwrap());
    assert_eq!(SimTime::from_nanos(5) + wait, SimTime::NEVER);
}
