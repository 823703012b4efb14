//! What holds for every rule; each rule by its library is in the cases from the field.

use super::*;
use crate::policy::backoff::Jitter;
use proptest::prelude::*;

fn any_config() -> impl Strategy<Value = HintConfig> {
    let parts = (0u8..6, any::<u64>(), 0u8..3, 0.0..1.0f64, 0u8..3, any::<bool>());
    parts.prop_map(|(rule, cap, beyond, spread, sequence, obeys_zero)| HintConfig {
        rule: match rule {
            0 => HintRule::Override,
            1 => HintRule::Larger,
            2 => HintRule::LargerWindow,
            3 => HintRule::Clamp(Duration::from_nanos(cap >> 30)),
            4 => HintRule::LargerDrawnTwice,
            _ => HintRule::Scaled(spread),
        },
        cap: Duration::from_nanos(cap >> (cap % 64)),
        beyond: [Beyond::Clamp, Beyond::GiveUp, Beyond::Ignore][beyond as usize],
        spread,
        sequence: [Sequence::GoesOn, Sequence::Restarts, Sequence::Pauses][sequence as usize],
        obeys_zero,
        needed_after: ClassSet::NONE,
    })
}

#[test]
fn a_failure_that_needs_a_hint_is_tried_again_only_with_one() {
    use crate::policy::outcome::Class::{Overloaded, RateLimited, Timeout};
    let needed_after = ClassSet::of(&[Overloaded, RateLimited]);
    let config = HintConfig { needed_after, ..HintConfig::of(HintRule::Override) };
    let on = ClassSet::of(&[Overloaded, Timeout]);
    assert_eq!(config.retried(on, ClassSet::NONE), ClassSet::of(&[Timeout]));
    assert_eq!(config.retried(on, ClassSet::of(&[RateLimited])), ClassSet::of(&[Timeout]));
    assert_eq!(config.retried(on, ClassSet::of(&[Overloaded])), on);
    assert_eq!(HintConfig::IGNORE.retried(on, ClassSet::NONE), on);
}

proptest! {
    /// "Do not retry" is obeyed, and nobody comes earlier than asked but where a cap cuts the
    /// hint, or it lies beyond what is heard.
    #[test]
    fn nobody_comes_early(
        config in any_config(),
        hint in any::<u64>(),
        retry in any::<u32>(),
        value in 0.0..1.0f64,
    ) {
        let (base, cap) = (Duration::from_millis(100), Duration::from_secs(20));
        let backoff = Backoff::exponential(base, 2.0, cap, Jitter::Full);
        let (asked, draw) = (Duration::from_nanos(hint >> (hint % 64)), Draw::new(value).unwrap());
        let wait = |hint| config.wait(&backoff, retry, &mut Past::new(), hint, draw);
        prop_assert_eq!(wait(Some(Hint::Never)), None);
        prop_assert_eq!(wait(None), Some(backoff.wait(retry, &mut Past::new(), draw)));
        let found = wait(Some(Hint::After(asked)));
        match (asked > config.cap, config.beyond) {
            (true, Beyond::GiveUp) => {
                let unheard = asked.is_zero() && !config.obeys_zero;
                prop_assert!(found.is_none() || unheard);
            }
            (true, Beyond::Ignore) => {
                prop_assert_eq!(found, Some(backoff.wait(retry, &mut Past::new(), draw)));
            }
            (beyond, _) => {
                let heard = if beyond { config.cap } else { asked };
                let lasts = matches!(config.rule, HintRule::Override | HintRule::Larger | HintRule::Scaled(_));
                if lasts {
                    prop_assert!(found.unwrap() >= heard);
                }
            }
        }
    }
}

/// Jitter that remembers goes on behind a hint: Polly works its own wait out before it asks whether
/// there is another, so the retry after a hint is no longer than it would have been without.
#[test]
fn a_sequence_that_goes_on_remembers_the_wait_that_was_not_slept() {
    let base = Duration::from_millis(300);
    let backoff = Backoff::exponential(base, 2.0, Duration::MAX, Jitter::DecorrelatedV2);
    let (low, high) = (Draw::new(0.1).unwrap(), Draw::new(0.9).unwrap());
    let third = |config: HintConfig, hint| {
        let mut past = Past::new();
        config.wait(&backoff, 1, &mut past, None, low);
        config.wait(&backoff, 2, &mut past, hint, low);
        config.wait(&backoff, 3, &mut past, None, high).unwrap()
    };
    let hint = Some(Hint::After(Duration::from_secs(7)));
    for rule in [HintRule::Override, HintRule::Scaled(0.5)] {
        let config = HintConfig::of(rule);
        assert_eq!(third(config, hint), third(config, None), "{rule:?}");
        assert!(third(config, hint) <= backoff.bounds(3).1, "{rule:?}");
    }
    // A sequence that pauses has not seen the second retry, and the third is its second.
    let pauses = HintConfig { sequence: Sequence::Pauses, ..HintConfig::of(HintRule::Override) };
    assert!(third(pauses, hint) <= backoff.bounds(2).1);
}
