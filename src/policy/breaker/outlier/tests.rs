//! Outlier detection, worked by hand and held against its invariant.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

fn at(secs: u64) -> SimTime {
    SimTime::from_nanos(secs * 1_000_000_000)
}

fn middle(_: u32) -> Draw {
    Draw::MIDDLE
}

fn failure(failed: bool) -> Option<Class> {
    failed.then_some(Class::Internal)
}

fn fail(pool: &mut Outliers, config: &OutlierConfig, host: usize, secs: u64, times: u32) {
    (0..times).for_each(|_| pool.report(config, host, at(secs), Some(Class::Unavailable), &middle));
}

#[test]
fn envoy_hand_trace_of_five_failures_in_a_row() {
    let config = OutlierConfig::ENVOY;
    let mut pool = Outliers::new(10);
    fail(&mut pool, &config, 3, 4, 4);
    pool.report(&config, 3, at(4), None, &middle);
    fail(&mut pool, &config, 3, 4, 4);
    assert!(pool.is_in(3), "a success began the row anew");
    fail(&mut pool, &config, 3, 4, 1);
    assert!(!pool.is_in(3));
    fail(&mut pool, &config, 5, 5, 5);
    assert!(pool.is_in(5), "two of ten would be more than 10 %");
    pool.pass_time(&config, at(39), &middle);
    assert!(!pool.is_in(3), "out at 4 s for 30 s, but hosts return at whole intervals");
    pool.pass_time(&config, at(40), &middle);
    assert!(pool.is_in(3), "and return in full");
    fail(&mut pool, &config, 3, 45, 5);
    pool.pass_time(&config, at(100), &middle);
    assert!(!pool.is_in(3), "the second lasts 60 s from 45 s");
    pool.pass_time(&config, at(110), &middle);
    assert!(pool.is_in(3));
    // Two healthy intervals forget both; the next is a first one again.
    pool.pass_time(&config, at(130), &middle);
    fail(&mut pool, &config, 3, 131, 5);
    pool.pass_time(&config, at(170), &middle);
    assert!(pool.is_in(3));
}

#[test]
fn a_small_pool_loses_nobody_unless_told_to() {
    let config = OutlierConfig::ENVOY;
    let mut pool = Outliers::new(5);
    fail(&mut pool, &config, 0, 1, 5);
    assert!(pool.is_in(0), "one of five is 20 %");
    let one = OutlierConfig { always_one: true, ..config };
    fail(&mut pool, &one, 0, 1, 5);
    fail(&mut pool, &one, 1, 1, 5);
    assert_eq!((pool.is_in(0), pool.is_in(1), pool.ejected()), (false, true, 1));
}

#[test]
fn the_longest_ejection_is_five_minutes() {
    let config = OutlierConfig { always_one: true, ..OutlierConfig::ENVOY };
    let mut pool = Outliers::new(1);
    let mut now = 0;
    for nth in 1..=20 {
        fail(&mut pool, &config, 0, now, 5);
        let out_at = now;
        while !pool.is_in(0) {
            now += 10;
            pool.pass_time(&config, at(now), &middle);
        }
        assert_eq!(now - out_at, (30 * nth).min(300), "ejection {nth}");
    }
}

/// Ten hosts, one of which succeeds half of the time and the others always: mean 95 %,
/// deviation 15 %, threshold 66.5 %.
#[test]
fn envoy_hand_trace_of_success_rates() {
    let config = OutlierConfig { consecutive: None, ..OutlierConfig::ENVOY };
    let run = |requests: u32| {
        let mut pool = Outliers::new(10);
        for request in 0..requests {
            for host in 0..10 {
                let failed = host == 7 && request % 2 == 0;
                pool.report(&config, host, at(1), failure(failed), &middle);
            }
        }
        pool.pass_time(&config, at(10), &middle);
        pool
    };
    assert!(!run(100).is_in(7));
    assert!(run(99).is_in(7), "below the volume");
    assert_eq!(run(100).ejected(), 1);
}

#[test]
fn a_share_of_failures_ejects_whatever_the_rest_does() {
    let rule = FailureShare { at_least: Share::new(0.85).unwrap(), minimum_hosts: 5, volume: 50 };
    let config = OutlierConfig {
        consecutive: None,
        success_rate: None,
        failure_share: Some(rule),
        most_ejected: Share::ONE,
        ..OutlierConfig::ENVOY
    };
    let mut pool = Outliers::new(5);
    for host in 0..5 {
        (0..100).for_each(|n| pool.report(&config, host, at(1), failure(n < 85), &middle));
    }
    pool.pass_time(&config, at(10), &middle);
    assert_eq!(pool.ejected(), 5);
}

proptest! {
    /// Whoever fails whenever, no more hosts are out than allowed.
    #[test]
    fn never_too_many_are_out(
        steps in vec((0u64..8, 0usize..20, any::<bool>()), 1..800),
        percent in 0u32..100,
    ) {
        let most_ejected = Share::new(f64::from(percent) / 100.0).unwrap();
        let config = OutlierConfig { most_ejected, ..OutlierConfig::ENVOY };
        let mut pool = Outliers::new(20);
        let mut now = 0;
        for (pass, host, failed) in steps {
            now += pass;
            (0..3).for_each(|_| pool.report(&config, host, at(now), failure(failed), &middle));
            prop_assert!(pool.ejected() * 100 <= percent * 20);
            let out = (0..20).filter(|host| !pool.is_in(*host)).count();
            prop_assert_eq!(out, pool.ejected() as usize);
        }
    }
}

/// What comes while a host is out leads to no second ejection when it is back.
#[test]
fn a_host_that_comes_back_begins_its_rows_anew() {
    let config = OutlierConfig { gateway_consecutive: Some(4), ..OutlierConfig::ENVOY };
    let mut pool = Outliers::new(10);
    let gateway = |pool: &mut Outliers, secs: u64, times: u32| {
        (0..times)
            .for_each(|_| pool.report(&config, 0, at(secs), Some(Class::BadGateway), &middle));
    };
    gateway(&mut pool, 1, 3);
    fail(&mut pool, &config, 0, 1, 1);
    gateway(&mut pool, 1, 3);
    assert!(!pool.is_in(0), "five failures in a row, of which never four at the gateway");
    gateway(&mut pool, 2, 9);
    pool.pass_time(&config, at(40), &middle);
    assert!(pool.is_in(0));
    gateway(&mut pool, 41, 3);
    assert!(pool.is_in(0), "what came while it was out is forgotten");
    gateway(&mut pool, 41, 1);
    assert!(!pool.is_in(0), "four in a row at the gateway");
}

/// Of two rules only hosts that are in and had requests take part.
#[test]
fn who_is_out_or_idle_is_no_measure_for_the_others() {
    let config = OutlierConfig {
        consecutive: Some(5),
        most_ejected: Share::ONE,
        success_rate: Some(SuccessRate { minimum_hosts: 5, volume: 0, factor: 1.0 }),
        ..OutlierConfig::ENVOY
    };
    let run = |hosts: usize| {
        let mut pool = Outliers::new(9);
        fail(&mut pool, &config, 8, 1, 5);
        for host in 0..hosts {
            (0..4).for_each(|n| {
                pool.report(&config, host, at(2), failure(host == 0 && n == 1), &middle)
            });
        }
        pool.pass_time(&config, at(10), &middle);
        (pool.is_in(8), pool.is_in(0))
    };
    assert_eq!(run(4), (false, true), "four in the pool had requests");
    assert_eq!(run(5), (false, false));
}

#[test]
fn a_429_is_a_success_and_a_deadline_a_gateway_error() {
    let config =
        OutlierConfig { consecutive: None, gateway_consecutive: Some(3), ..OutlierConfig::ENVOY };
    let mut pool = Outliers::new(10);
    let mut hear = |classes: &[Class]| {
        for class in classes {
            pool.report(&config, 0, at(1), Some(*class), &middle);
        }
        pool.is_in(0)
    };
    assert!(hear(&[Class::Timeout, Class::Unavailable, Class::RateLimited]));
    assert!(hear(&[Class::DeadlinePassed, Class::Internal]));
    assert!(hear(&[Class::GatewayTimeout, Class::DeadlinePassed]));
    assert!(!hear(&[Class::ConnectionLost]));
}

/// An ejection of a day under an interval of a nanosecond costs two looks, not 10¹³.
#[test]
fn looks_at_which_nothing_happens_cost_nothing() {
    let day = Duration::from_secs(86_400);
    let config = OutlierConfig {
        interval: Duration::from_nanos(1),
        base_ejection: day,
        max_ejection: day,
        ..OutlierConfig::ENVOY
    };
    let mut pool = Outliers::new(10);
    fail(&mut pool, &config, 0, 1, 5);
    pool.pass_time(&config, at(86_400), &middle);
    assert!(!pool.is_in(0));
    pool.pass_time(&config, at(86_401), &middle);
    assert!(pool.is_in(0));
}
