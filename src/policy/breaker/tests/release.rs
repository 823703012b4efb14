//! Places of probes that bring no verdict: K17 and D32 to D35, with each fault.

use super::*;
use crate::policy::breaker::release::Cancelled;
use crate::policy::breaker::release::Uncounted;

/// What is not counted here.
const DOMAIN: Option<Class> = Some(Class::Rejected);

fn with(uncounted: Uncounted, cancelled: Cancelled, release_guarded: bool) -> BreakerConfig {
    BreakerConfig { uncounted, cancelled, release_guarded, ..consecutive(2, 1) }
}

/// Two failures open it, and a second later a probe ends with `settled`. Is there room again?
fn after_probe(config: &BreakerConfig, settled: Settled) -> (BreakerState, bool) {
    let mut breaker = opened(config);
    let probe = breaker.admit(config, at(1_000)).expect("a probe");
    assert_eq!(breaker.admit(config, at(1_000)), None, "one probe");
    breaker.settle(config, probe, at(1_100), settled);
    (breaker.state(at(1_100)), breaker.has_room(config, at(1_000_000)))
}

#[test]
fn d32_a_leaked_place_never_comes_back() {
    let config = with(Uncounted::Leak, Cancelled::Leak, true);
    for settled in [config.judge(DOMAIN), config.judge_cancelled()] {
        assert_eq!(after_probe(&config, settled), (BreakerState::HalfOpen, false));
    }
    // Of two places one is left, and one success is not enough to close it.
    let config = BreakerConfig { probes: 2, ..config };
    let mut breaker = opened(&config);
    assert!(pass(&mut breaker, &config, at(1_000), config.judge(DOMAIN)));
    assert!(pass(&mut breaker, &config, at(1_000), Settled::Success));
    assert!(pass(&mut breaker, &config, at(1_000), config.judge(DOMAIN)));
    assert!(!pass(&mut breaker, &config, at(1_000_000), Settled::Success));
    // A lease finds what was lost, and so does the end of a half-open state.
    let mut leased = config;
    leased.half_open.lease = Some(SECOND);
    assert!(after_probe(&BreakerConfig { probes: 1, ..leased }, Settled::Leaked).1);
}

#[test]
fn k17_a_place_is_freed_without_a_verdict() {
    let config = with(Uncounted::Nothing, Cancelled::Release, true);
    for settled in [config.judge(DOMAIN), config.judge_cancelled()] {
        assert_eq!(after_probe(&config, settled), (BreakerState::HalfOpen, true));
    }
    // The next probe decides, either way.
    for (settled, state) in
        [(Settled::Success, BreakerState::Closed), (Settled::Failure, BreakerState::Open)]
    {
        let mut breaker = opened(&config);
        assert!(pass(&mut breaker, &config, at(1_000), config.judge_cancelled()));
        assert!(pass(&mut breaker, &config, at(1_000), settled));
        assert_eq!(breaker.state(at(1_000)), state);
    }
}

#[test]
fn d33_a_release_as_success_closes_and_clears() {
    let config = with(Uncounted::ReleaseAsSuccess, Cancelled::Release, true);
    assert_eq!(after_probe(&config, config.judge(DOMAIN)), (BreakerState::Closed, true));
    let mut breaker = opened(&config);
    assert!(pass(&mut breaker, &config, at(1_000), config.judge(DOMAIN)));
    assert_eq!(breaker.failures_in_a_row(), 0);
    // With two probes the first release is enough: it does not count successes.
    let config = BreakerConfig { probes: 2, ..config };
    assert_eq!(after_two(&config), BreakerState::Closed);
    // While closed it says nothing: the row is neither longer nor cleared.
    let mut breaker = Breaker::default();
    assert!(pass(&mut breaker, &config, at(0), Settled::Failure));
    assert!(pass(&mut breaker, &config, at(0), config.judge(DOMAIN)));
    assert_eq!(breaker.failures_in_a_row(), 1);
    assert!(pass(&mut breaker, &config, at(0), Settled::Failure));
    assert_eq!(breaker.state(at(0)), BreakerState::Open);
}

fn after_two(config: &BreakerConfig) -> BreakerState {
    let mut breaker = opened(config);
    let [one, _] = [(); 2].map(|()| breaker.admit(config, at(1_000)).expect("two places"));
    breaker.settle(config, one, at(1_100), Settled::Released);
    breaker.state(at(1_100))
}

/// A request that began while it was closed ends while another's probe is out.
fn straggler(config: &BreakerConfig) -> (Breaker, Permit) {
    let mut breaker = Breaker::default();
    let early = breaker.admit(config, at(0)).expect("closed");
    while pass(&mut breaker, config, at(0), Settled::Failure) {}
    let probe = breaker.admit(config, at(1_000)).expect("a probe");
    breaker.settle(config, early, at(1_100), config.judge(DOMAIN));
    (breaker, probe)
}

#[test]
fn d34_who_began_while_it_was_closed_does_not_close_it() {
    let guarded = with(Uncounted::ReleaseAsSuccess, Cancelled::Release, true);
    let (mut breaker, probe) = straggler(&guarded);
    assert_eq!(breaker.state(at(1_100)), BreakerState::HalfOpen);
    assert_eq!(breaker.admit(&guarded, at(1_100)), None);
    breaker.settle(&guarded, probe, at(1_200), Settled::Failure);
    assert_eq!(breaker.state(at(1_200)), BreakerState::Open, "the probe decides");

    let bare = BreakerConfig { release_guarded: false, ..guarded };
    let (mut breaker, probe) = straggler(&bare);
    assert_eq!(breaker.state(at(1_100)), BreakerState::Closed, "on another's probe");
    breaker.settle(&bare, probe, at(1_200), Settled::Failure);
    assert!(breaker.is_closed(), "whose failure comes late and is dropped");
}

#[test]
fn d34_who_began_while_it_was_closed_does_not_free_the_place_of_another() {
    let guarded = with(Uncounted::Nothing, Cancelled::Release, true);
    let (mut breaker, _) = straggler(&guarded);
    assert_eq!(breaker.admit(&guarded, at(1_100)), None);

    let bare = BreakerConfig { release_guarded: false, ..guarded };
    let (mut breaker, first) = straggler(&bare);
    let second = breaker.admit(&bare, at(1_100)).expect("two probes at once");
    assert_eq!(breaker.admit(&bare, at(1_100)), None);
    // Both come back, and nothing goes below zero.
    breaker.settle(&bare, first, at(1_200), Settled::Ignored);
    breaker.settle(&bare, second, at(1_200), Settled::Ignored);
    assert_eq!(breaker.state(at(1_200)), BreakerState::HalfOpen);
    assert!(breaker.admit(&bare, at(1_200)).is_some());
}

#[test]
fn d35_a_cancelled_probe_closes_nothing_unless_it_is_told_to() {
    for (cancelled, state) in [
        (Cancelled::Release, BreakerState::HalfOpen),
        (Cancelled::Leak, BreakerState::HalfOpen),
        (Cancelled::ReleaseAsSuccess, BreakerState::Closed),
        (Cancelled::Success, BreakerState::Closed),
    ] {
        let config = with(Uncounted::ReleaseAsSuccess, cancelled, true);
        assert_eq!(after_probe(&config, config.judge_cancelled()).0, state, "{cancelled:?}");
    }
}
