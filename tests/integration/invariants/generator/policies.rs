//! Policies: which strategies there are, and in what order.

use std::fmt::Write as _;

use super::PER;
use super::SPANS;
use super::Tape;
use super::backoffs;
use super::breakers;
use super::law;
use super::strategies;

pub(super) fn policy(text: &mut String, tape: &mut Tape<'_>, id: usize) {
    let mut parts = Vec::new();
    let mut order = Vec::new();
    let timeout = tape.rarely(2).then(|| (tape.pick(&SPANS), tape.pick(&["refuse", "truncate"])));
    let retries = !tape.rarely(4);
    if let Some((after, late_wait)) = timeout {
        order.push("timeout");
        let running = if retries { tape.pick(&["cut", "finish"]) } else { "cut" };
        parts.push(format!(
            "timeout: {{ after: {after}, late_wait: {late_wait}, running: {running} }}"
        ));
    }
    if retries {
        order.push("retry");
        parts.push(retry(tape));
    }
    if tape.rarely(3) {
        let at = tape.up_to(order.len());
        order.insert(at, "breaker");
        parts.push(breakers::breaker(tape));
    }
    if tape.rarely(3) {
        let at = tape.up_to(order.len());
        order.insert(at, "bulkhead");
        parts.push(bulkhead(tape, !order[at..].contains(&"retry")));
    }
    if tape.rarely(3) {
        let at = tape.up_to(order.len());
        order.insert(at, "throttle");
        parts.push(strategies::throttle(tape));
    }
    if tape.rarely(2) {
        order.push("attempt_timeout");
        parts.push(format!(
            "attempt_timeout: {{ after: {}, scope: {}{} }}",
            law(tape, &SPANS),
            tape.pick(&["attempt", "queue"]),
            tape.pick(&["", ", multiplier: 1.5", ", multiplier: 2, cap: 1000s"])
        ));
    }
    parts.push(format!("order: [{}]", order.join(", ")));
    if order.is_empty() {
        parts = vec!["attempt_timeout: 1s".to_owned()];
    }
    let _ = writeln!(text, "  p{id}: {{ {} }}", parts.join(", "));
}

fn bulkhead(tape: &mut Tape<'_>, sees_attempts: bool) -> String {
    let limit = match tape.up_to(7) {
        0 => "{ aimd: { initial: 3, min: 1, max: 6, timeout: 100ms } }".to_owned(),
        1 => "{ vegas: { initial: 2, max: 9, probe_multiplier: 1 } }".to_owned(),
        2 => "{ gradient: { initial: 2, min: 1, max: 9, smoothing: 1, probe_interval: 7 } }"
            .to_owned(),
        3 => "{ gradient2: { initial: 2, min: 1, max: 9, queue: 1, long_window: 5 } }".to_owned(),
        _ => (1 + tape.up_to(5)).to_string(),
    };
    let queue = tape.pick(&["0", "3", "100", "unlimited"]);
    let mut text = format!("bulkhead: {{ limit: {limit}, queue: {queue}");
    if queue != "0" {
        let line = tape.pick(&["fifo", "lifo"]);
        let _ = write!(text, ", line: {line}");
        if tape.rarely(2) {
            let _ = write!(text, ", max_wait: {}", tape.pick(&SPANS));
        }
    }
    if sees_attempts {
        let _ = write!(text, ", abandoned: {}", tape.pick(&["free", "keeps_place"]));
    }
    let _ = write!(text, ", per: {} }}", tape.pick(&PER));
    text
}

fn retry(tape: &mut Tape<'_>) -> String {
    let attempts = tape.pick(&["2", "3", "1", "5", "unlimited"]);
    let waits = backoffs::waits(tape);
    let on = tape.pick(&[
        "[transient]",
        "[transient, internal, breaker_open]",
        "[transient, bulkhead_full]",
        "[transient, throttled]",
        "[transient, deadline_passed, breaker_open, bulkhead_full]",
        "[timeout]",
    ]);
    let hint =
        if tape.rarely(2) { format!(", hint: {}", backoffs::hint(tape)) } else { String::new() };
    let budget = if tape.up_to(2) == 0 { String::new() } else { strategies::budget(tape) };
    let elapsed = match tape.up_to(5) {
        0 => format!(", max_elapsed: {}", tape.pick(&SPANS)),
        1 => format!(", max_elapsed: {{ after: {}, counts_wait: false }}", tape.pick(&SPANS)),
        _ => String::new(),
    };
    format!("retry: {{ max_attempts: {attempts}, {waits}, on: {on}{hint}{budget}{elapsed} }}")
}
