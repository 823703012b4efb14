//! Operations and idempotency keys as meant, as text.

use crate::lint::meant::Lines;
use crate::scenario::defaults;
use crate::scenario::model::Answer;
use crate::scenario::model::Idempotency;
use crate::scenario::model::MadeOnce;
use crate::scenario::model::Operation;
use crate::scenario::model::Remembers;

/// What a call does, on one line.
pub(super) fn operation(it: Operation) -> String {
    let key = match it {
        Operation::Read => return "read".to_owned(),
        Operation::Write(None) => return "write".to_owned(),
        Operation::Write(Some(MadeOnce::Request)) => "request",
        Operation::Write(Some(MadeOnce::Call)) => "call",
        Operation::Write(Some(MadeOnce::Attempt)) => "attempt",
    };
    format!("{{ write: {{ key: {key} }} }}")
}

/// What a handler makes of the errors of a call, as one more key of it.
pub(super) fn answers(it: &[Answer]) -> String {
    if it.is_empty() {
        return String::new();
    }
    let said: Vec<_> = it.iter().map(|one| format!("{}: {}", one.failed, one.with)).collect();
    format!(", answers: {{ {} }}", said.join(", "))
}

/// What a service remembers of keys.
pub(super) fn idempotency(out: &mut Lines, it: &Idempotency) {
    out.open(2, "idempotency");
    out.put_or(3, "kept_for", (it.kept_for, defaults::KEPT_FOR), it.kept_for);
    out.open(3, "in_progress");
    out.put_or(4, "answer", (it.answer, defaults::IN_PROGRESS), it.answer);
    out.put_or(4, "lasts", (it.lasts, it.kept_for), it.lasts);
    let remembers = match it.remembers {
        Remembers::Success => "success",
        Remembers::Answers => "answers",
    };
    out.put_or(3, "remembers", (it.remembers, defaults::REMEMBERS), remembers);
}
