//! Doubts about classes of failure: a retry of what fails the same way every time.

use crate::policy::outcome::ClassSet;
use crate::policy::stack::Policy;
use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::Problems;
use crate::scenario::diagnostic::quoted;
use crate::scenario::model::ErrorsOf;
use crate::scenario::model::Model;
use crate::scenario::node::Node;

/// Doubts about the retries of one system; `tree` is where it is written.
///
/// A request that is itself wrong (`of: requests`, a permanent class) is wrong at every attempt.
pub(super) fn of_classes(model: &Model, tree: &Node, doubts: &mut Problems) {
    let mut said: Vec<(&str, usize)> = Vec::new();
    for edge in &model.edges {
        let service = &model.services[edge.target];
        let Some(errors) = service.errors else { continue };
        if errors.of != ErrorsOf::Requests || !ClassSet::PERMANENT.contains(errors.class) {
            continue;
        }
        let retries = |policy: &&Policy| {
            policy.retry.as_ref().is_some_and(|retry| {
                retry.max_attempts != Some(1) && retry.on.contains(errors.class)
            })
        };
        let Some(policy) = model.policies[edge.policy].nested().find(retries) else { continue };
        if said.contains(&(policy.name.as_str(), edge.target)) {
            continue;
        }
        said.push((&policy.name, edge.target));
        let problem = format!(
            "{} retries `{}`, and a request that {} answers so is answered so every time",
            quoted(&policy.name),
            errors.class,
            quoted(&service.name)
        );
        let help = "name what may pass, as `on: [transient]`";
        doubts.push_with(place_of(tree, &policy.name), problem, help);
    }
}

/// Where a policy says what it retries; where it begins, if it does not say so here.
fn place_of(tree: &Node, policy: &str) -> Place {
    let Some(written) = tree.get("policies").and_then(|all| all.get(policy)) else {
        return Place::default();
    };
    let on = written.get("retry").and_then(|retry| retry.get("on"));
    on.map_or(written.head, Node::anchor)
}
