//! R10: what the layers of a policy make of an outcome, and in which order they are asked.

use stormlab::scenario::model::Effect;

use super::burst;
use super::system;
use crate::lab::Diary;
use crate::lab::bursts;
use crate::lab::diary;
use crate::lab::model;
use crate::lab::with_trigger;

/// A server that turns everybody away, unless it is let.
const REFUSING: &str = "{ workers: 1, work: 0s, errors: { class: unavailable, share: 100% } }";

fn refused(arrivals: &str, policy: &str) -> Diary {
    diary(&system(arrivals, policy, REFUSING))
}

#[test]
fn r10_the_last_attempt_allowed_ends_the_call() {
    let diary = refused(&burst(1), "{ retry: { max_attempts: 3, backoff: 1s } }");
    assert_eq!(diary.moments_ms(&["reached"]), [0.0, 1000.0, 2000.0]);
    assert_eq!(diary.lines(&["ended"]), ["2000ms web ended attempts after 2s"]);
}

#[test]
fn r10_what_is_not_retried_ends_the_call_at_once() {
    let diary = refused(&burst(1), "{ retry: { max_attempts: 3, on: [internal] } }");
    assert_eq!(diary.count(&["reached"]), 1);
    assert_eq!(diary.lines(&["ended"]), ["0ms web ended not_retried after 0s"]);
}

/// A wait that would end when the time does is not begun: the call ends at 2 s, not at 3 s.
#[test]
fn r10_a_wait_that_does_not_fit_into_the_total_timeout_is_not_begun() {
    #[track_caller]
    fn check(timeout: &str, reached: &[f64], ended: &str) {
        let retry = "retry: { max_attempts: 9, backoff: 1s }";
        let diary = refused(&burst(1), &format!("{{ timeout: {timeout}, {retry} }}"));
        assert_eq!(diary.moments_ms(&["reached"]), reached);
        assert_eq!(diary.lines(&["ended"]), [ended]);
    }
    check("3s", &[0.0, 1000.0, 2000.0], "2000ms web ended time after 2s");
    check("3001ms", &[0.0, 1000.0, 2000.0, 3000.0], "3000ms web ended time after 3s");
    check("500ms", &[0.0], "0ms web ended time after 0s");
}

/// The whole call is cut in the middle of an attempt, and of a back-off never.
#[test]
fn r10_the_total_timeout_cuts_an_attempt_short() {
    let diary = diary(&system(
        &burst(1),
        "{ timeout: 2500ms, attempt_timeout: 1s, retry: { max_attempts: 9, backoff: 500ms } }",
        "{ workers: 9, work: 10s }",
    ));
    assert_eq!(diary.moments_ms(&["reached"]), [0.0, 1500.0]);
    // The time of the second attempt runs out at the same instant, but was scheduled later.
    assert_eq!(diary.moments_ms(&["timed-out"]), [1000.0]);
    assert_eq!(diary.lines(&["ended"]), ["2500ms web ended time after 2.5s"]);
}

#[test]
fn r10_no_attempt_is_sent_at_or_after_the_deadline() {
    let deadline = |span: &str| {
        diary(&model(&format!(
            "
run: {{ horizon: 30s, warm_up: 0s, window: 1s }}
clients:
  web:
    arrivals: {{ burst: {{ count: 1, at: 0s }} }}
    calls: front
    policy: p
    deadline: {span}
policies: {{ p: {{ retry: {{ max_attempts: 9, backoff: 1s }} }} }}
services:
  front: {{ workers: 1, work: 0s, errors: {{ class: unavailable, share: 100% }} }}
"
        )))
    };
    assert_eq!(deadline("2s").moments_ms(&["reached"]), [0.0, 1000.0]);
    assert_eq!(deadline("2s").lines(&["ended"]), ["1000ms web ended time after 1s"]);
    assert_eq!(deadline("2001ms").moments_ms(&["reached"]), [0.0, 1000.0, 2000.0]);
}

/// The deadline travels: the front's own work takes it past the deadline, and the back is spared.
#[test]
fn r10_a_handler_does_not_call_on_after_the_deadline() {
    let diary = diary(&model(
        "
run: { horizon: 30s, warm_up: 0s, window: 1s }
clients:
  web: { arrivals: [{ burst: { count: 1, at: 0s } }], calls: front, deadline: 2s }
services:
  front: { workers: 1, work: 2s, calls: [{ to: back }] }
  back: { workers: 1, work: 1s }
",
    ));
    assert_eq!(diary.count(&["back", "reached"]), 0);
    assert_eq!(diary.lines(&["ended"]), ["2000ms web ended attempts after 2s"]);
}

#[test]
fn r12_an_answer_at_the_deadline_is_in_time_and_one_after_it_is_late() {
    let after = |work: &str| {
        diary(&model(&format!(
            "
run: {{ horizon: 30s, warm_up: 0s, window: 1s }}
clients: {{ web: {{ arrivals: {{ burst: {{ count: 1, at: 0s }} }}, calls: front, deadline: 2s }} }}
services: {{ front: {{ workers: 1, work: {work} }} }}
"
        )))
    };
    assert_eq!(after("2s").lines(&["ended"]), ["2000ms web ended ok after 2s"]);
    assert_eq!(after("2001ms").lines(&["ended"]), ["2001ms web ended late after 2.001s"]);
}

/// One token at the start and half a token for each call: the first call retries once, the third
/// has paid for another one.
#[test]
fn r10_a_retry_that_the_budget_does_not_pay_for_is_not_sent() {
    let diary = refused(
        &bursts(&[(1, 0), (1, 1_000), (1, 2_000), (1, 3_000)]),
        "{ retry: { max_attempts: 9, backoff: 100ms,
                    budget: { ratio: { share: 50%, deposit: call, start: 0.5, cap: 10 } } } }",
    );
    let expected = [0.0, 100.0, 1000.0, 2000.0, 2100.0, 3000.0];
    assert_eq!(diary.moments_ms(&["reached"]), expected);
    assert_eq!(diary.moments_ms(&["denied"]), [100.0, 1000.0, 2100.0, 3000.0]);
    assert_eq!(diary.count(&["ended", "budget"]), 4);
}

/// C62. A breaker around the retry counts calls: five of them, twenty attempts. Inside it counts
/// attempts, and opens while the second call is still trying.
#[test]
fn r10_a_breaker_counts_calls_outside_the_retry_and_attempts_inside() {
    let with = |order: &str| {
        refused(
            &bursts(&[(1, 0), (1, 1_000), (1, 2_000), (1, 3_000), (1, 4_000), (1, 5_000)]),
            &format!(
                "{{ order: [{order}], retry: {{ max_attempts: 4, backoff: 10ms }},
                    breaker: {{ consecutive: 5, open_for: 60s }} }}"
            ),
        )
    };
    let outside = with("breaker, retry");
    assert_eq!(outside.count(&["reached"]), 20);
    assert_eq!(outside.moments_ms(&["rejected"]), [5000.0]);
    let inside = with("retry, breaker");
    assert_eq!(inside.count(&["reached"]), 5);
    // The second call's second try, and then every call.
    assert_eq!(inside.moments_ms(&["rejected"])[..2], [1010.0, 2000.0]);
    assert_eq!(inside.count(&["ended", "breaker"]), 5);
}

/// Open from 0 s to 1 s. The probe of 1.5 s is swallowed, and given up at 2 s with its whole call:
/// nothing was learned, and its place is free for the next probe. (Until then nobody passes.)
#[test]
fn r10_a_probe_that_is_given_up_gives_its_place_back() {
    let calm = system(
        &bursts(&[(1, 0), (1, 1_500), (1, 1_700), (1, 3_000), (1, 3_500)]),
        "{ timeout: 500ms, breaker: { consecutive: 1, open_for: 1s } }",
        "{ workers: 1, work: 10ms }",
    );
    let down = with_trigger(calm, 0, 500, Effect::Refuse(0));
    let diary = diary(&with_trigger(down, 1_400, 1_000, Effect::Hang(0)));
    assert_eq!(diary.moments_ms(&["reached"]), [0.0, 1500.0, 3000.0, 3500.0]);
    assert_eq!(diary.moments_ms(&["rejected"]), [1700.0]);
    assert_eq!(diary.moments_ms(&["ended", "ok"]), [3010.0, 3510.0]);
}

/// A bulkhead around the retry is held during the back-off, one inside is not.
#[test]
fn r10_a_bulkhead_outside_the_retry_is_held_while_it_waits() {
    let with = |order: &str| {
        refused(
            &bursts(&[(1, 0), (1, 500)]),
            &format!(
                "{{ order: [{order}], bulkhead: {{ limit: 1 }},
                    retry: {{ max_attempts: 2, backoff: 1s }} }}"
            ),
        )
    };
    assert_eq!(with("bulkhead, retry").moments_ms(&["rejected"]), [500.0]);
    assert_eq!(with("retry, bulkhead").moments_ms(&["rejected"]), [0.0; 0]);
}

/// C75. The breaker is open for [5, 10): at 10 s the retry that falls due is its probe.
#[test]
fn r10_a_retry_due_when_the_breaker_has_waited_is_its_probe() {
    let diary = refused(
        &burst(1),
        "{ retry: { max_attempts: 5, backoff: 5s },
           breaker: { window: { length: 30s, failure_share: 50%, minimum_calls: 2 },
                      open_for: 5s } }",
    );
    assert_eq!(diary.moments_ms(&["reached"]), [0.0, 5000.0, 10_000.0, 15_000.0, 20_000.0]);
    assert_eq!(diary.count(&["rejected"]), 0);
}

/// C98. Thirty seconds in all, ten for each attempt, waits of 2 s and 4 s: the third attempt is
/// cut after 4 s, and there is no fourth.
#[test]
fn r10_the_standard_handler_cuts_its_third_attempt_short() {
    let calm = system(
        &burst(1),
        "{ timeout: 30s, attempt_timeout: 10s,
           retry: { max_attempts: 4, backoff: { exponential: { base: 2s, factor: 2 } } },
           breaker: { window: { length: 30s, failure_share: 10%, minimum_calls: 100 },
                      open_for: 5s } }",
        "{ workers: 1, work: 1s }",
    );
    let mut hanging = with_trigger(calm, 0, 60_000, Effect::Hang(0));
    hanging.run.horizon = stormlab::units::Duration::from_secs(40);
    let diary = diary(&hanging);
    assert_eq!(diary.moments_ms(&["reached"]), [0.0, 12_000.0, 26_000.0]);
    assert_eq!(diary.moments_ms(&["timed-out"]), [10_000.0, 22_000.0]);
    assert_eq!(diary.lines(&["ended"]), ["30000ms web ended time after 30s"]);
}
