//! R9, R11 and R12: replies, callers that leave, failures passed on, and the end of a request.

use stormlab::policy::outcome::Class;

use super::burst;
use super::system;
use crate::lab::Diary;
use crate::lab::bursts;
use crate::lab::diary;
use crate::lab::model;

/// Two requests for one worker and 3 s of work; both callers leave after a second.
fn abandoned(cancellation: &str) -> Diary {
    let server = format!("{{ workers: 1, work: 3s, cancellation: {cancellation} }}");
    diary(&system(&burst(2), "{ attempt_timeout: 1s }", &server))
}

#[test]
fn r9_by_default_the_server_never_learns_that_the_caller_left() {
    assert_eq!(
        abandoned("none").lines(&["worked", "removed"]),
        ["3000ms server worked 3s wasted", "6000ms server worked 3s wasted"]
    );
}

#[test]
fn r9_a_queue_that_is_told_gives_up_what_waits_and_finishes_what_is_in_service() {
    assert_eq!(
        abandoned("queue").lines(&["worked", "removed"]),
        ["1000ms server removed after 1s", "3000ms server worked 3s wasted"]
    );
}

#[test]
fn r9_a_server_that_is_told_stops_at_once() {
    // The worker's turn to the second request and the word about it fall on the same instant.
    let lines = abandoned("full");
    assert_eq!(lines.count(&["removed"]), 2);
    assert_eq!(lines.moments_ms(&["removed"]), [1000.0, 1000.0]);
    assert_eq!(lines.count(&["worked", "1s", "wasted"]), 1);
}

/// The word that the caller left takes as long as any other message.
#[test]
fn r9_the_word_travels_along_the_link() {
    let mut model = system(
        &burst(1),
        "{ attempt_timeout: 1s }",
        "{ workers: 1, work: 3s, cancellation: full }",
    );
    let latency = stormlab::units::Duration::from_millis(200);
    model.edges[0].link.latency = stormlab::random::Distribution::constant(latency);
    let diary = diary(&model);
    assert_eq!(
        diary.lines(&["started", "timed-out", "worked"]),
        [
            "200ms server started waited 0s",
            "1000ms web>server timed-out",
            "1200ms server worked 1s wasted", // From 0.2 s to 1.2 s.
        ]
    );
}

/// Down a chain: the client leaves at 1.0 s, while the front retries a back-end that is failing.
fn chain(cancellation: &str) -> Diary {
    diary(&model(&format!(
        "
run: {{ horizon: 30s, warm_up: 0s, window: 1s }}
clients: {{ web: {{ arrivals: {{ burst: {{ count: 1, at: 0s }} }}, calls: front, policy: hasty }} }}
policies:
  hasty: {{ attempt_timeout: 1s }}
  stubborn: {{ retry: {{ max_attempts: 5, backoff: 400ms }} }}
services:
  front:
    workers: 1
    work: 0s
    cancellation: {cancellation}
    calls: [{{ to: back, policy: stubborn }}]
  back:
    workers: 1
    work: 200ms
    cancellation: {cancellation}
    calls: [{{ to: dead }}]
  dead: {{ workers: 1, work: 0s, errors: {{ class: unavailable, share: 100% }} }}
"
    )))
}

#[test]
fn r9_without_cancellation_a_tree_of_calls_and_retries_goes_on_by_itself() {
    let diary = chain("none");
    assert_eq!(diary.moments_ms(&["back", "reached"]), [0.0, 600.0, 1200.0, 1800.0, 2400.0]);
    assert_eq!(diary.moments_ms(&["dead", "reached"]), [200.0, 800.0, 1400.0, 2000.0, 2600.0]);
    assert_eq!(diary.lines(&["ended"]), ["1000ms web ended attempts after 1s"]);
    // Nobody waits for what the back-end does after 1.0 s.
    assert_eq!(diary.count(&["back", "wasted"]), 3);
}

#[test]
fn r9_full_cancellation_stops_calls_and_retries_below() {
    let diary = chain("full");
    assert_eq!(diary.moments_ms(&["back", "reached"]), [0.0, 600.0]);
    assert_eq!(diary.lines(&["removed"]), ["1000ms front removed after 1s"]);
    assert_eq!(diary.count(&["wasted"]), 0); // It was in a back-off, and nothing was at work.
}

/// As above, with a back-end that is at work when the client leaves.
#[test]
fn r9_full_cancellation_stops_work_two_calls_down() {
    let diary = diary(&model(
        "
run: { horizon: 30s, warm_up: 0s, window: 1s }
clients: { web: { arrivals: { burst: { count: 1, at: 0s } }, calls: front, policy: hasty } }
policies: { hasty: { attempt_timeout: 1s } }
links: { default: { latency: 10ms } }
services:
  front: { workers: 1, work: 0s, cancellation: full, calls: [{ to: middle }] }
  middle: { workers: 1, work: 0s, cancellation: full, calls: [{ to: back }] }
  back: { workers: 1, work: 5s, cancellation: full }
",
    ));
    assert_eq!(
        diary.lines(&["removed"]),
        [
            "1010ms front removed after 1s",
            "1020ms middle removed after 1s",
            "1030ms back removed after 1s",
        ]
    );
    assert_eq!(diary.lines(&["back"])[2], "1030ms back worked 1s wasted");
}

/// What the front answers when the back ends with a class: the client tries again only if the
/// answer is of the class named, so its second attempt tells.
#[test]
fn r11_a_failure_below_is_passed_on_under_its_class_for_the_world_above() {
    #[track_caller]
    fn check(below: Class, above: Class) {
        for named in Class::ALL.into_iter().filter(|class| !class.is_local()) {
            let diary = diary(&model(&format!(
                "
run: {{ horizon: 1s, warm_up: 0s, window: 1s }}
clients: {{ web: {{ arrivals: {{ burst: {{ count: 1, at: 0s }} }}, calls: front, policy: again }} }}
policies: {{ again: {{ retry: {{ max_attempts: 2, on: [{named}] }} }} }}
services:
  front: {{ workers: 1, work: 0s, calls: [{{ to: back }}] }}
  back: {{ workers: 1, work: 0s, errors: {{ class: {below}, share: 100% }} }}
"
            )));
            let expected = if named == above { 2 } else { 1 };
            assert_eq!(diary.count(&["front", "reached"]), expected, "{below} as {named}");
        }
    }
    check(Class::Timeout, Class::GatewayTimeout);
    check(Class::GatewayTimeout, Class::GatewayTimeout);
    check(Class::Unavailable, Class::Unavailable);
    check(Class::Overloaded, Class::Unavailable);
    check(Class::ConnectionLost, Class::Unavailable);
    check(Class::Protocol, Class::BadGateway);
    check(Class::BadGateway, Class::BadGateway);
    for same in [Class::RateLimited, Class::Internal, Class::Rejected, Class::Denied] {
        check(same, same);
    }
    for same in [Class::Gone, Class::NotFound, Class::Fatal] {
        check(same, same);
    }
}

/// What a policy of the front makes of its own call is passed on the same way.
#[test]
fn r11_local_failures_are_passed_on_as_unavailable_or_gateway_timeout() {
    #[track_caller]
    fn check(policy: &str, above: &str, expected: usize) {
        let diary = diary(&model(&format!(
            "
run: {{ horizon: 30s, warm_up: 0s, window: 1s }}
clients: {{ web: {{ arrivals: {{ burst: {{ count: 2, at: 0s }} }}, calls: front, policy: again }} }}
policies:
  again: {{ retry: {{ max_attempts: 2, on: [{above}] }} }}
  own: {policy}
services:
  front: {{ workers: 5, work: 0s, calls: [{{ to: back, policy: own }}] }}
  back: {{ workers: 5, work: 5s }}
"
        )));
        assert_eq!(diary.count(&["front", "reached"]), expected, "{policy} as {above}");
    }
    check("{ bulkhead: { limit: 1 } }", "unavailable", 3);
    check("{ bulkhead: { limit: 1 } }", "gateway_timeout", 2);
    check("{ attempt_timeout: 1s }", "gateway_timeout", 4);
    check("{ timeout: 1s }", "gateway_timeout", 4);
    check("{ timeout: 1s }", "unavailable", 2);
}

/// [P4, P16, P17] `answers` says what a handler makes of the errors of one call. What it does not
/// name, and what other calls do, is passed on as before.
#[test]
fn r11_a_handler_may_translate_the_errors_of_a_call() {
    let heard = |answers: &str, named: &str, policy: &str, below: &str| {
        diary(&model(&format!(
            "
run: {{ horizon: 30s, warm_up: 0s, window: 1s }}
clients: {{ web: {{ arrivals: {{ burst: {{ count: 2, at: 0s }} }}, calls: front, policy: again }} }}
policies:
  again: {{ retry: {{ max_attempts: 2, on: [{named}] }} }}
  own: {policy}
services:
  front: {{ workers: 5, work: 0s, calls: [{{ to: fine }}, {{ to: back, policy: own{answers} }}] }}
  fine: {{ workers: 5, work: 0s }}
  back: {below}
"
        )))
        .count(&["front", "reached"])
    };
    let limited = "{ workers: 5, work: 0s, errors: { class: rate_limited, share: 100% } }";
    let into_422 = ", answers: { rate_limited: rejected }";
    assert_eq!(heard("", "rate_limited", "{}", limited), 4);
    assert_eq!(heard(into_422, "rate_limited", "{}", limited), 2);
    assert_eq!(heard(into_422, "rejected", "{}", limited), 4);
    // One of two finds the place taken; nobody translates it, or somebody does.
    let (slow, one) = ("{ workers: 5, work: 5s }", "{ bulkhead: { limit: 1 } }");
    let unknown = ", answers: { bulkhead_full: internal, breaker_open: unavailable }";
    assert_eq!(heard("", "unavailable", one, slow), 3);
    assert_eq!(heard(unknown, "unavailable", one, slow), 2);
    assert_eq!(heard(unknown, "internal", one, slow), 3);
}

/// The answer that comes too late ends nothing a second time; the work was done for nobody.
#[test]
fn r12_a_request_ends_once_and_the_work_it_left_behind_is_counted() {
    let diary = diary(&system(
        &bursts(&[(1, 0)]),
        "{ attempt_timeout: 1s, retry: { max_attempts: 2, backoff: 0s } }",
        "{ workers: 2, work: 1500ms }",
    ));
    assert_eq!(
        diary.lines(&["reached", "worked", "answered", "ended"]),
        [
            "0ms server reached first",
            "1000ms server reached after-timeout",
            "1500ms server worked 1.5s wasted",
            "1500ms server answered ok",
            "2000ms web ended attempts after 2s",
            "2500ms server worked 1.5s wasted",
            "2500ms server answered ok",
        ]
    );
}
