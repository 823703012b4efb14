//! R9, deferred: a submit is taken, its result written under a key, told of, looked for and read.
//!
//! The ids in brackets are those of the rules and figures that the source systems state. Jobs take
//! 5 s unless said otherwise; the caller's timer is 60 s.

use stormlab::scenario::model::Effect;
use stormlab::scenario::model::Model;

use crate::lab::Diary;
use crate::lab::diary;
use crate::lab::model;
use crate::lab::run;
use crate::lab::with_trigger;

/// Told 100 ms after the result is there.
const TOLD: &str = "notification: { latency: 100ms }";
/// Never told; the caller looks every 4 s.
const LOOKS: &str = "poll: 4s";
const BAD: &str = "errors: { class: rejected, share: 100% }";
const TIMER: &str = "{ attempt_timeout: 60s }";
const TWICE: &str =
    "{ attempt_timeout: 60s, retry: { max_attempts: 2, backoff: 1s, on: rejected } }";

/// One job under a policy, for a consumer, at a service.
fn job(reply: &str, policy: &str, service: &str) -> Model {
    model(&format!(
        "
run: {{ horizon: 300s, warm_up: 0s, window: 1s }}
clients:
  consumer:
    arrivals: {{ burst: {{ count: 1, at: 0s }} }}
    calls: compute
    policy: p
    reply: {{ deferred: {{ {reply} }} }}
policies: {{ p: {policy} }}
services: {{ compute: {{ workers: 9, replicas: 2, work: 5s, {service} }} }}
"
    ))
}

fn submitted(reply: &str, policy: &str, service: &str) -> Diary {
    diary(&job(reply, policy, service))
}

fn ended(diary: &Diary) -> String {
    diary.lines(&["ended"]).join("\n")
}

fn waits(diary: &Diary) -> String {
    diary.lines(&["wait-ends"]).join("\n")
}

/// [D3] The worker is free when the result is written; the caller hears of it when it is told.
#[test]
fn r9_a_result_is_written_told_of_and_read() {
    let diary = submitted(TOLD, TIMER, "");
    assert_eq!(diary.moments_ms(&["written"]), [5000.0]);
    assert_eq!(waits(&diary), "5100ms compute wait-ends done idle 100ms");
    assert_eq!(ended(&diary), "5100ms consumer ended ok after 5.1s");
}

/// [D4] Looks are counted from when the submit was taken: at 4 s there is nothing, at 8 s there is.
#[test]
fn r9_a_lost_word_is_made_up_for_by_the_next_look() {
    for told in ["notification: { loss: 100% }, ", ""] {
        let diary = submitted(&format!("{told}{LOOKS}"), TIMER, "");
        assert_eq!(ended(&diary), "8000ms consumer ended ok after 8s", "{told}");
    }
    let on_time = submitted("poll: 5s", TIMER, "");
    assert_eq!(ended(&on_time), "5000ms consumer ended ok after 5s");
    let told_first = submitted(&format!("{TOLD}, {LOOKS}"), TIMER, "");
    assert_eq!(ended(&told_first), "5100ms consumer ended ok after 5.1s");
}

/// [D4] `lose_replies` loses the word, not the result.
#[test]
fn r9_lose_replies_loses_the_word_and_not_the_result() {
    let lost = Effect::LoseReplies { service: 0, share: stormlab::units::Share::percent(100) };
    let model = with_trigger(job(&format!("{TOLD}, {LOOKS}"), TIMER, ""), 0, 60_000, lost);
    assert_eq!(ended(&diary(&model)), "8000ms consumer ended ok after 8s");
}

/// [D5, D8] The naive consumer takes a failure for no result. Read away, it is nowhere any more:
/// it waits until its timer, and the last read of all finds nothing.
#[test]
fn r9_a_naive_consumer_reads_a_failure_away_and_waits_for_its_timer() {
    let reply = format!("{TOLD}, {LOOKS}, read: destructive, consumer: naive");
    let diary = submitted(&reply, TIMER, BAD);
    assert_eq!(diary.moments_ms(&["misread"]), [5100.0]);
    assert_eq!(diary.moments_ms(&["destroyed"]), [5100.0]);
    assert_eq!(waits(&diary), "60000ms compute wait-ends overwritten idle 55s");
    assert_eq!(ended(&diary), "60000ms consumer ended attempts after 1min");
}

/// [D9] With a plain read the value stays, is seen at every look (8 s to 60 s every 4 s, and once
/// more when the timer runs out), and nothing is lost.
#[test]
fn r9_a_plain_read_is_as_slow_and_noisy_and_loses_nothing() {
    let reply = format!("{TOLD}, {LOOKS}, read: plain, consumer: naive");
    let diary = submitted(&reply, TIMER, BAD);
    assert_eq!(diary.count(&["misread"]), 1 + 14 + 1);
    assert_eq!(diary.count(&["destroyed"]), 0);
    assert_eq!(ended(&diary), "60000ms consumer ended attempts after 1min");
}

/// [D8] The typed consumer stops at once, whichever way it reads.
#[test]
fn r9_a_typed_consumer_hears_a_failure_at_once() {
    for read in ["plain", "destructive"] {
        let diary = submitted(&format!("{TOLD}, read: {read}"), TIMER, BAD);
        assert_eq!(waits(&diary), "5100ms compute wait-ends failed idle 100ms", "{read}");
        assert_eq!(ended(&diary), "5100ms consumer ended attempts after 5.1s", "{read}");
    }
}

/// [D16] A wrapper that loses the class makes the typed consumer a naive one.
#[test]
fn r9_a_class_lost_in_a_wrapper_makes_every_test_say_no() {
    for read in ["plain", "destructive"] {
        let of = |consumer| {
            let reply = format!("{TOLD}, {LOOKS}, read: {read}, consumer: {consumer}");
            submitted(&reply, TIMER, BAD).report.expect("it ran").fingerprint
        };
        assert_eq!(of("wrapped"), of("naive"));
        assert_ne!(of("wrapped"), of("typed"));
    }
}

/// [D10] A read that fails between caller and store: the next look finds the value.
#[test]
fn r9_a_store_that_is_not_reached_keeps_the_value() {
    let reply = "poll: 4s, read: destructive, read_errors: { share: 100% }";
    let diary = submitted(reply, TIMER, "");
    assert_eq!(diary.count(&["destroyed"]), 0);
    assert_eq!(waits(&diary), "60000ms compute wait-ends overwritten idle 55s");
}

/// [D11] The store carries the destructive read out, and its answer is lost: the typed consumer
/// hangs until its timer, too.
#[test]
fn r9_an_answer_lost_after_a_destructive_read_hangs_the_typed_consumer() {
    let reply =
        format!("{TOLD}, {LOOKS}, read: destructive, read_errors: {{ share: 100%, value: taken }}");
    let diary = submitted(&reply, TIMER, "");
    assert_eq!(diary.moments_ms(&["destroyed"]), [5100.0]);
    assert_eq!(diary.count(&["misread"]), 0);
    assert_eq!(waits(&diary), "60000ms compute wait-ends overwritten idle 55s");
    assert_eq!(ended(&diary), "60000ms consumer ended attempts after 1min");
}

/// [D5] The last read when the timer runs out finds what nobody told of.
#[test]
fn r9_a_last_read_rescues_what_nobody_told_of() {
    let unheard = "notification: { loss: 100% }";
    for policy in [TIMER, "{ timeout: 60s }"] {
        let good = submitted(unheard, policy, "");
        assert_eq!(waits(&good), "60000ms compute wait-ends done idle 55s", "{policy}");
        assert_eq!(ended(&good), "60000ms consumer ended ok after 1min", "{policy}");
        assert_eq!(good.count(&["timed-out"]), 0);
    }
    let bad = submitted(unheard, TWICE, BAD);
    assert_eq!(bad.moments_ms(&["wait-ends"]), [60_000.0, 121_000.0]);
    assert_eq!(bad.count(&["timed-out"]), 0, "the failure is the producer's own");
}

/// [D5] The same where the timer stands around another policy.
#[test]
fn r9_a_timer_around_another_policy_reads_once_more() {
    let model = model(
        "
run: { horizon: 300s, warm_up: 0s, window: 1s }
clients:
  consumer:
    arrivals: { burst: { count: 1, at: 0s } }
    calls: compute
    policy: outer
    reply: { deferred: { notification: { loss: 100% } } }
policies:
  outer: { attempt_timeout: 60s, inner: inner }
  inner: { retry: { max_attempts: 2 } }
services: { compute: { workers: 1, work: 5s } }
",
    );
    assert_eq!(ended(&diary(&model)), "60000ms consumer ended ok after 1min");
}

/// [D18, D23] One retry, two attempts: the second job begins 1 s after the first failure.
#[test]
fn r9_a_failure_read_is_retried_as_any_other() {
    let diary = submitted(TOLD, TWICE, BAD);
    assert_eq!(diary.moments_ms(&["reached"]), [0.0, 6100.0]);
    assert_eq!(ended(&diary), "11200ms consumer ended attempts after 11.2s");
}

/// [D17, D39] A reply that says nothing of the failure is `internal`, whatever it was: with it
/// goes the difference between what is worth another try and what is not.
#[test]
fn r9_a_reply_tells_of_the_class_or_only_of_a_failure() {
    let policy = "{ retry: { max_attempts: 2, backoff: 1s, on: internal } }";
    for (retryable, attempts) in [("told", 1), ("unknown", 2)] {
        let reply = format!("{TOLD}, retryable: {retryable}");
        assert_eq!(submitted(&reply, policy, BAD).count(&["reached"]), attempts, "{retryable}");
    }
}

/// [D13] Whatever is wrong with a reply, the typed consumer hears `protocol`.
#[test]
fn r9_a_malformed_reply_is_a_protocol_error() {
    let policy = "{ retry: { max_attempts: 2, backoff: 1s, on: protocol } }";
    for fault in ["unreadable", "missing_status", "non_string_status", "unknown_status", "empty"] {
        let reply = format!("{TOLD}, malformed: {{ {fault}: 100% }}");
        let diary = submitted(&reply, policy, "");
        assert_eq!(diary.count(&["written", "malformed"]), 2, "{fault}");
        assert_eq!(diary.count(&["wait-ends", "failed"]), 2, "{fault}");
    }
}

/// [D14] Behind a reject list all but the unreadable one is a success that it is not, of a job that
/// failed as of one that did not.
#[test]
fn r9_a_reject_list_makes_false_successes() {
    for fault in ["missing_status", "non_string_status", "unknown_status", "empty"] {
        for consumer in ["reject_list", "naive_reject_list"] {
            for service in ["", BAD] {
                let reply = format!("{TOLD}, consumer: {consumer}, malformed: {{ {fault}: 100% }}");
                let diary = submitted(&reply, TIMER, service);
                assert_eq!(waits(&diary), "5100ms compute wait-ends false-success idle 100ms");
                assert_eq!(ended(&diary), "5100ms consumer ended ok after 5.1s", "{fault}");
            }
        }
    }
    for (consumer, expected) in [
        ("reject_list", "5100ms compute wait-ends failed idle 100ms"),
        ("naive_reject_list", "60000ms compute wait-ends overwritten idle 55s"),
    ] {
        let reply = format!("{TOLD}, consumer: {consumer}, malformed: {{ unreadable: 100% }}");
        assert_eq!(waits(&submitted(&reply, TIMER, "")), expected, "{consumer}");
    }
}

/// [D3] A submit that is refused is heard at once; no result was ever to come.
#[test]
fn r9_a_refused_submit_is_heard_at_once() {
    let model = with_trigger(job(TOLD, TIMER, ""), 0, 60_000, Effect::Refuse(0));
    let diary = diary(&model);
    assert_eq!(ended(&diary), "0ms consumer ended attempts after 0s");
    assert_eq!(diary.count(&["written"]) + diary.count(&["wait-ends"]), 0);
}

/// [D41] A job that ends with its replica has no result; the consumer's timer says `timeout`,
/// which is not why.
#[test]
fn r9_a_job_lost_with_its_replica_is_waited_for_in_vain() {
    for effect in [Effect::Restart(0), Effect::Hang(0)] {
        let diary = diary(&with_trigger(job(TOLD, TIMER, ""), 1_000, 1_000, effect));
        assert_eq!(waits(&diary), "60000ms compute wait-ends vanished idle 0s");
        assert_eq!(ended(&diary), "60000ms consumer ended attempts after 1min");
    }
}

/// [D41] A job that is still under way when the timer runs out is a true timeout; its result is
/// written later, and nobody reads it.
#[test]
fn r9_a_result_that_comes_too_late_is_unread() {
    let diary = submitted(TOLD, "{ attempt_timeout: 2s }", "");
    assert_eq!(
        diary.lines(&["wait-ends"]),
        ["2000ms compute wait-ends ran-out idle 0s", "5000ms compute wait-ends unread idle 0s"]
    );
}

/// Work turned away from the queue is a failure with a result: the submit had been taken.
#[test]
fn r9_work_turned_away_from_the_queue_is_a_failed_job() {
    let model = model(
        "
run: { horizon: 300s, warm_up: 0s, window: 1s }
clients:
  consumer:
    arrivals: { burst: { count: 2, at: 0s } }
    calls: compute
    policy: p
    reply: { deferred: { notification: { latency: 100ms } } }
policies: { p: { attempt_timeout: 60s } }
services: { compute: { workers: 1, work: 5s, queue: { codel: {} } } }
",
    );
    let diary = diary(&model);
    let expected =
        ["5100ms compute wait-ends failed idle 100ms", "5100ms compute wait-ends done idle 100ms"];
    let mut found = diary.lines(&["wait-ends"]);
    found.sort_unstable();
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

/// A caller that is told to stop leaves its result behind, and nothing else.
#[test]
fn r9_a_caller_that_leaves_leaves_its_result_unread() {
    let model = model(
        "
run: { horizon: 300s, warm_up: 0s, window: 1s }
clients: { web: { arrivals: { burst: { count: 1, at: 0s } }, calls: worker, policy: hasty } }
policies: { hasty: { attempt_timeout: 10s }, patient: { attempt_timeout: 60s } }
services:
  worker:
    workers: 1
    work: 0s
    cancellation: full
    calls:
      - to: compute
        policy: patient
        reply: { deferred: { notification: { latency: 100ms }, read: destructive, consumer: naive } }
  compute: { workers: 1, work: 5s, errors: { class: rejected, share: 100% } }
",
    );
    let diary = diary(&model);
    assert_eq!(waits(&diary), "10000ms compute wait-ends unread idle 5s");
    assert_eq!(diary.count(&["worker", "removed"]), 1);
}

/// What is counted is what happened, in this order: ends of waits by why.
#[test]
fn r9_a_record_counts_what_became_of_results() {
    let reply = format!("{TOLD}, read: destructive, consumer: naive");
    let record = run(&job(&reply, TIMER, BAD));
    let counts = record.deferred[0];
    assert_eq!((counts.written, counts.misread, counts.destroyed), (1, 1, 1));
    assert_eq!((counts.by_timer(), counts.mislabelled_share()), (1, Some(1.0)));
    assert_eq!(counts.longest_idle_s(), Some(55.0));
}
