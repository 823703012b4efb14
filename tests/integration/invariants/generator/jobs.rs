//! Queues of jobs: who works on them, how jobs are claimed, come again and are given up.

use super::Tape;

/// Does a population feed the queue? As a setting after others.
pub(super) fn fed(tape: &mut Tape<'_>) -> &'static str {
    if tape.rarely(3) { ", queue: q0" } else { "" }
}

/// The one queue of a system, as an entry of `queues`.
pub(super) fn queue(tape: &mut Tape<'_>) -> String {
    let (processes, workers) = (1 + tape.up_to(2), 1 + tape.up_to(4));
    let every = tape.pick(&["100ms", "10ms", "1s"]);
    let (batch, prefetch) = (1 + tape.up_to(9), tape.up_to(5));
    let order = tape.pick(&["oldest_due", "newest_due"]);
    let rate = tape.pick(&["", ", rate: 50/s", ", rate: 5/s"]);
    let idles = tape.pick(&[false, true]);
    let mut parts = vec![
        format!("processes: {processes}, workers: {workers}"),
        format!(
            "claim: {{ every: {every}, batch: {batch}, prefetch: {prefetch}, order: {order}, \
             idles_when_open: {idles}{rate} }}"
        ),
        format!("lease: {}", tape.pick(&["unlimited", "1s", "100ms", "10s"])),
        format!("requeue: {}", tape.pick(&["compare_and_set", "blind"])),
        format!("elsewhere: {}", tape.pick(&[false, true])),
        format!("signed_once: {}", tape.pick(&[false, true])),
        format!(
            "refused: {}",
            tape.pick(&[
                "fails",
                "dead_letter",
                "{ postpone: { after: 300ms } }",
                "{ postpone: { after: 300ms, consumes_attempt: true } }"
            ])
        ),
    ];
    let counted = tape.rarely(3);
    if counted {
        parts.push(format!(
            "counter: {{ scope: {}, gives_up_at: {}, ttl: {}, without_ttl: 50% }}",
            tape.pick(&["job", "job_step", "entity", "nodes", "new_id"]),
            1 + tape.up_to(2),
            tape.pick(&["1s", "300ms"]),
        ));
    }
    parts.push(format!(
        "retry: {{ max_attempts: {}, backoff: {{ exponential: {{ base: {} }} }}, jitter: {}, on: {}, \
         hint: {}{} }}",
        if counted { "unlimited" } else { tape.pick(&["4", "1", "unlimited"]) },
        tape.pick(&["200ms", "10ms"]),
        tape.pick(&["none", "full", "decorrelated"]),
        tape.pick(&["transient", "[transient, permanent, breaker_open, bulkhead_full]"]),
        tape.pick(&["ignore", "larger", "override"]),
        tape.pick(&["", ", max_elapsed: 2s"]),
    ));
    if tape.rarely(2) {
        parts.push(format!(
            "destinations: {{ in_flight: {}, when_full: {}{}{} }}",
            tape.pick(&["1", "3", "unlimited"]),
            tape.pick(&["returns", "holds_worker"]),
            tape.pick(&["", ", rate: 5/s", ", rate: { rate: 20/s, burst: 5 }"]),
            tape.pick(&[
                "",
                ", suspend: { on: [transient, permanent], at: 2 }",
                ", suspend: { on: transient, at: 1, lasts: 1s, jobs: dead_letter }",
                ", suspend: { on: [transient, internal], at: 3, lasts: 300ms }"
            ]),
        ));
    }
    if tape.rarely(3) {
        parts.push(format!(
            "worker_errors: {{ share: {}, of: {}, returns: {}, consumes_attempt: {} }}",
            tape.pick(&["30%", "100%"]),
            tape.pick(&["executions", "jobs"]),
            tape.pick(&["0s", "300ms", "with_lease"]),
            tape.pick(&[false, true]),
        ));
    }
    format!("queues: {{ q0: {{ {} }} }}\n", parts.join(", "))
}
