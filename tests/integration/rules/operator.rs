//! What people do while it runs: a change meets what begins after it, and leaves the rest alone.

use stormlab::scenario::model::Model;

use crate::lab::bursts;
use crate::lab::diary;
use crate::lab::model;

/// One system, and what the operator does to it.
fn operated(arrivals: &str, policy: &str, server: &str, operator: &str) -> Model {
    model(&format!(
        "
run: {{ horizon: 30s, warm_up: 0s, window: 1s }}
clients: {{ web: {{ arrivals: {arrivals}, calls: server, policy: p }} }}
policies: {{ p: {policy} }}
services: {{ server: {server} }}
operator: {operator}
"
    ))
}

#[test]
fn a_set_meets_new_calls_only() {
    let diary = diary(&operated(
        &bursts(&[(1, 0), (1, 2_000)]),
        "{ retry: { max_attempts: 4, backoff: 1s } }",
        "{ workers: 1, work: 0s, errors: { class: unavailable, share: 100% } }",
        "[{ at: 1500ms, set: { policies.p.retry.max_attempts: 1 } }]",
    ));
    // Born before the change: 0, 1, 2 and 3 s. Born after it: one attempt at 2 s.
    assert_eq!(diary.moments_ms(&["reached"]), [0.0, 1000.0, 2000.0, 2000.0, 3000.0]);
}

/// Whoever waits under the old patience keeps it, and a new caller has none left of it.
#[test]
fn a_set_leaves_the_timeouts_of_calls_under_way_as_they_were() {
    let diary = diary(&operated(
        &bursts(&[(1, 0), (1, 100), (1, 700)]),
        "{ attempt_timeout: { after: 2s, scope: attempt } }",
        "{ workers: 1, work: 1500ms }",
        "[{ at: 500ms, set: { policies.p.attempt_timeout: { after: 2s, scope: queue } } }]",
    ));
    // The second was sent under a timeout that covers its service: it leaves at 2.1 s.
    assert_eq!(
        diary.lines(&["timed-out", "ended"]),
        [
            "1500ms web ended ok after 1.5s",
            "2100ms web>server timed-out",
            "2100ms web ended attempts after 2s",
            "2700ms web>server timed-out",
            "2700ms web ended attempts after 2s",
        ]
    );
}

#[test]
fn a_set_of_the_cancellation_holds_from_then_on() {
    let removed = |operator: &str| {
        diary(&operated(
            &bursts(&[(2, 0)]),
            "{ attempt_timeout: 1s }",
            "{ workers: 1, work: 3s }",
            operator,
        ))
        .moments_ms(&["removed"])
    };
    assert_eq!(removed("[]"), [0.0; 0]);
    assert_eq!(
        removed("[{ at: 500ms, set: { services.server.cancellation: full } }]"),
        [1000.0; 2]
    );
    assert_eq!(removed("[{ at: 500ms, set: { services.server.cancellation: queue } }]"), [1000.0]);
}

#[test]
fn a_set_of_the_deadline_meets_requests_born_after_it() {
    let diary = diary(&operated(
        &bursts(&[(1, 0), (1, 2_000)]),
        "{}",
        "{ workers: 5, work: 3s }",
        "[{ at: 1s, set: { clients.web.deadline: 1s } }]",
    ));
    assert_eq!(
        diary.lines(&["ended"]),
        ["3000ms web ended ok after 3s", "5000ms web ended late after 3s"]
    );
}

#[test]
fn a_set_of_workers_puts_them_to_work_at_once() {
    let diary = diary(&operated(
        &bursts(&[(4, 0)]),
        "{}",
        "{ workers: 1, work: 2s }",
        "[{ at: 500ms, set: { services.server.workers: 3 } }]",
    ));
    assert_eq!(diary.moments_ms(&["started"]), [0.0, 500.0, 500.0, 2000.0]);
}

/// Two wait at the bulkhead when its limit is raised: they go on at once, before any newcomer.
#[test]
fn a_raised_bulkhead_lets_in_who_waits() {
    let diary = diary(&operated(
        &bursts(&[(1, 0), (1, 100), (1, 200), (1, 300), (1, 600)]),
        "{ bulkhead: { limit: 1, queue: 9 } }",
        "{ workers: 9, work: 10s }",
        "[{ at: 500ms, set: { policies.p.bulkhead.limit: 3 } }]",
    ));
    assert_eq!(diary.moments_ms(&["reached"]), [0.0, 500.0, 500.0, 10_000.0, 10_500.0]);
}

#[test]
fn more_changes_than_a_byte_can_count_are_made_in_order() {
    let changes: Vec<_> = (1..=300)
        .map(|nth| format!("{{ at: {nth}ms, set: {{ policies.p.retry.max_attempts: {nth} }} }}"))
        .collect();
    let diary = diary(&operated(
        &bursts(&[(1, 0), (1, 1_000)]),
        "{ retry: { max_attempts: 2, backoff: 10ms } }",
        "{ workers: 1, work: 0s, errors: { class: unavailable, share: 100% } }",
        &format!("[{}]", changes.join(", ")),
    ));
    assert_eq!(diary.count(&["reached"]), 302);
}

#[test]
fn a_flush_answers_what_waits_and_leaves_what_is_in_service() {
    let diary = diary(&operated(
        &bursts(&[(4, 0)]),
        "{}",
        "{ workers: 1, work: 2s }",
        "[{ at: 500ms, flush: server }]",
    ));
    assert_eq!(diary.moments_ms(&["removed"]), [500.0; 3]);
    assert_eq!(diary.moments_ms(&["ended"]), [500.0, 500.0, 500.0, 2000.0]);
    assert_eq!(diary.count(&["ended", "ok"]), 1);
}

/// Everything inside is lost, everything is refused for as long as a restart takes, then it works
/// as slowly as a cold service does.
#[test]
fn a_restart_by_hand_loses_what_is_inside_and_comes_back_cold() {
    let diary = diary(&operated(
        &bursts(&[(2, 0), (1, 1_000), (1, 1_700)]),
        "{}",
        "{ workers: 1, work: 2s, overload: { restarts_after: 700ms,
                                             cold: { work_factor: 3, lasts: 10s } } }",
        "[{ at: 1s, restart: server }]",
    ));
    assert_eq!(diary.moments_ms(&["removed"]), [1000.0, 1000.0]);
    assert_eq!(diary.lines(&["refused"]), ["1000ms server refused unavailable"]);
    assert_eq!(diary.lines(&["ended"])[3], "7700ms web ended ok after 6s");
}

/// What is shed is shed for as long as it was said, by the share that was said.
#[test]
fn shedding_lasts_as_long_as_it_was_said() {
    let diary = diary(&operated(
        "{ constant: 100/s }",
        "{}",
        "{ workers: 1, work: 1ms }",
        "[{ at: 5s, shed: { clients: web, share: 50%, lasts: 10s } }]",
    ));
    let moments = diary.moments_ms(&["shed"]);
    assert!(moments.iter().all(|at| (5_000.0..15_000.0).contains(at)));
    // Of 1,000 births: 500, with a standard deviation of 16; seeds are fixed.
    assert!((430..570).contains(&moments.len()), "{}", moments.len());
    assert_eq!(diary.count(&["ended"]), 2_999 - moments.len());
}
