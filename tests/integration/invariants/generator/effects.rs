//! What calls do, and what services remember of their keys.

use std::fmt::Write as _;

use super::Tape;

/// What a call does, as a setting after others.
pub(super) fn operation(tape: &mut Tape<'_>) -> &'static str {
    tape.pick(&[
        "",
        ", operation: write",
        ", operation: { write: { key: request } }",
        ", operation: { write: { key: call } }",
        ", operation: { write: { key: attempt } }",
    ])
}

/// What a service remembers, if anything.
pub(super) fn idempotency(text: &mut String, tape: &mut Tape<'_>) {
    if tape.rarely(2) {
        let _ = write!(
            text,
            ", idempotency: {{ kept_for: {}, in_progress: {{ answer: {}, lasts: {} }}, \
             remembers: {} }}",
            tape.pick(&["24h", "1s", "100ms"]),
            tape.pick(&["rejected", "unavailable"]),
            tape.pick(&["24h", "1s", "100ms"]),
            tape.pick(&["success", "answers"])
        );
    }
}

/// How a reply comes, as a setting after others.
pub(super) fn reply(tape: &mut Tape<'_>) -> String {
    if !tape.rarely(3) {
        return String::new();
    }
    let told = tape.pick(&[
        "notification: {}",
        "notification: { latency: 100ms, loss: 50% }",
        "poll: 100ms",
        "notification: { latency: { exponential: 50ms } }, poll: 1s",
    ]);
    let read = tape.pick(&[
        "read: plain",
        "read: destructive",
        "read: plain, read_errors: { share: 50% }",
        "read: destructive, read_errors: { share: 50%, value: taken }",
    ]);
    let consumer = tape.pick(&["typed", "naive", "reject_list", "naive_reject_list", "wrapped"]);
    let malformed =
        tape.pick(&["", ", malformed: { unreadable: 20%, missing_status: 20%, empty: 20% }"]);
    let retryable = tape.pick(&["told", "unknown"]);
    format!(
        ", reply: {{ deferred: {{ {told}, {read}, consumer: {consumer}{malformed}, retryable: \
         {retryable} }} }}"
    )
}
