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
