//! Operations and keys as written: what is accepted, what it means, what is refused.

use stormlab::lint;
use stormlab::policy::outcome::Class;
use stormlab::scenario;
use stormlab::scenario::model::Answer;
use stormlab::scenario::model::Effect;
use stormlab::scenario::model::ErrorsOf;
use stormlab::scenario::model::ExpectedMeasure;
use stormlab::scenario::model::MadeOnce;
use stormlab::scenario::model::Operation;
use stormlab::scenario::model::Remembers;
use stormlab::scenario::model::Scenario;
use stormlab::units::Duration;

const TEXT: &str = "schema: 1
name: t
clients:
  web: { arrivals: { poisson: 20/s }, calls: shop, operation: { write: { key: request } } }
services:
  shop:
    workers: 9
    work: 1ms
    errors: { class: rejected, share: 1%, of: requests }
    idempotency: { in_progress: { lasts: 1min }, remembers: answers }
    calls: [{ to: bank, policy: p, operation: { write: { key: call } } }, { to: bank, operation: write, answers: { rate_limited: rejected, bulkhead_full: internal } }]
  bank: { workers: 9, work: 1ms, idempotency: { kept_for: 48h }, retry_after: { rejected: 2s } }
policies: { p: { attempt_timeout: 1s, retry: { max_attempts: 3 } } }
triggers: [{ at: 10min, lasts: 5s, service: bank, effect: { lose_replies: 10% } }]
expect: [{ service: bank, duplicate_effects: '<= 3' }, { conflicts: '>= 1' }]
";

#[track_caller]
fn parsed(text: &str) -> Scenario {
    scenario::parse("t", text.as_bytes()).unwrap_or_else(|problems| panic!("{}", problems[0]))
}

#[test]
fn operations_mean_what_they_say() {
    let scenario = parsed(TEXT);
    let model = &scenario.variants[0].model;
    let operations: Vec<_> = model.edges.iter().map(|edge| edge.operation).collect();
    let keyed = |made| Operation::Write(Some(made));
    let expected = [keyed(MadeOnce::Request), keyed(MadeOnce::Call), Operation::Write(None)];
    assert_eq!(operations, expected);
    let answers = &model.edges[2].answers;
    assert_eq!(answers[0], Answer { failed: Class::RateLimited, with: Class::Rejected });
    assert_eq!(answers[1], Answer { failed: Class::BulkheadFull, with: Class::Internal });
    assert_eq!((answers.len(), model.edges[1].answers.len()), (2, 0));
    let shop = model.services[0].idempotency.expect("it knows keys");
    assert_eq!([shop.kept_for, shop.lasts], [Duration::from_secs(86_400), Duration::from_secs(60)]);
    assert_eq!((shop.answer, shop.remembers), (Class::Rejected, Remembers::Answers));
    let bank = model.services[1].idempotency.expect("it knows keys");
    assert_eq!([bank.kept_for, bank.lasts], [Duration::from_secs(172_800); 2]);
    assert_eq!(bank.remembers, Remembers::Success);
    assert_eq!(model.services[0].errors.map(|it| it.of), Some(ErrorsOf::Requests));
    assert!(matches!(model.triggers[0].effect, Effect::LoseReplies { service: 1, .. }));
    assert_eq!(scenario.expect[0].measure, ExpectedMeasure::DuplicateEffects(Some(1)));
    assert_eq!(scenario.expect[0].text, "duplicate_effects of bank <= 3");
    assert_eq!(scenario.expect[1].measure, ExpectedMeasure::Conflicts(None));
}

/// What `explain` prints is a scenario again, and means the same.
#[test]
fn writes_are_printed_as_they_are_meant() {
    let scenario = parsed(TEXT);
    let again = parsed(&lint::as_meant(&scenario, "base"));
    assert!(again.variants[0].model == scenario.variants[0].model);
    let json = parsed(&lint::effective(&scenario));
    assert!(json.variants[0].model == scenario.variants[0].model);
    assert_eq!(json.expect[0].measure, scenario.expect[0].measure);
}

/// [N21, N26] What tells a repetition, and for how long it can.
#[test]
fn explain_says_what_tells_a_repetition() {
    let said = |text: &str| lint::explain(&parsed(text), "base");
    let text = said(TEXT);
    for line in [
        "# web -> shop ({ write: { key: request } }): nobody repeats it.",
        "# shop -> bank ({ write: { key: call } }): a repetition is told by its key, which is kept \
         for 2d.",
        "# shop -> bank (write): nobody repeats it.",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    // Three attempts of a second and two waits of 25 hours.
    let waits = "max_attempts: 3, backoff: 25h";
    let text = said(&TEXT.replace("max_attempts: 3", waits));
    assert!(
        text.contains("forgotten after 2d, while attempts may follow one another for"),
        "{text}"
    );
    let naive = said(&TEXT.replace("key: call", "key: attempt"));
    assert!(naive.contains("({ write: { key: attempt } }): it is repeated, and nothing tells"));
}

#[test]
fn what_no_service_can_answer_is_refused() {
    #[track_caller]
    fn check(from: &str, to: &str, expected: &str) {
        let text = TEXT.replacen(from, to, 1);
        let problems = scenario::parse("t", text.as_bytes()).expect_err("it is wrong");
        let all: String = problems.iter().map(ToString::to_string).collect();
        assert!(all.contains(expected), "{all}");
    }
    check("key: call", "key: handler", "`handler`");
    check("operation: write,", "operation: append,", "`append`");
    check("bulkhead_full: internal", "bulkhead: internal", "`bulkhead`");
    check("bulkhead_full: internal", "bulkhead_full: throttled", "made by a caller's policy");
    check("{ rate_limited: rejected, bulkhead_full: internal }", "internal", "`answers` is a map");
    check("{ write: { key: call } }", "{ write: {} }", "`write` needs `key`");
    check("{ lasts: 1min }", "{ answer: timeout, lasts: 0s }", "0s");
    check("{ lasts: 1min }", "{ answer: breaker_open }", "made by a caller's policy");
    check("remembers: answers", "remembers: failures", "`failures`");
    check("of: requests", "of: calls", "`calls`");
    check("lose_replies: 10%", "lose_replies: 110%", "110%");
    check("effect: { lose_replies: 10% }", "effect: lose_replies", "needs a value");
    check("service: bank, duplicate", "service: bnak, duplicate", "`bnak`");
}
