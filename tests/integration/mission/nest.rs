//! The NestJS article: its figures, event by event, from the scenarios that are shipped.
//!
//! The ids are those of the rules and figures that the article states. What a count tells is
//! asserted by the scenarios themselves, under `expect`; here stand moments, places and warnings.

use std::path::Path;

use stormlab::lint;
use stormlab::scenario;
use stormlab::scenario::model::Model;
use stormlab::scenario::model::Scenario;

use crate::lab::Diary;
use crate::lab::diary;

fn text(file: &str) -> (String, String) {
    let path = format!("scenarios/mission/nest-payments{file}.yaml");
    let whole = Path::new(env!("CARGO_MANIFEST_DIR")).join(&path);
    (path, std::fs::read_to_string(whole).expect("it is shipped"))
}

/// The scenario, and what is doubted about it.
#[track_caller]
fn load(file: &str) -> (Scenario, Vec<String>) {
    let (path, text) = text(file);
    let (scenario, doubts) = scenario::parse_with_doubts(&path, text.as_bytes())
        .unwrap_or_else(|problems| panic!("{}", problems[0]));
    (scenario, doubts.into_iter().map(|doubt| doubt.problem).collect())
}

#[track_caller]
fn variant(file: &str, name: &str) -> Model {
    let found = load(file).0.variants.into_iter().find(|it| it.name == name);
    found.unwrap_or_else(|| panic!("no variant {name}")).model
}

/// What happens in its first run.
#[track_caller]
fn lived(file: &str, name: &str) -> Diary {
    diary(&variant(file, name))
}

/// The moments at which attempts reach a service, from the first one on.
fn reached(diary: &Diary, service: &str) -> Vec<f64> {
    let moments = diary.moments_ms(&[service, "reached"]);
    moments.iter().map(|ms| ms - moments[0]).collect()
}

/// Milliseconds from birth to failure.
fn lasted(diary: &Diary) -> Vec<f64> {
    let (born, ended) = (diary.moments_ms(&["born"]), diary.moments_ms(&["ended"]));
    assert_eq!(born.len(), ended.len());
    ended.iter().map(|ms| ms - born[0]).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// [P8, P9, a slip] "Three attempts" are three retries in the library: four executions in 1.4 s.
/// The cap of 2 s never binds: without it the moments are the same.
#[test]
fn p8_three_retries_are_four_executions() {
    assert_eq!(reached(&lived("-schedule", "base"), "bank"), [0.0, 200.0, 600.0, 1400.0]);
    let uncapped = reached(&lived("-schedule", "ten-uncapped"), "bank");
    assert_eq!(uncapped[..4], [0.0, 200.0, 600.0, 1400.0]);
}

/// [P7, P20, a slip] The article has three equal warnings and the 422 after 3 s; there are four,
/// and it comes after 1.4 s, or 0.82 s and at most 1.14 s with the library's jitter.
#[test]
fn p7_out_of_stock_is_found_four_times_in_1400_ms() {
    let diary = lived("-schedule", "out-of-stock-retried");
    assert_eq!(reached(&diary, "orders"), [0.0, 200.0, 600.0, 1400.0]);
    assert_eq!(diary.lines(&["ended"]), ["2400ms buyers ended attempts after 1.4s"]);
    assert_eq!(diary.count(&["bank", "reached"]), 0);
    let jittered = lasted(&lived("-schedule", "out-of-stock-retried-jitter"));
    assert_eq!(jittered.len(), 1_000);
    // One wait at most: f(1), f(2) − f(0), … telescope into f(3) ÷ 1.4 × 200 ms.
    assert!(jittered.iter().all(|ms| *ms <= 1_142.0));
    assert!((mean(&jittered) - 820.0).abs() < 20.0, "{}", mean(&jittered));
}

/// [P25] Ten retries from 200 ms: 204.6 s without a longest wait, 111 s with the library's own,
/// 15 s with the article's. The means of the jittered ones come from a thousand calls each.
#[test]
fn p25_ten_retries_outlive_the_client() {
    for (name, seconds) in
        [("ten-uncapped", 204.6), ("ten-library-cap", 111.0), ("ten-capped", 15.0)]
    {
        assert_eq!(lasted(&lived("-schedule", name)), [seconds * 1e3], "{name}");
    }
    for (name, seconds) in
        [("ten-uncapped", 106.0), ("ten-library-cap", 78.0), ("ten-capped", 12.9)]
    {
        let lasted = lasted(&lived("-schedule", &format!("{name}-jitter")));
        let found = mean(&lasted) / 1e3;
        assert!((found / seconds - 1.0).abs() < 0.03, "{name}: {found}");
    }
    let diary = lived("-schedule", "ten-library-cap-browser");
    assert_eq!(diary.lines(&["ended"]), ["31000ms buyers ended attempts after 30s"]);
    let late = diary.moments_ms(&["bank", "reached"]).into_iter().filter(|ms| *ms > 31_000.0);
    assert_eq!(late.collect::<Vec<_>>(), [52_000.0, 82_000.0, 112_000.0]);
}

/// [P25, P28] What shows on paper: who has left, and the product of attempts.
#[test]
fn p25_p28_explain_shows_who_left_and_the_product() {
    let (scenario, _) = load("-schedule");
    let said = lint::explain(&scenario, "ten-library-cap-browser");
    let orphaned = "Whoever waits for shop gives up after 30s while this call may go on";
    assert!(said.contains(orphaned), "{said}");
    assert!(!lint::explain(&scenario, "ten-library-cap").contains("gives up after"));
    let said = lint::explain(&scenario, "sdk-below");
    assert!(said.contains("# orders -> bank (payment): 12 attempts"), "{said}");
}

/// [P13] 31 calls at one instant: ten run, twenty wait, one is turned away. Places are held through
/// every wait of the retry: the next ten come 1.8 s later.
#[test]
fn p13_a_place_is_held_through_every_wait() {
    let crowd = lived("-order", "crowd");
    assert_eq!(crowd.moments_ms(&["bulkhead_full"]), [1000.0]);
    let begun = |diary: &Diary| {
        let mut moments = diary.moments_ms(&["bank", "reached", "first"]);
        moments.dedup();
        moments
    };
    assert_eq!(begun(&crowd), [1000.0, 1100.0, 1200.0]);
    assert_eq!(begun(&lived("-order", "crowd-failing")), [1000.0, 2800.0, 4600.0]);
    // [P15] Inside the retry the place is free again after 100 ms.
    assert_eq!(begun(&lived("-order", "crowd-failing-inside")), [1000.0, 1100.0, 1200.0]);
}

/// [P14] The breaker counts exhausted sequences: it opens with the fifth, at 10.4 s, and a probe is
/// a whole sequence of four.
#[test]
fn p14_the_breaker_opens_after_twenty_attempts() {
    let diary = lived("-order", "probe");
    let attempts = diary.moments_ms(&["bank", "reached"]);
    assert_eq!(attempts.len(), 24);
    assert_eq!(attempts[16..20], [9_000.0, 9_200.0, 9_600.0, 10_400.0]);
    assert_eq!(attempts[20..], [21_000.0, 21_200.0, 21_600.0, 22_400.0]);
    let refused = lived("-order", "base").moments_ms(&["breaker_open"]);
    assert_eq!(refused, [11_000.0, 13_000.0, 15_000.0, 17_000.0, 19_000.0]);
}

/// [P15] A breaker inside the retry counts attempts: it opens during the second call, at its first.
#[test]
fn p15_inside_the_retry_the_breaker_opens_during_the_second_call() {
    for name in ["bulkhead-retry-breaker", "retry-bulkhead-breaker", "retry-breaker-bulkhead"] {
        let diary = lived("-order", name);
        let attempts = diary.moments_ms(&["bank", "reached"]);
        assert_eq!(attempts[..5], [1_000.0, 1_200.0, 1_600.0, 2_400.0, 3_000.0], "{name}");
        assert_eq!(attempts[5..], [13_000.0], "{name}: the probe");
        let refused = diary.moments_ms(&["breaker_open"]);
        assert_eq!(refused[0], 3_200.0, "{name}: the retry of the second call");
    }
}

/// [P10, P11] 1 000 taken, the answer lost at 0.1 s: 2 000 without a key; with one the first result
/// is repeated when the HTTP client's second is over.
#[test]
fn p10_a_lost_answer_is_charged_twice_without_a_key() {
    let without = lived("-charges", "one-answer-lost-no-key");
    assert_eq!(without.moments_ms(&["bank", "effect"]), [30_100.0, 31_300.0]);
    let with = lived("-charges", "one-answer-lost");
    assert_eq!(with.moments_ms(&["bank", "effect"]), [30_100.0]);
    assert_eq!(with.moments_ms(&["replayed"]), [31_200.0]);
    assert_eq!(with.lines(&["ended"]), ["31200ms buyers ended ok after 1.2s"]);
}

/// [P21] 4 × 4 attempts; with a second buyer the breaker opens at the twentieth of all, and the
/// retry of the handler goes on making orders that nobody can pay.
#[test]
fn p21_the_breaker_ends_the_second_handler_call_at_attempt_20() {
    let one = lived("-charges", "handler-and-adapter");
    assert_eq!(one.count(&["bank", "reached"]), 16);
    let two = lived("-charges", "handler-two-buyers");
    let (attempts, refused) =
        (two.moments_ms(&["bank", "reached"]), two.moments_ms(&["breaker_open"]));
    assert_eq!((attempts.len(), refused.len()), (20, 3));
    assert!(attempts[19] < refused[0]);
    assert_eq!(two.count(&["orders", "effect"]), 8);
}

/// [P22, P23] A rollback takes back the order and not the charge. Orders that stand are those whose
/// handler answered well; every further charge has none.
#[test]
fn p23_charges_without_an_order_are_orphans() {
    #[track_caller]
    fn check(name: &str, charges: usize, standing: usize) {
        let diary = lived("-charges", name);
        let found = [diary.count(&["bank", "effect"]), diary.count(&["orders", "answered", "ok"])];
        assert_eq!(found, [charges, standing], "{name}");
    }
    check("handler-order-key-late", 4, 1); // Three orphans.
    check("handler-order-key", 4, 0);
    check("handler-and-adapter", 16, 0);
    check("handler-command-key", 1, 0); // One, which the next press of the button would find.
    check("one-answer-lost", 1, 1);
}

/// [P19] Nothing fails while the bank hangs: the breaker refuses nobody, and after ten calls and
/// twenty that wait everybody is turned away, for ever.
#[test]
fn p19_without_a_timeout_a_hang_holds_every_place_for_ever() {
    let diary = lived("-hang", "base");
    assert_eq!(diary.count(&["rejected", "breaker_open"]), 0);
    let rejected = diary.moments_ms(&["rejected", "bulkhead_full"]);
    let (first, last) = (rejected[0], rejected[rejected.len() - 1]);
    // The warm-up is a minute: the bank hangs from 360 s to 390 s.
    assert!((360_000.0..365_000.0).contains(&first), "{first}");
    assert!(last > 1_259_000.0, "to the end of the run, at 1260 s: {last}");
    let served = diary.moments_ms(&["bank-charge", "reached"]);
    assert!(served.iter().all(|ms| *ms < 365_000.0), "nobody comes through any more");

    let timed = lived("-hang", "attempt-timeout");
    assert!(timed.count(&["rejected", "breaker_open"]) > 100, "with a timeout the breaker opens");
    let served = timed.moments_ms(&["bank-charge", "reached"]);
    assert!(served[served.len() - 1] > 1_259_000.0);
}

/// [P18] One object for both: while charges are refused, status reads are, too.
#[test]
fn p18_failing_charges_block_the_reads_that_would_settle_them() {
    let of_reads = |name: &str| {
        let diary = lived("", name);
        diary.count(&["status>bank-status", "rejected"])
    };
    assert!(of_reads("base") > 300);
    assert_eq!(of_reads("scope-per-operation"), 0);
}

/// What runs as written and is hardly meant: each mistake of the article has its warning.
#[test]
fn every_mistake_is_doubted() {
    #[track_caller]
    fn check(file: &str, expected: &str) {
        let (_, doubts) = load(file);
        assert!(doubts.iter().any(|doubt| doubt.contains(expected)), "{expected}: {doubts:#?}");
    }
    // [P1, P20]
    check("-schedule", "`everything` retries `rejected`, and a request that `orders` answers so");
    // [P10, P22, P24]
    check("-charges", "`orders` writes to `bank` without a key, and the write is repeated");
    check("-charges", "`orders` makes a new key in each attempt at `bank`");
    check(
        "-charges",
        "whoever calls `orders` tries again, and its key for `bank` is then a new one",
    );
    // [P19]
    check(
        "-hang",
        "`bank-charge` answers nothing while it hangs, and `checkout` waits for its answer",
    );
    // Nothing is doubted about the composition as it is, under an outage.
    let (_, doubts) = load("-order");
    assert_eq!(doubts, [""; 0]);
}
