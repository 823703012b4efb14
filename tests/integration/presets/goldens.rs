//! Presets in the engine against golden values of single libraries: breakers, limits that adapt,
//! queues, and what a preset leaves alone.

use crate::lab;
use crate::lab::Diary;
use crate::lab::bursts;

/// What becomes of calls under a policy (a preset's name, and what is laid over it) at a service
/// that ends every attempt with `class` (`none`: well) after `work`.
fn calls(policy: &str, arrivals: &str, class: &str, work: &str) -> Diary {
    calls_for("120s", policy, arrivals, class, work)
}

fn calls_for(horizon: &str, policy: &str, arrivals: &str, class: &str, work: &str) -> Diary {
    let errors = match class {
        "none" => String::new(),
        class => format!(", errors: {{ class: {class}, share: 100% }}"),
    };
    lab::diary(&lab::model(&format!(
        "
run: {{ horizon: {horizon}, warm_up: 0s, window: 1s }}
clients: {{ web: {{ arrivals: {arrivals}, calls: server, policy: it }} }}
services:
  server: {{ workers: 1000, work: {work}{errors} }}
policies: {{ it: {{ preset: {policy} }} }}
"
    )))
}

fn before(diary: &Diary, ms: f64) -> usize {
    diary.moments_ms(&["reached"]).iter().filter(|at| **at < ms).count()
}

/// Calls that reach a failing service before a breaker of the library opens, one arriving after the
/// other, and then one probe for each time that it is open.
#[test]
fn breakers_open_after_so_many_failures_and_stay_open_so_long() {
    for (preset, class, failures, open_ms) in [
        // More than five in a row.
        ("gobreaker", "internal", 6, 60_000.0),
        ("gobreaker", "rejected", 6, 60_000.0),
        // One of one.
        ("failsafe-breaker", "unavailable", 1, 60_000.0),
        // No number of calls is needed.
        ("opossum", "unavailable", 1, 30_000.0),
        // 100 of 100 (without the retries that stand around it).
        ("resilience4j, retry: null", "internal", 100, 60_000.0),
        ("resilience4j, retry: null", "rejected", 100, 60_000.0),
        // 10 % of at least 100.
        ("dotnet-standard-handler, retry: null", "unavailable", 100, 5_000.0),
    ] {
        let diary = calls(preset, "{ constant: 10/s }", class, "0s");
        let at = diary.moments_ms(&["reached"]);
        let opened_at = at[failures - 1];
        let inside = at.iter().filter(|at| **at <= opened_at).count();
        assert_eq!(inside, failures, "{preset} {class}");
        // Calls come each 100 ms, and the first after the open time is the probe.
        let probe_at = at[failures];
        let waited = probe_at - opened_at;
        assert!((open_ms..=open_ms + 200.0).contains(&waited), "{preset} {class}: {waited}");
    }
}

/// Hystrix: 20 calls in 10 s, judged each 500 ms, over buckets of that length. What is thrown as a
/// bad request is neither failure nor success.
#[test]
fn hystrix_counts_all_errors_but_bad_requests() {
    for class in ["unavailable", "internal", "denied", "not_found", "fatal"] {
        let diary = calls("hystrix", "{ constant: 10/s }", class, "0s");
        let reached = before(&diary, 5_000.0);
        // At a turn of the buckets: the first that has 20 calls behind it.
        assert!((20..=25).contains(&reached), "{class}: {reached}");
        assert!(diary.count(&["ended", "breaker"]) > 900, "{class}");
    }
    let diary = calls("hystrix", "{ constant: 10/s }", "rejected", "0s");
    assert_eq!(diary.count(&["ended", "breaker"]), 0);
    assert!(diary.count(&["reached"]) >= 1_199);

    // Three calls in four are refused for themselves, and the fourth fails: all that count fail,
    // and the breaker opens, as it would not if a bad request were a success.
    let mixed = |bad: &str| {
        let diary = lab::diary(&lab::model(&format!(
            "
run: {{ horizon: 60s, warm_up: 0s, window: 1s }}
clients:
  good: {{ arrivals: {{ constant: 10/s }}, calls: failing, policy: it }}
  bad: {{ arrivals: {{ constant: 30/s }}, calls: refusing, policy: it }}
services:
  failing: {{ workers: 1000, work: 0s, errors: {{ class: internal, share: 100% }} }}
  refusing: {{ workers: 1000, work: 0s, errors: {{ class: rejected, share: 100% }} }}
policies: {{ it: {{ preset: hystrix, breaker: {{ per: []{bad} }} }} }}
"
        )));
        diary.count(&["ended", "breaker"])
    };
    assert!(mixed("") > 1_500);
    assert_eq!(mixed(", uncounted: success"), 0);
}

/// resilience4j: the time limiter stands around the bulkhead, so who timed out keeps its place.
#[test]
fn a_place_of_resilience4j_is_held_until_the_work_is_over() {
    let arrivals = bursts(&[(30, 0), (10, 5_000), (10, 11_000)]);
    let diary = calls("resilience4j, retry: null", &arrivals, "none", "10s");
    assert_eq!(diary.count(&["timed-out"]), 25 + 10);
    // 5 of the first burst, all of the second, none of the third.
    assert_eq!(diary.count(&["rejected", "bulkhead_full"]), 5 + 10);
    assert_eq!(diary.count(&["reached"]), 25 + 10);
}

/// The limits of concurrency-limits, by hand from their formulas: 20 calls at once that all take the
/// same, then more than the new limit lets in.
#[test]
fn netflix_limits_grow_by_their_formulas() {
    for (preset, grown) in [
        // The calls from the 10th on found half of the limit in use: 11 times one more.
        ("netflix-aimd", 31),
        // The first sample is the shortest time; the 10th, 13th, 16th and 19th add 6.
        ("netflix-vegas", 44),
        // From the 10th on 0.2 of the queue of 4: 20 + 11 × 0.8 = 28.8.
        ("netflix-gradient2", 28),
    ] {
        let arrivals = bursts(&[(25, 0), (100, 10_000)]);
        let diary = calls(preset, &arrivals, "none", "100ms");
        assert_eq!(before(&diary, 5_000.0), 20, "{preset}");
        assert_eq!(diary.count(&["reached"]), 20 + grown, "{preset}");
        assert_eq!(diary.count(&["ended", "bulkhead"]), 5 + 100 - grown, "{preset}");
    }
}

/// SQS: every 30 s, whether the consumer hangs or fails.
#[test]
fn a_message_of_sqs_comes_again_each_30_seconds() {
    for (class, work) in [("internal", "0s"), ("rejected", "0s"), ("none", "1000s")] {
        let diary = calls("sqs", &bursts(&[(1, 0)]), class, work);
        let at = diary.moments_ms(&["reached"]);
        assert_eq!(at, [0.0, 30_000.0, 60_000.0, 90_000.0], "{class} after {work}");
    }
}

/// Lambda: a throttled event at 0, 1, 3, 7, 15, 31 and 63 s; an error of the function twice more.
#[test]
fn lambda_tries_throttled_events_far_longer_than_errors() {
    let once = bursts(&[(1, 0)]);
    let diary = calls("lambda-async-throttled", &once, "rate_limited", "0s");
    let seconds = [0.0, 1.0, 3.0, 7.0, 15.0, 31.0, 63.0];
    assert_eq!(diary.moments_ms(&["reached"]), seconds.map(|at| at * 1e3));
    let diary = calls_for("8h", "lambda-async-throttled", &once, "rate_limited", "0s");
    let last = *diary.moments_ms(&["reached"]).last().unwrap();
    assert!((5.9 * 3_600e3..=6.0 * 3_600e3).contains(&last), "{last}");
    let diary = calls_for("10min", "lambda-async", &once, "internal", "0s");
    assert_eq!(diary.moments_ms(&["reached"]), [0.0, 60_000.0, 180_000.0]);
    let diary = calls_for("10min", "lambda-async", &once, "rate_limited", "0s");
    assert_eq!(diary.count(&["reached"]), 1);
}

/// EF Core: conflicts of memory-optimised tables wait a thousandth: 0, 1, 3, 7, 15 and 30 ms and up
/// to a tenth more, where the service answers with them.
#[test]
fn efcore_waits_a_thousandth_after_conflicts_of_memory_optimised_tables() {
    let once = bursts(&[(1, 0)]);
    let diary = calls("efcore-sqlserver", &once, "rejected", "0s");
    assert_eq!(diary.count(&["reached"]), 1);
    let policy = "efcore-sqlserver, retry: { on: [transient, rejected] }";
    let at = calls(policy, &once, "rejected", "0s").moments_ms(&["reached"]);
    let gaps: Vec<_> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let least = [0.0, 1.0, 3.0, 7.0, 15.0, 30.0];
    assert_eq!(gaps.len(), least.len());
    for (gap, least) in gaps.iter().zip(least) {
        assert!((least - 1e-6..=least * 1.1 + 1e-6).contains(gap), "{gaps:?}");
    }
    let at = calls(policy, &once, "unavailable", "0s").moments_ms(&["reached"]);
    assert!(at[6] >= 56_000.0, "{at:?}");
}

/// The SRE book: three attempts, retries below 10 % of calls, and of a service that accepts nothing
/// the n-th request is asked for with a chance of 1/n.
#[test]
fn the_rules_of_the_sre_book() {
    let diary = calls("sre-throttling, throttle: null", &bursts(&[(100, 0)]), "unavailable", "0s");
    assert_eq!(diary.count(&["reached"]), 110);
    let diary = calls("sre-throttling", "{ constant: 10/s }", "unavailable", "0s");
    // 1 + 1/2 + 1/3 + … of some 1,300: 7.7 on average.
    assert!((2..=25).contains(&diary.count(&["reached"])), "{}", diary.count(&["reached"]));
    assert!(diary.count(&["rejected", "throttled"]) > 1_100);
    let budget = "sre-throttling, throttle: null, retry: { budget: null }";
    assert_eq!(calls(budget, &bursts(&[(1, 0)]), "unavailable", "0s").count(&["reached"]), 3);
}

/// Mission (d): an answer that failed, or that nobody can read, runs the step once more; a missing
/// or unreachable one does not.
#[test]
fn a_destructive_read_runs_the_step_once_more() {
    for (class, attempts) in
        [("internal", 2), ("protocol", 2), ("unavailable", 1), ("not_found", 1)]
    {
        let diary = calls("destructive-read", &bursts(&[(1, 0)]), class, "0s");
        assert_eq!(diary.count(&["reached"]), attempts, "{class}");
    }
}

/// Finagle: a fifth of a reserve of 100 for one request, and 100 for all; one in a row of five opens
/// the failure accrual.
#[test]
fn finagle_requeues_a_fifth_of_its_reserve_for_one_request() {
    let requeues = |count| {
        let diary = calls("finagle, breaker: null", &bursts(&[(count, 0)]), "unavailable", "0s");
        diary.count(&["reached"]) - count as usize
    };
    assert_eq!((requeues(1), requeues(3), requeues(50)), (20, 60, 100));
    let diary = calls("finagle", &bursts(&[(1, 0)]), "unavailable", "0s");
    assert_eq!(diary.count(&["reached"]), 5);
    // What was processed is not requeued.
    assert_eq!(calls("finagle", &bursts(&[(1, 0)]), "internal", "0s").count(&["reached"]), 1);
}

/// Mission (b): 72 h end the attempts, not the one that is out; places are ten for each receiver, and
/// any number waits.
#[test]
fn the_age_of_a_delivery_stops_further_attempts_only() {
    let diary = calls_for("80h", "webhook-producer", &bursts(&[(1, 0)]), "none", "73h");
    assert_eq!(diary.count(&["ended", "ok"]), 1);
    let diary = calls_for("160h", "webhook-producer", &bursts(&[(1, 0)]), "unavailable", "73h");
    assert_eq!(diary.count(&["reached"]), 1, "no attempt begins after 72 h");
    let diary = calls_for("160h", "webhook-producer", &bursts(&[(1, 0)]), "unavailable", "35h");
    assert_eq!(diary.count(&["reached"]), 3, "at 0, 35 and 70 h, and none at 105 h");
    let diary = calls("webhook-producer", &bursts(&[(500, 0)]), "none", "1s");
    assert_eq!(before(&diary, 500.0), 10);
    assert_eq!(diary.count(&["ended", "ok"]), 500);
}

/// botocore gives each attempt 60 s, before 2026 as ever.
#[test]
fn botocore_gives_an_attempt_60_seconds() {
    for (preset, attempts) in [("aws-standard-before-2026", 3), ("aws-legacy", 5)] {
        let diary = calls_for("20min", preset, &bursts(&[(1, 0)]), "none", "1h");
        assert_eq!(diary.count(&["timed-out"]), attempts, "{preset}");
        let at = diary.moments_ms(&["timed-out"]);
        assert_eq!(at[0], 60_000.0, "{preset}");
    }
}

/// urllib3: a 503 or 429 is retried only where it carries Retry-After, and then ten times after it;
/// of 0 it is retried at once.
#[test]
fn urllib3_retries_a_refusal_only_with_a_hint() {
    let refused = |class: &str, hints: &str| {
        let diary = lab::diary(&lab::model(&format!(
            "
run: {{ horizon: 120s, warm_up: 0s, window: 1s }}
clients: {{ web: {{ arrivals: {}, calls: server, policy: it }} }}
services:
  server: {{ workers: 9, work: 0s, errors: {{ class: {class}, share: 100% }}{hints} }}
policies: {{ it: {{ preset: urllib3 }} }}
",
            bursts(&[(1, 0)])
        )));
        diary.moments_ms(&["reached"])
    };
    assert_eq!(refused("overloaded", "").len(), 1);
    assert_eq!(refused("rate_limited", "").len(), 1);
    assert_eq!(refused("rate_limited", ", retry_after: { overloaded: 2s }").len(), 1);
    assert_eq!(refused("unavailable", "").len(), 11);
    let every_two_seconds: Vec<_> = (0..11).map(|i| 2_000.0 * f64::from(i)).collect();
    assert_eq!(refused("overloaded", ", retry_after: { overloaded: 2s }"), every_two_seconds);
    assert_eq!(refused("rate_limited", ", retry_after: { rate_limited: 0s }"), [0.0; 11]);
}

/// A client of Python without an adapter, and a job of BullMQ, have one attempt.
#[test]
fn who_has_no_retries_makes_one_attempt() {
    for preset in ["requests", "bullmq"] {
        let diary = calls(preset, &bursts(&[(7, 0)]), "unavailable", "0s");
        assert_eq!(diary.count(&["reached"]), 7, "{preset}");
    }
}
