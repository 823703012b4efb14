//! Golden values worked out from the formulas, and bounds that nothing breaks.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::policy::limiter::adaptive::envoy::EnvoyGradientConfig;
use crate::policy::limiter::adaptive::envoy::SampledGradient;
use crate::policy::limiter::adaptive::window::Window;
use crate::policy::limiter::adaptive::window::WindowConfig;
use crate::units::SimTime;

const MS: fn(u64) -> Duration = Duration::from_millis;

fn half() -> Draw {
    Draw::new(0.5).expect("a draw")
}

fn ok(rtt_ms: u64, in_flight: u32) -> Sample {
    Sample { rtt: MS(rtt_ms), in_flight, dropped: false }
}

fn dropped(rtt_ms: u64) -> Sample {
    Sample { dropped: true, ..ok(rtt_ms, 100) }
}

/// The limit after each sample.
fn limits(config: AdaptiveConfig, samples: &[Sample]) -> Vec<u32> {
    let mut limit = config.start(half());
    samples
        .iter()
        .map(|sample| {
            limit.update(&config, SimTime::ZERO, *sample, half());
            limit.limit()
        })
        .collect()
}

#[test]
fn aimd_grows_by_one_and_falls_by_a_tenth() {
    let config = AdaptiveConfig::Aimd(AimdConfig { initial: 100, ..AimdConfig::DEFAULT });
    let samples = [ok(9, 50), ok(9, 50), ok(9, 51), dropped(9), ok(5_001, 99), ok(5_000, 99)];
    assert_eq!(limits(config, &samples), [101, 101, 102, 91, 81, 82]);
    let many = [dropped(1); 30];
    assert_eq!(limits(config, &many).last(), Some(&20));
}

/// The first sample sets RTT₀ = 10 ms. L = 20: ℓ = 1, α = 3, β = 6.
#[test]
fn vegas_follows_the_estimated_queue() {
    let config = AdaptiveConfig::Vegas(VegasConfig::DEFAULT);
    let samples = [
        ok(10, 20), // RTT₀
        ok(10, 20), // q = 0 ≤ 1: + 6
        ok(11, 20), // q = ⌈26 / 11⌉ = 3: neither < 3 nor > 6
        ok(11, 12), // 24 < 26: not in use
        ok(14, 26), // q = ⌈26 · 4/14⌉ = 8 > 6: − 1
        dropped(9), // a lower RTT becomes RTT₀, and that is all
        dropped(9), // − 1
        ok(9, 24),  // + 6
    ];
    assert_eq!(limits(config, &samples), [20, 26, 26, 26, 25, 25, 24, 30]);
    // At 100 the step is 2.
    let at_100 = AdaptiveConfig::Vegas(VegasConfig { initial: 100, ..VegasConfig::DEFAULT });
    assert_eq!(limits(at_100, &[ok(10, 99), ok(10, 99), dropped(10)]), [100, 112, 110]);
    // q = ⌈100 · 0.5/10.5⌉ = 5: one step up.
    let half_more = Sample { rtt: Duration::from_nanos(10_500_000), ..ok(0, 99) };
    assert_eq!(limits(at_100, &[ok(10, 99), half_more]), [100, 102]);
}

/// Probed after 0.75 · 30 · 20 = 450 samples: from then on 20 ms are no queue.
#[test]
fn vegas_believes_a_slower_server_after_a_probe() {
    let config = AdaptiveConfig::Vegas(VegasConfig::DEFAULT);
    let mut samples = vec![ok(10, 1)];
    samples.extend([ok(20, 1); 449]);
    samples.push(ok(20, 20));
    assert_eq!(limits(config, &samples).last(), Some(&26));
    samples[450] = ok(20, 1);
    samples.remove(449);
    assert_eq!(limits(config, &samples).last(), Some(&20));
}

/// L = 50: q = ⌊√50⌋ = 7.
#[test]
fn gradient_grows_by_its_queue_and_shrinks_smoothly() {
    let config = AdaptiveConfig::Gradient(GradientConfig::DEFAULT);
    let samples = [
        ok(10, 50), // g = 1: 57
        ok(20, 57), // 2 · 10/20 = 1: 64
        ok(40, 64), // g = 0.5: 32 + 8 = 40, a fifth of the way: 59.2
        ok(40, 29), // 29 < 29.6: not in use
        dropped(9), // 0.9 of it, a fifth of the way: 0.98 · 59.2 = 58.016
    ];
    assert_eq!(limits(config, &samples), [57, 64, 59, 59, 58]);
}

/// Probed after 1,500 samples: the limit falls to its queue, RTT₀ is forgotten.
#[test]
fn gradient_probes_by_falling_to_its_queue() {
    let config = AdaptiveConfig::Gradient(GradientConfig::DEFAULT);
    let samples = vec![ok(10, 1); 1_501];
    let limits = limits(config, &samples);
    assert_eq!((limits[1_499], limits[1_500]), (50, 7));
}

/// L = 20, q = 4: a steady RTT adds 0.2 · 4.
#[test]
fn gradient2_compares_with_the_long_term() {
    let config = AdaptiveConfig::Gradient2(Gradient2Config { min: 10, ..Gradient2Config::DEFAULT });
    let samples = [
        ok(10, 20), // 20.8
        ok(10, 20), // 21.6
        ok(10, 10), // 10 < 10.8: not in use
        ok(10, 20), // 22.4
        ok(90, 22), // long = 26: 1.5 · 26/90 < 0.5: 0.8 · 22.4 + 0.2 · 15.2 = 20.96
        ok(90, 22), // long = 220/6: g = 0.6111, 0.8 · 20.96 + 0.2 · (12.81 + 4) = 20.13
    ];
    assert_eq!(limits(config, &samples), [20, 21, 21, 22, 20, 20]);
    assert_eq!(limits(config, &[dropped(10)]), [20], "drops are not looked at");
    let netflix = AdaptiveConfig::Gradient2(Gradient2Config::DEFAULT);
    assert_eq!(limits(netflix, &vec![ok(10, 500); 2_000]).last(), Some(&200));
}

#[test]
fn a_window_is_one_sample_of_its_mean() {
    let (config, mut window) = (WindowConfig::DEFAULT, Window::default());
    let at = |ms| SimTime::ZERO + MS(ms);
    assert_eq!(window.add(&config, at(1), Sample { rtt: Duration::ZERO, ..ok(0, 9) }), None);
    for ms in 1..=10 {
        assert_eq!(window.add(&config, at(ms), ok(ms, ms as u32)), None);
    }
    assert_eq!(window.add(&config, at(11), dropped(50)), None, "no drop makes a window ready");
    let whole = window.add(&config, at(12), ok(45, 7));
    let rtt = Duration::from_nanos(100_000_000 / 11);
    assert_eq!(whole, Some(Sample { rtt, in_flight: 100, dropped: true }));
    for ms in 13..=1_012 {
        assert_eq!(window.add(&config, at(ms), ok(5, 1)), None);
    }
    assert_eq!(window.add(&config, at(1_013), ok(5, 1)), Some(ok(5, 1)));
}

#[test]
fn envoy_adds_the_root_as_headroom() {
    let config = EnvoyGradientConfig::DEFAULT;
    let mut limit = config.start();
    assert!(limit.is_measuring());
    limit.window_ended(&config, MS(10));
    assert_eq!(limit.limit(), 3, "nothing is known yet");
    limit.measured(&config, SimTime::ZERO, MS(10), half());
    let mut after = |rtt| {
        limit.window_ended(&config, MS(rtt));
        limit.limit()
    };
    // g = 1.25: 3.75 + 1.94; then 5 · 1.25 = 6.25 + 2.5; then g = 0.5: 4 + 2.
    assert_eq!([after(10), after(10), after(25), after(10)], [5, 8, 6, 10]);
    limit.measure(&config);
    assert_eq!((limit.is_measuring(), limit.limit()), (true, 3));
    limit.measured(&config, SimTime::ZERO, MS(10), half());
    assert_eq!(limit.limit(), 10, "as it was before the measurement");
    // 7, 5, 4, then 3, which is the least; five more windows stay there.
    for window in 0..9 {
        assert!(!limit.is_measuring(), "window {window}");
        limit.window_ended(&config, MS(1_000));
    }
    assert!(limit.is_measuring());
}

/// minRTT is measured anew 60 s · (1 + 0.15 / 2) after the last measurement, at 64.501 s, by requests
/// that are sent since.
#[test]
fn envoy_measures_by_requests_sent_since_the_measurement_began() {
    let config = EnvoyGradientConfig { min_rtt_requests: 2, ..EnvoyGradientConfig::DEFAULT };
    let mut limit = SampledGradient::new(&config);
    let at = |ms| SimTime::ZERO + MS(ms);
    limit.record(&config, at(1), MS(1), half());
    limit.record(&config, at(1), MS(1), half());
    limit.record(&config, at(50), MS(1), half());
    limit.pass_time(&config, at(101));
    let grown = limit.limit();
    assert!(grown > 3);
    limit.pass_time(&config, at(64_500));
    assert_eq!(limit.limit(), grown, "windows without a sample change nothing");
    limit.pass_time(&config, at(64_501));
    assert_eq!(limit.limit(), 3);
    for _ in 0..9 {
        limit.record(&config, at(64_600), MS(100), half());
    }
    assert_eq!(limit.limit(), 3, "sent before it began");
    limit.record(&config, at(64_600), MS(99), half());
    limit.record(&config, at(64_600), MS(99), half());
    assert_eq!(limit.limit(), grown);
}

proptest! {
    #[test]
    fn limits_stay_within_their_bounds(
        samples in vec((any::<u64>(), 0u32..2_000, any::<bool>()), 0..400),
        draw in 0.0f64..1.0,
    ) {
        let draw = Draw::new(draw).expect("a draw");
        for (config, min, max) in [
            (AdaptiveConfig::Aimd(AimdConfig::DEFAULT), 20, 200),
            (AdaptiveConfig::Vegas(VegasConfig::DEFAULT), 1, 1_000),
            (AdaptiveConfig::Gradient(GradientConfig::DEFAULT), 4, 1_000),
            (AdaptiveConfig::Gradient2(Gradient2Config::DEFAULT), 20, 200),
            (AdaptiveConfig::MinRtt(EnvoyGradientConfig::DEFAULT), 3, 1_000),
        ] {
            let mut limit = config.start(draw);
            let mut now = SimTime::ZERO;
            for (rtt, in_flight, dropped) in &samples {
                now = now + MS(7);
                let rtt = Duration::from_nanos(*rtt);
                let sample = Sample { rtt, in_flight: *in_flight, dropped: *dropped };
                limit.update(&config, now, sample, draw);
                prop_assert!((min..=max).contains(&limit.limit()), "{:?}", limit);
            }
        }
    }
}
