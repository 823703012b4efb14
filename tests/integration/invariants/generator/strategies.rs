//! Throttles and budgets of every kind.

use super::PER;
use super::SPANS;
use super::Tape;

pub(super) fn throttle(tape: &mut Tape<'_>) -> String {
    let per = tape.pick(&PER);
    let kind = match tape.up_to(3) {
        0 => format!(
            "adaptive: {{ k: {}, window: {}, counts: {}, asks: {}",
            tape.pick(&["2", "1.1", "0.5"]),
            tape.pick(&["1s", "unlimited", "10ms"]),
            tape.pick(&["asked", "answered"]),
            tape.pick(&["attempts", "retries"]),
        ),
        1 => format!(
            "admission: {{ threshold: {}, window: {}, aggression: {}",
            tape.pick(&["95%", "50%"]),
            tape.pick(&SPANS),
            tape.pick(&["1", "2.5"]),
        ),
        2 => format!("cubic: {{ throttled: {}", tape.pick(&["[overloaded]", "[transient]"])),
        _ => format!(
            "rate: {{ rate: {}, burst: {}, when_empty: {}",
            tape.pick(&["10/s", "3/s", "1000/s"]),
            1 + tape.up_to(9),
            tape.pick(&["reject", "wait"]),
        ),
    };
    format!("throttle: {{ {kind}, per: {per} }} }}")
}

pub(super) fn budget(tape: &mut Tape<'_>) -> String {
    let per = tape.pick(&PER);
    let deposit = tape.pick(&["call", "success", "first_success", "final"]);
    let share = tape.pick(&["20%", "100%", "0.1%"]);
    let kind = match tape.up_to(8) {
        0 => format!(
            "ratio: {{ share: {share}, deposit: {deposit}, floor: {}/s, cap: 9, start: {}",
            tape.up_to(2),
            tape.up_to(9),
        ),
        1 => format!(
            "token_bucket: {{ max_tokens: {}, token_ratio: {}, asked: {}, last_attempt: {}, \
             credit: {}",
            1 + tape.up_to(20),
            tape.pick(&["0.1", "1", "0.015"]),
            tape.pick(&["before_wait", "after_wait"]),
            tape.pick(&["pays", "free"]),
            tape.pick(&["success", "answered"]),
        ),
        2 => format!(
            "quota: {{ capacity: {}, costs: {{ default: 3, timeout: 5 }}, refund: {}, \
             when_empty: {}",
            5 + tape.up_to(50),
            tape.pick(&["call", "client"]),
            tape.pick(&["fail", "wait_and_fail"]),
        ),
        3 => format!(
            "window: {{ share: {share}, deposit: {deposit}, ttl: {}, min_per_second: {}, rule: {}",
            tape.pick(&SPANS),
            tape.up_to(3),
            tape.pick(&["exact", "finagle", "tower"]),
        ),
        4 => format!("concurrent: {{ limit: {}", tape.up_to(4)),
        5 => format!(
            "active_share: {{ share: {share}, min: {}, interval: {}",
            tape.up_to(3),
            tape.pick(&["0s", "100ms", "2s"]),
        ),
        6 => format!(
            "client_ratio: {{ share: {share}, window: {}",
            tape.pick(&["1s", "unlimited", "10ms"])
        ),
        7 => format!(
            "rate: {{ rate: {}, burst: {}, when_empty: {}",
            tape.pick(&["10/s", "3/s", "100/s"]),
            1 + tape.up_to(9),
            tape.pick(&["refuse", "wait"]),
        ),
        _ => format!(
            "counter: {{ limit: {}, ttl: {}, ttl_from: {}",
            tape.up_to(9),
            tape.pick(&SPANS),
            tape.pick(&["first", "last"]),
        ),
    };
    format!(", budget: {{ {kind}, per: {per} }} }}")
}
