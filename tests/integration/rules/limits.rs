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

/// resilience4j's caller sleeps all of the longest wait before it hears that it was in vain.
#[test]
fn r3_a_fixed_window_may_turn_away_after_the_wait() {
    let window = "{ limit: 1, period: 100ms, max_wait: 50ms, refuses: after_wait }";
    let policy = format!("{{ throttle: {{ fixed_window: {window} }} }}");
    let diary = diary(&system(&bursts(&[(2, 30)]), &policy, QUICK));
    assert_eq!(diary.moments_ms(&["reached"]), [30.0]);
    assert_eq!(diary.moments_ms(&["rejected", "throttled"]), [80.0]);
}

/// Twice the limit begins at once at the border of two cycles: known, and imitated.
#[test]
fn r3_a_fixed_window_lets_twice_its_limit_through_at_a_border() {
    let policy = "{ throttle: { fixed_window: { limit: 2, period: 100ms } } }";
    let diary = diary(&system(&bursts(&[(3, 99), (3, 100)]), policy, QUICK));
    assert_eq!(diary.moments_ms(&["reached"]), [99.0, 99.0, 100.0, 100.0]);
}

/// Envoy's: while the least round trip is measured, by five answers, the limit is 3; the last of
/// them comes at 60 ms. Every 100 ms from then on it is worked out anew: 3 · 1.25 + √3.75 = 5, then
/// 5 · 1.25 + √6.25 = 8, then 13.
#[test]
fn r3_a_limit_by_the_least_round_trip_grows_by_its_root_while_nothing_waits() {
    let arrivals: Vec<_> = (0..9).map(|nth| (10, 50 * nth)).collect();
    let policy = "{ bulkhead: { limit: { min_rtt: { requests: 5 } } } }";
    let diary = diary(&system(&bursts(&arrivals), policy, "{ workers: 99, work: 10ms }"));
    let reached = diary.moments_ms(&["reached"]);
    let each: Vec<_> = (0..9)
        .map(|nth| reached.iter().filter(|at| **at == 50.0 * f64::from(nth)).count())
        .collect();
    assert_eq!(each, [3, 3, 3, 3, 5, 5, 8, 8, 10]);
}

/// Netflix's window: more than ten samples make one, and add one to the limit. Each by itself adds
/// one where half of the limit was in use when it came in: the sixth and those after it.
#[test]
fn r3_a_limit_that_hears_of_windows_moves_once_in_each() {
    let limits = |samples: &str| {
        let policy = format!(
            "{{ bulkhead: {{ limit: {{ aimd: {{ initial: 12, min: 1, max: 99 }} }}{samples} }} }}"
        );
        let arrivals = bursts(&[(99, 0), (99, 2_000)]);
        let diary = diary(&system(&arrivals, &policy, "{ workers: 99, work: 10ms }"));
        diary.moments_ms(&["reached"]).iter().filter(|at| **at == 2_000.0).count()
    };
    assert_eq!(limits(", samples: {}"), 13);
    assert_eq!(limits(""), 19);
}

/// A percentile is written as the documents write it, and a variant may choose another kind.
#[test]
fn r3_another_kind_of_limit_replaces_the_first() {
    let text = "
run: { horizon: 30s, warm_up: 0s, window: 1s, replications: 1 }
clients: { web: { arrivals: { burst: { count: 1, at: 0s } }, calls: server, policy: p } }
policies: { p: { bulkhead: { limit: { vegas: {} } } } }
services: { server: { workers: 1, work: 1ms } }
variants: { other: { policies: { p: { bulkhead: { limit: { min_rtt: { percentile: 50% } } } } } } }
";
    let text = format!("schema: 1\nname: kinds\n{text}");
    let scenario = stormlab::scenario::parse("test", text.as_bytes()).expect("it is valid");
    let limits = scenario.variants.iter().map(|it| {
        let policy = it.model.policies.iter().find(|policy| policy.name == "p").expect("p");
        policy.bulkhead.expect("a bulkhead").config.limit
    });
    assert_eq!(limits.collect::<Vec<_>>(), [20, 3]);
}
