//! The invariant of the header, for every kind of breaker.

use super::*;
use crate::policy::breaker::config::Begins;
use crate::policy::breaker::config::Decision;
use crate::policy::breaker::config::Divisor;
use crate::policy::breaker::config::Forgets;
use crate::policy::breaker::config::HalfOpen;
use crate::policy::breaker::config::Judged;
use crate::policy::breaker::config::Limit;
use crate::policy::breaker::config::Others;
use crate::policy::breaker::config::Places;
use crate::policy::breaker::config::Rate;
use crate::policy::breaker::config::Slow;
use crate::policy::breaker::config::Turns;
use crate::policy::breaker::config::WindowKind;
use crate::policy::breaker::opening::OpenGrowth;
use crate::policy::breaker::opening::OpenJitter;

fn trips() -> Vec<Trip> {
    let half = Share::new(0.5).unwrap();
    let turns = [Turns::Lazily, Turns::OnTheClock, Turns::WithOutcomes];
    let time = turns.map(|turns| WindowKind::Time { length: SECOND.scale(0.7), buckets: 7, turns });
    let slow = Some(Slow { longer_than: Duration::from_millis(100), share: half });
    let rate = |window, limit, judged, divisor, slow| {
        let warm_up = Duration::ZERO;
        Trip::Rate(Rate { window, limit, minimum_calls: 3, slow, judged, divisor, warm_up })
    };
    let (outcomes, fires) = (Divisor::Outcomes, Divisor::Fires);
    vec![
        Trip::Consecutive(2),
        Trip::Row { failures: 3, forget_after: SECOND.scale(0.5), clear_every: SECOND },
        Trip::Window { length: SECOND, failure_share: half, minimum_calls: 3 },
        rate(WindowKind::Calls(70), Limit::AtLeast(half), Judged::OnOutcome, outcomes, slow),
        rate(WindowKind::Calls(5), Limit::Failures(3), Judged::OnFailure, outcomes, None),
        rate(time[0], Limit::MoreThan(half), Judged::OnOutcome, outcomes, slow),
        rate(time[1], Limit::AtLeast(half), Judged::AtTurns, outcomes, None),
        rate(time[1], Limit::MoreThan(half), Judged::OnFailure, fires, None),
        rate(time[2], Limit::MoreThan(half), Judged::OnFailure, outcomes, None),
        Trip::Average { window: SECOND, below: half, minimum_calls: 2, settled_after: SECOND },
        Trip::Exhausted { attempts: 3, within: SECOND },
    ]
}

fn growths() -> [OpenGrowth; 5] {
    let cap = SECOND.scale(3.0);
    [
        OpenGrowth::Constant,
        OpenGrowth::Times { cap, forget_every: SECOND },
        OpenGrowth::Exponential { factor: 2.0, cap },
        OpenGrowth::EqualJittered { cap },
        OpenGrowth::Table { times: [SECOND.scale(2.0); 8], len: 1 },
    ]
}

fn any_half_open() -> impl Strategy<Value = HalfOpen> {
    let rule = (0usize..3, any::<bool>(), any::<bool>(), any::<bool>(), 0u8..3, any::<bool>());
    let times = (any::<bool>(), any::<bool>());
    (rule, times).prop_map(
        |((begins, strictly_after, in_all, waits, decision, probes_count), t)| HalfOpen {
            begins: [Begins::Lazily, Begins::ByTimer, Begins::Never][begins],
            strictly_after,
            places: if in_all { Places::InAll } else { Places::AtOnce },
            others: if waits { Others::Wait } else { Others::Refused },
            decision: match decision {
                0 => Decision::First { successes: 0, failures: 1 },
                1 => Decision::First { successes: 2, failures: 2 },
                _ => Decision::AfterAll(2),
            },
            lease: t.0.then_some(SECOND),
            at_most: t.1.then_some(SECOND.scale(2.0)),
            probes_count,
        },
    )
}

fn any_config() -> impl Strategy<Value = BreakerConfig> {
    let late =
        [LateResults::Ignore, LateResults::Count, LateResults::Record, LateResults::Overrule];
    let forgets = [Forgets::WhenClosed, Forgets::WhenOpened, Forgets::Never];
    let choices = (0..11usize, 0..5usize, 0..4usize, 0..3usize, 1u32..4);
    (choices, any_half_open(), any::<bool>(), any::<bool>()).prop_map(
        move |((trip, growth, late_at, forgets_at, probes), half_open, jittered, guarded)| {
            BreakerConfig {
                trip: trips()[trip],
                open_for: SECOND,
                probes,
                late_results: late[late_at],
                or_consecutive: jittered.then_some(5),
                growth: growths()[growth],
                jitter: if jittered {
                    OpenJitter::PlusMinus(Share::new(0.2).unwrap())
                } else {
                    OpenJitter::None
                },
                half_open,
                forgets: forgets[forgets_at],
                release_guarded: guarded,
                ..BreakerConfig::PLAIN
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// Whatever the kind, and in whatever order things happen: only legal transitions, never more
    /// places taken than there are, refusals only by a breaker that is not closed, and no opening
    /// shorter than its shortest length, but for late results that overrule and for contexts of
    /// Spring's that are exhausted too late.
    #[test]
    fn a_breaker_of_any_kind_changes_legally(
        config in any_config(),
        steps in vec((0u64..600, 0u8..5, any::<u16>(), 0u8..7, 0u64..300), 1..300),
    ) {
        let draw = |nth: u32| Draw::new(f64::from(nth % 10) / 10.0).unwrap();
        let mut breaker = Breaker::default();
        let mut out: Vec<Permit> = Vec::new();
        let (mut now, mut leaks) = (0, false);
        for (pass_ms, what, which, result, took) in steps {
            now += pass_ms;
            breaker.pass_time(&config, at(now), &draw);
            let before = breaker.state;
            if what < 3 || out.is_empty() {
                match breaker.ask(&config, at(now), &draw) {
                    Answer::Granted(permit) => out.push(permit),
                    Answer::Refused => prop_assert!(!breaker.is_closed()),
                    Answer::Wait(_) => {
                        prop_assert!(config.makes_wait());
                        prop_assert!(matches!(breaker.state, State::HalfOpen { .. }), "waits");
                    }
                }
                let legal = breaker.state == before || matches!(
                    (before, breaker.state),
                    (State::Open { .. } | State::HalfOpen { .. }, State::HalfOpen { .. })
                );
                prop_assert!(legal, "{before:?} to {:?} when asked", breaker.state);
            } else {
                let permit = out.swap_remove(usize::from(which) % out.len());
                let settled = [
                    Settled::Success,
                    Settled::Failure,
                    Settled::Ignored,
                    Settled::Unhandled,
                    Settled::Fatal,
                    Settled::Leaked,
                    Settled::Released,
                ][usize::from(result)];
                let took = Duration::from_millis(took);
                leaks |= settled == Settled::Leaked;
                breaker.report(&config, permit, at(now), Report { settled, took }, &draw);
                let overrules = config.late_results == LateResults::Overrule;
                let legal = match (before, breaker.state) {
                    (State::Open { .. }, State::Closed) => overrules,
                    (State::Open { .. }, State::HalfOpen { .. }) => false,
                    (State::Closed, State::HalfOpen { .. }) => false,
                    _ => true,
                };
                prop_assert!(legal, "{before:?} to {:?} by {settled:?}", breaker.state);
            }
            match breaker.state {
                State::HalfOpen { out: taken, .. } => {
                    prop_assert!(taken <= config.probes);
                    let really = out.iter().filter(|p| p.epoch == breaker.epoch).count();
                    // Without the guard somebody else may have given the place of a probe back.
                    let held = really <= taken as usize || !config.release_guarded;
                    prop_assert!(held, "{really} are out, {taken} counted");
                    let exact = config.release_guarded && !leaks;
                    if exact && config.half_open.places == Places::AtOnce {
                        prop_assert_eq!(really, taken as usize);
                    }
                }
                State::Open { until } if !matches!(before, State::Open { .. }) => {
                    let long = until.since(at(now));
                    let spring = matches!(config.trip, Trip::Exhausted { .. });
                    prop_assert!(spring || long >= SECOND.scale(0.8), "open for {long} only");
                    prop_assert!(long <= SECOND.scale(3.7), "open for {long}");
                }
                _ => {}
            }
        }
    }
}
