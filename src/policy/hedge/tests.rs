//! The machine against what hedging is for, and for its bounds.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const MS: fn(u64) -> Duration = Duration::from_millis;

fn config(delay: HedgeDelay, max_attempts: u32) -> HedgeConfig {
    HedgeConfig { delay, max_attempts, on: ClassSet::TRANSIENT }
}

#[test]
fn a_slow_first_attempt_gets_company_and_the_first_answer_wins() {
    let config = config(HedgeDelay::After(MS(200)), 3);
    let mut hedge = Hedge::START;
    assert_eq!((hedge.sent(), config.timer(MS(7), None)), (1, Some(MS(200))));
    assert!(hedge.due(&config) && hedge.due(&config) && !hedge.due(&config));
    assert_eq!((hedge.sent(), hedge.out()), (3, 3));
    assert_eq!(hedge.settle(&config, Ok(()), PushBack::None), Next::Over(Ok(())));
    assert!(!hedge.due(&config));
}

#[test]
fn a_failure_sends_the_next_and_a_fatal_one_ends_the_call() {
    let config = config(HedgeDelay::OnFailure, 3);
    assert_eq!(config.timer(MS(7), None), None);
    let mut hedge = Hedge::START;
    let failed = Err(Class::Unavailable);
    assert_eq!(hedge.settle(&config, failed, PushBack::None), Next::Send);
    assert_eq!(hedge.settle(&config, failed, PushBack::None), Next::Send);
    assert_eq!(hedge.settle(&config, failed, PushBack::None), Next::Over(failed));
    let mut hedge = Hedge::START;
    let fatal = Err(Class::Denied);
    assert_eq!(hedge.settle(&config, fatal, PushBack::None), Next::Over(fatal));
}

#[test]
fn push_back_delays_the_next_or_stops_all_further_ones() {
    let config = config(HedgeDelay::After(MS(50)), 3);
    let (mut hedge, failed) = (Hedge::START, Err(Class::Overloaded));
    assert_eq!(hedge.settle(&config, failed, PushBack::Wait(MS(9))), Next::SendAfter(MS(9)));
    assert!(hedge.due(&config) && hedge.due(&config));
    assert_eq!(hedge.settle(&config, failed, PushBack::Stop), Next::Await);
    assert_eq!(hedge.settle(&config, failed, PushBack::None), Next::Over(failed));
}

#[test]
fn a_hedge_on_timeout_waits_for_the_back_off_as_well() {
    let config = config(HedgeDelay::OnTimeout(MS(200)), 3);
    assert_eq!(config.timer(MS(13), None), Some(MS(213)));
}

/// C99: without a delay everything is sent at once, and the load is five times as high always.
#[test]
fn c99_a_hedge_without_a_delay_multiplies_the_load() {
    let config = config(HedgeDelay::After(Duration::ZERO), 5);
    let mut hedge = Hedge::START;
    assert_eq!(config.timer(MS(7), None), Some(Duration::ZERO));
    while hedge.due(&config) {}
    assert_eq!((hedge.sent(), hedge.out()), (5, 5));
    assert_eq!(hedge.settle(&config, Ok(()), PushBack::None), Next::Over(Ok(())));
    assert_eq!(hedge.sent(), 5, "although the first one would have done");
}

proptest! {
    #[test]
    fn a_call_sends_no_more_than_it_may_and_ends(
        steps in vec(0u8..5, 0..60),
        max_attempts in 1u32..7,
        delay in 0u64..2,
    ) {
        let config = config(HedgeDelay::After(MS(delay)), max_attempts);
        let (mut hedge, mut over) = (Hedge::START, false);
        for step in steps {
            if over {
                prop_assert!(!hedge.due(&config));
                break;
            }
            prop_assert!(hedge.out() > 0 || step == 0);
            let (outcome, push_back) = match step {
                0 => {
                    let _ = hedge.due(&config);
                    continue;
                }
                1 => (Ok(()), PushBack::None),
                2 => (Err(Class::Timeout), PushBack::None),
                3 => (Err(Class::Timeout), PushBack::Stop),
                _ => (Err(Class::Fatal), PushBack::None),
            };
            over = matches!(hedge.settle(&config, outcome, push_back), Next::Over(_));
            prop_assert!(over || hedge.out() > 0);
            prop_assert!(hedge.sent() <= max_attempts && hedge.out() <= hedge.sent());
        }
    }
}
