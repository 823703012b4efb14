//! The invariant of the header, for every kind and every rule together.

use super::*;
use crate::random::Distribution;
use proptest::prelude::*;

fn draw(value: f64) -> Draw {
    Draw::new(value).unwrap()
}

fn any_growth() -> impl Strategy<Value = Growth> {
    let parts = (0u8..9, any::<u64>(), 0u64..1 << 40, 1.0..20.0f64, -3i32..4);
    parts.prop_map(|(kind, a, b, factor, start)| {
        let (base, step) = (Duration::from_nanos(a >> (b % 64)), Duration::from_nanos(b + 1));
        match kind {
            0 => Growth::None,
            1 => Growth::Constant(base),
            2 => Growth::Linear { base, step },
            3 => Growth::Exponential { base, factor, start },
            4 => Growth::LessOne { base, factor, start: start.max(0) },
            5 => Growth::Stepped { base, factor: factor.max(1.1), unit: step },
            6 => {
                let (exponent, start) = ((a % 7) as u32, start.unsigned_abs());
                Growth::Polynomial { unit: base, exponent, plus: step, start }
            }
            7 => Growth::Fibonacci { base },
            _ => Growth::Drawn(Distribution::uniform(Duration::ZERO, step).unwrap()),
        }
    })
}

fn any_jitter() -> impl Strategy<Value = Jitter> {
    (0u8..14, 0.0..1.0f64, 0u64..1 << 62, any::<bool>()).prop_map(|(kind, share, most, clipped)| {
        let (most, grows) =
            (Duration::from_nanos(most >> (most % 50)), Duration::from_nanos(most % 7));
        match kind {
            0 => Jitter::None,
            1 => Jitter::Full,
            2 => Jitter::Equal,
            3 => Jitter::Decorrelated,
            4 => Jitter::DecorrelatedV2,
            5 => Jitter::Monotone,
            6 => Jitter::Compounding,
            7 => Jitter::Compounded(share),
            8 => Jitter::PlusMinus(share),
            9 => Jitter::Absolute(most),
            10 => Jitter::Added { most, grows, clipped },
            11 => Jitter::AddedShare(share * 3.0),
            12 => Jitter::From(most),
            _ => Jitter::Down(share),
        }
    })
}

fn any_rules() -> impl Strategy<Value = Rules> {
    let parts = (0u8..4, 0u8..3, 0u8..5, any::<[bool; 2]>(), 1u64..1 << 32, 0u64..1 << 50);
    parts.prop_map(|(first, rounding, grain, [after, uncapped], unit, floor)| {
        let unit = Duration::from_nanos(unit >> (floor % 32)).max(Duration::from_nanos(1));
        let floor = Duration::from_nanos(floor >> (floor % 51));
        Rules {
            order: if after { CapOrder::JitterThenCap } else { CapOrder::CapThenJitter },
            first: match first {
                0 => First::Alike,
                1 => First::Fixed(floor),
                2 => First::Uncapped,
                _ => First::Unjittered,
            },
            floor: if uncapped { floor } else { Duration::ZERO },
            rounding: match rounding {
                0 => Rounding::None,
                1 => Rounding::Down(unit),
                _ => Rounding::Nearest(unit),
            },
            grain: match grain {
                0 => Grain::Whole(unit),
                1 => Grain::WholeWithEnd(unit),
                2 => Grain::OneMore(unit),
                3 => Grain::SecondsApart,
                _ => Grain::Fine,
            },
            recall: if uncapped { Recall::Uncapped } else { Recall::Capped },
            ..Rules::PLAIN
        }
    })
}

fn any_backoff() -> impl Strategy<Value = Backoff> {
    let rules = prop_oneof![Just(Rules::PLAIN), any_rules()];
    (any_growth(), any::<u64>(), any_jitter(), rules).prop_map(|(growth, cap, jitter, rules)| {
        Backoff { growth, cap: Duration::from_nanos(cap >> (cap % 64)), jitter, rules }
    })
}

proptest! {
    /// Whatever the settings, every wait of a call lies within its bounds, however late the
    /// retry, and windows never fall.
    #[test]
    fn waits_stay_within_their_bounds(
        backoff in any_backoff(),
        values in proptest::collection::vec(0.0..1.0f64, 1..40),
        late in any::<u32>(),
    ) {
        let mut past = Past::new();
        for (retry, value) in (1..).zip(values) {
            let wait = backoff.wait(retry, &mut past, draw(value));
            let (low, high) = backoff.bounds(retry);
            prop_assert!(low <= wait && wait <= high, "retry {retry}: {wait} of {low}..{high}");
            prop_assert!(backoff.window(retry) <= backoff.window(retry + 1));
        }
        let late = late.max(41);
        let (low, high) = backoff.bounds(late);
        prop_assert!(low <= high);
        let wait = backoff.wait(late, &mut past, draw(0.999));
        if !backoff.remembers() {
            prop_assert!(low <= wait && wait <= high);
        }
    }

    /// Means and medians lie within the bounds, and sums within the sums.
    #[test]
    fn means_and_medians_lie_within_the_bounds(backoff in any_backoff(), retry in 1u32..9) {
        // A number of 64 bits has more digits than a mean of them.
        let slack = |span: Duration| span.scale(1e-6).saturating_add(Duration::from_nanos(2));
        let (low, high) = backoff.bounds(retry);
        let mean = backoff.mean(retry);
        let drawn = matches!(backoff.growth, Growth::Drawn(_));
        if !drawn {
            prop_assert!(low <= mean.saturating_add(slack(mean)), "{low} {mean}");
            prop_assert!(mean <= high.saturating_add(slack(high)), "{mean} {high}");
        }
        let median = backoff.median(retry);
        prop_assert!(low <= median && median <= high, "{low} {median} {high}");
        let total = backoff.total(retry);
        prop_assert!(total.smallest <= total.largest);
    }

    /// What the engine works out ahead is what the back-off says.
    #[test]
    fn a_simple_wait_is_the_spread_of_its_window(
        backoff in any_backoff(),
        retry in 1u32..17,
        value in 0.0..1.0f64,
    ) {
        if backoff.is_simple() {
            let wait = backoff.wait(retry, &mut Past::new(), draw(value));
            prop_assert_eq!(wait, backoff.spread(backoff.window(retry), draw(value)));
        }
    }
}
