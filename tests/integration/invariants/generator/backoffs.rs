//! Back-offs of every growth, jitter and rule, and what servers and callers make of hints.

use std::fmt::Write as _;

use super::SPANS;
use super::Tape;

/// A growth as written, and what other settings ask of it.
struct Growth {
    text: String,
    /// Jitter that remembers grows from a base.
    has_base: bool,
    /// Another base after certain failures.
    may_rebase: bool,
}

/// `backoff: …, jitter: …`.
pub(super) fn waits(tape: &mut Tape<'_>) -> String {
    match tape.up_to(7) {
        0 => return format!("backoff: {}, jitter: none", tape.pick(&SPANS)),
        1 => return "backoff: none".to_owned(),
        _ => {}
    }
    let growth = growth(tape);
    let cap = tape.rarely(2).then(|| tape.pick(&["2s", "500ms", "50ms"]));
    let (jitter, remembers) = jitter(tape, growth.has_base, cap.is_some());
    let mut backoff = format!("{{ {}", growth.text);
    if let Some(cap) = cap {
        let _ = write!(backoff, ", cap: {cap}, cap_ends: {}", tape.pick(&[false, false, true]));
        if !remembers {
            let order = tape.pick(&["before_jitter", "after_jitter"]);
            let _ = write!(backoff, ", cap_applies: {order}");
        }
    }
    if tape.rarely(4) {
        let first = tape.pick(&["0s", "70ms", "uncapped", "unjittered"]);
        let _ = write!(backoff, ", first: {first}");
    }
    if tape.rarely(4) {
        let _ = write!(backoff, ", floor: {}", tape.pick(&["10ms", "1s"]));
    }
    if tape.rarely(4) {
        let round = tape.pick(&["down: 1ms", "nearest: 1s", "down: 100ms"]);
        let _ = write!(backoff, ", round: {{ {round} }}");
    }
    if remembers && !jitter.contains("decorrelated_v2") {
        let _ = write!(backoff, ", remembers: {}", tape.pick(&["capped", "uncapped"]));
    }
    if tape.rarely(4) {
        let _ = write!(backoff, ", by_class: [{}]", by_class(tape, growth.may_rebase));
    }
    if tape.rarely(6) {
        let _ = write!(backoff, ", overflows_at: {}", 1 + tape.up_to(5));
    }
    format!("backoff: {backoff} }}, jitter: {jitter}")
}

fn growth(tape: &mut Tape<'_>) -> Growth {
    let (span, other) = (tape.pick(&SPANS), tape.pick(&SPANS));
    let factor = tape.pick(&["1", "2", "1.5", "3"]);
    let (text, has_base, may_rebase) = match tape.up_to(9) {
        0 => (format!("constant: {span}"), true, true),
        1 => (format!("linear: {{ base: {span}, step: {other} }}"), true, true),
        2 => (format!("exponential: {{ base: {span}, factor: {factor} }}"), true, true),
        3 => {
            let start = tape.pick(&[-1, 1, 2]);
            let text = format!("exponential: {{ base: {span}, factor: {factor}, start: {start} }}");
            (text, true, true)
        }
        4 => (format!("exponential: {{ base: {span}, less_one: true }}"), false, true),
        5 => {
            let unit = tape.pick(&["1ms", "7ms"]);
            let text =
                format!("exponential: {{ base: {span}, factor: {factor}, truncated_to: {unit} }}");
            (text, true, true)
        }
        6 => {
            let exponent = tape.up_to(4);
            let text = format!(
                "polynomial: {{ unit: {span}, exponent: {exponent}, plus: {other}, start: {} }}",
                tape.up_to(2)
            );
            (text, false, false)
        }
        7 => (format!("fibonacci: {span}"), false, true),
        8 => {
            let waits = format!("[{span}, {other}, 30ms]");
            let ends = tape.pick(&[true, false]);
            (format!("table: {{ waits: {waits}, ends: {ends} }}"), false, false)
        }
        _ => {
            let law = tape.pick(&["exponential", "constant"]);
            (format!("drawn: {{ {law}: {span} }}"), false, false)
        }
    };
    Growth { text, has_base, may_rebase }
}

/// A jitter, and whether it remembers.
fn jitter(tape: &mut Tape<'_>, has_base: bool, is_capped: bool) -> (String, bool) {
    let share = tape.pick(&["20%", "100%", "0%"]);
    let span = tape.pick(&SPANS);
    let whole = tape.pick(&["", ", whole: 1ms", ", whole: 1ms, end: included"]);
    let kinds = if has_base { 15 } else { 10 };
    let text = match tape.up_to(kinds) {
        0 => "none".to_owned(),
        1 => "full".to_owned(),
        2 => "equal".to_owned(),
        3 => format!("{{ plus_minus: {{ share: {share}{whole} }} }}"),
        4 => format!("{{ absolute: {{ most: {span}{whole} }} }}"),
        5 => {
            let clipped = is_capped && tape.rarely(2);
            let grows = tape.pick(&["0s", "10ms"]);
            format!("{{ added: {{ most: {span}, grows: {grows}, clipped: {clipped}{whole} }} }}")
        }
        6 => format!("{{ added_share: {} }}", tape.pick(&["10%", "1", "3"])),
        7 => format!("{{ down: {{ share: {share}{whole} }} }}"),
        8 => format!("{{ from: {{ least: {span}{whole} }} }}"),
        9 => format!("{{ full: {{ whole: 1ms, end: {} }} }}", tape.pick(&["one_more", "excluded"])),
        10 => format!("{{ seconds_apart: {share} }}"),
        11 => return ("decorrelated".to_owned(), true),
        12 => return ("decorrelated_v2".to_owned(), true),
        13 => return ("monotone".to_owned(), true),
        14 => return ("compounding".to_owned(), true),
        _ => return (format!("{{ compounded: {share} }}"), true),
    };
    (text, false)
}

fn by_class(tape: &mut Tape<'_>, may_rebase: bool) -> String {
    let on = tape.pick(&["rate_limited", "timeout", "[overloaded, unavailable]"]);
    let change = match tape.up_to(2) {
        0 => format!("scale: {}", tape.pick(&["0.5", "0", "3"])),
        1 if may_rebase => format!("base: {}", tape.pick(&SPANS)),
        _ => format!("backoff: {}, jitter: full", tape.pick(&SPANS)),
    };
    format!("{{ on: {on}, {change} }}")
}

/// What a caller makes of hints.
pub(super) fn hint(tape: &mut Tape<'_>) -> String {
    let span = tape.pick(&SPANS);
    let rule = match tape.up_to(6) {
        0 => return tape.pick(&["override", "larger", "ignore"]).to_owned(),
        1 => return format!("{{ give_up_above: {span} }}"),
        2 => "override: {".to_owned(),
        3 => format!("larger: {{ {},", tape.pick(&["of: wait", "of: window", "drawn: twice"])),
        4 => format!("clamp: {{ at_most: {span},"),
        _ => format!("scaled: {{ share: {},", tape.pick(&["50%", "0%"])),
    };
    let beyond = match tape.up_to(3) {
        0 => "",
        1 => ", cap: 200ms, beyond: give_up",
        2 => ", cap: 1s, beyond: ignore",
        _ => ", cap: 50ms, beyond: clamp",
    };
    format!(
        "{{ {rule} spread: {}, sequence: {}, obeys_zero: {}{beyond} }} }}",
        tape.pick(&["0%", "50%"]),
        tape.pick(&["goes_on", "restarts", "pauses"]),
        tape.pick(&[true, false]),
    )
}

/// What a service says.
pub(super) fn retry_after(tape: &mut Tape<'_>) -> String {
    let span = tape.pick(&SPANS);
    match tape.up_to(3) {
        0 => span.to_owned(),
        1 => format!("{{ exponential: {span} }}"),
        2 => format!("{{ overloaded: {span}, rate_limited: never, unavailable: 0s }}"),
        _ => format!("{{ unavailable: {{ uniform: {{ low: 0s, high: {span} }} }}, internal: 1s }}"),
    }
}
