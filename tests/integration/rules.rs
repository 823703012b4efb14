//! One test or more for each rule of the model, named after it: tiny systems with constant times,
//! and moments and counts worked out by hand.

mod answers;
mod bodies;
mod deferred;
mod effects;
mod ejection;
mod field;
mod jobs;
mod limits;
mod nesting;
mod operator;
mod servers;
mod settling;
mod ties;

use stormlab::scenario::model::Model;

use crate::lab::bursts;
use crate::lab::diary;
use crate::lab::model;
use crate::lab::run;

/// Clients of one server under a policy; the braces of each part are the caller's.
fn system(arrivals: &str, policy: &str, server: &str) -> Model {
    model(&format!(
        "
run: {{ horizon: 30s, warm_up: 0s, window: 1s }}
clients: {{ web: {{ arrivals: {arrivals}, calls: server, policy: p }} }}
policies: {{ p: {policy} }}
services: {{ server: {server} }}
"
    ))
}

/// A burst at the start.
fn burst(count: u32) -> String {
    format!("{{ burst: {{ count: {count}, at: 0s }} }}")
}

/// Evenly ten per second from 0.1 s on: 299 in 30 s. What is shed from 2.0 s to 4.9 s is born and
/// asks nobody.
#[test]
fn r1_what_the_operator_sheds_is_born_and_not_offered() {
    let model = model(
        "
run: { horizon: 30s, warm_up: 0s, window: 1s }
clients: { web: { arrivals: { constant: 10/s }, calls: server } }
services: { server: { workers: 10, work: 10ms } }
operator: [{ at: 2s, shed: { clients: web, share: 100%, lasts: 3s } }]
",
    );
    let diary = diary(&model);
    assert_eq!(diary.count(&["born"]), 299);
    assert_eq!(diary.count(&["born", "shed"]), 30);
    assert_eq!(diary.count(&["calls"]), 269);
    assert_eq!(diary.count(&["reached"]), 269);
    let shed = diary.moments_ms(&["shed"]);
    assert_eq!((shed[0], shed[29]), (2000.0, 4900.0));
    let record = run(&model);
    let verdicts = record.verdicts[0];
    assert_eq!((verdicts.born, verdicts.ok, verdicts.failed[6]), (299, 269, 30));
}

/// Two attempts at each of three hops: the last one sees 2 · 2 · 2, and nobody told it so.
#[test]
fn r2_attempts_multiply_from_call_to_call() {
    let diary = diary(&model(
        "
run: { horizon: 30s, warm_up: 0s, window: 1s }
clients: { web: { arrivals: { burst: { count: 1, at: 0s } }, calls: near, policy: twice } }
policies: { twice: { retry: { max_attempts: 2, backoff: 100ms } } }
services:
  near: { workers: 1, work: 0s, calls: [{ to: middle, policy: twice }] }
  middle: { workers: 1, work: 0s, calls: [{ to: far, policy: twice }] }
  far: { workers: 1, work: 0s, errors: { class: unavailable, share: 100% } }
",
    ));
    let reached = |service| diary.count(&[service, "reached"]);
    assert_eq!([reached("near"), reached("middle"), reached("far")], [2, 4, 8]);
    // Each layer waits for the layers below: 100 ms at the far one, then at the middle …
    let expected: Vec<_> = (0..8).map(|nth| 100.0 * f64::from(nth)).collect();
    assert_eq!(diary.moments_ms(&["far", "reached"]), expected);
    assert_eq!(diary.lines(&["ended"]), ["700ms web ended attempts after 700ms"]);
}

/// One may be under way; the two turned away never reach the server, and are not attempts.
#[test]
fn r3_a_rejection_is_an_outcome_but_not_an_attempt() {
    let model = system(
        &burst(3),
        "{ bulkhead: { limit: 1 }, retry: { max_attempts: 3 } }",
        "{ workers: 5, work: 1s }",
    );
    let diary = diary(&model);
    assert_eq!(diary.count(&["reached"]), 1);
    assert_eq!(diary.count(&["rejected", "bulkhead_full"]), 2);
    assert_eq!(
        diary.lines(&["ended"]),
        [
            "0ms web ended bulkhead after 0s",
            "0ms web ended bulkhead after 0s",
            "1000ms web ended ok after 1s",
        ]
    );
    let edges = &run(&model).series.edges;
    assert_eq!(edges.iter().map(|window| window.rejected_by_bulkhead).sum::<u32>(), 2);
}

/// A bulkhead holds calls in its queue, and lets them in first come, first served.
#[test]
fn r3_a_bulkhead_holds_calls_until_there_is_a_place() {
    let diary = diary(&system(
        &bursts(&[(1, 0), (1, 100), (1, 200), (1, 300)]),
        "{ bulkhead: { limit: 1, queue: 2 } }",
        "{ workers: 5, work: 1s }",
    ));
    assert_eq!(diary.moments_ms(&["reached"]), [0.0, 1000.0, 2000.0]);
    assert_eq!(
        diary.lines(&["ended"]),
        [
            "300ms web ended bulkhead after 0s",
            "1000ms web ended ok after 1s",
            "2000ms web ended ok after 1.9s",
            "3000ms web ended ok after 2.8s",
        ]
    );
}

/// Who waits in the line no longer than its whole call may take leaves it, and the next moves up.
#[test]
fn r3_who_gives_up_in_the_line_is_passed_over() {
    let diary = diary(&system(
        &bursts(&[(1, 0), (1, 100), (1, 900)]),
        "{ timeout: 1s, bulkhead: { limit: 1, queue: 2 }, order: [timeout, bulkhead] }",
        "{ workers: 5, work: 5s }",
    ));
    // The place is given back at 1.0 s by a caller that leaves, taken by the second, which leaves
    // at 1.1 s, and then by the third.
    assert_eq!(diary.moments_ms(&["reached"]), [0.0, 1000.0, 1100.0]);
    assert_eq!(diary.count(&["ended", "time"]), 3);
    let crowd = system(
        &bursts(&[(1, 0), (100, 100), (1, 900)]),
        "{ timeout: 900ms, bulkhead: { limit: 1, queue: 200 }, order: [timeout, bulkhead] }",
        "{ workers: 5, work: 950ms }",
    );
    let diary = crate::lab::diary(&crowd);
    // A hundred take the place one after another in the instant in which their time runs out.
    assert_eq!(diary.moments_ms(&["reached"])[..2], [0.0, 900.0]);
    assert_eq!(diary.moments_ms(&["reached"]).last(), Some(&1000.0));
    assert_eq!(diary.count(&["ended", "time"]), 102);
}
