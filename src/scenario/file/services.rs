//! `services` and `links`: who answers, and the network between.

use crate::policy::outcome::Class;
use crate::policy::shedding::CoDelConfig;
use crate::random::Distribution;
use crate::scenario::defaults;
use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::Problems;
use crate::scenario::fields::Fields;
use crate::scenario::file::Named;
use crate::scenario::file::answers::read_answers;
use crate::scenario::file::deferred::read_reply;
use crate::scenario::file::distribution;
use crate::scenario::file::effects::read_idempotency;
use crate::scenario::file::effects::read_operation;
use crate::scenario::file::hints::read_retry_after;
use crate::scenario::file::items;
use crate::scenario::file::reference;
use crate::scenario::model::Answer;
use crate::scenario::model::Balance;
use crate::scenario::model::Cancellation;
use crate::scenario::model::Cold;
use crate::scenario::model::Deed;
use crate::scenario::model::Deferred;
use crate::scenario::model::Errors;
use crate::scenario::model::ErrorsOf;
use crate::scenario::model::Idempotency;
use crate::scenario::model::Operation;
use crate::scenario::model::Overload;
use crate::scenario::model::Queue;
use crate::scenario::model::QueueOrder;
use crate::scenario::model::ReplayWindow;
use crate::scenario::model::RetryAfter;
use crate::scenario::model::WhenFull;
use crate::scenario::node::Node;
use crate::scenario::node::Value;
use crate::scenario::reader;
use crate::scenario::reader::Spanned;
use crate::units::Share;

pub(super) const MOST_REPLICAS: u32 = 10_000;
pub(super) const MOST_WORKERS: u32 = 1_000_000;
const MOST_WAITING: u32 = 1_000_000_000;
/// Slower than that is hanging, for which there is a word.
pub(super) const LARGEST_FACTOR: f64 = 1e6;

const CANCELLATIONS: [(&str, Cancellation); 3] =
    [("none", Cancellation::None), ("queue", Cancellation::Queue), ("full", Cancellation::Full)];
const BALANCES: [(&str, Balance); 4] = [
    ("round_robin", Balance::RoundRobin),
    ("random", Balance::Random),
    ("by_destination", Balance::ByDestination),
    ("by_process", Balance::ByProcess),
];
const ORDERS: [(&str, QueueOrder); 3] = [
    ("fifo", QueueOrder::Fifo),
    ("lifo", QueueOrder::Lifo),
    ("adaptive_lifo", QueueOrder::AdaptiveLifo),
];
const ERRORS_OF: [(&str, ErrorsOf); 2] =
    [("attempts", ErrorsOf::Attempts), ("requests", ErrorsOf::Requests)];
const WHEN_FULL: [(&str, WhenFull); 2] = [("reply", WhenFull::Reply), ("drop", WhenFull::Drop)];

/// A service as written.
#[derive(Clone, Debug)]
pub(in crate::scenario) struct WrittenService {
    pub(in crate::scenario) replicas: Option<Spanned<u32>>,
    pub(in crate::scenario) workers: Option<Spanned<u32>>,
    pub(in crate::scenario) holds_worker: Option<Spanned<bool>>,
    pub(in crate::scenario) queue: Option<Queue>,
    pub(in crate::scenario) cancellation: Option<Spanned<Cancellation>>,
    pub(in crate::scenario) work: Option<Spanned<Distribution>>,
    pub(in crate::scenario) errors: Option<Errors>,
    pub(in crate::scenario) retry_after: Vec<RetryAfter>,
    pub(in crate::scenario) calls: Vec<WrittenCall>,
    pub(in crate::scenario) overload: Option<Overload>,
    pub(in crate::scenario) balance: Option<Spanned<Balance>>,
    pub(in crate::scenario) idempotency: Option<Idempotency>,
    pub(in crate::scenario) replay_window: Option<ReplayWindow>,
}

/// A call of a handler as written.
#[derive(Clone, Debug)]
pub(in crate::scenario) struct WrittenCall {
    pub(in crate::scenario) to: Option<Spanned<String>>,
    pub(in crate::scenario) policy: Option<Spanned<String>>,
    pub(in crate::scenario) operation: Option<Spanned<Operation>>,
    pub(in crate::scenario) answers: Vec<Answer>,
    pub(in crate::scenario) reply: Option<Deferred>,
    pub(in crate::scenario) place: Place,
}

/// A link as written.
#[derive(Clone, Debug, Default)]
pub(in crate::scenario) struct WrittenLink {
    pub(in crate::scenario) latency: Option<Spanned<Distribution>>,
    pub(in crate::scenario) loss: Option<Spanned<Share>>,
}

pub(super) fn read(node: &Node, problems: &mut Problems) -> Option<WrittenService> {
    let mut fields = Fields::open(node, "a service", problems)?;
    let service = WrittenService {
        replicas: fields.get("replicas", problems, reader::count(1, MOST_REPLICAS)),
        workers: fields.need(
            "workers",
            "how many attempts a replica works on at once; nobody can guess it",
            problems,
            reader::count(1, MOST_WORKERS),
        ),
        holds_worker: fields.get("holds_worker", problems, reader::switch),
        queue: fields.take("queue").and_then(|node| read_queue(node, problems)),
        cancellation: fields.get("cancellation", problems, reader::word(&CANCELLATIONS)),
        work: fields.need(
            "work",
            "the time a worker spends on one attempt, as `{ exponential: 20ms }`",
            problems,
            distribution::read,
        ),
        errors: fields.take("errors").and_then(|node| read_errors(node, problems)),
        retry_after: fields
            .take("retry_after")
            .and_then(|node| read_retry_after(node, problems))
            .unwrap_or_default(),
        calls: fields
            .take("calls")
            .and_then(|node| items(node, "`calls` of a service", problems, read_call))
            .unwrap_or_default(),
        overload: fields.take("overload").and_then(|node| read_overload(node, problems)),
        balance: fields.get("balance", problems, reader::word(&BALANCES)),
        idempotency: fields.take("idempotency").and_then(|node| read_idempotency(node, problems)),
        replay_window: fields
            .take("replay_window")
            .and_then(|node| read_replay_window(node, problems)),
    };
    fields.close(problems);
    Some(service)
}

fn read_queue(node: &Node, problems: &mut Problems) -> Option<Queue> {
    let mut fields = Fields::open(node, "`queue`", problems)?;
    let limit = fields.get("limit", problems, reader::count_or_unlimited(0, MOST_WAITING));
    let order = fields.get("order", problems, reader::word(&ORDERS));
    let when_full = fields.get("when_full", problems, reader::word(&WHEN_FULL));
    let drop_expired = fields.get("drop_expired", problems, reader::switch);
    let codel = fields.take("codel").and_then(|node| read_codel(node, problems));
    fields.close(problems);
    Some(Queue {
        limit: limit.map_or(defaults::QUEUE_LIMIT, |limit| limit.value),
        order: order.map_or(defaults::QUEUE_ORDER, |order| order.value),
        when_full: when_full.map_or(defaults::WHEN_FULL, |word| word.value),
        drop_expired: drop_expired.map_or(defaults::DROP_EXPIRED, |switch| switch.value),
        codel,
    })
}

/// `{ target: 5ms, interval: 100ms }`; an empty map takes both defaults.
fn read_codel(node: &Node, problems: &mut Problems) -> Option<CoDelConfig> {
    let mut fields = Fields::open(node, "`codel`", problems)?;
    let target = fields.get("target", problems, reader::positive_span);
    let interval = fields.get("interval", problems, reader::positive_span);
    fields.close(problems);
    let CoDelConfig { target: five_ms, interval: hundred_ms } = CoDelConfig::DEFAULT;
    let config = CoDelConfig {
        target: target.map_or(five_ms, |span| span.value),
        interval: interval.map_or(hundred_ms, |span| span.value),
    };
    if config.target > config.interval {
        problems.push_with(
            target.or(interval).map_or(node.place, |span| span.place),
            "a queue that stands has less patience than one that does not",
            format!("make `target` at most the `interval`, {}", config.interval),
        );
    }
    Some(config)
}

/// `{ class: internal, share: 30%, of: requests }`.
pub(super) fn read_errors(node: &Node, problems: &mut Problems) -> Option<Errors> {
    let mut fields = Fields::open(node, "`errors`", problems)?;
    let help = "what the caller hears, as `internal`";
    let class = fields.need("class", help, problems, answered_class);
    let share = fields.need("share", "how many end so, as `30%`", problems, reader::share);
    let of = fields.get("of", problems, reader::word(&ERRORS_OF));
    fields.close(problems);
    let of = of.map_or(defaults::ERRORS_OF, |of| of.value);
    Some(Errors { class: class?.value, share: share?.value, of })
}

/// A failure class that a service can answer with.
pub(super) fn answered_class(node: &Node, problems: &mut Problems) -> Option<Class> {
    let class = class(node, problems)?;
    if class.is_local() {
        problems.push_with(
            node.place,
            format!("`{class}` is made by a caller's policy, not by a service"),
            "name what the service answers, as `internal`, `unavailable` or `overloaded`",
        );
        return None;
    }
    Some(class)
}

/// A failure class by name.
pub(super) fn class(node: &Node, problems: &mut Problems) -> Option<Class> {
    let known: Vec<_> = Class::ALL.iter().map(|class| (class.name(), *class)).collect();
    reader::word(&known)(node, problems)
}

/// `5min`, or `{ lasts: 5min, answer: denied }`.
fn read_replay_window(node: &Node, problems: &mut Problems) -> Option<ReplayWindow> {
    let answer = defaults::STALE_SIGNATURE;
    if !matches!(node.value, Value::Map(_)) {
        return Some(ReplayWindow { lasts: reader::positive_span(node, problems)?, answer });
    }
    let mut fields = Fields::open(node, "`replay_window`", problems)?;
    let help = "how old a signature may be, as `5min`";
    let lasts = fields.need("lasts", help, problems, reader::positive_span);
    let said = fields.get("answer", problems, answered_class);
    fields.close(problems);
    Some(ReplayWindow { lasts: lasts?.value, answer: said.map_or(answer, |said| said.value) })
}

fn read_call(node: &Node, problems: &mut Problems) -> Option<WrittenCall> {
    let mut fields = Fields::open(node, "a call", problems)?;
    let to = fields.need(
        "to",
        "name the service that is called, as `{ to: SERVICE }`",
        problems,
        reference,
    );
    let policy = fields.get("policy", problems, reference);
    let operation = fields.get("operation", problems, read_operation);
    let answers = fields.take("answers").and_then(|node| read_answers(node, problems));
    let reply = fields.take("reply").and_then(|node| read_reply(node, problems));
    fields.close(problems);
    let answers = answers.unwrap_or_default();
    Some(WrittenCall { to, policy, operation, answers, reply, place: node.place })
}

fn read_overload(node: &Node, problems: &mut Problems) -> Option<Overload> {
    let mut fields = Fields::open(node, "`overload`", problems)?;
    let crashes_at = fields.get("crashes_at", problems, |n, p| {
        let mut inner = Fields::open(n, "`crashes_at`", p)?;
        let help = "attempts present at one replica, as `{ connections: 400 }`";
        let count = inner.need("connections", help, p, reader::count(1, MOST_WAITING));
        inner.close(p);
        Some(count?.value)
    });
    let restarts_after = fields.get("restarts_after", problems, reader::positive_span);
    let cold = fields.take("cold").and_then(|node| read_cold(node, problems));
    fields.close(problems);
    Some(Overload {
        crashes_at: crashes_at.map(|count| count.value),
        restarts_after: restarts_after.map_or(Deed::RESTART_LASTS, |span| span.value),
        cold,
    })
}

fn read_cold(node: &Node, problems: &mut Problems) -> Option<Cold> {
    let mut fields = Fields::open(node, "`cold`", problems)?;
    let help = "how many times as long work takes, as 2";
    let factor = fields.need("work_factor", help, problems, reader::real(1.0..=LARGEST_FACTOR));
    let lasts = fields.need("lasts", "for how long, as `30s`", problems, reader::positive_span);
    fields.close(problems);
    Some(Cold { work_factor: factor?.value, lasts: lasts?.value })
}

/// The default link, and those of single pairs, named `a -> b`.
pub(super) fn read_links(
    node: &Node,
    problems: &mut Problems,
) -> (WrittenLink, Vec<Named<WrittenLink>>) {
    let (mut default, mut pairs) = (WrittenLink::default(), Vec::new());
    let Value::Map(entries) = &node.value else {
        problems.push_with(
            node.anchor(),
            format!("`links` is a map, not {}", node.kind()),
            "as `{ default: { latency: 1ms }, \"web -> shop\": { loss: 0.1% } }`",
        );
        return (default, pairs);
    };
    for entry in entries {
        let Some(link) = read_link(&entry.node, problems) else { continue };
        if entry.key == "default" {
            default = link;
        } else {
            let name = Spanned { value: entry.key.clone(), place: entry.place };
            pairs.push(Named { name, it: link });
        }
    }
    (default, pairs)
}

fn read_link(node: &Node, problems: &mut Problems) -> Option<WrittenLink> {
    let mut fields = Fields::open(node, "a link", problems)?;
    let latency = fields.get("latency", problems, distribution::read);
    let loss = fields.get("loss", problems, reader::share);
    fields.close(problems);
    Some(WrittenLink { latency, loss })
}
