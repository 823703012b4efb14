//! What shows on paper: N6, N7, N9, N14, N21, N26, N29, N35, N39, and the near tie of N3.

use stormlab::lint;
use stormlab::scenario;

use crate::lab;

/// What `explain` advises against in a small system under this policy.
fn remarks(policy: &str) -> Vec<String> {
    system_remarks(&format!(
        "
clients: {{ web: {{ arrivals: {{ poisson: 20/s }}, calls: shop, policy: p }} }}
services: {{ shop: {{ workers: 9, work: 1ms }} }}
policies: {{ p: {policy} }}
"
    ))
}

fn system_remarks(system: &str) -> Vec<String> {
    let text = lab::scenario(system);
    let scenario = scenario::parse("t", text.as_bytes())
        .unwrap_or_else(|problems| panic!("{}\n{text}", problems[0]));
    let found = lint::explanation(&scenario, "base").expect("there is a base");
    let printed = lint::explain(&scenario, "base");
    assert!(found.remarks.iter().all(|remark| printed.contains(&format!("# {remark}\n"))));
    assert_eq!(printed.contains("Advised against"), !found.remarks.is_empty());
    found.remarks
}

const SOUND: &str = "{ attempt_timeout: 1s, retry: { max_attempts: 4, backoff: { exponential: { base: 500ms } }, jitter: decorrelated_v2 } }";

#[test]
fn nothing_is_advised_against_in_what_the_article_lists() {
    assert_eq!(remarks(SOUND), [""; 0]);
    assert_eq!(remarks("{}"), [""; 0]);
}

/// [N6] 400 and its like: retrying only delays the error.
#[test]
fn n6_what_is_wrong_stays_wrong() {
    let wrong = SOUND.replace("jitter", "on: [transient, rejected, not_found], jitter");
    let expected =
        "p retries rejected, not_found: what is wrong stays wrong, and is only heard of later.";
    assert_eq!(remarks(&wrong), [expected]);
    // A 409 that says that the first attempt is in progress is another matter (N24).
    let keyed = |answer: &str| {
        system_remarks(&format!(
            "
clients:
  web:
    {{ arrivals: {{ poisson: 20/s }}, calls: shop, policy: p, operation: {{ write: {{ key: call }} }} }}
services: {{ shop: {{ workers: 9, work: 1ms, idempotency: {{ in_progress: {{ answer: {answer} }} }} }} }}
policies: {{ p: {} }}
",
            SOUND.replace("jitter", "on: [transient, rejected], jitter")
        ))
    };
    assert_eq!(keyed("rejected"), [""; 0]);
    assert_eq!(keyed("unavailable").len(), 1);
}

/// [N7] A retry at once; [N14] no jitter where several clients can retry at once.
#[test]
fn n7_n14_retries_at_once_and_together() {
    let policy = |waits: &str| format!("{{ retry: {{ max_attempts: 4, {waits} }} }}");
    let at_once = "p retries at once: what failed a moment ago will hardly have recovered.";
    let together = "p has no jitter: callers that fail together come back together.";
    assert_eq!(remarks(&policy("backoff: none")), [at_once]);
    assert_eq!(remarks(&policy("backoff: 1s")), [together]);
    assert_eq!(remarks(&policy("backoff: 1s, jitter: full")), [""; 0]);
    assert_eq!(remarks("{ retry: { max_attempts: 1, backoff: 1s } }"), [""; 0]);
    let alone = "
clients: { one: { arrivals: { burst: { count: 1, at: 1s } }, calls: shop, policy: p } }
services: { shop: { workers: 9, work: 1ms } }
policies: { p: { retry: { backoff: 1s } } }
";
    assert_eq!(system_remarks(alone), [""; 0]);
    assert_eq!(system_remarks(&alone.replace("count: 1,", "count: 2,")), [together]);
}

/// [N9] Without a cap the tenth retry at base 1 s waits 512 s.
#[test]
fn n9_waits_without_a_cap() {
    let policy = |attempts: u32, cap: &str| {
        format!(
            "{{ retry: {{ max_attempts: {attempts}, backoff: {{ exponential: {{ base: 1s }}{cap} }}, jitter: full }} }}"
        )
    };
    let expected = "p has no cap on its waits: the wait before retry 10 is 8min32s.";
    let found = remarks(&policy(11, ""));
    assert_eq!(found.len(), 1, "{found:?}");
    let shown = found[0].replace("512s", "8min32s");
    assert_eq!(shown, expected);
    assert_eq!(remarks(&policy(11, ", cap: 10s")), [""; 0]);
    assert_eq!(remarks(&policy(4, "")), [""; 0]);
}

/// [N29] A retry over EF Core multiplies: 4 × 6 = 24.
#[test]
fn n29_a_retry_over_a_library_that_retries() {
    let found = system_remarks(
        "
clients: { web: { arrivals: { poisson: 20/s }, calls: shop, policy: p } }
services: { shop: { workers: 9, work: 1ms } }
policies:
  p: { retry: { max_attempts: 4, backoff: 1s, jitter: full }, inner: ef }
  ef: { preset: efcore-sqlserver, retry: { max_attempts: 6 } }
",
    );
    let product = "p retries over ef, which retries by itself: 4 × 6 = 24 attempts.";
    assert!(found.iter().any(|remark| remark == product), "{found:?}");
}

/// [N35] A budget that takes what is not transient for a success.
#[test]
fn n35_a_budget_that_failures_fill() {
    let with = |credit: &str| {
        let budget = format!(
            "budget: {{ token_bucket: {{ max_tokens: 10, token_ratio: 0.1{credit} }} }}, jitter"
        );
        remarks(&SOUND.replace("jitter", &budget))
    };
    assert_eq!(with(""), [""; 0]);
    let answered = "The budget of p takes a wrong request for a success.";
    assert_eq!(with(", credit: answered"), [answered]);
    let ended = "The budget of p takes a wrong request, a refusal of its own and a call that is cut for a success.";
    assert_eq!(with(", credit: ended"), [ended]);
}

/// [N3, ours] A timeout that equals the first wait of the layer below.
#[test]
fn n3_a_near_tie_of_a_timeout_and_a_wait() {
    let system = |timeout: &str| {
        system_remarks(&format!(
            "
clients: {{ web: {{ arrivals: {{ poisson: 20/s }}, calls: shop, policy: above }} }}
services:
  shop: {{ workers: 9, work: 1ms, calls: [{{ to: database, policy: below }}] }}
  database: {{ workers: 9, work: 1ms }}
policies:
  above: {{ attempt_timeout: {timeout} }}
  below: {{ retry: {{ max_attempts: 4, backoff: {{ exponential: {{ base: 2s }} }} }} }}
"
        ))
    };
    let tie = "web gives up after 2s, which is when shop tries again: a near tie.";
    assert!(system("2s").iter().any(|remark| remark == tie));
    assert!(!system("3s").iter().any(|remark| remark.contains("near tie")));
}

/// [N21] A key made inside the retry, and [N39] a side effect inside a retried block, are warned of.
/// [N26] A key that is forgotten while retries still come is told by `explain`.
#[test]
fn n21_n26_n39_writes_that_are_repeated() {
    let path = |name: &str| format!("{}/scenarios/mission/{name}", env!("CARGO_MANIFEST_DIR"));
    let doubts = |name: &str| -> Vec<String> {
        let (_, doubts) = scenario::load_with_doubts(std::path::Path::new(&path(name)))
            .unwrap_or_else(|error| panic!("{error}"));
        doubts.into_iter().map(|doubt| doubt.problem).collect()
    };
    let invoices = doubts("dotnet-failover-invoices.yaml");
    let inside = "`shop` makes a new key in each attempt at `invoices`: it tells no repetition";
    assert!(invoices.iter().any(|doubt| doubt == inside), "{invoices:?}");
    let outbox = doubts("dotnet-failover-outbox.yaml");
    let mail = "`block` writes to `mail` without a key, and the write is repeated";
    assert!(outbox.iter().any(|doubt| doubt.starts_with(mail)), "{outbox:?}");
    let keys = scenario::load(std::path::Path::new(&path("dotnet-failover-keys.yaml")))
        .unwrap_or_else(|error| panic!("{error}"));
    let forgotten = "its key is forgotten after 1d, while attempts may follow one another";
    assert!(lint::explain(&keys, "base").contains(forgotten));
    assert!(!lint::explain(&keys, "kept-96h").contains("forgotten after"));
}
