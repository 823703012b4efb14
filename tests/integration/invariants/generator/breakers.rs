//! Breakers of every kind.

use std::fmt::Write as _;

use super::PER;
use super::SPANS;
use super::Tape;

pub(super) fn breaker(tape: &mut Tape<'_>) -> String {
    let (trip, has_share) = trip(tape);
    let probes = 1 + tape.up_to(2);
    let mut text = format!("breaker: {{ {trip}, open_for: {}, probes: {probes}", open_for(tape));
    if tape.rarely(2) {
        let _ = write!(text, ", half_open: {}", half_open(tape, probes, has_share));
    }
    if tape.rarely(4) {
        let _ = write!(text, ", or_consecutive: {}", 1 + tape.up_to(5));
    }
    if tape.rarely(4) {
        let _ = write!(text, ", trips_at_once: {}", tape.pick(&["fatal", "[timeout]"]));
    }
    if tape.rarely(4) {
        text.push_str(", ignores: [rejected, denied]");
    }
    if tape.rarely(4) {
        let counts = tape.pick(&["[transient]", "[timeout, unavailable]", "[bulkhead_full]"]);
        let _ = write!(text, ", counts: {counts}");
    }
    let _ = write!(
        text,
        ", uncounted: {}, cancelled: {}, release_guarded: {}, late_results: {}, forgets: {}, \
         per: {} }}",
        tape.pick(&["success", "nothing", "closes", "leak", "release_as_success"]),
        tape.pick(&["release", "success", "leak", "release_as_success"]),
        tape.pick(&[true, false]),
        tape.pick(&["ignore", "count", "record", "overrule"]),
        tape.pick(&["when_closed", "when_opened", "never"]),
        tape.pick(&PER)
    );
    text
}

/// What opens it, and whether that looks at a share of failures.
fn trip(tape: &mut Tape<'_>) -> (String, bool) {
    let few = 1 + tape.up_to(6);
    let span = tape.pick(&SPANS);
    match tape.up_to(7) {
        0 => (format!("consecutive: {few}"), false),
        1 => (format!("consecutive: {{ more_than: {} }}", few - 1), false),
        2 => {
            let clear = tape.pick(&SPANS);
            let row = format!("{{ failures: {few}, forget_after: {span}, clear_every: {clear} }}");
            (format!("consecutive: {row}"), false)
        }
        3 => {
            let average = format!(
                "{{ window: {span}, below: {}, minimum_calls: {few}, settled_after: {} }}",
                tape.pick(&["80%", "50%", "100%"]),
                tape.pick(&["0s", "1s"])
            );
            (format!("average: {average}"), false)
        }
        4 => (format!("exhausted: {{ attempts: {few}, within: {span} }}"), false),
        5 => {
            let calls = few + tape.up_to(9);
            let (limit, has_share) = limit(tape, few);
            let more = format!("{}{}", slow(tape), tape.pick(&["", ", judged: on_outcome"]));
            let window = format!(
                "{{ calls: {calls}, {limit}, minimum_calls: {few}{more}, {} }}",
                warm(tape)
            );
            (format!("window: {window}"), has_share)
        }
        _ => {
            let (limit, has_share) = limit(tape, few);
            let turning = tape.pick(&[
                "",
                ", turns: lazily",
                ", turns: on_the_clock, judged: on_outcome",
                ", turns: with_outcomes",
                ", turns: on_the_clock, judged: at_turns",
            ]);
            let fires = tape.pick(&["", ", share_of: fires"]);
            let buckets = tape.pick(&["", ", buckets: 1", ", buckets: 3", ", buckets: 20"]);
            let (slow, warm) = (slow(tape), warm(tape));
            let window = format!(
                "{{ length: {span}, {limit}, minimum_calls: {few}{turning}{fires}{buckets}{slow}, \
                 {warm} }}"
            );
            (format!("window: {window}"), has_share)
        }
    }
}

fn limit(tape: &mut Tape<'_>, few: usize) -> (String, bool) {
    match tape.up_to(2) {
        0 => (format!("failure_share: {}", tape.pick(&["50%", "10%", "100%"])), true),
        1 => (format!("more_than: {}", tape.pick(&["50%", "0%", "90%"])), true),
        _ => (format!("failures: {}", 1 + tape.up_to(few - 1)), false),
    }
}

fn slow(tape: &mut Tape<'_>) -> String {
    if !tape.rarely(3) {
        return String::new();
    }
    let longer_than = tape.pick(&["0s", "50ms", "1s"]);
    format!(", slow: {{ longer_than: {longer_than}, share: {} }}", tape.pick(&["50%", "100%"]))
}

fn warm(tape: &mut Tape<'_>) -> String {
    format!("warm_up: {}", tape.pick(&["0s", "1s"]))
}

fn open_for(tape: &mut Tape<'_>) -> String {
    let base = tape.pick(&["100ms", "50ms", "1s", "300ms"]);
    let growth = match tape.up_to(6) {
        0..=2 => return base.to_owned(),
        3 => {
            let forget = tape.pick(&["", ", forget_every: 500ms"]);
            format!("base: {base}, times: {{ cap: 2s{forget} }}")
        }
        4 => {
            let factor = tape.pick(&["1", "2", "1.5"]);
            format!("base: {base}, exponential: {{ factor: {factor}, cap: 2s }}")
        }
        5 => return format!("{{ base: {base}, equal_jittered: {{ cap: 3s }} }}"),
        _ => "table: [100ms, 1s, 50ms]".to_owned(),
    };
    let jitter = tape.pick(&["none", "{ plus_minus: 20% }", "{ additive: 50% }", "{ extra: 1s }"]);
    format!("{{ {growth}, jitter: {jitter} }}")
}

fn half_open(tape: &mut Tape<'_>, probes: usize, has_share: bool) -> String {
    let begins = tape.pick(&["lazily", "by_timer", "never"]);
    if begins == "never" {
        return "none".to_owned();
    }
    let decision = match tape.up_to(3) {
        0 if has_share => format!("decides_after: {}", 1 + tape.up_to(probes - 1)),
        1 => format!("places: in_all, closes_after: {probes}, opens_after: 1"),
        2 => format!("places: in_all, closes_after: 1, opens_after: {probes}"),
        _ => format!("closes_after: {}, opens_after: {}", 1 + tape.up_to(3), 1 + tape.up_to(2)),
    };
    let ends = match tape.up_to(3) {
        0 => ", others: wait".to_owned(),
        1 => format!(", lease: {}", tape.pick(&SPANS)),
        2 => format!(", at_most: {}", tape.pick(&SPANS)),
        _ => String::new(),
    };
    format!(
        "{{ begins: {begins}, strictly_after: {}, {decision}{ends}, probes_count: {} }}",
        tape.pick(&[false, true]),
        tape.pick(&[false, true]),
    )
}
