//! What a scenario says and hardly means: it runs as written, and whoever wrote it should know how.
//!
//! Nothing here stops a run. A setting that can do nothing is usually a slip elsewhere, and a call
//! that nobody ends keeps its request open for ever, which no failure rate will show.

use std::collections::BTreeSet;

use crate::policy::outcome::Class;
use crate::policy::outcome::ClassSet;
use crate::policy::stack::AttemptTimeout;
use crate::policy::stack::Layer;
use crate::policy::stack::Policy;
use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::Problems;
use crate::scenario::diagnostic::nearest;
use crate::scenario::diagnostic::quoted;
use crate::scenario::model::Caller;
use crate::scenario::model::Cancellation;
use crate::scenario::model::Deed;
use crate::scenario::model::Edge;
use crate::scenario::model::Effect;
use crate::scenario::model::Model;
use crate::scenario::model::WhenFull;
use crate::scenario::node::Entry;
use crate::scenario::node::Node;
use crate::scenario::validate::doubts_classes::of_classes;
use crate::scenario::validate::doubts_deferred::of_deferred;
use crate::scenario::validate::doubts_effects::of_writes;
use crate::scenario::validate::doubts_queues;
use crate::scenario::validate::ejections;
use crate::units::Share;

const PATIENCE_HELP: &str = "give the policy of that call an `attempt_timeout` or a `timeout`";

/// Doubts about one system; `tree` is where it is written.
pub(in crate::scenario) fn of_model(model: &Model, tree: &Node, doubts: &mut Problems) {
    // What a `set` changes may be what is missing before it.
    let settled = !model.operator.iter().any(|action| matches!(action.what, Deed::Set { .. }));
    let late = below(model, |edge| match edge.caller {
        Caller::Population(id) => model.populations[id].deadline.is_some(),
        Caller::Service(_) => false,
    });
    let left = below(model, |edge| leaves(&model.policies[edge.policy]));
    for (id, service) in model.services.iter().enumerate() {
        let written = tree.get("services").and_then(|all| all.get(&service.name));
        let at = |keys: &[&str]| place(written, keys);
        let waits = patient_caller(model, id);
        if service.queue.drop_expired {
            let place = at(&["queue", "drop_expired"]);
            if let (Some(caller), true) = (&waits, late[id]) {
                let problem = format!(
                    "{} drops what is past its deadline without a word, and {caller} waits for it \
                     for ever",
                    quoted(&service.name)
                );
                doubts.push_with(place, problem, PATIENCE_HELP);
            } else if settled && !late[id] && !left[id] {
                let problem = format!(
                    "nothing that waits at {} ever expires: `drop_expired` does nothing",
                    quoted(&service.name)
                );
                let help =
                    "work expires where a population has a `deadline`, or a caller a timeout";
                doubts.push_with(place, problem, help);
            }
        }
        if service.cancellation != Cancellation::None && settled && !left[id] {
            let problem = format!(
                "no caller ever leaves {}: `cancellation` does nothing",
                quoted(&service.name)
            );
            let help = "callers leave where a policy has an `attempt_timeout` or a `timeout`";
            doubts.push_with(at(&["cancellation"]), problem, help);
        }
        if let (Some(caller), WhenFull::Drop, Some(_)) =
            (&waits, service.queue.when_full, service.queue.limit)
        {
            let problem = format!(
                "a full queue of {} says nothing, and {caller} waits for its answer for ever",
                quoted(&service.name)
            );
            doubts.push_with(at(&["queue", "when_full"]), problem, PATIENCE_HELP);
        }
    }
    for edge in &model.edges {
        if edge.link.loss != Share::ZERO && is_patient(&model.policies[edge.policy]) {
            let (caller, target) = (caller_name(edge, model), &model.services[edge.target].name);
            let problem = format!(
                "messages from {} to {} get lost, and whoever waits for one waits for ever",
                quoted(caller),
                quoted(target)
            );
            doubts.push_with(link_place(tree, caller, target), problem, PATIENCE_HELP);
        }
    }
    for trigger in &model.triggers {
        if let Effect::Hang(id) = trigger.effect
            && let Some(caller) = patient_caller(model, id)
        {
            let name = &model.services[id].name;
            let problem = format!(
                "{} answers nothing while it hangs, and {caller} waits for its answer for ever",
                quoted(name)
            );
            doubts.push_with(trigger_place(tree, "hang", name), problem, PATIENCE_HELP);
        }
    }
    ejections::doubts(model, tree, doubts);
    for trigger in &model.triggers {
        if let Effect::LoseReplies { service: id, .. } = trigger.effect
            && let Some(caller) = patient_caller(model, id)
        {
            let name = &model.services[id].name;
            let problem = format!(
                "answers of {} are lost, and {caller} waits for one for ever",
                quoted(name)
            );
            doubts.push_with(trigger_place(tree, "lose_replies", name), problem, PATIENCE_HELP);
        }
    }
    of_writes(model, tree, doubts);
    of_deferred(model, tree, doubts);
    doubts_queues::of_queues(model, tree, doubts);
    of_classes(model, tree, doubts);
    for policy in &model.policies {
        let written = || tree.get("policies").and_then(|all| all.get(&policy.name));
        if let Some(retry) = &policy.retry
            && retry.on == ClassSet::NONE
            && retry.max_attempts != Some(1)
        {
            let problem = "this `retry` retries nothing: `on` names no failure";
            let help = "name the failures, as `on: [transient]`, or leave `retry` out";
            doubts.push_with(place(written(), &["retry", "on"]), problem, help);
        }
        let attempt = policy.attempt_timeout.as_ref().and_then(|it| it.after.as_constant());
        if let (Some(attempt), Some(whole)) = (attempt, policy.timeout)
            && attempt >= whole
        {
            let problem = format!(
                "an attempt may take {attempt}, its whole call only {whole}: `attempt_timeout` \
                 never ends one, and no timeout is retried"
            );
            let help = "shorten `attempt_timeout`, or lengthen `timeout`";
            doubts.push_with(place(written(), &["attempt_timeout"]), problem, help);
        }
        of_inner(policy, tree, doubts);
        of_hedge(policy, tree, doubts);
    }
}

/// A breaker inside a hedge that refuses one attempt ends the others: half-open it lets one probe
/// through, the hedge beside it is refused, and the probe is given up before it can close it.
fn of_hedge(policy: &Policy, tree: &Node, doubts: &mut Problems) {
    let place_of = |layer| policy.order.iter().position(|other| *other == layer);
    let inside = place_of(Layer::Breaker) > place_of(Layer::Hedge);
    if let Some(hedge) = &policy.hedge
        && inside
        && !hedge.config.on.contains(Class::BreakerOpen)
    {
        let written = tree.get("policies").and_then(|all| all.get(&policy.name));
        let problem = "an attempt that the `breaker` inside this `hedge` refuses ends the call, and \
                       with it the attempts that are out, a probe among them: `on` does not name \
                       `breaker_open`";
        let help = "name it, as `on: [transient, breaker_open]`, or let `order` put `breaker` \
                    before `hedge`";
        doubts.push_with(place(written, &["hedge", "on"]), problem, help);
    }
}

/// An outer policy that gives up before the first attempt of the inner one may be over.
fn of_inner(policy: &Policy, tree: &Node, doubts: &mut Problems) {
    let Some(inner) = policy.inner.as_deref() else { return };
    // Drawn timeouts are not held against one another.
    let of = |it: &Policy| it.attempt_timeout.as_ref().and_then(AttemptTimeout::as_constant);
    let Some(each) = inner.nested().filter_map(of).min() else { return };
    let (key, bound) = match (of(policy), policy.timeout) {
        (Some(attempt), _) => ("attempt_timeout", attempt),
        (None, Some(whole)) => ("timeout", whole),
        (None, None) => return,
    };
    if bound <= each {
        let problem = format!(
            "{} gives up after {bound}, and one attempt of {} inside it may take {each}: the inner \
             policy never comes to a second one after a timeout",
            quoted(&policy.name),
            quoted(&inner.name)
        );
        let help = format!(
            "lengthen `{key}`, or shorten the `attempt_timeout` of {}",
            quoted(&inner.name)
        );
        let written = tree.get("policies").and_then(|all| all.get(&policy.name));
        doubts.push_with(place(written, &[key]), problem, help);
    }
}

/// Doubts about the names of a file: `models` are all that it makes, `parts` its base and variants.
pub(in crate::scenario) fn of_names(models: &[&Model], parts: &[&Node], doubts: &mut Problems) {
    let (mut policies, mut services) = (BTreeSet::new(), BTreeSet::new());
    let mut queues = BTreeSet::new();
    let changed = models.iter().flat_map(|model| &model.operator);
    let after = changed.filter_map(|action| match &action.what {
        Deed::Set { model, .. } => Some(model.as_ref()),
        _ => None,
    });
    for model in models.iter().copied().chain(after) {
        for edge in &model.edges {
            policies.extend(model.policies[edge.policy].nested().map(|it| it.name.as_str()));
            services.insert(model.services[edge.target].name.as_str());
        }
        let fed = model.populations.iter().filter_map(|population| population.queue);
        queues.extend(fed.map(|queue| model.queues[queue].name.as_str()));
    }
    for part in parts {
        let unused = |kind: &str, used: &BTreeSet<&str>| {
            let entries = part.get(kind).map(Node::entries).unwrap_or_default();
            let strange = |entry: &&Entry| !entry.node.is_null() && !used.contains(&*entry.key);
            entries.iter().filter(strange).collect::<Vec<_>>()
        };
        let mut say = |entry: &Entry, problem: String, used: &BTreeSet<&str>, advice: &str| {
            let help = match nearest(&entry.key, used.iter().copied()) {
                Some(near) if doubts.has_room() => format!("did you mean `{near}`? {advice}"),
                _ => advice.to_owned(),
            };
            doubts.push_with(entry.place, problem, help);
        };
        for entry in unused("policies", &policies) {
            let problem = format!("nobody uses the policy {}", quoted(&entry.key));
            say(
                entry,
                problem,
                &policies,
                "a call names it as `policy: NAME`, another policy as `inner: NAME`",
            );
        }
        for entry in unused("queues", &queues) {
            let problem = format!("nobody feeds the queue {}", quoted(&entry.key));
            say(entry, problem, &queues, "populations name it as `queue: NAME`");
        }
        for entry in unused("services", &services) {
            let problem = format!("nobody calls the service {}", quoted(&entry.key));
            say(
                entry,
                problem,
                &services,
                "populations name it in `calls`, services in `calls: to`",
            );
        }
    }
}

/// Does a call under this policy wait however long it takes?
pub(super) fn is_patient(policy: &Policy) -> bool {
    policy.nested().all(|it| it.attempt_timeout.is_none() && it.timeout.is_none())
}

fn caller_name<'m>(edge: &Edge, model: &'m Model) -> &'m str {
    match edge.caller {
        Caller::Population(id) => &model.populations[id].name,
        Caller::Service(id) => &model.services[id].name,
    }
}

/// May a caller leave an attempt that is out? One that gives up does, and so does a hedge, whose
/// losers nobody waits for.
fn leaves(policy: &Policy) -> bool {
    let hedges = |it: &Policy| it.hedge.as_ref().is_some_and(|it| it.config.max_attempts > 1);
    !is_patient(policy) || policy.nested().any(hedges)
}

/// A caller of a service that waits however long it takes, in quotes.
fn patient_caller(model: &Model, service: usize) -> Option<String> {
    let waits = |edge: &&Edge| edge.target == service && is_patient(&model.policies[edge.policy]);
    model.edges.iter().find(waits).map(|edge| quoted(caller_name(edge, model)))
}

/// The services at or below the end of an edge of that kind.
fn below(model: &Model, starts: impl Fn(&Edge) -> bool) -> Vec<bool> {
    let mut found = vec![false; model.services.len()];
    let mut open: Vec<_> =
        model.edges.iter().filter(|edge| starts(edge)).map(|edge| edge.target).collect();
    while let Some(service) = open.pop() {
        if !std::mem::replace(&mut found[service], true) {
            open.extend(model.services[service].calls.iter().map(|edge| model.edges[*edge].target));
        }
    }
    found
}

/// The place of a setting; of what it belongs to, where it is not written.
pub(super) fn place(node: Option<&Node>, keys: &[&str]) -> Place {
    let Some(mut at) = node else { return Place::default() };
    for key in keys {
        match at.get(key) {
            Some(deeper) => at = deeper,
            None => return at.head,
        }
    }
    at.anchor()
}

/// Where the loss of a pair is written.
fn link_place(tree: &Node, caller: &str, target: &str) -> Place {
    let links = tree.get("links").map(Node::entries).unwrap_or_default();
    let is_pair = |entry: &&Entry| {
        let ends = entry.key.split_once("->").map(|(from, to)| (from.trim(), to.trim()));
        ends == Some((caller, target)) && entry.node.get("loss").is_some()
    };
    let found = links.iter().find(is_pair).or(links.iter().find(|entry| entry.key == "default"));
    place(found.map(|entry| &entry.node), &["loss"])
}

/// Where the effect of a trigger on a service is written.
pub(super) fn trigger_place(tree: &Node, effect: &str, service: &str) -> Place {
    let items = tree.get("triggers").map(Node::items).unwrap_or_default();
    let is_it = |node: &&Node| {
        node.get("effect").is_some_and(|it| it.is_text(effect) || it.get(effect).is_some())
            && node.get("service").is_some_and(|it| it.is_text(service))
    };
    place(items.iter().find(is_it), &["effect"])
}
