//! Cases from the field (C), oracles (R), and the invariant of the header.

use super::past::Last;
use super::*;
use crate::random::Distribution;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn draw(value: f64) -> Draw {
    Draw::new(value).unwrap()
}

/// A past whose last wait was that long.
fn after(wait: Duration) -> Past {
    Past { last: Last::Wait(wait), ..Past::new() }
}

fn plain(base: Duration, factor: f64, cap: Duration) -> Backoff {
    Backoff::exponential(base, factor, cap, Jitter::None)
}

#[test]
fn c1_no_delay_of_thirty_exceeds_the_cap_or_goes_negative() {
    let backoff = plain(ms(5_000), 2.0, ms(20_000));
    let expected = |retry| ms(if retry < 3 { 5_000 * u64::from(retry) } else { 20_000 });
    assert!((1..=31).all(|retry| backoff.window(retry) == expected(retry)));
}

#[test]
fn c3_a_long_table_stays_at_its_cap() {
    let growth = Growth::LessOne { base: ms(1_000), factor: 2.0, start: 1 };
    let backoff = Backoff { growth, ..plain(ms(1_000), 2.0, ms(120_000)) };
    let found: Vec<_> =
        (1..=7).map(|retry| backoff.window(retry).as_nanos() / 1_000_000_000).collect();
    assert_eq!(found, [1, 3, 7, 15, 31, 63, 120]);
    assert!((7..=2_000).all(|retry| backoff.window(retry) == ms(120_000)));
}

#[test]
fn c5_the_cap_holds_when_the_value_above_it_overflows() {
    let backoff = plain(ms(2_000), 2.0, Duration::from_secs(300));
    assert!((9..=50).all(|retry| backoff.window(retry) == Duration::from_secs(300)));
    assert_eq!(backoff.window(8), ms(256_000));
}

#[test]
fn c7_without_a_cap_waits_never_fall() {
    for factor in [1.0, 1.1, 1.5, 2.0, 10.0] {
        let backoff = plain(ms(100), factor, Duration::MAX);
        assert!((1..2_100).all(|retry| backoff.window(retry) <= backoff.window(retry + 1)));
        assert!(backoff.window(u32::MAX) >= ms(100), "factor {factor}");
    }
    let linear = Growth::Linear { base: ms(100), step: Duration::from_secs(1 << 33) };
    let linear = Backoff { growth: linear, ..Backoff::NONE };
    assert_eq!(linear.window(u32::MAX), Duration::MAX);
}

#[test]
fn c9_the_first_retry_waits_for_the_base() {
    let backoff = plain(ms(100), 2.0, Duration::MAX);
    assert_eq!(backoff.window(1), ms(100));
    let sum = (1..=5).fold(Duration::ZERO, |sum, k| sum.saturating_add(backoff.window(k)));
    assert_eq!(sum, ms(3_100));
}

#[test]
fn c15_nothing_times_infinity_is_nothing() {
    assert_eq!(plain(Duration::ZERO, 2.0, ms(60_000)).window(1_025), Duration::ZERO);
}

#[test]
fn c19_jitter_does_not_compound() {
    let backoff = Backoff { jitter: Jitter::PlusMinus(0.25), ..plain(ms(1_000), 2.0, ms(4_000)) };
    assert_eq!(backoff.bounds(1), (ms(750), ms(1_250)));
    assert_eq!(backoff.bounds(2), (ms(1_500), ms(2_500)));
    assert_eq!(backoff.bounds(3), (ms(3_000), ms(5_000)), "jitter comes after the cap");
    assert_eq!(backoff.wait(3, &mut Past::new(), draw(0.5)), ms(4_000));
}

#[test]
fn r9_windows_and_means() {
    let of = |jitter| Backoff { jitter, ..plain(ms(100), 2.0, ms(2_000)) };
    let each = |jitter, f: fn(&Backoff, u32) -> Duration| {
        (1..=6).map(|k| f(&of(jitter), k).as_nanos() / 1_000_000).collect::<Vec<_>>()
    };
    assert_eq!(each(Jitter::None, Backoff::window), [100, 200, 400, 800, 1_600, 2_000]);
    assert_eq!(each(Jitter::Full, Backoff::mean), [50, 100, 200, 400, 800, 1_000]);
    assert_eq!(each(Jitter::Equal, Backoff::mean), [75, 150, 300, 600, 1_200, 1_500]);
    assert_eq!(of(Jitter::Full).wait(5, &mut Past::new(), draw(0.5)), ms(800));
    assert_eq!(of(Jitter::Equal).wait(5, &mut Past::new(), draw(0.5)), ms(1_200));
    assert_eq!(of(Jitter::Full).wait(u32::MAX, &mut Past::new(), draw(0.0)), Duration::ZERO);
}

#[test]
fn r10_decorrelated_jitter_caps_the_draw_and_not_the_bound() {
    let backoff = Backoff { jitter: Jitter::Decorrelated, ..plain(ms(100), 2.0, ms(2_000)) };
    assert_eq!(backoff.wait(1, &mut Past::new(), draw(0.5)), ms(200));
    assert_eq!(backoff.wait(2, &mut after(ms(1_000)), draw(0.5)), ms(1_550));
    assert_eq!(backoff.wait(2, &mut after(ms(1_000)), draw(0.9)), ms(2_000));
    // Were the bound capped, this would be 1 050 ms.
    assert_eq!(backoff.wait(9, &mut after(ms(2_000)), draw(0.5)), ms(2_000));
    let means = [0.2, 0.350_000_1, 0.573_931_2, 0.820_313_4, 1.000_694, 1.118_198, 1.192_546];
    for (retry, expected) in (1..).zip(means) {
        let found = backoff.mean(retry).as_secs_f64();
        assert!((found / expected - 1.0).abs() < 1e-3, "retry {retry}: {found}");
    }
    assert!((backoff.mean(u32::MAX).as_secs_f64() / 1.317_43 - 1.0).abs() < 1e-3);
}

#[test]
fn r13_the_longest_call_of_four_attempts() {
    let backoff = plain(ms(500), 2.0, Duration::MAX);
    let waits = (1..=3).fold(Duration::ZERO, |sum, k| sum.saturating_add(backoff.bounds(k).1));
    assert_eq!(waits.saturating_add(ms(4 * 2_000)), ms(11_500));
}

#[test]
fn a_drawn_wait_is_the_same_for_every_retry() {
    let uniform = Distribution::uniform(ms(100), ms(300)).unwrap();
    let of = |jitter, cap| Backoff {
        growth: Growth::Drawn(uniform.clone()),
        cap,
        jitter,
        rules: Rules::PLAIN,
    };
    assert_eq!(of(Jitter::None, Duration::MAX).wait(7, &mut Past::new(), draw(0.25)), ms(150));
    assert_eq!(of(Jitter::None, ms(120)).wait(7, &mut Past::new(), draw(0.25)), ms(120));
    assert_eq!(of(Jitter::Equal, Duration::MAX).bounds(2), (ms(50), ms(300)));
    assert_eq!(of(Jitter::None, Duration::MAX).mean(3), ms(200));
    // The jitter has a number of its own: the longest window does not mean the longest wait.
    let full = of(Jitter::Full, Duration::MAX);
    let share = |value: f64| {
        full.wait(1, &mut Past::new(), draw(value)).as_secs_f64()
            / uniform.sample(draw(value)).as_secs_f64()
    };
    let shares: Vec<_> = (1..1_000).map(|i| share(f64::from(i) / 1_000.0)).collect();
    assert!(shares[..500].iter().any(|s| *s > 0.95) && shares[500..].iter().any(|s| *s < 0.05));
}
