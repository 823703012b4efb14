//! Cases from the field (C), transitions, late results, and the invariant of the header.

mod kinds;
mod release;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::policy::outcome::Class;
use crate::policy::outcome::ClassSet;
use crate::units::Share;

const SECOND: Duration = Duration::from_secs(1);

fn at(millis: u64) -> SimTime {
    SimTime::from_nanos(millis * 1_000_000)
}

fn consecutive(limit: u32, probes: u32) -> BreakerConfig {
    BreakerConfig {
        trip: Trip::Consecutive(limit),
        open_for: SECOND,
        probes,
        counts: ClassSet::TRANSIENT,
        late_results: LateResults::Ignore,
        ..BreakerConfig::PLAIN
    }
}

fn window(length: Duration, share: f64, minimum_calls: u32) -> BreakerConfig {
    let failure_share = Share::new(share).unwrap();
    let trip = Trip::Window { length, failure_share, minimum_calls };
    BreakerConfig { trip, ..consecutive(0, 1) }
}

/// Something passes and ends at once.
fn pass(breaker: &mut Breaker, config: &BreakerConfig, now: SimTime, settled: Settled) -> bool {
    let permit = breaker.admit(config, now);
    if let Some(permit) = permit {
        breaker.settle(config, permit, now, settled);
    }
    permit.is_some()
}

/// A breaker that opened at 0.
fn opened(config: &BreakerConfig) -> Breaker {
    let mut breaker = Breaker::default();
    while pass(&mut breaker, config, at(0), Settled::Failure) {}
    assert_eq!(breaker.state(at(0)), BreakerState::Open);
    breaker
}

#[test]
fn failures_in_a_row_open_it_and_a_success_begins_anew() {
    let config = consecutive(3, 1);
    let mut breaker = Breaker::default();
    for settled in [Settled::Failure, Settled::Failure, Settled::Success, Settled::Failure] {
        assert!(pass(&mut breaker, &config, at(0), settled));
    }
    assert!(pass(&mut breaker, &config, at(0), Settled::Ignored), "which says nothing");
    assert!(pass(&mut breaker, &config, at(0), Settled::Failure));
    assert!(breaker.is_closed());
    assert!(pass(&mut breaker, &config, at(0), Settled::Failure));
    assert!(!pass(&mut breaker, &config, at(999), Settled::Success), "open for a second");
    assert_eq!(breaker.state(at(999)), BreakerState::Open);
    assert!(pass(&mut breaker, &config, at(1_000), Settled::Success), "a probe, to the instant");
    assert!(breaker.is_closed());
}

#[test]
fn a_failed_probe_opens_it_for_a_whole_period() {
    let config = consecutive(1, 2);
    let mut breaker = opened(&config);
    assert!(pass(&mut breaker, &config, at(1_500), Settled::Success));
    assert_eq!(breaker.state(at(1_500)), BreakerState::HalfOpen, "one of two successes");
    assert!(pass(&mut breaker, &config, at(1_600), Settled::Failure));
    assert!(breaker.admit(&config, at(2_599)).is_none());
    assert!(breaker.admit(&config, at(2_600)).is_some());
}

#[test]
fn c58_a_cancelled_probe_gives_its_place_back() {
    let config = consecutive(5, 10);
    let mut breaker = opened(&config);
    let probes: Vec<_> = (0..10).map(|_| breaker.admit(&config, at(1_000)).unwrap()).collect();
    assert_eq!(breaker.admit(&config, at(1_000)), None);
    for (i, probe) in probes.into_iter().enumerate() {
        let settled = if i < 8 { Settled::Success } else { Settled::Ignored };
        breaker.settle(&config, probe, at(1_100), settled);
    }
    assert_eq!(breaker.state(at(1_100)), BreakerState::HalfOpen);
    assert!(pass(&mut breaker, &config, at(1_200), Settled::Success));
    assert!(pass(&mut breaker, &config, at(1_200), Settled::Success));
    assert!(breaker.is_closed());
}

#[test]
fn c59_no_more_probes_than_permitted_under_concurrency() {
    let config = consecutive(5, 3);
    let mut breaker = opened(&config);
    assert_eq!((0..50).filter_map(|_| breaker.admit(&config, at(1_000))).count(), 3);
}

#[test]
fn c65_results_from_before_the_break_decide_nothing() {
    let config = consecutive(2, 1);
    let mut breaker = Breaker::default();
    let calls: Vec<_> = (0..1_000).map(|_| breaker.admit(&config, at(0)).unwrap()).collect();
    breaker.settle(&config, calls[0], at(100), Settled::Failure);
    breaker.settle(&config, calls[1], at(100), Settled::Failure);
    assert_eq!(breaker.state(at(100)), BreakerState::Open);
    let probe = breaker.admit(&config, at(1_100)).unwrap();
    for (i, call) in calls[2..].iter().enumerate() {
        let settled = if i % 2 == 0 { Settled::Success } else { Settled::Failure };
        breaker.settle(&config, *call, at(3_000), settled);
        assert_eq!(breaker.admit(&config, at(3_000)), None, "one trial, and it is out");
    }
    breaker.settle(&config, probe, at(4_100), Settled::Success);
    assert!(breaker.is_closed());
}

#[test]
fn late_results_decide_where_the_settings_say_so() {
    let config = BreakerConfig { late_results: LateResults::Count, ..consecutive(1, 1) };
    #[track_caller]
    fn check(config: &BreakerConfig, late: Settled, expected: BreakerState) {
        let mut breaker = Breaker::default();
        let [early, slow, slower] = [(); 3].map(|()| breaker.admit(config, at(0)).unwrap());
        breaker.settle(config, early, at(0), Settled::Failure);
        breaker.settle(config, slower, at(500), Settled::Success);
        assert_eq!(breaker.state(at(500)), BreakerState::Open, "open decides nothing");
        let probe = breaker.admit(config, at(1_000)).unwrap();
        breaker.settle(config, slow, at(1_100), late);
        assert_eq!(breaker.state(at(1_100)), expected);
        // The probe, now late itself, takes no place with it.
        breaker.settle(config, probe, at(1_200), Settled::Ignored);
        assert_eq!(breaker.state(at(1_200)), expected);
    }
    check(&config, Settled::Success, BreakerState::Closed);
    check(&config, Settled::Failure, BreakerState::Open);
    check(&config, Settled::Ignored, BreakerState::HalfOpen);
    let ignoring = BreakerConfig { late_results: LateResults::Ignore, ..config };
    check(&ignoring, Settled::Success, BreakerState::HalfOpen);
    check(&ignoring, Settled::Failure, BreakerState::HalfOpen);
}

#[test]
fn c69_the_minimum_does_not_apply_to_probes() {
    let config = window(SECOND.scale(60.0), 0.5, 10);
    let mut breaker = opened(&config);
    assert!(pass(&mut breaker, &config, at(60_000), Settled::Success));
    assert!(breaker.is_closed(), "one success closes");
    let mut breaker = opened(&config);
    assert!(pass(&mut breaker, &config, at(60_000), Settled::Failure));
    assert_eq!(breaker.state(at(60_000)), BreakerState::Open, "one failure opens");
}

#[test]
fn c71_in_a_row_and_in_a_window_are_different_counters() {
    const HOUR: u64 = 3_600_000;
    let row = consecutive(5, 1);
    let sliding = window(SECOND.scale(60.0), 1.0, 5);
    let (mut by_row, mut by_window) = (Breaker::default(), Breaker::default());
    for hour in 0..5 {
        assert!(pass(&mut by_row, &row, at(hour * HOUR), Settled::Failure));
        assert!(pass(&mut by_window, &sliding, at(hour * HOUR), Settled::Failure));
    }
    assert!(!by_row.is_closed(), "a row has no end");
    assert!(by_window.is_closed(), "a window forgets");
}

#[test]
fn c64_and_c79_what_says_nothing_of_the_callee_does_not_trip_it() {
    let config = consecutive(1, 1);
    #[track_caller]
    fn check(config: &BreakerConfig, failure: Option<Class>, expected: Settled) {
        assert_eq!(config.judge(failure), expected);
    }
    check(&config, None, Settled::Success);
    check(&config, Some(Class::Unavailable), Settled::Failure);
    check(&config, Some(Class::Rejected), Settled::Success); // It answered: it is alive.
    check(&config, Some(Class::BulkheadFull), Settled::Ignored); // It never saw this one.
    check(&config, Some(Class::DeadlinePassed), Settled::Ignored);
    let broad = BreakerConfig { counts: ClassSet::of(&[Class::BulkheadFull]), ..config };
    check(&broad, Some(Class::BulkheadFull), Settled::Failure); // Somebody asked for it.
}

#[test]
fn a_window_opens_at_the_share_and_not_before() {
    #[track_caller]
    fn check(share: f64, minimum: u32, failures: u32, of: u32, opens: bool) {
        let config = window(SECOND, share, minimum);
        let mut breaker = Breaker::default();
        for i in 0..of {
            // Successes first: only a failure asks.
            let settled = if i < of - failures { Settled::Success } else { Settled::Failure };
            pass(&mut breaker, &config, at(0), settled);
        }
        assert_eq!(!breaker.is_closed(), opens, "{failures} of {of} at {share}");
    }
    check(0.07, 100, 7, 100, true); // 0.07 · 100 is 7.000000000000001.
    check(0.07, 100, 6, 100, false);
    check(0.1, 100, 10, 100, true);
    check(0.5, 100, 99, 99, false);
    check(0.5, 99, 99, 99, true);
    check(1.0 / 3.0, 3, 1, 3, true);
    check(1.0, 10, 10, 10, true);
    check(1.0, 10, 9, 10, false);
}

#[test]
fn a_window_forgets_in_ten_steps() {
    // A failure every 100 ms, one second long: at most ten are remembered.
    let config = window(SECOND, 1.0, 11);
    let mut breaker = Breaker::default();
    for tick in 0..1_000 {
        assert!(pass(&mut breaker, &config, at(100 * tick), Settled::Failure));
    }
    let slower = window(SECOND, 1.0, 10);
    let mut breaker = Breaker::default();
    let passed =
        (0..1_000).take_while(|tick| pass(&mut breaker, &slower, at(100 * tick), Settled::Failure));
    assert_eq!(passed.count(), 10);
    // Buckets begin with their first outcome, not on round times.
    let mut breaker = Breaker::default();
    let two = window(SECOND, 1.0, 2);
    assert!(pass(&mut breaker, &two, at(950), Settled::Failure));
    assert!(pass(&mut breaker, &two, at(1_950), Settled::Failure), "a whole second old");
    assert!(pass(&mut breaker, &two, at(2_949), Settled::Failure), "just not");
    assert!(!breaker.is_closed());
}

#[test]
fn closing_begins_a_new_window() {
    let config = window(SECOND.scale(60.0), 0.5, 2);
    let mut breaker = opened(&config);
    assert!(pass(&mut breaker, &config, at(1_000), Settled::Success));
    assert!(pass(&mut breaker, &config, at(1_001), Settled::Failure));
    assert!(breaker.is_closed(), "one of one is below the minimum");
}

#[test]
fn a_breaker_is_small_and_settings_may_change_while_it_runs() {
    assert!(size_of::<Breaker>() <= 32);
    let (row, sliding) = (consecutive(2, 1), window(SECOND, 1.0, 1));
    let mut breaker = Breaker::default();
    assert!(pass(&mut breaker, &row, at(0), Settled::Failure));
    assert!(pass(&mut breaker, &sliding, at(0), Settled::Failure));
    assert!(!breaker.is_closed());
    assert!(breaker.admit(&row, at(1_000)).is_some());
    // A longer window: eleven outcomes further apart than its old steps, closer than its new ones.
    let mut breaker = Breaker::default();
    let short = window(SECOND, 1.0, 1_000);
    (0..10).for_each(|i| assert!(pass(&mut breaker, &short, at(100 * i), Settled::Failure)));
    let long = window(SECOND.scale(2.0), 1.0, 11);
    assert!(pass(&mut breaker, &long, at(1_200), Settled::Failure));
    assert!(breaker.is_closed(), "the oldest bucket had to go");
}

proptest! {
    /// However admissions and results follow one another: only legal transitions, no opening
    /// shorter than its period, and no more probes out than permitted.
    #[test]
    fn only_legal_transitions_happen(
        steps in vec((0u64..400, 0u8..4, any::<u16>(), 0u8..3), 1..600),
        limit in 1u32..4,
        probes in 1u32..4,
        by_window in any::<bool>(),
        count_late in any::<bool>(),
    ) {
        let base =
            if by_window { window(SECOND, 0.5, limit) } else { consecutive(limit, probes) };
        let late_results = if count_late { LateResults::Count } else { LateResults::Ignore };
        let config = BreakerConfig { probes, late_results, ..base };
        let mut breaker = Breaker::default();
        let (mut now, mut opened_at) = (0, 0);
        let mut out: Vec<(Permit, u32)> = Vec::new(); // Permits, with our count of transitions.
        let mut transitions = 0;
        let mut last = BreakerState::Closed;
        for (pass_ms, what, which, result) in steps {
            now += pass_ms;
            let before = breaker.state;
            if what < 2 || out.is_empty() {
                if let Some(permit) = breaker.admit(&config, at(now)) {
                    prop_assert_ne!(breaker.state(at(now)), BreakerState::Open);
                    let changed = matches!(before, State::Open { .. });
                    out.push((permit, transitions + u32::from(changed)));
                }
            } else {
                let (permit, _) = out.swap_remove(usize::from(which) % out.len());
                let settled = [Settled::Success, Settled::Failure, Settled::Ignored];
                breaker.settle(&config, permit, at(now), settled[usize::from(result)]);
            }
            let state = match breaker.state {
                State::Closed => BreakerState::Closed,
                State::Open { .. } => BreakerState::Open,
                State::HalfOpen { .. } => BreakerState::HalfOpen,
            };
            if state != last {
                transitions += 1;
                let legal = match (last, state) {
                    (BreakerState::HalfOpen, BreakerState::Closed) => true,
                    (BreakerState::Open, BreakerState::HalfOpen) => now >= opened_at + 1_000,
                    (_, BreakerState::Open) => true,
                    _ => false,
                };
                prop_assert!(legal, "{last:?} to {state:?} at {now}, opened at {opened_at}");
                if state == BreakerState::Open {
                    opened_at = now;
                }
                last = state;
            }
            if let State::HalfOpen { out: counted, successes } = breaker.state {
                let really = out.iter().filter(|(_, since)| *since == transitions).count();
                prop_assert_eq!(counted as usize, really, "what is out is what we hold");
                prop_assert!(counted <= probes && successes < probes);
            }
        }
    }
}
