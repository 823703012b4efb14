//! Queues of jobs that run as written and are hardly meant: each doubt with its place and its help.

use stormlab::scenario;
use stormlab::scenario::diagnostic::Severity;

/// A sound producer of webhooks, as far as it goes.
const SYSTEM: &str = "schema: 1
name: t
run: { horizon: 4h }
clients:
  events:
    population: 50
    arrivals: { poisson: 5/s }
    calls: receivers
    policy: post
    queue: deliveries
    operation: { write: { key: request } }
services:
  receivers: { replicas: 50, workers: 9, work: 5ms, idempotency: {} }
policies:
  post: { attempt_timeout: 15s }
queues:
  deliveries:
    processes: 2
    workers: 20
    lease: 1min
    claim: { every: 1s }
    retry:
      max_attempts: 16
      backoff: { exponential: { base: 1min, cap: 1h } }
      jitter: equal
    destinations: { in_flight: 10, rate: 10/s }
";

/// Doubts about the system with some texts replaced, as `line:column problem`.
#[track_caller]
fn doubts(changes: &[(&str, &str)]) -> Vec<String> {
    let mut text = SYSTEM.to_owned();
    for (from, to) in changes {
        assert_eq!(text.matches(from).count(), 1, "{from}");
        text = text.replace(from, to);
    }
    let (_, doubts) = scenario::parse_with_doubts("t", text.as_bytes()).unwrap_or_else(|all| {
        panic!("{}", all.iter().map(ToString::to_string).collect::<String>())
    });
    assert!(doubts.iter().all(|doubt| doubt.severity == Severity::Warning && doubt.help.is_some()));
    doubts
        .iter()
        .map(|doubt| format!("{}:{} {}", doubt.line, doubt.column, doubt.problem))
        .collect()
}

/// The only doubt about the changed system begins at `place` and says `words`.
#[track_caller]
fn check(changes: &[(&str, &str)], place: &str, words: &str) {
    let found = doubts(changes);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].starts_with(&format!("{place} ")), "{place}: {found:?}");
    assert!(found[0].contains(words), "{words:?}: {found:?}");
}

const NONE: [&str; 0] = [];
const JITTER: (&str, &str) = ("jitter: equal", "jitter: { added: { most: 1s, clipped: true } }");
const BREAKER: (&str, &str) = (
    "attempt_timeout: 15s }",
    "attempt_timeout: 15s, breaker: { consecutive: 5, open_for: 10s } }",
);

#[test]
fn nothing_is_doubtful_about_a_sound_queue() {
    assert_eq!(doubts(&[]), NONE);
}

#[test]
fn a_lease_outlasts_an_attempt() {
    check(&[("lease: 1min", "lease: 15s")], "20:12", "an attempt may take 15s");
    assert_eq!(doubts(&[("lease: 1min", "lease: 16s")]), NONE);
}

#[test]
fn k13_jitter_narrower_than_the_poll_interval_is_undone() {
    let wide = ("max_attempts: 16", "max_attempts: 2");
    let short = ("base: 1min", "base: 3s");
    let slow = ("every: 1s", "every: 10s");
    let words = "over at most 1s, and due jobs are looked for every 5s";
    let busy = ("workers: 20", "workers: 90");
    check(&[JITTER, wide, short, slow, busy], "25:15", words);
    // Two processes take turns: one of them looks each second.
    assert_eq!(doubts(&[JITTER, wide, short, ("every: 1s", "every: 2s")]), NONE);
}

#[test]
fn k10_a_constant_jitter_hardly_spreads_a_wait_that_doubles() {
    let three = ("base: 1min", "base: 3s");
    check(&[JITTER, three], "25:15", "from retry 3 on jitter spreads");
    assert_eq!(doubts(&[JITTER, three, ("max_attempts: 16", "max_attempts: 3")]), NONE);
    assert_eq!(doubts(&[("jitter: equal", "jitter: none")]), NONE);
}

#[test]
fn w16_attempts_end_before_the_advertised_age() {
    let age = |span: &str| format!("jitter: equal\n      max_elapsed: {span}");
    // Fifteen waits of the table: 603 min (W15).
    let words = "after 16 attempts, which is 603min at most unless";
    check(&[("jitter: equal", &age("72h"))], "26:20", words);
    assert_eq!(doubts(&[("jitter: equal", &age("10h"))]), NONE);
    let endless = ("max_attempts: 16", "max_attempts: unlimited");
    let keys = ("idempotency: {}", "idempotency: { kept_for: 96h }");
    assert_eq!(doubts(&[("jitter: equal", &age("72h")), endless, keys]), NONE);
}

#[test]
fn w32_destinations_have_a_limit_of_their_rate() {
    check(&[(", rate: 10/s", "")], "26:19", "no destination of `deliveries` has a limit");
    assert_eq!(doubts(&[("    destinations: { in_flight: 10, rate: 10/s }\n", "")]), NONE);
    assert_eq!(doubts(&[(", rate: 10/s", ""), ("population: 50", "population: 1")]), NONE);
}

#[test]
fn k23_what_is_postponed_comes_back_in_step() {
    let postpone = ("    retry:", "    refused: { postpone: { after: 5s } }\n    retry:");
    check(&[BREAKER, postpone], "22:14", "comes back to `deliveries` after exactly 5s");
    check(&[postpone], "22:14", "nothing refuses a job of `deliveries`");
}

#[test]
fn k16_a_refusal_that_is_not_tried_again_is_a_dead_job() {
    check(&[BREAKER], "22:5", "`retry: on` of `deliveries` does not name `breaker_open`");
    let on = ("jitter: equal", "jitter: equal\n      on: [transient, breaker_open]");
    assert_eq!(doubts(&[BREAKER, on]), NONE);
    let meant = ("    retry:", "    refused: dead_letter\n    retry:");
    assert_eq!(doubts(&[BREAKER, meant]), NONE);
}

#[test]
fn w23_a_word_that_all_obey_takes_the_jitter_away() {
    let obeys = ("jitter: equal", "jitter: equal\n      hint: larger");
    let says = |after: &str| format!("idempotency: {{}}, retry_after: {{ rate_limited: {after} }}");
    let words = "`receivers` tells all alike to come again after 1min";
    check(&[obeys, ("idempotency: {}", &says("60s"))], "26:13", words);
    assert_eq!(doubts(&[obeys, ("idempotency: {}", &says("59s"))]), NONE);
    assert_eq!(doubts(&[("idempotency: {}", &says("60s"))]), NONE);
    let spread = ("jitter: equal", "jitter: equal\n      hint: { larger: { spread: 20% } }");
    assert_eq!(doubts(&[spread, ("idempotency: {}", &says("60s"))]), NONE);
    // Whatever it says takes the place of the own wait.
    let instead = ("jitter: equal", "jitter: equal\n      hint: override");
    check(&[instead, ("idempotency: {}", &says("1s"))], "26:13", "come again after 1s");
}

#[test]
fn w30_a_worker_that_dies_without_a_lease_keeps_its_jobs() {
    let none = ("    lease: 1min\n", "");
    let dies = "    worker_errors: { share: 1%, returns: with_lease }\n    retry:";
    let lost = "`deliveries` has no `lease`";
    check(&[none, ("    retry:", dies)], "21:42", lost);
    assert_eq!(doubts(&[("    retry:", dies)]), NONE);
    let rate = (
        "rate: 10/s }\n",
        "rate: 10/s }\ntriggers: [{ at: 2h, lasts: 1min, queue: \
                deliveries, effect: { crash: 1 } }]\n",
    );
    check(&[none, rate], "26:62", lost);
    assert_eq!(doubts(&[rate]), NONE);
}

#[test]
fn w30_a_job_that_always_fails_its_worker_is_claimed_for_ever() {
    let poison =
        |more: &str| format!("    worker_errors: {{ share: 0.1%, of: jobs{more} }}\n    retry:");
    check(&[("    retry:", &poison(""))], "22:20", "claimed at once, again and again");
    assert_eq!(doubts(&[("    retry:", &poison(", returns: 1min"))]), NONE);
    assert_eq!(doubts(&[("    retry:", &poison(", consumes_attempt: true"))]), NONE);
}

#[test]
fn n26_a_key_lives_as_long_as_a_job_may_come_again() {
    let endless = ("max_attempts: 16", "max_attempts: unlimited");
    let age = ("jitter: equal", "jitter: equal\n      max_elapsed: 72h");
    let words = "keeps a key for 1d, and a job of `deliveries` may come again for 3d";
    check(&[endless, age], "23:7", words);
    check(&[endless], "23:7", "may come again for ever");
    assert_eq!(doubts(&[endless, age, ("idempotency: {}", "idempotency: { kept_for: 3d }")]), NONE);
}

#[test]
fn n21_an_execution_is_another_call_with_another_key() {
    let call = ("key: request", "key: call");
    check(&[call], "11:16", "a job of `events` is executed again, and its key for `receivers`");
    assert_eq!(doubts(&[call, ("max_attempts: 16", "max_attempts: 1")]), NONE);
    let plain = ("{ write: { key: request } }", "write");
    let found = doubts(&[plain, ("idempotency: {}", "cancellation: full")]);
    assert!(found[0].contains("without a key, and the write is repeated"), "{found:?}");
}

#[test]
fn d28_d29_a_counter_outlasts_the_gaps_that_it_counts() {
    let run = |more: &str| {
        let counter = format!("    counter: {{ {more} }}\n    destinations:");
        let keys = ("idempotency: {}", "idempotency: { kept_for: 96h }");
        let endless = ("max_attempts: 16", "max_attempts: unlimited");
        doubts(&[endless, ("    destinations:", &counter), keys])
    };
    #[track_caller]
    fn has(found: &[String], words: &str) {
        assert_eq!(found.len(), 1, "{found:#?}");
        assert!(found[0].contains(words), "{words:?}: {found:?}");
    }
    has(&run("gives_up_at: 2, ttl: 15s"), "shorter than one attempt, which may take 15s");
    has(&run("gives_up_at: 2, ttl: 74s"), "between two failures, 75s at most");
    assert_eq!(run("gives_up_at: 2, ttl: 75s"), NONE);
    // Waits of one and two minutes.
    has(&run("gives_up_at: 3, ttl: 75s"), "shorter than the 2 gaps between 3 failures, 210s");
    assert_eq!(run("gives_up_at: 1, ttl: 1s"), NONE);
}

#[test]
fn d19_d20_d25_some_counters_never_count_to_their_end() {
    let run = |more: &str| {
        let to = format!("    counter: {{ {more} }}\n    destinations:");
        let keys = ("idempotency: {}", "idempotency: { kept_for: 9999d }");
        let life = ("max_attempts: 16", "max_elapsed: 9d");
        doubts(&[("    destinations:", &to), keys, life])
    };
    assert_eq!(run("scope: nodes, gives_up_at: 2"), NONE);
    let found = run("scope: nodes, gives_up_at: 3");
    assert!(found[0].contains("has 2 processes, and a list without duplicates"), "{found:?}");
    let found = run("scope: new_id, gives_up_at: 2");
    assert!(found[0].contains("has a new id whenever it is put back"), "{found:?}");
    assert_eq!(run("scope: entity, gives_up_at: 2"), NONE);
}

#[test]
fn what_does_nothing_is_pointed_out() {
    let more = |line: &str| ("    retry:".to_owned(), format!("    {line}\n    retry:"));
    #[track_caller]
    fn one((from, to): (String, String), others: &[(&str, &str)], place: &str, words: &str) {
        let mut changes = vec![(from.as_str(), to.as_str())];
        changes.extend(others);
        check(&changes, place, words);
    }
    let single = [("processes: 2", "processes: 1")];
    one(more("elsewhere: true"), &single, "22:16", "has one process: `elsewhere`");
    one(more("signed_once: true"), &[], "22:18", "nobody looks at the age of the signatures");
    let window = ("idempotency: {}", "idempotency: {}, replay_window: 5min");
    let asks = [("    queue: deliveries\n", "")];
    let found = doubts(&[window, asks[0]]);
    assert!(found.iter().any(|it| it.contains("no job is sent to `receivers`")), "{found:?}");
    assert!(found.iter().any(|it| it.contains("nobody feeds the queue `deliveries`")), "{found:?}");
    let idle = [("every: 1s", "every: 1s, idles_when_open: true")];
    check(&idle, "21:42", "no breaker opens for a job");
    let full = [("in_flight: 10", "when_full: holds_worker")];
    check(&full, "26:32", "no destination is ever full");
    let end = ("rate: 10/s }\n", "rate: 10/s }\noperator: [{ at: 2h, resume: deliveries }]\n");
    check(&[end], "27:30", "never suspends a destination");
}

#[test]
fn w27_a_queue_that_claims_less_than_comes_in_grows() {
    check(&[("poisson: 5/s", "poisson: 41/s")], "21:12", "41/s of jobs come in, and `deliveries`");
    assert_eq!(doubts(&[("poisson: 5/s", "poisson: 40/s")]), NONE);
    check(&[("every: 1s", "every: 1s, batch: 2")], "21:12", "claims at most 4/s");
}
