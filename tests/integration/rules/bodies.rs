//! R8: a key that comes again with another body is refused, whatever became of the first.

use stormlab::scenario::model::Effect;
use stormlab::scenario::model::Model;
use stormlab::units::Share;

use crate::lab::diary;
use crate::lab::model;
use crate::lab::run;
use crate::lab::with_trigger;

/// One request that writes to a bank whose answers are lost up to 500 ms, and whose repetitions
/// have another body.
fn charged(key: &str, work: &str, on: &str) -> Model {
    let model = model(&format!(
        "
run: {{ horizon: 30s, warm_up: 0s, window: 1s }}
clients:
  shop:
    arrivals: {{ burst: {{ count: 1, at: 0s }} }}
    calls: bank
    policy: p
    operation: {{ write: {{ key: {key} }} }}
policies: {{ p: {{ attempt_timeout: 1s, retry: {{ max_attempts: 4, backoff: none, on: [{on}] }} }} }}
services: {{ bank: {{ workers: 9, work: {work}, idempotency: {{}} }} }}
"
    ));
    let share = Share::new(1.0).expect("a share");
    let model = with_trigger(model, 0, 500, Effect::LoseReplies { service: 0, share });
    with_trigger(model, 0, 9_000, Effect::OtherBodies { service: 0, share })
}

/// [N25] The repetition is refused once the first is answered (100 ms) and while it is in progress
/// (1500 ms), and its refusal is not tried again.
#[test]
fn r8_another_body_under_a_known_key_is_refused() {
    for work in ["100ms", "1500ms"] {
        let diary = diary(&charged("request", work, "transient"));
        assert_eq!(diary.moments_ms(&["reached"]), [0.0, 1000.0], "{work}");
        assert_eq!(diary.moments_ms(&["mismatch"]), [1000.0], "{work}");
        assert_eq!([diary.count(&["replayed"]), diary.count(&["conflict"])], [0, 0], "{work}");
        assert_eq!(diary.count(&["effect"]), 1, "{work}");
        assert_eq!(diary.lines(&["ended"]), ["1000ms shop ended not_retried after 1s"], "{work}");
    }
}

/// [N25] Counted apart from conflicts and answers from memory, in every window.
#[test]
fn r8_other_bodies_are_counted_apart() {
    let record = run(&charged("request", "100ms", "transient, rejected"));
    let of = |it: &stormlab::measure::record::ServiceWindow| {
        [it.effects, it.replays, it.conflicts, it.mismatches]
    };
    let counts: Vec<_> = record.series.service(0).take(3).map(of).collect();
    assert_eq!(counts, [[1, 0, 0, 0], [0, 0, 0, 3], [0, 0, 0, 0]]);
}

/// A key that is new in each attempt is never known, and neither is its body.
#[test]
fn r8_a_body_needs_a_known_key() {
    let diary = diary(&charged("attempt", "100ms", "transient"));
    assert_eq!([diary.count(&["mismatch"]), diary.count(&["effect"])], [0, 2]);
}
