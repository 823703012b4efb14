//! R4 to R7: the network, admission, waiting and work.

use stormlab::scenario::model::Effect;
use stormlab::units::Share;

use super::burst;
use super::system;
use crate::lab::bursts;
use crate::lab::diary;
use crate::lab::model;
use crate::lab::with_trigger;

#[test]
fn r4_a_message_takes_its_time_each_way_and_replicas_take_turns() {
    let diary = diary(&model(
        "
run: { horizon: 10s, warm_up: 0s, window: 1s }
clients: { web: { arrivals: { burst: { count: 2, at: 0s } }, calls: server } }
services: { server: { replicas: 2, workers: 1, work: 50ms } }
links: { default: { latency: 100ms } }
",
    ));
    assert_eq!(
        diary.lines(&["reached", "started", "answered", "ended"]),
        [
            "100ms server reached first",
            "100ms server started waited 0s",
            "100ms server reached first",
            "100ms server started waited 0s",
            "150ms server answered ok",
            "150ms server answered ok",
            "250ms web ended ok after 250ms",
            "250ms web ended ok after 250ms",
        ]
    );
}

#[test]
fn r4_what_is_lost_is_neither_seen_by_the_server_nor_told_to_the_caller() {
    let mut lossy = system(
        &burst(3),
        "{ attempt_timeout: 1s, retry: { max_attempts: 2, backoff: 500ms } }",
        "{ workers: 1, work: 50ms }",
    );
    lossy.edges[0].link.loss = Share::ONE;
    let diary = diary(&lossy);
    assert_eq!(diary.count(&["reached"]), 0);
    assert_eq!(diary.moments_ms(&["timed-out"]), [1000.0, 1000.0, 1000.0, 2500.0, 2500.0, 2500.0]);
    assert_eq!(diary.count(&["ended", "attempts"]), 3);
}

#[test]
fn r5_a_full_queue_answers_overloaded_or_stays_silent() {
    let full = |when| {
        diary(&system(
            &burst(3),
            "{ attempt_timeout: 2s }",
            &format!("{{ workers: 1, work: 1s, queue: {{ limit: 1, when_full: {when} }} }}"),
        ))
    };
    assert_eq!(full("reply").lines(&["refused"]), ["0ms server refused overloaded"]);
    assert_eq!(full("drop").lines(&["refused"]), ["0ms server refused silence"]);
    let ended = |when| full(when).moments_ms(&["ended"]);
    assert_eq!(ended("reply"), [0.0, 1000.0, 2000.0]);
    // Both the second in the queue and the one that was swallowed: the answer at 2 s is in time.
    assert_eq!(ended("drop"), [1000.0, 2000.0, 2000.0]);
    assert_eq!(full("drop").count(&["timed-out"]), 1);
}

/// What answers when full is asked four times, what swallows only as often as there is time.
#[test]
fn r5_a_full_queue_that_answers_sees_four_attempts_and_one_that_swallows_two() {
    #[track_caller]
    fn check(when_full: &str, moments: &[f64]) {
        let policy = "{ timeout: 3s, attempt_timeout: 2s,
                        retry: { max_attempts: 4, backoff: 100ms } }";
        // The first request keeps the only worker for the whole run.
        let diary = diary(&system(
            &bursts(&[(1, 0), (1, 5_000)]),
            policy,
            &format!("{{ workers: 1, work: 60s, queue: {{ limit: 0, when_full: {when_full} }} }}"),
        ));
        let second: Vec<_> = diary
            .moments_ms(&["reached"])
            .into_iter()
            .filter(|at| *at >= 5_000.0)
            .map(|at| at - 5_000.0)
            .collect();
        assert_eq!(second, moments);
    }
    check("reply", &[0.0, 100.0, 200.0, 300.0]);
    check("drop", &[0.0, 2100.0]);
}

/// The third attempt makes three present: the replica crashes at that instant with all of them,
/// refuses for 250 ms sharp, works at half speed for 100 ms and then as before.
#[test]
fn r5_an_overloaded_replica_crashes_refuses_and_comes_back_cold() {
    let diary = diary(&system(
        &bursts(&[(1, 0), (1, 100), (1, 200), (1, 449), (1, 450), (1, 549), (1, 550)]),
        "{}",
        "{ workers: 1, work: 20ms, queue: { limit: 10 },
           overload: { crashes_at: { connections: 3 }, restarts_after: 250ms,
                       cold: { work_factor: 2, lasts: 100ms } } }",
    ));
    // Nothing crashes as long as work is done in time.
    assert_eq!(diary.count(&["crashed"]), 0);
    let diary = crate::lab::diary(&system(
        &bursts(&[(1, 190), (2, 200), (1, 449), (1, 450), (1, 549), (1, 600)]),
        "{}",
        "{ workers: 1, work: 20ms, queue: { limit: 10 },
           overload: { crashes_at: { connections: 3 }, restarts_after: 250ms,
                       cold: { work_factor: 2, lasts: 100ms } } }",
    ));
    assert_eq!(
        diary.lines(&["crashed", "worked", "removed", "refused"]),
        [
            "200ms server crashed",
            "200ms server removed after 0s",
            "200ms server removed after 0s",
            "200ms server worked 10ms",
            "200ms server removed after 10ms",
            "449ms server refused unavailable",
            "490ms server worked 40ms", // Back at 450 ms, cold until 550 ms.
            "589ms server worked 40ms",
            "620ms server worked 20ms",
        ]
    );
    assert_eq!(diary.count(&["ended", "attempts"]), 4);
}

/// Swallowed are both what is inside when it begins to hang and what arrives; then it is empty.
#[test]
fn r5_a_hung_service_never_answers_and_is_empty_afterwards() {
    let hung = system(
        &bursts(&[(2, 0), (1, 1_000), (1, 3_000)]),
        "{ attempt_timeout: 10s }",
        "{ workers: 1, work: 800ms }",
    );
    let diary = diary(&with_trigger(hung, 500, 2_000, Effect::Hang(0)));
    assert_eq!(
        diary.lines(&["worked", "removed", "refused", "timed-out", "ok"]),
        [
            "500ms server removed after 500ms",
            "500ms server worked 500ms",
            "500ms server removed after 500ms",
            "1000ms server refused silence",
            "3800ms server worked 800ms",
            "3800ms server answered ok",
            "3800ms web ended ok after 800ms",
            "10000ms web>server timed-out",
            "10000ms web>server timed-out",
            "11000ms web>server timed-out",
        ]
    );
}

#[test]
fn r5_a_service_that_refuses_finishes_what_is_inside() {
    let refusing = system(&bursts(&[(1, 0), (1, 600)]), "{}", "{ workers: 1, work: 1s }");
    let diary = diary(&with_trigger(refusing, 500, 200, Effect::Refuse(0)));
    assert_eq!(
        diary.lines(&["refused", "ended"]),
        [
            "600ms server refused unavailable",
            "600ms web ended attempts after 0s",
            "1000ms web ended ok after 1s",
        ]
    );
}

#[test]
fn r6_the_queue_gives_out_the_oldest_or_the_newest() {
    #[track_caller]
    fn check(order: &str, waited: &[&str]) {
        let server = format!("{{ workers: 1, work: 1s, queue: {{ order: {order} }} }}");
        let diary = diary(&system(&bursts(&[(1, 0), (1, 100), (1, 200)]), "{}", &server));
        assert_eq!(diary.lines(&["started"]), waited);
    }
    check(
        "fifo",
        &[
            "0ms server started waited 0s",
            "1000ms server started waited 900ms",
            "2000ms server started waited 1.8s",
        ],
    );
    check(
        "lifo",
        &[
            "0ms server started waited 0s",
            "1000ms server started waited 800ms",
            "2000ms server started waited 1.9s",
        ],
    );
}

#[test]
fn r6_expired_work_is_dropped_when_its_turn_comes() {
    let diary = diary(&system(
        &burst(3),
        "{ attempt_timeout: 1500ms }",
        "{ workers: 1, work: 1s, queue: { drop_expired: true } }",
    ));
    // The second is in service when its caller leaves; the third is thrown away unserved.
    assert_eq!(
        diary.lines(&["worked", "removed"]),
        [
            "1000ms server worked 1s",
            "2000ms server worked 1s wasted",
            "2000ms server removed after 2s",
        ]
    );
}

#[test]
fn r6_patience_ends_when_a_worker_takes_the_attempt_up() {
    let diary = diary(&system(
        &burst(2),
        "{ attempt_timeout: { after: 1s, scope: queue } }",
        "{ workers: 1, work: 3s, cancellation: queue }",
    ));
    assert_eq!(
        diary.lines(&["timed-out", "removed", "ended"]),
        [
            "1000ms web>server timed-out",
            "1000ms web ended attempts after 1s",
            "1000ms server removed after 1s",
            "3000ms web ended ok after 3s",
        ]
    );
}

/// One worker, 100 ms of its own and a call of one second for each of two requests.
#[test]
fn r7_a_held_worker_waits_with_its_request_and_a_free_one_goes_on() {
    let started = |holds: bool| {
        diary(&model(&format!(
            "
run: {{ horizon: 10s, warm_up: 0s, window: 1s }}
clients: {{ web: {{ arrivals: {{ burst: {{ count: 2, at: 0s }} }}, calls: front }} }}
services:
  front: {{ workers: 1, holds_worker: {holds}, work: 100ms, calls: [{{ to: back }}] }}
  back: {{ workers: 2, work: 1s }}
"
        )))
        .moments_ms(&["front", "started"])
    };
    assert_eq!(started(true), [0.0, 1100.0]);
    assert_eq!(started(false), [0.0, 100.0]);
}

#[test]
fn r7_slow_work_and_missing_workers_are_as_the_trigger_says() {
    let calm = || system(&bursts(&[(4, 0), (4, 2_000)]), "{}", "{ workers: 4, work: 100ms }");
    let slow = diary(&with_trigger(calm(), 1_000, 5_000, Effect::Slow { service: 0, factor: 3.0 }));
    assert_eq!(slow.moments_ms(&["ended"])[3..5], [100.0, 2300.0]);
    let share = Share::new(0.5).expect("it is a share");
    let half = Effect::Workers { service: 0, share };
    let few = diary(&with_trigger(calm(), 1_000, 5_000, half));
    assert_eq!(few.moments_ms(&["ended"])[4..], [2100.0, 2100.0, 2200.0, 2200.0]);
    let none = Effect::Workers { service: 0, share: Share::ZERO };
    let paused = diary(&with_trigger(calm(), 1_000, 5_000, none));
    assert_eq!(paused.moments_ms(&["ended"])[4..], [6100.0; 4]);
}
