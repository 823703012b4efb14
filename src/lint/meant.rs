//! The scenario as meant, as text: what a variant comes to with every default written out.
//!
//! The text is a scenario again, and means the same. Values that equal a default are marked.

use std::fmt::Write;

use crate::lint::meant_deferred;
use crate::lint::meant_disturbance;
use crate::lint::meant_effect;
use crate::lint::meant_policy::policy;
use crate::lint::meant_queue;
use crate::policy::shedding::CoDelConfig;
use crate::random::Distribution;
use crate::scenario::defaults;
use crate::scenario::effective;
use crate::scenario::model::Arrivals;
use crate::scenario::model::Balance;
use crate::scenario::model::Caller;
use crate::scenario::model::Cancellation;
use crate::scenario::model::Deed;
use crate::scenario::model::Edge;
use crate::scenario::model::Errors;
use crate::scenario::model::ErrorsOf;
use crate::scenario::model::Limits;
use crate::scenario::model::Model;
use crate::scenario::model::OpenArrivals;
use crate::scenario::model::Process;
use crate::scenario::model::QueueOrder;
use crate::scenario::model::Scenario;
use crate::scenario::model::Service;
use crate::scenario::model::WhenFull;
use crate::units::Duration;

/// Lines of indented `key: value`.
#[derive(Default)]
pub(super) struct Lines(String);

impl Lines {
    /// A key whose value follows, deeper.
    pub(super) fn open(&mut self, depth: usize, key: &str) {
        self.raw(depth, &format!("{key}:"));
    }

    /// A key and its value.
    pub(super) fn put(&mut self, depth: usize, key: &str, value: impl std::fmt::Display) {
        self.raw(depth, &format!("{key}: {value}"));
    }

    /// A key and its value, marked when it is the default.
    pub(super) fn put_or<T: PartialEq>(
        &mut self,
        depth: usize,
        key: &str,
        (value, default): (T, T),
        shown: impl std::fmt::Display,
    ) {
        let mark = if value == default { "  # default" } else { "" };
        self.raw(depth, &format!("{key}: {shown}{mark}"));
    }

    /// The lines so far.
    pub(super) fn into_text(self) -> String {
        self.0
    }

    /// One line.
    pub(super) fn raw(&mut self, depth: usize, text: &str) {
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "{}{text}", "  ".repeat(depth));
    }
}

/// A distribution on one line.
pub(super) fn distribution(it: &Distribution) -> String {
    // JSON is YAML, and serialising to a string does not fail.
    serde_json::to_string(it).unwrap_or_default()
}

/// A text in quotes.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

/// A name where a value is wanted; the names that YAML takes for nothing need quotes.
pub(super) fn name(text: &str) -> String {
    match text {
        "null" | "Null" | "NULL" => quoted(text),
        _ => text.to_owned(),
    }
}

/// The whole scenario as meant, variants and expectations included, as JSON: a scenario again, with
/// the same results.
pub fn effective(scenario: &Scenario) -> String {
    let texts = scenario.variants.iter().map(|variant| as_meant(scenario, &variant.name));
    effective::compose(scenario, &texts.collect::<Vec<_>>())
}

/// As [`as_meant`], as JSON.
pub fn as_meant_json(scenario: &Scenario, variant: &str) -> String {
    effective::as_json(&as_meant(scenario, variant))
}

/// The variant as a scenario of its own; empty when there is none of that name.
pub fn as_meant(scenario: &Scenario, variant: &str) -> String {
    let Some(variant) = scenario.variants.iter().find(|known| known.name == variant) else {
        return String::new();
    };
    let model = &variant.model;
    let mut out = Lines::default();
    out.put(0, "schema", 1);
    out.put(0, "name", name(&scenario.name));
    out.put(0, "about", quoted(&scenario.about));
    out.put(0, "source", quoted(&scenario.source));
    out.raw(0, &format!("# variant: {}", variant.name));
    run(&mut out, model);
    system(&mut out, model);
    meant_disturbance::triggers(&mut out, model);
    meant_disturbance::operator(&mut out, model);
    out.0
}

/// Who asks, who answers, and how: what a `set` may change.
fn system(out: &mut Lines, model: &Model) {
    clients(out, model);
    meant_queue::queues(out, model);
    out.open(0, "services");
    for it in &model.services {
        service(out, model, it);
    }
    links(out, model);
    if model.policies.iter().any(|it| it.name != defaults::NO_POLICY) {
        out.open(0, "policies");
    }
    for it in model.policies.iter().filter(|it| it.name != defaults::NO_POLICY) {
        policy(out, it);
    }
}

/// A system alone, as text.
pub(super) fn system_text(model: &Model) -> String {
    let mut out = Lines::default();
    system(&mut out, model);
    out.0
}

fn run(out: &mut Lines, model: &Model) {
    let run = &model.run;
    out.open(0, "run");
    out.put_or(1, "horizon", (run.horizon, defaults::HORIZON), run.horizon);
    out.put_or(1, "warm_up", (run.warm_up, defaults::WARM_UP), run.warm_up);
    out.put_or(1, "window", (run.window, defaults::WINDOW), run.window);
    out.put_or(1, "replications", (run.replications, defaults::REPLICATIONS), run.replications);
    out.put_or(1, "seed", (run.seed, defaults::SEED), run.seed);
    out.open(1, "recovery");
    let recovery = &run.recovery;
    out.put(2, "window", recovery.window);
    let hold = recovery.window.as_nanos().saturating_mul(defaults::HOLD_WINDOWS.into());
    out.put_or(2, "hold", (recovery.hold, Duration::from_nanos(hold)), recovery.hold);
    let tolerance = recovery.tolerance;
    out.put_or(2, "tolerance", (tolerance.get(), defaults::TOLERANCE), tolerance);
    out.put(2, "baseline", recovery.baseline);
    out.open(1, "limits");
    let (limits, default) = (&run.limits, Limits::default());
    out.put_or(2, "in_flight", (limits.in_flight, default.in_flight), limits.in_flight);
    out.put_or(2, "at_rest", (limits.at_rest, default.at_rest), limits.at_rest);
    out.put_or(2, "pending", (limits.pending, default.pending), limits.pending);
    out.put_or(2, "events", (limits.events, default.events), limits.events);
    out.put_or(2, "memory", (limits.memory_bytes, default.memory_bytes), limits.memory_bytes);
    match limits.wall {
        Some(wall) => out.put(2, "wall", wall),
        None => out.put_or(2, "wall", (limits.wall, default.wall), "null"),
    }
}

fn clients(out: &mut Lines, model: &Model) {
    out.open(0, "clients");
    for it in &model.populations {
        out.open(1, &it.name);
        out.put_or(2, "population", (it.size, defaults::POPULATION), it.size);
        match &it.arrivals {
            Arrivals::Closed { think } => {
                out.put(2, "users", format!("{{ think: {} }}", distribution(think)));
            }
            Arrivals::Open(open) => out.put(2, "arrivals", arrivals(open, model.run.warm_up)),
        }
        out.put(2, "calls", name(&model.services[model.edges[it.calls].target].name));
        call_policy(out, model, &model.edges[it.calls]);
        if let Some(deadline) = it.deadline {
            out.put(2, "deadline", deadline);
        }
        meant_deferred::of_client(out, &model.edges[it.calls]);
        if let Some(queue) = it.queue {
            out.put(2, "queue", name(&model.queues[queue].name));
        }
    }
}

fn call_policy(out: &mut Lines, model: &Model, edge: &Edge) {
    let policy = model.policies[edge.policy].name.as_str();
    out.put_or(2, "policy", (policy, defaults::NO_POLICY), name(policy));
}

fn arrivals(open: &OpenArrivals, warm_up: Duration) -> String {
    let process = match open.process {
        Process::Poisson => "poisson",
        Process::Even => "constant",
    };
    let mut sources = Vec::new();
    match open.segments.as_slice() {
        [only] if only.start.as_per_second() > 0.0 => {
            sources.push(format!("{{ {process}: {} }}", only.start));
        }
        [_] | [] => {}
        [first, rest @ ..] => {
            let mut rates = vec![format!("{{ rate: {} }}", first.start)];
            let mut before = first.end;
            for segment in rest {
                let at = segment.from.saturating_sub(warm_up);
                if segment.start != segment.end {
                    let ramp = segment.until.saturating_sub(segment.from);
                    rates.push(format!("{{ at: {at}, rate: {}, ramp: {ramp} }}", segment.end));
                } else if segment.start != before {
                    rates.push(format!("{{ at: {at}, rate: {} }}", segment.start));
                }
                before = segment.end;
            }
            let rates = rates.join(", ");
            sources.push(format!("{{ schedule: {{ process: {process}, rates: [{rates}] }} }}"));
        }
    }
    for burst in &open.bursts {
        let at = burst.at.saturating_sub(warm_up);
        sources.push(format!("{{ burst: {{ count: {}, at: {at} }} }}", burst.count));
    }
    match sources.as_slice() {
        [only] => only.clone(),
        _ => format!("[{}]", sources.join(", ")),
    }
}

fn service(out: &mut Lines, model: &Model, it: &Service) {
    out.open(1, &it.name);
    out.put_or(2, "replicas", (it.replicas, defaults::REPLICAS), it.replicas);
    out.put(2, "workers", it.workers);
    out.put_or(2, "holds_worker", (it.holds_worker, defaults::HOLDS_WORKER), it.holds_worker);
    out.open(2, "queue");
    let queue = &it.queue;
    let limit = queue.limit.map_or("unlimited".to_owned(), |limit| limit.to_string());
    out.put_or(3, "limit", (queue.limit, defaults::QUEUE_LIMIT), limit);
    let order = match queue.order {
        QueueOrder::Fifo => "fifo",
        QueueOrder::Lifo => "lifo",
        QueueOrder::AdaptiveLifo => "adaptive_lifo",
    };
    out.put_or(3, "order", (queue.order, defaults::QUEUE_ORDER), order);
    let when_full = match queue.when_full {
        WhenFull::Reply => "reply",
        WhenFull::Drop => "drop",
    };
    out.put_or(3, "when_full", (queue.when_full, defaults::WHEN_FULL), when_full);
    let expired = queue.drop_expired;
    out.put_or(3, "drop_expired", (expired, defaults::DROP_EXPIRED), expired);
    if let Some(CoDelConfig { target, interval }) = queue.codel {
        out.put(3, "codel", format!("{{ target: {target}, interval: {interval} }}"));
    }
    let cancellation = match it.cancellation {
        Cancellation::None => "none",
        Cancellation::Queue => "queue",
        Cancellation::Full => "full",
    };
    out.put_or(2, "cancellation", (it.cancellation, defaults::CANCELLATION), cancellation);
    out.put(2, "work", distribution(&it.work));
    if let Some(errors) = it.errors {
        out.put(2, "errors", errors_in_words(errors));
    }
    if !it.retry_after.is_empty() {
        let said = it.retry_after.iter().map(|said| match &said.after {
            Some(after) => format!("{}: {}", said.class, distribution(after)),
            None => format!("{}: never", said.class),
        });
        let said: Vec<_> = said.collect();
        out.put(2, "retry_after", format!("{{ {} }}", said.join(", ")));
    }
    let balance = match it.balance {
        Balance::RoundRobin => "round_robin",
        Balance::Random => "random",
        Balance::ByDestination => "by_destination",
        Balance::ByProcess => "by_process",
    };
    out.put_or(2, "balance", (it.balance, defaults::BALANCE), balance);
    if !it.calls.is_empty() {
        out.open(2, "calls");
    }
    for id in &it.calls {
        let edge = &model.edges[*id];
        let (to, policy) = (&model.services[edge.target].name, &model.policies[edge.policy].name);
        let said = meant_effect::answers(&edge.answers);
        let (to, policy, more) = (name(to), name(policy), meant_deferred::of_handler(edge));
        out.raw(3, &format!("- {{ to: {to}, policy: {policy}{more}{said} }}"));
    }
    if let Some(idempotency) = &it.idempotency {
        meant_effect::idempotency(out, idempotency);
    }
    if let Some(window) = &it.replay_window {
        meant_queue::replay_window(out, window);
    }
    if let Some(overload) = &it.overload {
        out.open(2, "overload");
        if let Some(connections) = overload.crashes_at {
            out.put(3, "crashes_at", format!("{{ connections: {connections} }}"));
        }
        let after = overload.restarts_after;
        out.put_or(3, "restarts_after", (after, Deed::RESTART_LASTS), after);
        if let Some(cold) = overload.cold {
            let (factor, lasts) = (cold.work_factor, cold.lasts);
            out.put(3, "cold", format!("{{ work_factor: {factor}, lasts: {lasts} }}"));
        }
    }
}

/// Errors on one line.
pub(super) fn errors_in_words(errors: Errors) -> String {
    let of = match errors.of {
        ErrorsOf::Attempts => "",
        ErrorsOf::Requests => ", of: requests",
    };
    format!("{{ class: {}, share: {}{of} }}", errors.class, errors.share)
}

fn links(out: &mut Lines, model: &Model) {
    out.open(0, "links");
    let mut seen = Vec::new();
    for edge in &model.edges {
        if seen.contains(&(edge.caller, edge.target)) {
            continue;
        }
        seen.push((edge.caller, edge.target));
        let caller = match edge.caller {
            Caller::Population(i) => &model.populations[i].name,
            Caller::Service(i) => &model.services[i].name,
        };
        let pair = quoted(&format!("{caller} -> {}", model.services[edge.target].name));
        let (latency, loss) = (distribution(&edge.link.latency), edge.link.loss);
        out.put(1, &pair, format!("{{ latency: {latency}, loss: {loss} }}"));
    }
}
