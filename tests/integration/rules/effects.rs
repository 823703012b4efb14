//! R8: writes take effect when their work ends, and a key tells a repetition, if it is the same.
//!
//! The ids in brackets are those of the rules and figures that the source systems state.

use stormlab::policy::hedge::HedgeConfig;
use stormlab::policy::hedge::HedgeDelay;
use stormlab::policy::outcome::ClassSet;
use stormlab::policy::stack::Policy;
use stormlab::scenario::model::Effect;
use stormlab::scenario::model::Model;
use stormlab::units::Duration;
use stormlab::units::Share;

use crate::lab::Diary;
use crate::lab::diary;
use crate::lab::model;
use crate::lab::run;
use crate::lab::with_trigger;

const NO_KEY: &str = "write";
const REQUEST: &str = "{ write: { key: request } }";
const CALL: &str = "{ write: { key: call } }";
const ATTEMPT: &str = "{ write: { key: attempt } }";

/// Four attempts, each given up after a second, the next at once.
const FOUR: &str = "{ attempt_timeout: 1s, retry: { max_attempts: 4, backoff: none } }";
/// A bank that knows keys and takes 100 ms.
const BANK: &str = "{ workers: 9, work: 100ms, idempotency: { kept_for: 24h } }";

/// One request that writes to a bank.
fn charge(operation: &str, policy: &str, bank: &str) -> Model {
    model(&format!(
        "
run: {{ horizon: 30s, warm_up: 0s, window: 1s }}
clients:
  shop:
    arrivals: {{ burst: {{ count: 1, at: 0s }} }}
    calls: bank
    policy: p
    operation: {operation}
policies: {{ p: {policy} }}
services: {{ bank: {bank} }}
"
    ))
}

/// The same with the answers of the first `lost_ms` lost.
fn charged(operation: &str, policy: &str, bank: &str, lost_ms: u64) -> Diary {
    let lost = Effect::LoseReplies { service: 0, share: Share::new(1.0).expect("a share") };
    diary(&with_trigger(charge(operation, policy, bank), 0, lost_ms, lost))
}

fn effects(diary: &Diary) -> [usize; 2] {
    [diary.count(&["effect", "first"]), diary.count(&["effect", "duplicate"])]
}

/// [N18, P10] The invoice is made at 100 ms, its answer lost, and made again at 1.1 s.
#[test]
fn r8_an_answer_lost_after_the_effect_makes_a_second_one() {
    let diary = charged(NO_KEY, FOUR, BANK, 500);
    assert_eq!(diary.moments_ms(&["effect"]), [100.0, 1100.0]);
    assert_eq!(effects(&diary), [1, 1]);
    assert_eq!(diary.lines(&["ended"]), ["1100ms shop ended ok after 1.1s"]);
}

/// [P10] All four answers are lost: 4 000 are taken, and the customer hears of a failure.
#[test]
fn r8_each_lost_answer_makes_one_more_effect() {
    let diary = charged(NO_KEY, FOUR, BANK, 9_000);
    assert_eq!(diary.moments_ms(&["effect"]), [100.0, 1100.0, 2100.0, 3100.0]);
    assert_eq!(effects(&diary), [1, 3]);
    assert_eq!(diary.lines(&["ended"]), ["4000ms shop ended attempts after 4s"]);
}

/// [N18, N23, P11] The key tells the repetition, and the first answer is heard at once.
#[test]
fn r8_a_known_key_is_answered_from_memory() {
    for key in [REQUEST, CALL] {
        let diary = charged(key, FOUR, BANK, 500);
        assert_eq!(diary.moments_ms(&["effect"]), [100.0], "{key}");
        assert_eq!(diary.moments_ms(&["replayed"]), [1000.0], "{key}");
        assert_eq!(diary.lines(&["ended"]), ["1000ms shop ended ok after 1s"], "{key}");
    }
    let nothing_known = charged(REQUEST, FOUR, "{ workers: 9, work: 100ms }", 500);
    assert_eq!(effects(&nothing_known), [1, 1], "a key needs a service that knows keys");
}

/// [N21] A key made inside the retry is a new one in each attempt: one effect per attempt.
#[test]
fn r8_a_key_made_in_each_attempt_tells_nothing() {
    assert_eq!(effects(&charged(ATTEMPT, FOUR, BANK, 2_500)), [1, 3]);
    assert_eq!(effects(&charged(REQUEST, FOUR, BANK, 2_500)), [1, 0]);
}

/// [N22] Two equal requests at one instant: one is worked on.
#[test]
fn r8_of_two_at_one_instant_one_takes_effect() {
    let bank = "{ workers: 9, work: 100ms, idempotency: { in_progress: { answer: unavailable } } }";
    let twice = |operation: &str| {
        let mut model = charge(operation, FOUR, bank);
        let (delay, on) = (HedgeDelay::After(Duration::ZERO), ClassSet::TRANSIENT);
        let config = HedgeConfig { delay, max_attempts: 2, on };
        model.policies[0] = Policy::plain("p").with_hedge(config);
        diary(&model)
    };
    let diary = twice(CALL);
    assert_eq!(diary.moments_ms(&["reached"]), [0.0, 0.0]);
    assert_eq!(diary.moments_ms(&["conflict"]), [0.0]);
    assert_eq!(effects(&diary), [1, 0]);
    assert_eq!(diary.lines(&["ended"]), ["100ms shop ended ok after 100ms"]);
    assert_eq!(effects(&twice(NO_KEY)), [1, 1]);
}

/// [N23, ours] A failure forgets its key; where failures are stored, every retry gets the old one.
#[test]
fn r8_a_stored_failure_is_repeated() {
    let policy = "{ retry: { max_attempts: 3, backoff: 1s, on: [internal] } }";
    let bank = |remembers: &str| {
        format!(
            "{{ workers: 9, work: 100ms, idempotency: {{ remembers: {remembers} }}, \
             errors: {{ class: internal, share: 0% }} }}"
        )
    };
    let failing = |remembers: &str| {
        let model = charge(REQUEST, policy, &bank(remembers));
        let mut errors = model.services[0].errors.expect("they are given");
        errors.share = Share::new(1.0).expect("a share");
        diary(&with_trigger(model, 0, 500, Effect::Errors { service: 0, errors }))
    };
    let forgets = failing("success");
    assert_eq!(forgets.moments_ms(&["effect"]), [1200.0]);
    assert_eq!(forgets.lines(&["ended"]), ["1200ms shop ended ok after 1.2s"]);
    let stores = failing("answers");
    assert_eq!(stores.moments_ms(&["replayed"]), [1100.0, 2100.0]);
    assert_eq!(effects(&stores), [0, 0]);
    assert_eq!(stores.lines(&["ended"]), ["2100ms shop ended attempts after 2.1s"]);
}

/// [N24] The client gives up at 1 s, the invoice is made at 1.5 s. With 409 final it hears of a
/// failure although the invoice exists; with 409 retried, or with a hint, it hears of the invoice.
#[test]
fn r8_a_key_in_progress_is_a_conflict() {
    let bank = "{ workers: 9, work: 1500ms, retry_after: { rejected: 700ms }, idempotency: {} }";
    let with = |retry: &str| {
        let policy = format!("{{ attempt_timeout: 1s, retry: {{ max_attempts: 4, {retry} }} }}");
        charged(REQUEST, &policy, bank, 1)
    };
    let last = |diary: &Diary| diary.lines(&["ended"])[0].to_owned();
    let last_word = with("backoff: none");
    assert_eq!(last_word.moments_ms(&["conflict"]), [1000.0]);
    assert_eq!(last(&last_word), "1000ms shop ended not_retried after 1s");
    assert_eq!(last_word.moments_ms(&["effect"]), [1500.0]);

    let retried = with("backoff: 300ms, on: [transient, rejected]");
    assert_eq!(retried.moments_ms(&["conflict"]), [1300.0]);
    assert_eq!(retried.moments_ms(&["replayed"]), [1600.0]);
    assert_eq!(last(&retried), "1600ms shop ended ok after 1.6s");

    let hinted = with("backoff: 100ms, on: [transient, rejected], hint: override");
    assert_eq!(hinted.moments_ms(&["conflict"]), [1100.0]);
    assert_eq!(hinted.moments_ms(&["replayed"]), [1800.0]);
    assert_eq!(last(&hinted), "1800ms shop ended ok after 1.8s");
    assert!([last_word, retried, hinted].iter().all(|diary| effects(diary) == [1, 0]));
}

/// [N26] The answer is stored at 100 ms; a retry that comes when it is forgotten, to the
/// nanosecond, takes effect again.
#[test]
fn r8_a_key_that_is_forgotten_lets_a_late_retry_through() {
    let kept = |kept_for: &str| {
        let bank =
            format!("{{ workers: 9, work: 100ms, idempotency: {{ kept_for: {kept_for} }} }}");
        effects(&charged(REQUEST, FOUR, &bank, 500))
    };
    assert_eq!([kept("900ms"), kept("901ms"), kept("24h")], [[1, 1], [1, 0], [1, 0]]);
}

/// [N27, ours] The server crashes between key and answer: whoever asks again meets the key in
/// progress until its time is over, however long the server is up again.
#[test]
fn r8_a_crash_leaves_the_key_in_progress() {
    let policy = "{ retry: { max_attempts: 4, backoff: 1s, on: [transient, rejected] } }";
    let crashed = |lasts: &str| {
        let bank =
            format!("{{ workers: 9, work: 100ms, idempotency: {{ in_progress: {lasts} }} }}");
        diary(&with_trigger(charge(REQUEST, policy, &bank), 50, 100, Effect::Restart(0)))
    };
    let blocked = crashed("{}");
    assert_eq!(blocked.moments_ms(&["conflict"]), [1050.0, 2050.0, 3050.0]);
    assert_eq!(effects(&blocked), [0, 0]);
    assert_eq!(blocked.lines(&["ended"]), ["3050ms shop ended attempts after 3.05s"]);
    let lapsed = crashed("{ lasts: 2050ms }");
    assert_eq!(lapsed.moments_ms(&["conflict"]), [1050.0]);
    assert_eq!(lapsed.moments_ms(&["effect"]), [2150.0]);
    let longer = crashed("{ lasts: 2051ms }");
    assert_eq!(longer.moments_ms(&["conflict"]), [1050.0, 2050.0]);
}

/// Who comes when the first has lapsed takes the key over; the late end of the first is not its
/// answer, and both have taken effect.
#[test]
fn r8_a_key_that_has_lapsed_is_taken_over() {
    let bank = "{ workers: 9, work: 1500ms, idempotency: { in_progress: { lasts: 1s } } }";
    let policy = "{ attempt_timeout: 1s, retry: { max_attempts: 3, backoff: none, on: [transient, rejected] } }";
    let diary = charged(REQUEST, policy, bank, 1);
    // The second begins at 1 s; the first ends at 1.5 s; the third finds the second lapsed at 2 s.
    assert_eq!(diary.moments_ms(&["effect"]), [1500.0, 2500.0, 3500.0]);
    assert_eq!(diary.count(&["replayed"]), 0);
}

/// [P21, P22] Four tries around the whole handler, four at the bank, every answer of the bank lost:
/// 16 charges attempted and 4 orders. Without a key 16 are charged; with a key made in the handler
/// one for each order; with a key from the command one.
#[test]
fn r8_a_retry_around_the_handler_makes_new_keys() {
    let lived = |operation: &str| {
        let model = model(&format!(
            "
run: {{ horizon: 30s, warm_up: 0s, window: 1s }}
clients:
  shop:
    arrivals: {{ burst: {{ count: 1, at: 0s }} }}
    calls: orders
    policy: around
    operation: write
policies:
  around: {{ retry: {{ max_attempts: 4, backoff: none }} }}
  p: {{ attempt_timeout: 200ms, retry: {{ max_attempts: 4, backoff: none }} }}
services:
  orders: {{ workers: 9, work: 0s, calls: [{{ to: bank, policy: p, operation: {operation} }}] }}
  bank: {BANK}
"
        ));
        let share = Share::new(1.0).expect("a share");
        diary(&with_trigger(model, 0, 29_000, Effect::LoseReplies { service: 1, share }))
    };
    let counts = |diary: &Diary| {
        let of = |service| diary.count(&[service, "effect"]);
        [diary.count(&["bank", "reached"]), of("orders"), of("bank")]
    };
    assert_eq!(counts(&lived(NO_KEY)), [16, 4, 16]);
    assert_eq!(counts(&lived(ATTEMPT)), [16, 4, 16]);
    assert_eq!(counts(&lived(CALL)), [16, 4, 4]);
    assert_eq!(counts(&lived(REQUEST)), [16, 4, 1]);
    assert_eq!(lived(CALL).count(&["bank", "duplicate"]), 3, "orphan charges, all of one request");
}

/// Reads, refusals and failures have no effect, and refusals are not lost with the answers.
#[test]
fn r8_only_a_write_whose_work_ends_well_takes_effect() {
    assert_eq!(effects(&charged("read", FOUR, "{ workers: 9, work: 100ms }", 500)), [0, 0]);
    let failing = "{ workers: 9, work: 100ms, errors: { class: unavailable, share: 100% } }";
    assert_eq!(effects(&charged(NO_KEY, FOUR, failing, 1)), [0, 0]);
    let lost = Effect::LoseReplies { service: 0, share: Share::new(1.0).expect("a share") };
    let model = with_trigger(charge(NO_KEY, FOUR, BANK), 0, 9_000, lost);
    let diary = diary(&with_trigger(model, 0, 9_000, Effect::Refuse(0)));
    assert_eq!(diary.lines(&["ended"]), ["0ms shop ended attempts after 0s"]);
}

/// Two requests are two, whatever their keys.
#[test]
fn r8_requests_do_not_share_keys() {
    let mut model = charge(REQUEST, FOUR, BANK);
    if let stormlab::scenario::model::Arrivals::Open(open) = &mut model.populations[0].arrivals {
        open.bursts[0].count = 5;
    }
    assert_eq!(effects(&diary(&model)), [5, 0]);
}

/// 1499 requests, 30 % of which fail: of requests, each of them fails at all six attempts or at
/// none; of attempts, six failures in a row are rare. (4 standard deviations: 4.7 %.)
#[test]
fn r7_errors_of_requests_strike_all_attempts_or_none() {
    let lived = |of: &str| {
        let model = model(&format!(
            "
run: {{ horizon: 30s, warm_up: 0s, window: 1s }}
clients: {{ web: {{ arrivals: {{ constant: 50/s }}, calls: near, policy: twice }} }}
policies:
  twice: {{ retry: {{ max_attempts: 2, backoff: none }} }}
  thrice: {{ retry: {{ max_attempts: 3, backoff: none }} }}
services:
  near: {{ workers: 9, work: 0s, calls: [{{ to: far, policy: thrice }}] }}
  far: {{ workers: 9, work: 0s, errors: {{ class: unavailable, share: 30%{of} }} }}
"
        ));
        let diary = diary(&model);
        let ended = diary.count(&["ended"]);
        [ended, diary.count(&["ended", "attempts"]), diary.count(&["far", "reached"])]
    };
    let [all, failed, reached] = lived(", of: requests");
    assert_eq!(reached, (all - failed) + 6 * failed);
    let share = failed as f64 / all as f64;
    assert!((share - 0.3).abs() < 0.047, "{share}");
    let [all, failed, _] = lived("");
    assert!(failed * 100 < all, "{failed} of {all}: 0.3⁶ is 0.07 %");
}

/// A trigger's errors of requests strike a request in the same way before and after another
/// one is lifted.
#[test]
fn r7_errors_of_requests_keep_to_their_trigger() {
    use stormlab::policy::outcome::Class;
    use stormlab::scenario::model::Errors;
    use stormlab::scenario::model::ErrorsOf;
    let policy = "{ retry: { max_attempts: 3, backoff: 1s } }";
    let mut model = charge("read", policy, "{ workers: 9, work: 0s }");
    if let stormlab::scenario::model::Arrivals::Open(open) = &mut model.populations[0].arrivals {
        open.bursts[0].count = 1_000;
    }
    let errors = |share: f64, of| Effect::Errors {
        service: 0,
        errors: Errors { class: Class::Unavailable, share: Share::new(share).expect("one"), of },
    };
    // The first is lifted at 1.5 s, and the second is then the only one.
    let model = with_trigger(model, 0, 1_500, errors(0.0, ErrorsOf::Attempts));
    let model = with_trigger(model, 0, 9_000, errors(0.4, ErrorsOf::Requests));
    let diary = diary(&model);
    let at =
        |ms: f64| diary.moments_ms(&["answered", "error"]).iter().filter(|it| **it == ms).count();
    assert!((340..460).contains(&at(0.0)), "{}", at(0.0));
    assert_eq!([at(1000.0), at(2000.0)], [at(0.0); 2]);
}

/// A quarter of the answers: of 299, 75 ± 30 (4 standard deviations).
#[test]
fn r9_a_share_of_the_answers_is_lost() {
    let model = model(
        "
run: { horizon: 30s, warm_up: 0s, window: 1s }
clients: { web: { arrivals: { constant: 10/s }, calls: bank, policy: p, operation: write } }
policies: { p: { attempt_timeout: 1s } }
services: { bank: { workers: 9, work: 0s } }
",
    );
    let lost = Effect::LoseReplies { service: 0, share: Share::new(0.25).expect("a share") };
    let record = run(&with_trigger(model, 0, 30_000, lost));
    let sum = |of: fn(&stormlab::measure::record::ServiceWindow) -> u32| {
        record.series.service(0).map(of).sum::<u32>()
    };
    assert_eq!([sum(|it| it.completed_ok), sum(|it| it.effects)], [299, 299]);
    let failed = 299 - record.verdicts[0].ok;
    assert!((45..105).contains(&failed), "{failed}");
}

/// What the record keeps of it, window by window: the figures of N18 and P10.
#[test]
fn r8_a_record_counts_effects_by_window() {
    let lost = Effect::LoseReplies { service: 0, share: Share::new(1.0).expect("a share") };
    let record = run(&with_trigger(charge(NO_KEY, FOUR, BANK), 0, 9_000, lost));
    let counts: Vec<_> = record
        .series
        .service(0)
        .take(5)
        .map(|it| [it.effects, it.duplicate_effects, it.duplicated])
        .collect();
    assert_eq!(counts, [[1, 0, 0], [1, 1, 1], [1, 1, 0], [1, 1, 0], [0, 0, 0]]);
    let model = charge(REQUEST, FOUR, BANK);
    let record = run(&with_trigger(model, 0, 9_000, lost));
    let of = |it: &stormlab::measure::record::ServiceWindow| [it.effects, it.replays, it.conflicts];
    let counts: Vec<_> = record.series.service(0).take(4).map(of).collect();
    assert_eq!(counts, [[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0]]);
}
