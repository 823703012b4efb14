//! Systems that nobody thought of: small, short, and full of everything at once.
//!
//! A system is built from a tape of numbers, read front to back; each number makes one choice, and
//! zero makes the plainest one. Proptest shrinks the tape, so what it reports is plain, too.
//! Spans come from a coarse grid, and work, waits and triggers thus often fall on one instant.

mod backoffs;
mod breakers;
mod effects;
mod jobs;
mod nesting;
mod policies;
mod strategies;

use std::fmt::Write as _;

use proptest::prelude::*;
use stormlab::policy::outcome::Class;
use stormlab::scenario::model::Arrivals;
use stormlab::scenario::model::Effect;
use stormlab::scenario::model::Errors;
use stormlab::scenario::model::ErrorsOf;
use stormlab::scenario::model::Model;
use stormlab::scenario::model::Stop;
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

impl Case {
    /// The scenario that it was made of, without what was laid over it.
    pub(super) fn written(&self) -> String {
        lab::scenario(&self.text)
    }
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "seed {}, triggers {:?}{}", self.seed, self.model.triggers, self.text)?;
        for policy in &self.model.policies {
            writeln!(f, "{}: {:?}, hedge {:?}", policy.name, policy.order, policy.hedge)?;
            if let Some(inner) = &policy.inner {
                writeln!(f, "{}: inside it {inner:?}", policy.name)?;
            }
        }
        Ok(())
    }
}

/// Random systems.
pub(super) fn cases() -> impl Strategy<Value = Case> {
    (prop::collection::vec(any::<u16>(), 0..400), 0u64..1_000)
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
        policies::policy(&mut text, &mut tape, id);
    }
    text.push_str("services:\n");
    for id in 0..services {
        service(&mut text, &mut tape, id, services);
    }
    if text.contains("queue: q0") {
        let queue = jobs::queue(&mut tape);
        text.push_str(&queue);
    }
    link(&mut text, &mut tape);
    operator(&mut text, &mut tape, clients, services);
    let mut model = lab::model(&text);
    triggers(&mut model, &mut tape);
    nesting::nest(&mut model, &mut tape);
    Case { model, seed, text }
}

/// What is written in some system or other.
pub(super) const WORDS: [&str; 118] = [
    "constant:",
    "linear:",
    "exponential:",
    "polynomial:",
    "fibonacci:",
    "table:",
    "drawn:",
    "less_one:",
    "truncated_to:",
    "start:",
    "cap:",
    "cap_ends:",
    "cap_applies:",
    "first:",
    "uncapped",
    "unjittered",
    "floor:",
    "round:",
    "remembers:",
    "by_class:",
    "overflows_at:",
    "equal",
    "plus_minus",
    "absolute:",
    "added:",
    "added_share:",
    "down:",
    "from:",
    "one_more",
    "seconds_apart",
    "decorrelated_v2",
    "decorrelated",
    "monotone",
    "compounding",
    "compounded",
    "override",
    "larger:",
    "clamp:",
    "scaled:",
    "give_up_above",
    "beyond:",
    "sequence:",
    "obeys_zero:",
    "retry_after:",
    "never",
    "token_bucket:",
    "ratio:",
    "quota:",
    "window:",
    "concurrent:",
    "active_share:",
    "client_ratio:",
    "rate:",
    "counter:",
    "max_elapsed:",
    "counts_wait:",
    "adaptive:",
    "admission:",
    "cubic:",
    "consecutive:",
    "more_than:",
    "forget_after:",
    "average:",
    "exhausted:",
    "failures:",
    "judged:",
    "at_turns",
    "with_outcomes",
    "on_the_clock",
    "fires",
    "slow:",
    "warm_up:",
    "or_consecutive:",
    "trips_at_once:",
    "ignores:",
    "uncounted:",
    "cancelled:",
    "release_guarded:",
    "leak",
    "release_as_success",
    "late_results:",
    "overrule",
    "record",
    "forgets:",
    "half_open:",
    "lease:",
    "at_most:",
    "decides_after:",
    "closes_after:",
    "opens_after:",
    "in_all",
    "by_timer",
    "others:",
    "times:",
    "equal_jittered:",
    "extra:",
    "additive:",
    "aimd:",
    "vegas:",
    "gradient:",
    "gradient2:",
    "keeps_place",
    "lifo",
    "truncate",
    "finish",
    "multiplier:",
    "queue",
    "AtPercentile",
    "OnTimeout",
    "OnFailure",
    "inside it",
    "queue: q0",
    "newest_due",
    "with_lease",
    "requeue: blind",
    "scope: job_step",
    "holds_worker",
    "suspend:",
];

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
    let (policy, reply) = (tape.up_to(POLICIES - 1), effects::reply(tape));
    let fed = jobs::fed(tape);
    let _ = writeln!(text, ", policy: p{policy}{operation}{reply}{fed} }}");
}

const PER: [&str; 6] =
    ["[caller, target]", "[group, target]", "[target]", "[caller]", "[group]", "[]"];

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
        tape.pick(&["round_robin", "random", "by_destination", "by_process"]),
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
            tape.pick(&[
                "unavailable",
                "internal",
                "protocol",
                "rejected",
                "rate_limited",
                "fatal"
            ]),
            tape.pick(&[10, 50, 100]),
            tape.pick(&["", ", of: requests"])
        );
    }
    effects::idempotency(text, tape);
    if tape.rarely(2) {
        let _ = write!(text, ", retry_after: {}", backoffs::retry_after(tape));
    }
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
            let reply = effects::reply(tape);
            calls.push(format!("{{ to: s{to}, policy: p{policy}{operation}{reply} }}"));
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
    match tape.up_to(8) {
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
        let effect = match tape.up_to(9) {
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
            7 => Effect::OtherBodies { service, share: tape.share() },
            8 if !model.queues.is_empty() => Effect::Stop {
                queue: 0,
                processes: 1,
                how: tape.pick(&[Stop::Crash, Stop::Shutdown]),
            },
            _ if open.is_empty() => Effect::Hang(service),
            _ => {
                Effect::Surge { population: tape.pick(&open), factor: tape.pick(&[3.0, 0.0, 0.5]) }
            }
        };
        let at = Duration::from_millis(500 * tape.up_to(8) as u64);
        let lasts = Duration::from_millis(tape.pick(&[500, 100, 1_000, 3_000, 1]));
        model.triggers.push(Trigger { at, lasts, effect, replicas: None });
    }
    model.triggers.sort_by_key(|trigger| trigger.at);
}
