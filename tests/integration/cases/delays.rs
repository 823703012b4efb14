//! Faults of delay arithmetic: overflow, zero, cap, jitter.

use stormlab::policy::backoff::Backoff;
use stormlab::policy::backoff::CapOrder;
use stormlab::policy::backoff::First;
use stormlab::policy::backoff::Grain;
use stormlab::policy::backoff::Growth;
use stormlab::policy::backoff::Jitter;
use stormlab::policy::backoff::Past;
use stormlab::policy::backoff::Rounding;
use stormlab::policy::backoff::Rules;
use stormlab::random::Keys;
use stormlab::random::Purpose;
use stormlab::units::Draw;
use stormlab::units::Duration;

const KEYS: Keys = Keys::new(20_261_130, 0);

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn secs(value: f64) -> Duration {
    Duration::from_secs_f64(value)
}

fn draw(value: f64) -> Draw {
    Draw::new(value).expect("in [0, 1)")
}

fn doubling(base: Duration, cap: Duration, jitter: Jitter) -> Backoff {
    Backoff::exponential(base, 2.0, cap, jitter)
}

fn of(growth: Growth) -> Backoff {
    Backoff { growth, ..Backoff::NONE }
}

fn cap_last() -> Rules {
    Rules { order: CapOrder::JitterThenCap, ..Rules::PLAIN }
}

/// The waits before the first retries in seconds, all under the same draw.
fn waits(backoff: &Backoff, retries: u32, u: f64) -> Vec<f64> {
    let mut past = Past::new();
    (1..=retries).map(|k| backoff.wait(k, &mut past, draw(u)).as_secs_f64()).collect()
}

/// When the retries of `count` clients happen that all fail at 0 until `end`, in seconds.
fn herd(backoff: &Backoff, count: u64, end: f64) -> Vec<f64> {
    let mut at = Vec::new();
    for client in 0..count {
        let start = KEYS.draw(Purpose::Think, client, 0).get() * 0.1;
        let (mut now, mut past) = (start, Past::new());
        for retry in 1.. {
            let wait = backoff.wait(retry, &mut past, KEYS.draw(Purpose::Backoff, client, retry));
            now += wait.as_secs_f64();
            if now > end {
                break;
            }
            at.push(now);
        }
    }
    at
}

/// The most and the mean in bins of 100 ms between two moments.
fn bins(at: &[f64], from: f64, to: f64) -> (f64, f64) {
    let count = ((to - from) * 10.0) as usize;
    let mut bins = vec![0.0; count];
    for moment in at.iter().filter(|at| (from..to).contains(*at)) {
        bins[(((moment - from) * 10.0) as usize).min(count - 1)] += 1.0;
    }
    (bins.iter().copied().fold(0.0, f64::max), bins.iter().sum::<f64>() / count as f64)
}

#[test]
fn c1_a_table_of_thirty_stays_under_its_cap_and_the_fault_has_a_name() {
    let backoff = doubling(ms(5_000), ms(20_000), Jitter::None);
    assert!((1..=31).all(|k| backoff.bounds(k).1 <= ms(20_000) && !backoff.window(k).is_zero()));
    // Where the product turns negative at n = 19 the sleep is skipped.
    let faulty = backoff.with_rules(Rules { overflows_at: Some(20), ..Rules::PLAIN });
    let waits = waits(&faulty, 30, 0.5);
    assert!(waits[18] == 20.0 && waits[19..].iter().all(|wait| *wait == 0.0));
}

#[test]
fn c3_one_less_than_a_power_meets_its_cap_for_ever() {
    let growth = Growth::LessOne { base: secs(1.0), factor: 2.0, start: 1 };
    let backoff = Backoff { cap: secs(120.0), ..of(growth) };
    assert_eq!(waits(&backoff, 8, 0.5), [1.0, 3.0, 7.0, 15.0, 31.0, 63.0, 120.0, 120.0]);
    assert!((7..2_000).all(|k| backoff.window(k) == secs(120.0)));
}

#[test]
fn c5_and_c7_no_kind_overflows_however_late_the_retry() {
    let growths = [
        Growth::Exponential { base: ms(100), factor: 2.0, start: 0 },
        Growth::LessOne { base: ms(100), factor: 2.0, start: 1 },
        Growth::Stepped { base: ms(100), factor: 2.0, unit: ms(1) },
        Growth::Polynomial { unit: ms(100), exponent: 4, plus: ms(15), start: 0 },
        Growth::Fibonacci { base: ms(100) },
        Growth::Linear { base: ms(100), step: secs(1e9) },
    ];
    let jitters = [Jitter::None, Jitter::AddedShare(1.0), Jitter::DecorrelatedV2];
    for growth in growths {
        for jitter in jitters {
            let backoff = Backoff { jitter, ..of(growth.clone()) };
            assert!((1..2_000).all(|k| backoff.window(k) <= backoff.window(k + 1)), "{backoff}");
            for k in [1_024, 2_000, 10_000, u32::MAX] {
                let wait = backoff.wait(k, &mut Past::new(), draw(0.5));
                let (low, high) = backoff.bounds(k);
                assert!(low <= wait && wait <= high && wait > secs(60.0), "{backoff}: {wait}");
            }
        }
    }
    let capped = doubling(secs(2.0), secs(300.0), Jitter::None);
    assert!((9..=u32::MAX).step_by(99_999_999).all(|k| capped.window(k) == secs(300.0)));
}

#[test]
fn c9_the_exponent_of_the_first_retry_is_said() {
    let sum = |backoff: &Backoff| backoff.total(5).mean;
    assert_eq!(sum(&doubling(ms(100), Duration::MAX, Jitter::None)), ms(3_100));
    let shifted = of(Growth::Exponential { base: ms(100), factor: 2.0, start: 1 });
    assert_eq!(sum(&shifted), ms(6_200));
    assert!(shifted.to_string().contains("exponent 1 at first"), "{shifted}");
}

#[test]
fn c11_a_cap_at_the_base_makes_a_constant() {
    let backoff = doubling(secs(1.0), secs(1.0), Jitter::PlusMinus(0.2)).with_rules(cap_last());
    assert_eq!(waits(&backoff, 3, 0.7), [1.0, 1.0, 1.0]);
    assert_eq!(backoff.bounds(1), (secs(0.8), secs(1.0)));
    assert_eq!(backoff.bounds(2), (secs(1.0), secs(1.0)));
}

#[test]
fn c13_no_base_means_no_pause() {
    let nothing = doubling(Duration::ZERO, Duration::MAX, Jitter::Full);
    assert_eq!(nothing.total(10), stormlab::policy::backoff::Total::default());
}

#[test]
fn c15_nothing_times_a_power_is_nothing() {
    for jitter in [Jitter::None, Jitter::DecorrelatedV2, Jitter::AddedShare(1.0)] {
        let backoff = doubling(Duration::ZERO, secs(60.0), jitter);
        assert_eq!(backoff.wait(1_025, &mut Past::new(), draw(0.5)), Duration::ZERO);
        assert_eq!(backoff.bounds(1_025), (Duration::ZERO, Duration::ZERO));
    }
}

#[test]
fn c17_jitter_before_the_cap_stops_spreading_but_gathers_nobody() {
    let of = |order, jitter| {
        let rules = Rules { order, ..Rules::PLAIN };
        let backoff = doubling(secs(0.5), secs(20.0), jitter).with_rules(rules);
        bins(&herd(&backoff, 5_000, 180.0), 120.0, 180.0)
    };
    let before = of(CapOrder::JitterThenCap, Jitter::PlusMinus(0.2));
    let after = of(CapOrder::CapThenJitter, Jitter::PlusMinus(0.2));
    let full = of(CapOrder::CapThenJitter, Jitter::Full);
    assert!(
        (before.1 - after.1).abs() < 3.0 && (22.0..28.0).contains(&after.1),
        "{before:?} {after:?}"
    );
    // The peak of all bins is higher, not a synchronised herd of 5 000.
    assert!(before.0 > 1.6 * after.0 && before.0 < 200.0, "{before:?} {after:?}");
    assert!((46.0..54.0).contains(&full.1) && full.0 < 100.0, "{full:?}");
}

#[test]
fn c19_compounding_jitter_has_its_own_name() {
    let right = doubling(secs(1.0), Duration::MAX, Jitter::PlusMinus(0.25));
    let buggy = doubling(secs(1.0), Duration::MAX, Jitter::Compounded(0.25));
    let bounds = |backoff: &Backoff| [1, 2, 3].map(|k| backoff.bounds(k));
    assert_eq!(
        bounds(&right),
        [(0.75, 1.25), (1.5, 2.5), (3.0, 5.0)].map(|(a, b)| (secs(a), secs(b)))
    );
    let wrong = [(0.75, 1.25), (1.125, 3.125), (1.6875, 7.8125)];
    assert_eq!(bounds(&buggy), wrong.map(|(a, b)| (secs(a), secs(b))));
    assert_eq!(buggy.mean(3), secs(4.0), "the mean alone does not show it");
}

#[test]
fn c21_symmetric_jitter_keeps_the_mean_and_one_sided_jitter_moves_it() {
    let kip = doubling(ms(100), secs(1.0), Jitter::PlusMinus(0.2)).with_rules(cap_last());
    assert_eq!(kip.bounds(1), (ms(80), ms(120)));
    assert_eq!(kip.bounds(5), (ms(1_000), ms(1_000)), "beyond the cap nothing is spread");
    assert_eq!(kip.mean(2), ms(200));
    let of = |jitter| doubling(ms(100), secs(1.0), jitter).mean(2);
    assert_eq!(of(Jitter::AddedShare(0.25)), ms(225));
    assert_eq!(of(Jitter::Down(0.1)), ms(190));
    assert_eq!(of(Jitter::Full), ms(100), "what a change from +25 % to full comes to");
}

#[test]
fn c23_full_and_equal_jitter_are_not_each_other() {
    let of = |jitter| doubling(ms(1), secs(30.0), jitter);
    let (full, equal) = (of(Jitter::Full), of(Jitter::Equal));
    assert_eq!((full.bounds(6), full.mean(6)), ((Duration::ZERO, ms(32)), ms(16)));
    assert_eq!((equal.bounds(6), equal.mean(6)), ((ms(16), ms(32)), ms(24)));
}

#[test]
fn c25_half_a_second_stays_half_a_second_unless_it_is_cut() {
    let half = doubling(ms(500), Duration::MAX, Jitter::None);
    assert_eq!(waits(&half, 3, 0.5), [0.5, 1.0, 2.0]);
    let cut = Rules { rounding: Rounding::Down(secs(1.0)), ..Rules::PLAIN };
    assert_eq!(waits(&half.with_rules(cut), 3, 0.5), [0.0, 1.0, 2.0]);
}

#[test]
fn c27_a_constant_band_is_wide_early_and_narrow_late() {
    let growth = Growth::Polynomial { unit: secs(1.0), exponent: 4, plus: secs(2.0), start: 1 };
    let constant = Jitter::Added { most: secs(30.0), grows: Duration::ZERO, clipped: false };
    let of = |jitter| Backoff { jitter, ..of(growth.clone()) };
    let share = |backoff: &Backoff, k| {
        let (low, high) = backoff.bounds(k);
        high.as_secs_f64() / low.as_secs_f64() - 1.0
    };
    assert_eq!(of(constant).bounds(1), (secs(3.0), secs(33.0)));
    assert_eq!(of(constant).bounds(5), (secs(627.0), secs(657.0)));
    assert!(share(&of(constant), 1) > 9.9 && share(&of(constant), 5) < 0.05);
    let proportional = of(Jitter::AddedShare(0.15));
    assert!((share(&proportional, 1) - share(&proportional, 5)).abs() < 1e-9);
}

#[test]
fn c29_the_first_waits_are_short_whatever_the_cap() {
    let backoff = doubling(ms(200), secs(3_600.0), Jitter::None);
    assert_eq!(waits(&backoff, 6, 0.5), [0.2, 0.4, 0.8, 1.6, 3.2, 6.4]);
}

#[test]
fn c31_equal_pods_without_jitter_restart_together() {
    let peak = |jitter| {
        let backoff = doubling(secs(10.0), secs(300.0), jitter);
        bins(&herd(&backoff, 500, 1_500.0), 1_000.0, 1_500.0).0
    };
    // Their starts differ by a tenth of a second, so each herd fills two bins.
    assert!(peak(Jitter::None) > 200.0, "{}", peak(Jitter::None));
    assert!(peak(Jitter::AddedShare(0.5)) < 20.0);
}

#[test]
fn r11_and_r12_decorrelated_jitter_v2() {
    let near = |what: &str, found: f64, expected: f64, share: f64| {
        assert!((found / expected - 1.0).abs() < share, "{what}: {found} for {expected}");
    };
    let of = |base, cap| doubling(base, cap, Jitter::DecorrelatedV2);
    let backoff = of(secs(1.0), Duration::MAX);
    let medians = [0.897_404_9, 1.139_074, 2.018_138, 4.006_286, 8.003_358, 16.002_9];
    let means = [0.871_115_7, 1.158_145, 2.077_915, 4.127_598, 8.246_449, 16.489_19];
    let most = [1.377_182, 2.837_25, 4.325_917, 8.583_657, 17.148_08, 34.288_3];
    for (k, ((median, mean), most)) in (1..).zip(medians.into_iter().zip(means).zip(most)) {
        near("median", backoff.median(k).as_secs_f64(), median, 0.003);
        near("mean", backoff.mean(k).as_secs_f64(), mean, 1e-4);
        near("most", backoff.bounds(k).1.as_secs_f64(), most, 1e-6);
    }
    near("sum of 6", backoff.total(6).mean.as_secs_f64(), 32.970_41, 1e-4);
    let half = of(ms(500), Duration::MAX).total(5);
    near("sum of 5", half.mean.as_secs_f64(), 8.240_612, 1e-4);
    near("most of 5", half.largest.as_secs_f64(), 11.425_59, 1e-6);
    // Golden values of Polly's own generator at 1/2.
    let golden = [0.114_867_832, 0.139_904_454, 0.260_575_739, 0.517_885_366];
    for (ours, theirs) in waits(&of(ms(128), secs(30.0)), 4, 0.5).into_iter().zip(golden) {
        assert!((ours - theirs).abs() < 2e-9, "{ours} for {theirs}");
    }
}

#[test]
fn mission_c_three_waits_of_polly_from_half_a_second() {
    let backoff = doubling(ms(500), secs(10.0), Jitter::DecorrelatedV2);
    let most: Vec<_> = (1..=3).map(|k| backoff.bounds(k).1.as_nanos() / 1_000_000).collect();
    assert_eq!(most, [688, 1_418, 2_162]);
    let total = backoff.total(3);
    assert_eq!(total.largest.as_nanos() / 1_000_000, 2_851, "the sum telescopes");
    // four attempts of 2 s and these waits outlast a total timeout of 10 s.
    let longest = total.largest.as_secs_f64() + 8.0;
    assert!((longest - 10.851_55).abs() < 1e-5, "{longest}");
}

#[test]
fn r14_and_r15_three_readings_of_one_job_queue() {
    let of = |start, jitter| Backoff {
        jitter,
        cap: secs(3_600.0),
        ..of(Growth::Exponential { base: secs(3.0), factor: 2.0, start })
    };
    assert_eq!(of(0, Jitter::None).total(3).mean, secs(21.0));
    assert_eq!(of(0, Jitter::None).total(2).mean, secs(9.0));
    assert_eq!(of(1, Jitter::None).total(2).mean, secs(18.0));
    let band = Jitter::Added { most: secs(1.0), grows: Duration::ZERO, clipped: true };
    let code = of(1, band);
    let total = code.total(2);
    assert_eq!((total.smallest, total.mean, total.largest), (secs(18.0), secs(19.0), secs(20.0)));
    assert_eq!(
        (code.bounds(1), code.bounds(2)),
        ((secs(6.0), secs(7.0)), (secs(12.0), secs(13.0)))
    );
    // At the cap there is no headroom and so no jitter, from 3 · 2¹¹ s on.
    assert!((11..40).all(|k| code.bounds(k) == (secs(3_600.0), secs(3_600.0))));
    assert_eq!(of(0, band).total(3).mean, secs(22.5));
}

#[test]
fn r16_webhook_schedules() {
    let webhook = doubling(secs(60.0), secs(3_600.0), Jitter::Equal);
    let plain = doubling(secs(60.0), secs(3_600.0), Jitter::None);
    assert_eq!(plain.total(15).mean, secs(36_180.0));
    let total = webhook.total(15);
    assert_eq!((total.smallest, total.mean), (secs(18_090.0), secs(27_135.0)));
    let listed = [5.0, 300.0, 1_800.0, 7_200.0, 18_000.0, 36_000.0, 36_000.0].map(secs);
    let svix = of(Growth::Table { waits: listed.to_vec(), ends: true });
    assert_eq!(svix.most_retries(), Some(7));
    assert_eq!(svix.total(7).mean, secs(99_305.0));
}

#[test]
fn r31_the_chance_to_outlast_a_second() {
    let backoff = doubling(ms(100), secs(60.0), Jitter::Full);
    let survives = |call: &u64| {
        let mut past = Past::new();
        let wait = |k| backoff.wait(k, &mut past, KEYS.draw(Purpose::Backoff, *call, k));
        (1..=5).map(wait).fold(Duration::ZERO, Duration::saturating_add) > secs(1.0)
    };
    let found = (0..300_000).filter(survives).count() as f64 / 3e5;
    assert!((found - 0.828_377_3).abs() < 0.0032, "{found}"); // 4.5 standard errors.
}

#[test]
fn r33_and_r34_herds_over_their_windows() {
    let at = |jitter, window, count| -> Vec<f64> {
        let backoff = Backoff { jitter, ..of(Growth::Constant(window)) };
        let wait = |client| {
            backoff.wait(1, &mut Past::new(), KEYS.draw(Purpose::Backoff, client, 1)).as_secs_f64()
        };
        (0..count).map(wait).collect()
    };
    let full = at(Jitter::Full, secs(1.0), 200_000);
    let (peak, mean) = bins(&full, 0.0, 1.0);
    assert!((mean - 20_000.0).abs() < 1.0 && peak < 20_700.0, "{mean} {peak}");
    let equal = at(Jitter::Equal, secs(2.0), 100_000);
    assert!(equal.iter().all(|at| *at >= 1.0), "the first half of the window stays empty");
    assert!((bins(&equal, 1.0, 2.0).1 - 10_000.0).abs() < 1.0);
    assert!(at(Jitter::None, secs(1.0), 100).iter().all(|at| *at == 1.0));
}

#[test]
fn libraries_without_a_recording_by_their_formulas() {
    // EF Core: min(1 s · (2ⁿ − 1) · U[1, 1.1), 30 s); a thousandth for memory-optimised tables.
    let growth = Growth::LessOne { base: secs(1.0), factor: 2.0, start: 0 };
    let ef = Backoff { cap: secs(30.0), jitter: Jitter::AddedShare(0.1), ..of(growth) }
        .with_rules(cap_last());
    assert_eq!(waits(&ef, 6, 0.0), [0.0, 1.0, 3.0, 7.0, 15.0, 30.0]);
    assert_eq!(ef.bounds(2), (secs(1.0), secs(1.1)));
    assert_eq!(waits(&ef.scaled(0.001), 6, 0.0), [0.0, 0.001, 0.003, 0.007, 0.015, 0.03]);
    // Sidekiq 8: n⁴ + 15 + U{0 … 10(n + 1) − 1} s.
    let growth = Growth::Polynomial { unit: secs(1.0), exponent: 4, plus: secs(15.0), start: 0 };
    let jitter = Jitter::Added { most: secs(10.0), grows: secs(10.0), clipped: false };
    let sidekiq = Backoff { jitter, ..of(growth) }
        .with_rules(Rules { grain: Grain::Whole(secs(1.0)), ..Rules::PLAIN });
    assert_eq!(sidekiq.bounds(1), (secs(15.0), secs(24.0)));
    assert_eq!(sidekiq.bounds(3), (secs(31.0), secs(60.0)));
    let days = sidekiq.total(25).mean.as_secs_f64() / 86_400.0;
    assert!((20.3..20.5).contains(&days), "{days}");
    // resilience4j: truncated at every step, and one more millisecond drawn; the cap last.
    let growth = Growth::Stepped { base: ms(500), factor: 1.5, unit: ms(1) };
    let plain = of(growth.clone());
    let steps: Vec<_> = (1..=5).map(|k| plain.window(k).as_nanos() / 1_000_000).collect();
    assert_eq!(steps, [500, 750, 1_125, 1_687, 2_530]);
    let rules = Rules {
        grain: Grain::OneMore(ms(1)),
        rounding: Rounding::Down(ms(1)),
        floor: ms(1),
        ..cap_last()
    };
    let jittered = Backoff { jitter: Jitter::PlusMinus(0.5), ..of(growth) }.with_rules(rules);
    assert_eq!(jittered.bounds(1), (ms(250), ms(751)));
    assert_eq!(jittered.wait(1, &mut Past::new(), draw(0.999_999)), ms(750));
    // Stripe's client: min(0.5 · 2ⁿ, 5) · U[0.5, 1], and half a second at least.
    let stripe = doubling(ms(500), secs(5.0), Jitter::Down(0.5))
        .with_rules(Rules { floor: ms(500), ..Rules::PLAIN });
    assert_eq!((stripe.bounds(1), stripe.bounds(5)), ((ms(500), ms(500)), (ms(2_500), ms(5_000))));
    // Failsafe: ± an absolute band, never below nothing.
    let failsafe = Backoff { jitter: Jitter::Absolute(ms(300)), ..of(Growth::Constant(ms(200))) };
    assert_eq!(failsafe.bounds(1), (Duration::ZERO, ms(500)));
    // Kubernetes' wait.Backoff: 10 ms, ×5, cap 1 s ends it: 10, 50, 250 ms and then 1.25 s.
    let kubernetes = Backoff::exponential(ms(10), 5.0, secs(1.0), Jitter::AddedShare(0.1))
        .with_rules(Rules { cap_ends: true, ..Rules::PLAIN });
    assert_eq!(kubernetes.most_retries(), Some(2));
    // httpx: nothing first, then from the base.
    let growth = Growth::Exponential { base: ms(500), factor: 2.0, start: -1 };
    let httpx =
        of(growth).with_rules(Rules { first: First::Fixed(Duration::ZERO), ..Rules::PLAIN });
    assert_eq!(waits(&httpx, 4, 0.5), [0.0, 0.5, 1.0, 2.0]);
}

#[test]
fn finagle_sequences_by_their_code() {
    let of = |jitter| doubling(secs(1.0), secs(20.0), jitter);
    // Never below the last wait, and the cap is reached for good.
    let monotone = waits(&of(Jitter::Monotone), 8, 0.5);
    assert_eq!(monotone[..3], [1.0, 2.0, 4.0]);
    assert!(monotone.windows(2).all(|pair| pair[0] <= pair[1]) && monotone[7] <= 20.0);
    // U[0, previous · 2^(k − 1)), or the cap for ever where that is beyond it.
    let compounding = waits(&of(Jitter::Compounding), 8, 0.5);
    assert_eq!(compounding, [1.0, 1.0, 2.0, 8.0, 20.0, 20.0, 20.0, 20.0]);
    let rules = Rules { first: First::Unjittered, ..cap_last() };
    let equal = of(Jitter::Equal).with_rules(rules);
    assert_eq!(waits(&equal, 5, 0.5), [1.0, 1.5, 3.0, 6.0, 12.0]);
    assert_eq!(equal.bounds(1), (secs(1.0), secs(1.0)));
    assert_eq!(equal.bounds(6).1, secs(20.0));
}
