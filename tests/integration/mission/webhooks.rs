//! The webhook chapter: single events, told moment by moment, from the scenarios that are shipped,
//! and what the language warns of.
//!
//! The ids in brackets are those of the rules and figures that the chapter states. What takes many
//! events is asserted by the scenarios themselves, under `expect`.

use std::path::Path;
use std::path::PathBuf;

use stormlab::scenario;
use stormlab::scenario::model::Model;

use crate::lab;
use crate::lab::Diary;

fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("scenarios/mission/{file}.yaml"))
}

/// A variant of a scenario.
#[track_caller]
fn variant(file: &str, name: &str) -> Model {
    let scenario = scenario::load(&path(file)).unwrap_or_else(|error| panic!("{error}"));
    let found = scenario.variants.into_iter().find(|it| it.name == name);
    found.unwrap_or_else(|| panic!("no variant {name}")).model
}

/// One event for one receiver, under the queue of the base of `webhooks`, and what happens to it.
#[track_caller]
fn one(receiver: &str) -> Diary {
    let mut model = lab::model(&format!(
        "
run: {{ horizon: 12h, warm_up: 0s, window: 1min }}
clients:
  event: {{ arrivals: {{ burst: {{ count: 1, at: 0s }} }}, calls: receiver, policy: post, queue: it }}
queues: {{ it: {{ workers: 10, claim: {{ every: 1s }}, lease: 1min }} }}
services: {{ receiver: {receiver} }}
policies: {{ post: {{ attempt_timeout: 15s }} }}
"
    ));
    let shipped = variant("webhooks", "base").queues.swap_remove(0);
    (model.queues[0].retry, model.queues[0].destinations) = (shipped.retry, shipped.destinations);
    lab::diary(&model)
}

/// A receiver that ends every attempt with a class.
fn failing(class: &str) -> String {
    format!("{{ workers: 10, work: 10ms, errors: {{ class: {class}, share: 100% }} }}")
}

/// How its one job ended: the line without its moment.
#[track_caller]
fn end(diary: &Diary) -> &str {
    let lines = diary.lines(&["over"]);
    assert_eq!(lines.len(), 1, "{lines:?}");
    lines[0].split_once(" over ").expect("a line of an end").1
}

/// [W1, W2, W3, W4] What is tried again is tried sixteen times; what is permanent once.
#[test]
fn w1_w2_w4_the_class_decides_between_sixteen_attempts_and_one() {
    #[track_caller]
    fn check(class: &str, expected: &str) {
        assert_eq!(end(&one(&failing(class))), expected, "{class}");
    }
    // 5xx, 429, 408 and network errors; 404; 203, 409 and whatever else is not on the list.
    for class in ["unavailable", "overloaded", "rate_limited", "bad_gateway", "gateway_timeout"] {
        check(class, "attempts executions 16");
    }
    for class in ["timeout", "connection_lost", "internal", "not_found", "protocol"] {
        check(class, "attempts executions 16");
    }
    // 400 and 422; 401 and 403; 410.
    for class in ["rejected", "denied", "gone"] {
        check(class, "permanent executions 1");
    }
}

/// [W17, W39] A receiver that refuses in 10 ms, tried for 1,000 s without back-off or a limit of
/// attempts, gets 100,000 of them; with the schedule it gets six.
#[test]
fn w17_w39_limits_and_back_off_keep_a_loop_cool() {
    let hot = "
run: { horizon: 1h, warm_up: 0s, window: 1min }
clients: { event: { arrivals: { burst: { count: 1, at: 0s } }, calls: receiver, policy: hot } }
services: { receiver: { workers: 10, work: 10ms, errors: { class: unavailable, share: 100% } } }
policies: { hot: { retry: { max_attempts: unlimited, backoff: none, max_elapsed: 1000s } } }
";
    let reached = lab::diary(&lab::model(hot)).moments_ms(&["receiver", "reached"]).len();
    assert!((99_999..=100_001).contains(&reached), "{reached}");
    let calm = one(&failing("unavailable"));
    let within = |from: f64| {
        let moments = calm.moments_ms(&["receiver", "reached"]);
        moments.iter().filter(|at| (from..from + 1e6).contains(*at)).count()
    };
    assert!((5..=6).contains(&within(0.0)), "{}", within(0.0));
    // And in any thousand seconds no more than that.
    assert!(calm.moments_ms(&["reached"]).into_iter().all(|at| within(at) <= 6));
}

/// [W20, W21] The longer of the receiver's word and the own wait: 429 and 503 carry one; neither a
/// refused connection nor a 500 does.
#[test]
fn w20_w21_the_longer_wait_counts() {
    #[track_caller]
    fn own_or_asked(class: &str, says: &str) -> f64 {
        let receiver = format!(
            "{{ workers: 10, work: 0s, errors: {{ class: {class}, share: 100% }},
                retry_after: {{ rate_limited: {says}, overloaded: {says} }} }}"
        );
        let reached = one(&receiver).moments_ms(&["receiver", "reached"]);
        (reached[1] - reached[0]) / 1e3
    }
    for class in ["rate_limited", "overloaded"] {
        assert_eq!(own_or_asked(class, "5h"), 18_000.0, "longer than the cap of an hour");
        let own = own_or_asked(class, "1s");
        assert!((30.0..=61.0).contains(&own), "{own}");
    }
    for class in ["unavailable", "internal"] {
        let own = own_or_asked(class, "5h");
        assert!((30.0..=61.0).contains(&own), "{class}: {own}");
    }
}

/// [W21, W18] A hint that leads beyond the age of 72 h: given up at once, and marked by its age.
#[test]
fn w18_w21_a_hint_beyond_the_age_ends_the_event() {
    let receiver = "{ workers: 1, work: 0s, errors: { class: rate_limited, share: 100% },
                      retry_after: { rate_limited: 80h } }";
    let diary = one(receiver);
    assert_eq!(end(&diary), "age executions 1");
    assert_eq!(diary.moments_ms(&["over"]), diary.moments_ms(&["receiver", "reached"]));
}

/// [W28] Every event is in exactly one state at the end of each run.
#[test]
fn w28_every_event_is_in_one_state() {
    for (file, name) in [
        ("webhooks-dying", "base"),
        ("webhooks-dying", "resumed-late"),
        ("webhooks-workers", "crash"),
    ] {
        let run = lab::run(&variant(file, name));
        let counts = &run.jobs[0].counts;
        let dead = counts.dead.iter().sum::<u64>();
        let parts = [counts.done, dead, counts.at_rest, counts.parked, counts.claimed];
        assert_eq!(parts.iter().sum::<u64>(), counts.stored, "{file} {name}: {parts:?}");
    }
}

/// [W33] "Above 100" is the 101st; what each costs is asserted by the scenario.
#[test]
fn w33_the_comparison_written_out() {
    let suspend = variant("webhooks", "base").queues[0].destinations.suspend;
    assert_eq!(suspend.map(|it| it.at), Some(101));
    let text = variant("webhooks-dying", "text").queues[0].destinations.suspend;
    assert_eq!(text.map(|it| it.at), Some(100));
}

/// What the language says of a scenario before it is run.
#[track_caller]
fn doubts(file: &str) -> String {
    let bytes = std::fs::read(path(file)).expect("it is shipped");
    let (_, doubts) = scenario::parse_with_doubts(file, &bytes).unwrap_or_else(|all| {
        panic!("{}", all.iter().map(ToString::to_string).collect::<String>())
    });
    doubts.iter().map(ToString::to_string).collect()
}

/// [W16, W23, W30, W32, W36] The shipped scenarios hold what the chapter warns of, and the language
/// warns of it too.
#[test]
fn w16_w23_w30_w32_w36_the_language_warns() {
    #[track_caller]
    fn check(file: &str, words: &str) {
        let found = doubts(file);
        assert!(found.contains(words), "{file}: {words}\n{found}");
    }
    check("webhooks", "gives a job up after 16 attempts, which is 603min at most");
    check("webhooks-herd", "tells all alike to come again after 1min");
    check("webhooks-pool", "no destination of `deliveries` has a limit of its rate");
    check("webhooks-workers", "has no `lease`: the jobs of a worker that dies are held for ever");
    check("webhooks-signature", "is executed again, and its key for `receivers` is then a new one");
}
