//! What runs as written and is hardly meant is pointed out, with its place and a way to mend it.

use stormlab::scenario;
use stormlab::scenario::diagnostic::Severity;

/// The doubts about a small system in which `from` is replaced by `to`.
#[track_caller]
fn doubts(from: &str, to: &str) -> Vec<String> {
    const SYSTEM: &str = "schema: 1
name: t
clients:
  web: { arrivals: { poisson: 20/s }, calls: shop, policy: hasty }
services:
  shop: { workers: 9, work: 1ms, calls: [{ to: database, policy: patient }] }
  database: { workers: 9, work: 1ms, queue: { limit: 9 } }
links: { default: { latency: 1ms } }
policies:
  hasty: { timeout: 2s }
  patient: { retry: { max_attempts: 2 } }
triggers: [{ at: 10min, lasts: 5s, service: database, effect: refuse }]
variants:
  other: { run: { window: 1s } }
";
    assert_eq!(SYSTEM.matches(from).count(), 1, "{from}");
    let text = SYSTEM.replace(from, to);
    let (_, doubts) = scenario::parse_with_doubts("t", text.as_bytes()).expect("a scenario");
    assert!(doubts.iter().all(|doubt| doubt.severity == Severity::Warning && doubt.help.is_some()));
    let line =
        |d: &scenario::diagnostic::Diagnostic| format!("{}:{} {}", d.line, d.column, d.problem);
    doubts.iter().map(line).collect()
}

#[test]
fn nothing_is_doubtful_about_a_sound_scenario() {
    assert_eq!(doubts("name: t", "name: u"), [""; 0]);
}

#[test]
fn each_doubt_has_its_place() {
    #[track_caller]
    fn check(from: &str, to: &str, expected: &str) {
        let found = doubts(from, to);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains(expected), "{expected:?}: {found:?}");
    }
    check(
        "limit: 9 }",
        "limit: 9, when_full: drop }",
        "7:68 a full queue of `database` says nothing, and `shop` waits",
    );
    check("latency: 1ms }", "latency: 1ms, loss: 1% }", "8:41 messages from `shop` to `database`");
    check("effect: refuse", "effect: hang", "12:63 `database` answers nothing while it hangs");
    check(
        "timeout: 2s",
        "timeout: 2s, attempt_timeout: 3s",
        "10:42 an attempt may take 3s, its whole call only 2s",
    );
    check("  hasty: {", "  lazy: {}\n  hasty: {", "10:3 nobody uses the policy `lazy`");
    check(
        "run: { window: 1s }",
        "policies: { pateint: { timeout: 1s } }",
        "14:24 nobody uses the policy `pateint`",
    );
    check(
        "policy: patient }]",
        "policy: patient, operation: write }]",
        "6:86 `shop` writes to `database` without a key, and the write is repeated",
    );
    check(
        "policy: patient }]",
        "policy: patient, operation: { write: { key: attempt } } }]",
        "6:86 `shop` makes a new key in each attempt at `database`",
    );
    check(
        "policy: patient }]",
        "policy: patient, operation: { write: { key: request } } }]",
        "6:86 `shop` sends a key that `database` does not know",
    );
    check(
        "queue: { limit: 9 } }",
        "queue: { limit: 9 }, idempotency: {} }",
        "7:59 nobody writes to `database`: its `idempotency`",
    );
    check(
        "effect: refuse",
        "effect: { lose_replies: 10% }",
        "12:63 answers of `database` are lost, and `shop` waits for one for ever",
    );
    check(
        "  database: { w",
        "  cache: { workers: 1, work: 1ms }\n  database: { w",
        "7:3 nobody calls the service `cache`",
    );
    check(
        "run: { window: 1s }",
        "services: { database: { queue: { when_full: drop } } }",
        "14:56 a full queue of `database`",
    );
}

/// R6 drops without a word; where the deadline is all that ends a wait, nothing ends it then.
#[test]
fn work_that_expires_in_silence_needs_callers_that_give_up() {
    let with = |client: &str, hasty: &str| {
        let base = "schema: 1\nname: t\nclients: { web: { arrivals: { poisson: 20/s }, calls: shop, policy: p CLIENT } }\nservices: { shop: { workers: 1, work: 1ms, queue: { drop_expired: true } } }\npolicies: { p: { POLICY } }\n";
        let text = base.replace("CLIENT", client).replace("POLICY", hasty);
        let (_, doubts) = scenario::parse_with_doubts("t", text.as_bytes()).expect("a scenario");
        doubts.iter().map(|d| format!("{}:{} {}", d.line, d.column, d.problem)).collect::<Vec<_>>()
    };
    let found = with(", deadline: 1s", "retry: {}");
    assert!(found[0].starts_with("4:67 `shop` drops what is past its deadline"), "{found:?}");
    let found = with("", "retry: {}");
    assert!(found[0].starts_with("4:67 nothing that waits at `shop` ever expires"), "{found:?}");
    assert_eq!(with(", deadline: 1s", "timeout: 3s"), [""; 0]);
    assert_eq!(with("", "attempt_timeout: 3s"), [""; 0]);
}

/// [P1, P20] What is wrong with a request is wrong at every attempt, whoever retries it. An error of
/// single attempts, or one that passes, is worth another try.
#[test]
fn a_retry_of_what_fails_every_time_is_doubted() {
    let with = |errors: &str, retry: &str| {
        let base = "schema: 1\nname: t\nclients: { web: { arrivals: { poisson: 20/s }, calls: shop, policy: p } }\nservices: { shop: { workers: 1, work: 1ms, errors: { ERRORS } } }\npolicies: { p: { retry: { RETRY } } }\n";
        let text = base.replace("ERRORS", errors).replace("RETRY", retry);
        let (_, doubts) = scenario::parse_with_doubts("t", text.as_bytes()).expect("a scenario");
        doubts.iter().map(|d| format!("{}:{} {}", d.line, d.column, d.problem)).collect::<Vec<_>>()
    };
    let (poison, all) = ("class: rejected, share: 1%, of: requests", "on: [transient, permanent]");
    let expected = "5:31 `p` retries `rejected`, and a request that `shop` answers so is answered so \
                    every time";
    assert_eq!(with(poison, all), [expected]);
    assert_eq!(with(poison, "on: [transient]"), [""; 0]);
    assert_eq!(with(poison, "max_attempts: 1, on: [transient, permanent]"), [""; 0]);
    assert_eq!(with("class: rejected, share: 1%", all), [""; 0]);
    assert_eq!(with("class: internal, share: 1%, of: requests", "on: [internal]"), [""; 0]);
}
