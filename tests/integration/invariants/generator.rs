//! Systems that nobody thought of: small, short, and full of everything at once.
//!
//! A system is built from a tape of numbers, read front to back; each number makes one choice, and
//! zero makes the plainest one. Proptest shrinks the tape, so what it reports is plain, too.
//! Spans come from a coarse grid, and work, waits and triggers thus often fall on one instant.

mod effects;
mod strategies;

use std::fmt::Write as _;

use proptest::prelude::*;
use stormlab::policy::outcome::Class;
use stormlab::scenario::model::Arrivals;
use stormlab::scenario::model::Effect;
use stormlab::scenario::model::Errors;
use stormlab::scenario::model::ErrorsOf;
use stormlab::scenario::model::Model;
use stormlab::scenario::model::Trigger;
use stormlab::units::Duration;
use stormlab::units::Share;

use crate::lab;

/// A system and the seed it runs under.
pub(super) struct Case {
    pub(super) model: Model,
    pub(super) seed: u64,
    text: String,
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "seed {}, triggers {:?}{}", self.seed, self.model.triggers, self.text)
    }
}

/// Random systems.
pub(super) fn cases() -> impl Strategy<Value = Case> {
    (prop::collection::vec(any::<u16>(), 0..160), 0u64..1_000)
        .prop_map(|(tape, seed)| build(Tape { numbers: &tape, at: 0 }, seed))
}

/// The choices, one number each; zero where the tape has ended.
struct Tape<'t> {
    numbers: &'t [u16],
    at: usize,
}

impl Tape<'_> {
    fn next(&mut self) -> usize {
        self.at += 1;
        self.numbers.get(self.at - 1).copied().unwrap_or(0).into()
    }

    /// From 0 to `most`.
    fn up_to(&mut self, most: usize) -> usize {
        self.next() % (most + 1)
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.next() % choices.len()]
    }

    /// True in one of `of` cases.
    fn rarely(&mut self, of: usize) -> bool {
        self.next() % of == of - 1
    }

    fn share(&mut self) -> Share {
        Share::new(self.pick(&[0.0, 0.3, 0.5, 0.9, 1.0])).expect("it is a share")
    }
}

fn build(mut tape: Tape<'_>, seed: u64) -> Case {
    let services = 1 + tape.up_to(3);
    let clients = 1 + tape.up_to(1);
    let mut text = String::from("\n");
    let warm_up = tape.pick(&["0s", "2s"]);
    let events = tape.pick(&[20_000, 20_000, 4_000]);
    let _ = writeln!(
        text,
        "run: {{ horizon: {}s, warm_up: {warm_up}, window: {}, limits: {{ events: {events} }} }}",
        tape.pick(&[5, 10, 20]),
        tape.pick(&["1s", "500ms", "100ms"]),
    );
    text.push_str("clients:\n");
    for id in 0..clients {
        client(&mut text, &mut tape, id, services);
    }
    text.push_str("policies:\n");
    for id in 0..POLICIES {
        policy(&mut text, &mut tape, id);
    }
    text.push_str("services:\n");
    for id in 0..services {
        service(&mut text, &mut tape, id, services);
    }
    link(&mut text, &mut tape);
    operator(&mut text, &mut tape, clients, services);
    let mut model = lab::model(&text);
    triggers(&mut model, &mut tape);
    Case { model, seed, text }
}

const POLICIES: usize = 3;
const SPANS: [&str; 8] = ["100ms", "50ms", "200ms", "10ms", "1s", "300ms", "2s", "1500ms"];

fn law(tape: &mut Tape<'_>, spans: &[&'static str]) -> String {
    let span = tape.pick(spans);
    match tape.up_to(4) {
        0..=2 => span.to_owned(),
        3 => format!("{{ exponential: {span} }}"),
        _ => format!("{{ uniform: {{ low: 0s, high: {span} }} }}"),
    }
}

fn client(text: &mut String, tape: &mut Tape<'_>, id: usize, services: usize) {
    let rate = tape.pick(&["10/s", "40/s", "100/s", "5/s"]);
    let who = match tape.up_to(5) {
        0 => format!("arrivals: {{ constant: {rate} }}"),
        1 => format!("arrivals: {{ poisson: {rate} }}"),
        2 => format!(
            "arrivals: [{{ constant: {rate} }}, {{ burst: {{ count: {}, at: {}s }} }}]",
            1 + tape.up_to(60),
            tape.up_to(4)
        ),
        3 => format!("arrivals: {{ burst: {{ count: {}, at: 1s }} }}", 1 + tape.up_to(200)),
        4 => format!(
            "arrivals: {{ schedule: {{ rates: [{{ rate: {rate} }}, \
             {{ at: 2s, rate: 60/s, ramp: 1s }}, {{ at: 4s, rate: 5/s }}] }} }}"
        ),
        _ => format!("users: {{ think: {} }}", law(tape, &["100ms", "1s", "10ms", "0.1us"])),
    };
    let size = 1 + tape.up_to(9);
    let _ =
        write!(text, "  c{id}: {{ population: {size}, {who}, calls: s{}", tape.up_to(services - 1));
    if tape.rarely(2) {
        let _ = write!(text, ", deadline: {}", tape.pick(&["1s", "200ms", "3s", "100ms"]));
    }
    let operation = effects::operation(tape);
    let _ = writeln!(text, ", policy: p{}{operation} }}", tape.up_to(POLICIES - 1));
}

const PER: [&str; 6] =
    ["[caller, target]", "[group, target]", "[target]", "[caller]", "[group]", "[]"];

fn policy(text: &mut String, tape: &mut Tape<'_>, id: usize) {
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
        let trip = match tape.up_to(1) {
            0 => format!("consecutive: {}", 1 + tape.up_to(6)),
            _ => format!(
                "window: {{ length: {}, failure_share: {}, minimum_calls: {} }}",
                tape.pick(&SPANS),
                tape.pick(&["50%", "10%", "100%"]),
                1 + tape.up_to(9)
            ),
        };
        parts.push(format!(
            "breaker: {{ {trip}, open_for: {}, probes: {}, late_results: {}, per: {} }}",
            tape.pick(&SPANS),
            1 + tape.up_to(2),
            tape.pick(&["ignore", "count"]),
            tape.pick(&PER)
        ));
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
    let limit = match tape.up_to(3) {
        0 => "{ aimd: { initial: 3, min: 1, max: 6, timeout: 100ms } }".to_owned(),
        1 => "{ vegas: { initial: 2, max: 9, probe_multiplier: 1 } }".to_owned(),
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
    let span = tape.pick(&SPANS);
    let backoff = match tape.up_to(5) {
        0 => span.to_owned(),
        1 => "none".to_owned(),
        2 => format!("{{ linear: {{ base: {span}, step: {} }} }}", tape.pick(&SPANS)),
        3 => {
            format!("{{ exponential: {{ base: {span}, factor: {}, cap: 2s }} }}", 1 + tape.up_to(3))
        }
        4 => format!("{{ drawn: {{ exponential: {span} }} }}"),
        _ => format!("{{ constant: {span} }}"),
    };
    let decorrelates = !backoff.contains("drawn") && backoff != "none";
    let jitter = match tape.up_to(4) {
        0 => "none",
        1 => "full",
        2 => "equal",
        3 => "{ plus_minus: 20% }",
        _ if decorrelates => "decorrelated",
        _ => "full",
    };
    let on = tape.pick(&[
        "[transient]",
        "[transient, internal, breaker_open]",
        "[transient, bulkhead_full]",
        "[transient, throttled]",
        "[transient, deadline_passed, breaker_open, bulkhead_full]",
        "[timeout]",
    ]);
    let budget = if tape.up_to(2) == 0 { String::new() } else { strategies::budget(tape) };
    let elapsed = match tape.up_to(5) {
        0 => format!(", max_elapsed: {}", tape.pick(&SPANS)),
        1 => format!(", max_elapsed: {{ after: {}, counts_wait: false }}", tape.pick(&SPANS)),
        _ => String::new(),
    };
    format!(
        "retry: {{ max_attempts: {attempts}, backoff: {backoff}, jitter: {jitter}, \
         on: {on}{budget}{elapsed} }}"
    )
}

fn service(text: &mut String, tape: &mut Tape<'_>, id: usize, services: usize) {
    let _ = write!(
        text,
        "  s{id}: {{ replicas: {}, workers: {}, holds_worker: {}, work: {}, cancellation: {}, \
         balance: {}",
        1 + tape.up_to(2),
        1 + tape.up_to(3),
        tape.pick(&[true, false]),
        if tape.rarely(5) { "0s".to_owned() } else { law(tape, &["10ms", "50ms", "100ms", "1s"]) },
        tape.pick(&["none", "queue", "full"]),
        tape.pick(&["round_robin", "random"]),
    );
    let _ = write!(
        text,
        ", queue: {{ limit: {}, order: {}, when_full: {}, drop_expired: {}{} }}",
        tape.pick(&["unlimited", "0", "5", "50"]),
        tape.pick(&["fifo", "lifo", "adaptive_lifo"]),
        tape.pick(&["reply", "drop"]),
        tape.pick(&[false, true]),
        tape.pick(&["", "", ", codel: { target: 5ms, interval: 50ms }"]),
    );
    if tape.rarely(2) {
        let _ = write!(
            text,
            ", errors: {{ class: {}, share: {}%{} }}",
            tape.pick(&["unavailable", "internal", "protocol", "rejected"]),
            tape.pick(&[10, 50, 100]),
            tape.pick(&["", ", of: requests"])
        );
    }
    effects::idempotency(text, tape);
    if tape.rarely(2) {
        let _ = write!(
            text,
            ", overload: {{ crashes_at: {{ connections: {} }}, restarts_after: {}, \
             cold: {{ work_factor: 2, lasts: {} }} }}",
            1 + tape.up_to(30),
            tape.pick(&SPANS),
            tape.pick(&SPANS)
        );
    }
    let mut calls = Vec::new();
    for to in id + 1..services {
        if !tape.rarely(3) {
            let operation = effects::operation(tape);
            let policy = tape.up_to(POLICIES - 1);
            calls.push(format!("{{ to: s{to}, policy: p{policy}{operation} }}"));
        }
    }
    if !calls.is_empty() {
        let _ = write!(text, ", calls: [{}]", calls.join(", "));
    }
    text.push_str(" }\n");
}

fn link(text: &mut String, tape: &mut Tape<'_>) {
    let latency = match tape.up_to(3) {
        0 | 1 => "0s",
        2 => "50ms",
        _ => "{ exponential: 20ms }",
    };
    let loss = tape.pick(&["0%", "0%", "5%"]);
    let _ = writeln!(text, "links: {{ default: {{ latency: {latency}, loss: {loss} }} }}");
}

fn operator(text: &mut String, tape: &mut Tape<'_>, clients: usize, services: usize) {
    let mut deeds = Vec::new();
    for _ in 0..tape.up_to(6).saturating_sub(2) {
        let at = tape.up_to(9) * 500;
        let (client, service) = (tape.up_to(clients - 1), tape.up_to(services - 1));
        let deed = match tape.up_to(3) {
            0 => format!("flush: s{service}"),
            1 => format!("restart: s{service}"),
            2 => format!(
                "shed: {{ clients: c{client}, share: {}%, lasts: {} }}",
                tape.pick(&[100, 50]),
                tape.pick(&SPANS)
            ),
            _ => format!("set: {{ {} }}", change(tape, client, service)),
        };
        deeds.push(format!("{{ at: {at}ms, {deed} }}"));
    }
    let _ = writeln!(text, "operator: [{}]", deeds.join(", "));
}

fn change(tape: &mut Tape<'_>, client: usize, service: usize) -> String {
    match tape.up_to(7) {
        0 => format!("services.s{service}.workers: {}", 1 + tape.up_to(5)),
        1 => format!("services.s{service}.queue.limit: {}", tape.up_to(5)),
        2 => format!("services.s{service}.cancellation: {}", tape.pick(&["none", "queue", "full"])),
        3 => format!("clients.c{client}.deadline: {}", tape.pick(&["1s", "100ms"])),
        4 => format!("clients.c{client}.policy: p{}", tape.up_to(POLICIES - 1)),
        5 => {
            let policy = format!("policies.p{}", tape.up_to(POLICIES - 1));
            let (timeout, limit) = (tape.pick(&SPANS), 1 + tape.up_to(9));
            format!(
                "{policy}.timeout: 2s, {policy}.retry: null, {policy}.breaker: null, {policy}.throttle: null, \
                 {policy}.bulkhead: {{ limit: {limit}, queue: 9 }}, \
                 {policy}.attempt_timeout: {timeout}, \
                 {policy}.order: [timeout, bulkhead, attempt_timeout]"
            )
        }
        6 => format!("services.s{service}.work: {}", law(tape, &SPANS)),
        _ => format!("services.s{service}.balance: {}", tape.pick(&["round_robin", "random"])),
    }
}

fn triggers(model: &mut Model, tape: &mut Tape<'_>) {
    let open: Vec<_> = (0..model.populations.len())
        .filter(|id| matches!(model.populations[*id].arrivals, Arrivals::Open(_)))
        .collect();
    for _ in 0..tape.up_to(5).saturating_sub(1) {
        let service = tape.up_to(model.services.len() - 1);
        let effect = match tape.up_to(7) {
            0 => Effect::Refuse(service),
            1 => Effect::Hang(service),
            2 => Effect::Restart(service),
            3 => Effect::Slow { service, factor: tape.pick(&[2.0, 1.0, 10.0]) },
            4 => {
                let class = tape.pick(&[Class::Internal, Class::Unavailable]);
                let of = tape.pick(&[ErrorsOf::Attempts, ErrorsOf::Requests]);
                Effect::Errors { service, errors: Errors { class, share: tape.share(), of } }
            }
            5 => Effect::Workers { service, share: tape.share() },
            6 => Effect::LoseReplies { service, share: tape.share() },
            _ if open.is_empty() => Effect::Hang(service),
            _ => {
                Effect::Surge { population: tape.pick(&open), factor: tape.pick(&[3.0, 0.0, 0.5]) }
            }
        };
        let at = Duration::from_millis(500 * tape.up_to(8) as u64);
        let lasts = Duration::from_millis(tape.pick(&[500, 100, 1_000, 3_000, 1]));
        model.triggers.push(Trigger { at, lasts, effect });
    }
    model.triggers.sort_by_key(|trigger| trigger.at);
}
