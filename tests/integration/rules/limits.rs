//! R3, R4: limits on the caller's side that more than one call shares.

use super::system;
use crate::lab::bursts;
use crate::lab::diary;

const QUICK: &str = "{ workers: 99, work: 0s }";

/// resilience4j: two per 100 ms, counted from the start of time. Of six calls at 30 ms two go at
/// once, two at 100 ms, and two would have to wait until 200 ms, which is too long.
#[test]
fn r3_a_fixed_window_lends_permits_of_later_cycles_up_to_the_longest_wait() {
    let policy = "{ throttle: { fixed_window: { limit: 2, period: 100ms, max_wait: 150ms } } }";
    let diary = diary(&system(&bursts(&[(6, 30), (1, 330)]), policy, QUICK));
    assert_eq!(diary.moments_ms(&["reached"]), [30.0, 30.0, 100.0, 100.0, 330.0]);
    assert_eq!(diary.moments_ms(&["rejected", "throttled"]), [30.0, 30.0]);
}

/// Twice the limit begins at once at the border of two cycles: known, and imitated.
#[test]
fn r3_a_fixed_window_lets_twice_its_limit_through_at_a_border() {
    let policy = "{ throttle: { fixed_window: { limit: 2, period: 100ms } } }";
    let diary = diary(&system(&bursts(&[(3, 99), (3, 100)]), policy, QUICK));
    assert_eq!(diary.moments_ms(&["reached"]), [99.0, 99.0, 100.0, 100.0]);
}
