//! R13: what happens first when everything happens at one instant.

use stormlab::scenario::model::Effect;

use super::burst;
use super::system;
use crate::lab::bursts;
use crate::lab::diary;
use crate::lab::model;
use crate::lab::run;
use crate::lab::with_trigger;

#[test]
fn r13_a_completion_beats_a_timeout_of_the_same_instant() {
    for policy in ["{ attempt_timeout: 1s }", "{ timeout: 1s }"] {
        let diary = diary(&system(&burst(1), policy, "{ workers: 1, work: 1s }"));
        assert_eq!(diary.lines(&["ended", "timed-out"]), ["1000ms web ended ok after 1s"]);
    }
}

/// At 1.0 s a request is done, another times out, the retry of a third falls due and a fourth is
/// born, in this order, although they were scheduled in another one.
#[test]
fn r13_completions_then_timeouts_then_retries_then_arrivals() {
    let diary = diary(&model(
        "
run: { horizon: 10s, warm_up: 0s, window: 1s }
clients:
  born: { arrivals: [{ burst: { count: 1, at: 1s } }], calls: quick }
  again: { arrivals: [{ burst: { count: 1, at: 0s } }], calls: dead, policy: again }
  gone: { arrivals: [{ burst: { count: 1, at: 0s } }], calls: slow, policy: gone }
  done: { arrivals: [{ burst: { count: 1, at: 0s } }], calls: timely }
policies:
  again: { retry: { max_attempts: 2, backoff: 1s } }
  gone: { attempt_timeout: 1s }
services:
  quick: { workers: 1, work: 0s }
  dead: { workers: 1, work: 0s, errors: { class: unavailable, share: 100% } }
  slow: { workers: 1, work: 5s }
  timely: { workers: 1, work: 1s }
",
    ));
    let at_one: Vec<_> = diary
        .lines(&["ended", "timed-out", "born", "reached"])
        .into_iter()
        .filter(|line| line.starts_with("1000ms"))
        .collect();
    assert_eq!(
        at_one,
        [
            "1000ms done ended ok after 1s",
            "1000ms gone>slow timed-out",
            "1000ms gone ended attempts after 1s",
            "1000ms born born", // The retry has been sent by now, and arrives first.
            "1000ms dead reached after-refusal",
            "1000ms again ended attempts after 1s",
            "1000ms quick reached first",
            "1000ms born ended ok after 0s",
        ]
    );
}

/// Control first: what arrives at the moment a service begins to refuse is refused, what arrives
/// at the moment it is lifted is served.
#[test]
fn r13_control_comes_before_everything_else() {
    let calm = system(&bursts(&[(1, 1_000), (1, 2_000)]), "{}", "{ workers: 1, work: 10ms }");
    let diary = diary(&with_trigger(calm, 1_000, 1_000, Effect::Refuse(0)));
    assert_eq!(
        diary.lines(&["refused", "ok"]),
        [
            "1000ms server refused unavailable",
            "2010ms server answered ok",
            "2010ms web ended ok after 10ms",
        ]
    );
}

/// Two services are restarted at the instant in which work of theirs would have ended: nothing of
/// what follows from the first comes between the two.
#[test]
fn r13_all_control_of_an_instant_comes_before_what_follows_from_it() {
    let two = model(
        "
run: { horizon: 10s, warm_up: 0s, window: 1s }
clients:
  a: { arrivals: [{ burst: { count: 1, at: 0s } }], calls: one, policy: again }
  b: { arrivals: [{ burst: { count: 1, at: 0s } }], calls: two, policy: again }
policies: { again: { retry: { max_attempts: 2 } } }
services:
  one: { workers: 1, work: 1s }
  two: { workers: 1, work: 1s }
",
    );
    let two = with_trigger(two, 1_000, 500, Effect::Restart(0));
    let diary = diary(&with_trigger(two, 1_000, 500, Effect::Restart(1)));
    let told = ["worked", "removed", "reached", "refused", "ended"];
    assert_eq!(
        diary.lines(&told)[2..],
        [
            "1000ms one worked 1s",
            "1000ms one removed after 1s",
            "1000ms two worked 1s",
            "1000ms two removed after 1s",
            "1000ms one reached after-refusal",
            "1000ms one refused unavailable",
            "1000ms a ended attempts after 1s",
            "1000ms two reached after-refusal",
            "1000ms two refused unavailable",
            "1000ms b ended attempts after 1s",
        ]
    );
}

/// Requests born together are served in the order of their birth, whatever the store they wait in.
#[test]
fn r13_within_a_class_things_happen_as_scheduled() {
    let diary = diary(&system(&burst(50), "{}", "{ workers: 1, work: 10ms }"));
    let expected: Vec<_> = (1..=50).map(|nth| 10.0 * f64::from(nth)).collect();
    assert_eq!(diary.moments_ms(&["ended"]), expected);
}

/// A million requests at one instant, all turned away but one, and all trying again together.
#[test]
fn r13_a_million_requests_at_one_instant_are_the_normal_case() {
    let record = run(&system(
        &burst(1_000_000),
        "{ retry: { max_attempts: 2, backoff: 5s } }",
        "{ workers: 1, work: 1s, queue: { limit: 0 } }",
    ));
    let verdicts = record.verdicts[0];
    assert_eq!((verdicts.born, verdicts.ok, verdicts.failed[0]), (1_000_000, 2, 999_998));
    let offered: u32 = record.series.services.iter().map(|window| window.offered()).sum();
    assert_eq!(offered, 1_999_999);
    assert_eq!(record.series.services[0].first, 1_000_000);
    assert_eq!(record.series.services[5].retry_after_refusal, 999_999);
}
