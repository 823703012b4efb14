//! Who is chosen, worked by hand, and what holds whatever happens.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::policy::breaker::Trip;
use crate::policy::outcome::ClassSet;

fn at(ms: u64) -> SimTime {
    SimTime::from_nanos(ms * 1_000_000)
}

fn middle(_: u32, _: u32) -> Draw {
    Draw::MIDDLE
}

/// Three failures in a row, out for a second, one probe.
const BREAKER: BreakerConfig = BreakerConfig {
    trip: Trip::Consecutive(3),
    open_for: Duration::from_secs(1),
    probes: 1,
    counts: ClassSet::TRANSIENT,
    ..BreakerConfig::PLAIN
};

fn of_breakers(panic: u8) -> EjectionConfig {
    EjectionConfig { kind: EjectionKind::Breaker(BREAKER), panic: Share::percent(panic) }
}

fn of_outliers(most_ejected: u8, panic: u8) -> EjectionConfig {
    let most_ejected = Share::percent(most_ejected);
    let config = OutlierConfig { consecutive: Some(3), most_ejected, ..OutlierConfig::ENVOY };
    EjectionConfig { kind: EjectionKind::Outlier(config), panic: Share::percent(panic) }
}

/// Asks from `first` on, and hears the failure or success at once.
fn ask(pool: &mut Pool, config: &EjectionConfig, first: u32, ms: u64, failed: bool) -> Option<u32> {
    let chosen = pool.choose(config, at(ms), Choice::From(first), &middle)?;
    let failure = failed.then_some(Class::Unavailable);
    pool.report(config, chosen, at(ms), failure, &middle);
    Some(chosen.replica)
}

#[test]
fn a_replica_that_is_out_is_passed_over_in_turn_and_by_lot() {
    for config in [of_outliers(50, 0), of_breakers(0)] {
        let mut pool = config.start(4);
        (0..3).for_each(|_| assert_eq!(ask(&mut pool, &config, 1, 0, true), Some(1)));
        assert_eq!(ask(&mut pool, &config, 1, 1, false), Some(2));
        assert_eq!(ask(&mut pool, &config, 3, 1, false), Some(3));
        let mut drawn = |draw| {
            let choice = Choice::Drawn(Draw::new(draw).unwrap());
            pool.choose(&config, at(1), choice, &middle).unwrap().replica
        };
        assert_eq!([0.0, 0.33, 0.34, 0.66, 0.67, 0.99].map(&mut drawn), [0, 0, 2, 2, 3, 3]);
    }
}

/// One of four is out: 75 % are in. With two out it is half, with three it is less.
#[test]
fn below_the_share_of_panic_all_are_used() {
    for config in [of_outliers(100, 50), of_breakers(50)] {
        let mut pool = config.start(4);
        for out in 0..3 {
            assert_eq!(ask(&mut pool, &config, 0, 0, false), Some(out));
            (0..3).for_each(|_| assert_eq!(ask(&mut pool, &config, out, 0, true), Some(out)));
        }
        assert_eq!(pool.count_in(at(0)), 1);
        assert_eq!(ask(&mut pool, &config, 0, 1, false), Some(0), "panic");
    }
}

#[test]
fn without_panic_nobody_is_left() {
    for config in [of_outliers(100, 0), of_breakers(0)] {
        let mut pool = config.start(2);
        for out in 0..2 {
            (0..3).for_each(|_| assert_eq!(ask(&mut pool, &config, out, 0, true), Some(out)));
        }
        assert_eq!(ask(&mut pool, &config, 0, 1, true), None);
        let lot = Choice::Drawn(Draw::MIDDLE);
        assert_eq!(pool.choose(&config, at(1), lot, &middle), None);
    }
}

/// The probe goes to the replica, everybody else to the other one, until it is back; a probe that
/// nobody waits for gives its place back.
#[test]
fn one_probe_at_a_time_finds_out_whether_a_replica_is_back() {
    let config = of_breakers(0);
    let mut pool = config.start(2);
    (0..3).for_each(|_| _ = ask(&mut pool, &config, 0, 0, true));
    assert_eq!(ask(&mut pool, &config, 0, 999, false), Some(1));
    let mut probe = || pool.choose(&config, at(1_000), Choice::From(0), &middle).unwrap();
    let (first, second) = (probe(), probe());
    assert_eq!((first.replica, second.replica), (0, 1));
    pool.forget(&config, first, at(1_001), &middle);
    let again = pool.choose(&config, at(1_002), Choice::From(0), &middle).unwrap();
    assert_eq!(again.replica, 0);
    pool.report(&config, again, at(1_003), Some(Class::DeadlinePassed), &middle);
    assert_eq!(pool.count_in(at(1_003)), 1, "that took too long, and counts");
    assert_eq!(ask(&mut pool, &config, 0, 2_003, false), Some(0));
    assert_eq!(pool.count_in(at(2_003)), 2);
}

proptest! {
    /// Whoever fails whenever: whom the pool has out is chosen in a panic only, and no more
    /// probes than allowed are with one replica.
    #[test]
    fn who_is_out_is_chosen_in_a_panic_only(
        steps in vec((0u64..400, any::<bool>(), 0u8..3), 1..400),
        by_lot: bool,
        outliers: bool,
        panic in 0u8..=100,
    ) {
        const REPLICAS: u32 = 7;
        let config = if outliers { of_outliers(60, panic) } else { of_breakers(panic) };
        let mut pool = config.start(REPLICAS);
        let (mut now, mut turn, mut under_way) = (0, 0, Vec::new());
        for (pass, failed, end) in steps {
            now += pass;
            let choice = match by_lot {
                true => Choice::Drawn(Draw::from_bits(u64::from(turn) << 60)),
                false => Choice::From(turn),
            };
            turn = (turn + 1) % REPLICAS;
            let before = pool.clone();
            let chosen = pool.choose(&config, at(now), choice, &middle);
            let few = f64::from(pool.count_in(at(now))) < config.panic.get() * 7.0;
            match chosen {
                None => prop_assert!(!few),
                Some(chosen) => {
                    let mut caught_up = before;
                    caught_up.catch_up(&config, at(now), &middle);
                    prop_assert!(few || caught_up.is_in(&config, chosen.replica, at(now)));
                    under_way.push((chosen, failed));
                }
            }
            if end < 2 && let Some((chosen, failed)) = under_way.pop() {
                let failure = failed.then_some(Class::Timeout);
                match end {
                    0 => pool.report(&config, chosen, at(now), failure, &middle),
                    _ => pool.forget(&config, chosen, at(now), &middle),
                }
            }
            let is_probe = |it: &&(Chosen, bool)| it.0.permit.is_some_and(Permit::is_probe);
            if outliers {
                prop_assert_eq!(under_way.iter().filter(is_probe).count(), 0);
                prop_assert!(pool.count_in(at(now)) >= 3, "at most 60 % of seven are out");
            }
        }
    }
}
