//! Doubts about writes: effects that a retry repeats, keys that tell no repetition or that nobody
//! knows, memories of keys where nobody writes.

use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::Problems;
use crate::scenario::diagnostic::quoted;
use crate::scenario::model::Caller;
use crate::scenario::model::Edge;
use crate::scenario::model::EdgeId;
use crate::scenario::model::Effect;
use crate::scenario::model::MadeOnce;
use crate::scenario::model::Model;
use crate::scenario::model::Operation;
use crate::scenario::node::Node;
use crate::scenario::validate::doubts::trigger_place;

const KEY_HELP: &str = "write `operation: { write: { key: request } }`, and give the service \
                        `idempotency: { kept_for: 24h }`";

/// Doubts about the writes of one system; `tree` is where it is written.
pub(super) fn of_writes(model: &Model, tree: &Node, doubts: &mut Problems) {
    for (id, edge) in model.edges.iter().enumerate() {
        let Operation::Write(key) = edge.operation else { continue };
        // A job that is executed again makes another call.
        let around = is_repeated_around(model, edge) || is_executed_again(model, edge);
        let own = model.policy_of(id).repeats();
        let caller = quoted(caller_of(edge, model));
        let target = quoted(&model.services[edge.target].name);
        let knows = model.services[edge.target].idempotency.is_some();
        let problem = match key {
            None if own || around => format!(
                "{caller} writes to {target} without a key, and the write is repeated: an answer \
                 that is lost makes a second effect"
            ),
            Some(MadeOnce::Attempt) if own || around => format!(
                "{caller} makes a new key in each attempt at {target}: it tells no repetition"
            ),
            Some(_) if !knows => format!("{caller} sends a key that {target} does not know"),
            Some(MadeOnce::Call) if around => format!(
                "{}, and its key for {target} is then a new one",
                match edge.caller {
                    Caller::Population(_) => format!("a job of {caller} is executed again"),
                    Caller::Service(_) => format!("whoever calls {caller} tries again"),
                }
            ),
            _ => continue,
        };
        doubts.push_with(place_of(tree, model, id, "operation"), problem, KEY_HELP);
    }
    for trigger in &model.triggers {
        if let Effect::OtherBodies { service: id, .. } = trigger.effect
            && model.services[id].idempotency.is_none()
        {
            let name = &model.services[id].name;
            let problem = format!("{} knows no keys: `other_bodies` does nothing", quoted(name));
            let help = "give the service `idempotency: { kept_for: 24h }`";
            doubts.push_with(trigger_place(tree, "other_bodies", name), problem, help);
        }
    }
    for (id, service) in model.services.iter().enumerate() {
        // A variant may make the keys: that writes are not told apart is said above.
        let writes = |edge: &Edge| edge.target == id && edge.operation.writes();
        if service.idempotency.is_some() && !model.edges.iter().any(writes) {
            let written = tree.get("services").and_then(|all| all.get(&service.name));
            let at = written.and_then(|it| it.get("idempotency")).map(|it| it.head);
            let problem = format!(
                "nobody writes to {}: its `idempotency` does nothing",
                quoted(&service.name)
            );
            let help = "callers write with `operation: { write: { key: request } }`";
            doubts.push_with(at.unwrap_or_default(), problem, help);
        }
    }
}

/// Is this the call of a job that a queue may have executed more than once?
fn is_executed_again(model: &Model, edge: &Edge) -> bool {
    match edge.caller {
        Caller::Population(id) => {
            model.populations[id].queue.is_some_and(|queue| model.queues[queue].repeats())
        }
        Caller::Service(_) => false,
    }
}

/// Does a handler run again, for a retry above it?
fn is_repeated_around(model: &Model, edge: &Edge) -> bool {
    let mut found = vec![false; model.services.len()];
    let mut open = vec![edge.caller];
    while let Some(Caller::Service(caller)) = open.pop() {
        for (id, above) in model.edges.iter().enumerate().filter(|(_, it)| it.target == caller) {
            if model.policy_of(id).repeats() || is_executed_again(model, above) {
                return true;
            }
            if let Caller::Service(service) = above.caller
                && !std::mem::replace(&mut found[service], true)
            {
                open.push(above.caller);
            }
        }
    }
    false
}

/// The name of whoever makes a call.
pub(super) fn caller_of<'m>(edge: &Edge, model: &'m Model) -> &'m str {
    match edge.caller {
        Caller::Population(id) => &model.populations[id].name,
        Caller::Service(id) => &model.services[id].name,
    }
}

/// Where a setting of a call is written.
pub(super) fn place_of(tree: &Node, model: &Model, id: EdgeId, key: &str) -> Place {
    let written = match model.edges[id].caller {
        Caller::Population(of) => {
            tree.get("clients").and_then(|all| all.get(&model.populations[of].name))
        }
        Caller::Service(of) => {
            let service = &model.services[of];
            let nth = service.calls.iter().position(|call| *call == id);
            let calls = tree.get("services").and_then(|all| all.get(&service.name));
            let calls = calls.and_then(|it| it.get("calls")).map(Node::items);
            calls.zip(nth).and_then(|(calls, nth)| calls.get(nth))
        }
    };
    written.and_then(|it| it.get(key)).map_or_else(Place::default, Node::anchor)
}
