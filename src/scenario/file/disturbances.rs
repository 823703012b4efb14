//! `triggers` and `operator`: what goes wrong, and what people do about it.

use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::Problems;
use crate::scenario::fields::Fields;
use crate::scenario::file::reference;
use crate::scenario::file::services::LARGEST_FACTOR;
use crate::scenario::file::services::MOST_REPLICAS;
use crate::scenario::file::services::read_errors;
use crate::scenario::model::Errors;
use crate::scenario::model::Stop;
use crate::scenario::node::Entry;
use crate::scenario::node::Node;
use crate::scenario::node::Value;
use crate::scenario::reader;
use crate::scenario::reader::Spanned;
use crate::scenario::reader::names;
use crate::units::Duration;
use crate::units::Share;

const EFFECTS: [&str; 11] = [
    "refuse",
    "hang",
    "restart",
    "slow",
    "errors",
    "workers",
    "surge",
    "lose_replies",
    "other_bodies",
    "crash",
    "shutdown",
];

/// A trigger as written.
#[derive(Clone, Debug)]
pub(in crate::scenario) struct WrittenTrigger {
    pub(in crate::scenario) at: Option<Spanned<Duration>>,
    pub(in crate::scenario) lasts: Option<Spanned<Duration>>,
    pub(in crate::scenario) service: Option<Spanned<String>>,
    pub(in crate::scenario) clients: Option<Spanned<String>>,
    pub(in crate::scenario) queue: Option<Spanned<String>>,
    pub(in crate::scenario) effect: Option<Spanned<WrittenEffect>>,
    pub(in crate::scenario) replicas: Option<Spanned<u32>>,
    pub(in crate::scenario) head: Place,
}

/// What a trigger does, as written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::scenario) enum WrittenEffect {
    Refuse,
    Hang,
    Restart,
    Slow(f64),
    Errors(Errors),
    Workers(Share),
    LoseReplies(Share),
    OtherBodies(Share),
    Surge(f64),
    Stop(Stop, u32),
}

/// An operator action as written.
#[derive(Clone, Debug)]
pub(in crate::scenario) struct WrittenAction<'t> {
    pub(in crate::scenario) at: Option<Spanned<Duration>>,
    pub(in crate::scenario) deed: Option<WrittenDeed<'t>>,
}

/// What people do, as written.
#[derive(Clone, Debug)]
pub(in crate::scenario) enum WrittenDeed<'t> {
    /// Requests of a population end at birth.
    Shed {
        clients: Option<Spanned<String>>,
        share: Option<Spanned<Share>>,
        lasts: Option<Spanned<Duration>>,
    },
    /// Dotted paths and their new values.
    Set { changes: &'t [Entry], place: Place },
    /// A service's queues are emptied.
    Flush(Spanned<String>),
    /// A service is restarted.
    Restart(Spanned<String>),
    /// Suspended destinations of a queue are served again.
    Resume(Spanned<String>),
}

pub(super) fn read_trigger(node: &Node, problems: &mut Problems) -> Option<WrittenTrigger> {
    let mut fields = Fields::open(node, "a trigger", problems)?;
    let help = "when it begins, from the end of the warm-up, as `5min`";
    let at = fields.need("at", help, problems, reader::span);
    let help = "how long until it is lifted, as `20s`";
    let lasts = fields.need("lasts", help, problems, reader::positive_span);
    let service = fields.get("service", problems, reference);
    let clients = fields.get("clients", problems, reference);
    let queue = fields.get("queue", problems, reference);
    let help = "what it does, as `refuse` or `{ slow: 4 }`";
    let effect = fields.need("effect", help, problems, read_effect);
    let replicas = fields.get("replicas", problems, reader::count(1, MOST_REPLICAS));
    let head = fields.head();
    fields.close(problems);
    Some(WrittenTrigger { at, lasts, service, clients, queue, effect, replicas, head })
}

fn read_effect(node: &Node, problems: &mut Problems) -> Option<WrittenEffect> {
    if let Value::Scalar { text, .. } = &node.value
        && EFFECTS[3..].contains(&text.as_str())
    {
        problems.push_with(
            node.place,
            format!("`{text}` needs a value"),
            "as `{ slow: 4 }`, `{ workers: 50% }`, `{ surge: 3 }`, `{ lose_replies: 10% }`, \
             `{ errors: { class: internal, share: 30% } }`, or for a queue `{ crash: 1 }` and \
             `{ shutdown: 1 }`",
        );
        return None;
    }
    if let Value::Scalar { text, .. } = &node.value
        && !EFFECTS.contains(&text.as_str())
        && !node.is_null()
    {
        reader::unknown(node.place, "effect", text, &EFFECTS, problems);
        return None;
    }
    if let Value::Scalar { .. } = &node.value {
        return reader::word(&[
            ("refuse", WrittenEffect::Refuse),
            ("hang", WrittenEffect::Hang),
            ("restart", WrittenEffect::Restart),
        ])(node, problems);
    }
    let entry = reader::only_entry(node, "an effect", "{ slow: 4 }", &EFFECTS, problems)?;
    let it = &entry.node;
    match entry.key.as_str() {
        "slow" => reader::real(1.0..=LARGEST_FACTOR)(it, problems).map(WrittenEffect::Slow),
        "errors" => read_errors(it, problems).map(WrittenEffect::Errors),
        "workers" => reader::share(it, problems).map(WrittenEffect::Workers),
        "lose_replies" => reader::share(it, problems).map(WrittenEffect::LoseReplies),
        "other_bodies" => reader::share(it, problems).map(WrittenEffect::OtherBodies),
        "crash" => read_stop(Stop::Crash, it, problems),
        "shutdown" => read_stop(Stop::Shutdown, it, problems),
        "surge" => reader::real(0.0..=LARGEST_FACTOR)(it, problems).map(WrittenEffect::Surge),
        word @ ("refuse" | "hang" | "restart") => {
            problems.push_with(
                entry.place,
                format!("`{word}` takes no value"),
                format!("write `effect: {word}`"),
            );
            None
        }
        other => {
            reader::unknown(entry.place, "effect", other, &EFFECTS, problems);
            None
        }
    }
}

/// How many processes of a queue go away.
fn read_stop(how: Stop, node: &Node, problems: &mut Problems) -> Option<WrittenEffect> {
    let processes = reader::count(1, MOST_REPLICAS)(node, problems)?;
    Some(WrittenEffect::Stop(how, processes))
}

pub(super) fn read_action<'t>(
    node: &'t Node,
    problems: &mut Problems,
) -> Option<WrittenAction<'t>> {
    let mut fields = Fields::open(node, "an operator action", problems)?;
    let at = fields.need("at", "when, from the end of the warm-up", problems, reader::span);
    let deed = match fields.choose(&["shed", "set", "flush", "restart", "resume"], problems) {
        Some(("shed", node)) => read_shed(node, problems),
        Some(("set", node)) => read_set(node, problems),
        Some((word, node)) => reference(node, problems).map(|value| {
            let whom = Spanned { value, place: node.place };
            match word {
                "flush" => WrittenDeed::Flush(whom),
                "restart" => WrittenDeed::Restart(whom),
                _ => WrittenDeed::Resume(whom),
            }
        }),
        None => None,
    };
    fields.close(problems);
    Some(WrittenAction { at, deed })
}

fn read_shed<'t>(node: &'t Node, problems: &mut Problems) -> Option<WrittenDeed<'t>> {
    let mut fields = Fields::open(node, "`shed`", problems)?;
    let clients = fields.need("clients", "whose requests", problems, reference);
    let share = fields.need("share", "how many of them, as `90%`", problems, reader::share);
    let lasts = fields.need("lasts", "for how long", problems, reader::positive_span);
    fields.close(problems);
    Some(WrittenDeed::Shed { clients, share, lasts })
}

fn read_set<'t>(node: &'t Node, problems: &mut Problems) -> Option<WrittenDeed<'t>> {
    const HELP: &str = "as `{ policies.thrice.retry.max_attempts: 1 }`";
    let Value::Map(changes) = &node.value else {
        let problem = format!("`set` is a map from paths to values, not {}", node.kind());
        problems.push_with(node.place, problem, HELP);
        return None;
    };
    if changes.is_empty() {
        problems.push_with(node.head, "`set` changes nothing", HELP);
        return None;
    }
    for change in changes {
        if !may_change(&change.key) {
            problems.push_with(
                change.place,
                "this cannot be set during a run",
                format!(
                    "paths begin with `policies.`, `services.` or `links.` and a name, or are \
                     `clients.NAME` and {}, or `queues.NAME` and {}; how many replicas and processes \
                     there are and whom they call stays",
                    names(&["policy", "deadline"]),
                    names(&["workers", "claim", "lease", "retry", "refused", "worker_errors"])
                ),
            );
            return None;
        }
    }
    Some(WrittenDeed::Set { changes, place: node.place })
}

/// The system keeps its entities; what they do may change.
fn may_change(path: &str) -> bool {
    // No setting lies deeper than this, and a path of a million dots must not become a tree.
    const DEEPEST_PATH: usize = 12;
    let parts: Vec<_> = path.split('.').take(DEEPEST_PATH + 1).collect();
    match parts.as_slice() {
        parts if parts.len() > DEEPEST_PATH || parts.contains(&"") => false,
        // The default link is only what pairs are made from; during a run there are pairs.
        ["links", "default", ..] => false,
        ["policies" | "links", _, rest @ ..] => !rest.is_empty(),
        ["services", _, first, ..] => !matches!(*first, "replicas" | "calls" | "holds_worker"),
        // Processes and what is kept for destinations and counters are there from the start.
        ["queues", _, "retry", setting, ..] => {
            matches!(*setting, "max_attempts" | "max_elapsed" | "backoff" | "on" | "hint")
        }
        ["queues", _, setting, ..] => matches!(
            *setting,
            "workers" | "claim" | "lease" | "refused" | "worker_errors" | "requeue"
        ),
        ["clients", _, last] => matches!(*last, "policy" | "deadline"),
        _ => false,
    }
}
