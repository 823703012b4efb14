//! N18 to N27, N38, N39: how many invoices and mails come of one.

use crate::lab::Diary;
use crate::mission::dotnet::endings;
use crate::mission::dotnet::lived;
use crate::mission::dotnet::reached;

/// Effects at a service, answers from memory, conflicts, bodies that differ.
fn counts(diary: &Diary, service: &str) -> [usize; 4] {
    ["effect", "replayed", "conflict", "mismatch"].map(|what| diary.count(&[service, what]))
}

#[track_caller]
fn check(name: &str, expected: [usize; 4], ended: &str) {
    let diary = lived("-invoices", name);
    assert_eq!(counts(&diary, "invoices"), expected, "{name}");
    assert_eq!(endings(&diary), [ended], "{name}");
}

/// [N18, N21, N23] Two invoices without a key, one with a key made once, two with one made inside
/// the retry; where no answer arrives at all, one for each attempt.
#[test]
fn n18_how_many_invoices() {
    check("base", [2, 0, 0, 0], "ended ok after 1.6s");
    check("derived-key", [1, 1, 0, 0], "ended ok after 1.5s");
    check("key-outside", [1, 1, 0, 0], "ended ok after 1.5s");
    check("key-inside", [2, 0, 0, 0], "ended ok after 1.6s");
    check("no-key-all-lost", [4, 0, 0, 0], "ended attempts after 7.5s");
    check("key-inside-all-lost", [4, 0, 0, 0], "ended attempts after 7.5s");
    check("derived-key-all-lost", [1, 3, 0, 0], "ended attempts after 7.5s");
}

/// [N22] Two equal requests in the same instant: one executes, if there is a key.
#[test]
fn n22_of_twins_one_executes() {
    check("twins", [1, 0, 1, 0], "ended ok after 100ms");
    check("twins-without-key", [2, 0, 0, 0], "ended ok after 100ms");
}

/// [N23, ours] A failure that is stored is heard by every retry.
#[test]
fn n23_a_stored_failure_is_repeated() {
    check("failures-forgotten", [1, 0, 0, 0], "ended ok after 700ms");
    check("failures-stored", [0, 3, 0, 0], "ended attempts after 3.6s");
}

/// [N24, a slip] 409 is on the list of what is never retried: the call fails although the invoice
/// exists. Retried, with or without a hint, it hears of the invoice.
#[test]
fn n24_a_conflict_that_nobody_retries() {
    check("in-progress", [1, 0, 1, 0], "ended not_retried after 1.5s");
    check("in-progress-retried", [1, 1, 1, 0], "ended ok after 2.5s");
    check("in-progress-hinted", [1, 1, 1, 0], "ended ok after 2.5s");
}

/// [N25] The same key with another body is refused, not retried, and counted apart.
#[test]
fn n25_another_body_is_the_clients_bug() {
    check("other-body", [1, 0, 0, 1], "ended not_retried after 1.5s");
}

/// [N26] A key life of 24 or 48 h is shorter than a retry life of 72 h: a second invoice.
/// [N27, ours] A crash between key and answer blocks the key for its whole life, a day, unless the
/// state in progress has a life of its own.
#[test]
fn n26_n27_how_long_a_key_lives() {
    let told = |name: &str| counts(&lived("-keys", name), "invoices");
    assert_eq!(["base", "kept-48h"].map(told), [[2, 0, 0, 0]; 2]);
    assert_eq!(told("kept-96h"), [1, 1, 0, 0]);
    let crash = lived("-keys", "crash");
    assert_eq!(counts(&crash, "invoices"), [1, 0, 23, 0]);
    assert_eq!(endings(&crash), ["ended ok after 86401.5s"]);
    let own_life = lived("-keys", "crash-own-life");
    assert_eq!(counts(&own_life, "invoices"), [1, 0, 0, 0]);
    assert_eq!(endings(&own_life), ["ended ok after 3601.5s"]);
}

/// [N38] Six executions, waits of 0, 1, 3, 7 and 10 s: 21 s, 22.1 s at most with jitter.
/// [N39] A mail from inside the block goes out six times; from an outbox once, or not at all.
#[test]
fn n38_n39_a_block_under_ef_core() {
    let block = lived("-outbox", "base");
    assert_eq!(reached(&block, "database"), [0.0, 0.0, 1.0, 4.0, 11.0, 21.0]);
    assert_eq!(endings(&block), ["ended attempts after 21s"]);
    let mails = |name: &str| {
        let diary = lived("-outbox", name);
        ["mail", "database"].map(|service| diary.count(&[service, "effect"]))
    };
    assert_eq!(mails("base"), [6, 0]);
    assert_eq!(mails("back-in-time"), [6, 1]);
    assert_eq!(mails("outbox"), [1, 1]);
    assert_eq!(mails("outbox-no-commit"), [0, 0]);
    let jittered = lived("-outbox", "with-jitter");
    let last = reached(&jittered, "database").into_iter().fold(0.0, f64::max);
    assert!((21.0..=22.1).contains(&last), "{last}");
}
