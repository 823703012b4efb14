//! Golden values of the throttles, and what they may never do.

use super::*;
use crate::policy::throttle::adaptive::Asks;
use crate::policy::throttle::adaptive::Counted;
use crate::policy::throttle::rate::WhenEmpty;
use crate::units::Share;
use proptest::collection::vec;
use proptest::prelude::*;

const SRE: AdaptiveConfig = AdaptiveConfig {
    k_milli: 2_000,
    window: Duration::from_secs(120),
    refusals: ClassSet::TRANSIENT,
    count: Counted::Asked,
    asks: Asks::Attempts,
};

fn at(millis: u64) -> SimTime {
    SimTime::from_nanos(millis * 1_000_000)
}

fn admission(aggression: f64) -> AdmissionConfig {
    AdmissionConfig {
        window: Duration::from_secs(30),
        threshold: Share::new(0.95).unwrap(),
        aggression,
        cap: Share::new(0.8).unwrap(),
        least_milli_per_s: 0,
        failures: ClassSet::TRANSIENT,
    }
}

#[test]
fn shares_turned_away_by_requests_and_accepts() {
    #[track_caller]
    fn check(k_milli: u32, requests: u64, accepts: u64, expected: f64) {
        let share = AdaptiveConfig { k_milli, ..SRE }.reject_share(requests, accepts);
        assert!((share - expected).abs() < 1e-12, "{share}");
    }
    check(2_000, 0, 0, 0.0);
    check(2_000, 1, 0, 0.5);
    check(2_000, 99, 0, 0.99);
    check(2_000, 100, 50, 0.0);
    check(2_000, 100, 25, 50.0 / 101.0);
    check(1_100, 100, 50, 45.0 / 101.0);
    check(0, 100, 100, 100.0 / 101.0); // google-cloud-gax: a factor of 0 turns good ones away.
}

#[test]
fn shares_turned_away_by_success_rate() {
    #[track_caller]
    fn check(aggression: f64, total: u64, successes: u64, expected: f64) {
        let share = admission(aggression).reject_share(total, successes);
        assert!((share - expected).abs() < 1e-12, "{share}");
    }
    check(1.0, 0, 0, 0.0);
    check(1.0, 100, 95, 0.0);
    check(1.0, 100, 57, 40.0 / 101.0);
    check(2.0, 100, 57, (40.0f64 / 101.0).sqrt());
    check(1.0, 100, 0, 0.8);
    check(3.0, 100, 0, 0.8);
}

#[test]
fn what_is_turned_away_counts_for_one_throttle_and_not_for_the_other() {
    let almost = Draw::new(0.0).unwrap();
    let sre = ThrottleConfig::Adaptive(SRE);
    let mut throttle = sre.start(at(0));
    let asked: Vec<_> = (0..3).map(|_| throttle.ask(&sre, at(0), almost, false)).collect();
    assert_eq!(asked, [Passage::Pass, Passage::Reject, Passage::Reject]);
    let State::Tally(tally) = &mut throttle.0 else { panic!() };
    assert_eq!(tally.sums(SRE.window, at(0)), [3, 0]);
    assert_eq!(tally.sums(SRE.window, at(121_000)), [0, 0], "two minutes later all is forgotten");

    let envoy = ThrottleConfig::Admission(admission(1.0));
    let mut throttle = envoy.start(at(0));
    throttle.settle(&envoy, at(0), Some(Class::Timeout));
    throttle.settle(&envoy, at(0), Some(Class::BreakerOpen));
    assert_eq!(throttle.ask(&envoy, at(0), almost, false), Passage::Reject);
    let State::Tally(tally) = &mut throttle.0 else { panic!() };
    assert_eq!(tally.sums(Duration::from_secs(30), at(0)), [1, 0]);
}

#[test]
fn first_attempts_pass_where_only_retries_are_asked() {
    let gax = ThrottleConfig::Adaptive(AdaptiveConfig {
        window: Duration::MAX,
        count: Counted::Answered,
        asks: Asks::Retries,
        ..SRE
    });
    let mut throttle = gax.start(at(0));
    (0..1_000).for_each(|_| throttle.settle(&gax, at(0), Some(Class::Unavailable)));
    let middle = Draw::MIDDLE;
    assert_eq!(throttle.ask(&gax, at(1 << 40), middle, false), Passage::Pass);
    assert_eq!(throttle.ask(&gax, at(1 << 40), middle, true), Passage::Reject);
    // A failure that is no refusal is an accept: the server took it.
    (0..1_000).for_each(|_| throttle.settle(&gax, at(0), Some(Class::Rejected)));
    assert_eq!(throttle.ask(&gax, at(0), middle, true), Passage::Pass);
}

/// Below so many attempts a second the success rate says too little.
#[test]
fn a_quiet_client_is_not_throttled_by_its_success_rate() {
    let config = AdmissionConfig { least_milli_per_s: 1_000, ..admission(1.0) };
    let envoy = ThrottleConfig::Admission(config);
    let mut throttle = envoy.start(at(0));
    for failures in 1..=30 {
        let asked = throttle.ask(&envoy, at(500), Draw::new(0.0).unwrap(), false);
        assert_eq!(asked, Passage::Pass, "after {} failures", failures - 1);
        throttle.settle(&envoy, at(500), Some(Class::Timeout));
    }
    let asked = throttle.ask(&envoy, at(500), Draw::new(0.0).unwrap(), false);
    assert_eq!(asked, Passage::Reject, "30 in 30 s");
}

/// Throttled at 10/s: the rate falls to 7, is back at 10 after K = 1.9574 s, and goes on to twice
/// what is measured.
#[test]
fn the_cubic_curve_of_a_client_throttled_at_ten_a_second() {
    #[track_caller]
    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 5e-4, "{found} and not {expected}");
    }
    let mut cubic = Cubic::new(at(0));
    let (mut now, mut rates) = (0, Vec::new());
    for tenth in 1..=150 {
        now = tenth * 100;
        assert_eq!(cubic.acquire(at(now)), None);
        cubic.settle(at(now), tenth == 100);
        if tenth >= 100 {
            rates.push(cubic.fill_rate());
        }
    }
    assert_eq!(now, 15_000);
    near(cubic.curve().0, 10.0);
    near(cubic.curve().1, 1.957_43);
    near(rates[0], 7.0);
    near(rates[10], 9.649);
    near(rates[20], 10.0);
    near(rates[50], 20.0); // The curve is at 21.266 by then, and twice the measured rate is 20.
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Pass(u64),
    Ask(f64),
    Settle(Option<Class>),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let classes = prop_oneof![
        Just(None),
        Just(Some(Class::RateLimited)),
        Just(Some(Class::Timeout)),
        Just(Some(Class::Rejected)),
        Just(Some(Class::BreakerOpen)),
    ];
    vec(
        prop_oneof![
            (0u64..3_000_000_000).prop_map(Step::Pass),
            (0.0..1.0).prop_map(Step::Ask),
            classes.prop_map(Step::Settle),
        ],
        0..400,
    )
}

proptest! {
    /// Whatever happens: shares are shares, waits are above nothing and finite, and rates stay
    /// within their bounds.
    #[test]
    fn no_history_leads_out_of_bounds(steps in steps(), kind in 0..4usize) {
        let config = [
            ThrottleConfig::Adaptive(SRE),
            ThrottleConfig::Admission(admission(1.5)),
            ThrottleConfig::Cubic { throttled: ClassSet::of(&[Class::RateLimited]) },
            ThrottleConfig::Rate(RateConfig { milli_per_s: 5, burst: 3, when_empty: WhenEmpty::Wait }),
        ][kind];
        let mut now = SimTime::ZERO;
        let mut throttle = config.start(now);
        for step in steps {
            match step {
                Step::Pass(nanos) => now = SimTime::from_nanos(now.as_nanos() + nanos),
                Step::Ask(draw) => match throttle.ask(&config, now, Draw::new(draw).unwrap(), true) {
                    Passage::After(wait) | Passage::AskAfter(wait) => {
                        prop_assert!(!wait.is_zero() && wait < Duration::MAX);
                    }
                    Passage::Pass | Passage::Reject | Passage::RejectAfter(_) => {}
                },
                Step::Settle(failure) => throttle.settle(&config, now, failure),
            }
            if let State::Cubic(cubic) = &throttle.0 {
                prop_assert!(cubic.fill_rate() >= 0.5 && cubic.fill_rate().is_finite());
                prop_assert!(cubic.capacity() >= 1.0 && cubic.tokens() <= cubic.capacity());
                prop_assert!(cubic.tokens() >= 0.0 && cubic.measured().is_finite());
            }
            if let (State::Tally(tally), ThrottleConfig::Adaptive(config)) = (&mut throttle.0, &config) {
                let [requests, accepts] = tally.sums(config.window, now);
                prop_assert!((0.0..1.0).contains(&config.reject_share(requests, accepts)));
            }
        }
    }
}
