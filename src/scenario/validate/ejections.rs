//! Doubts about `ejection`: settings under which nobody can ever be left out.

use crate::policy::ejection::EjectionConfig;
use crate::policy::ejection::EjectionKind;
use crate::policy::stack::Policy;
use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::Problems;
use crate::scenario::diagnostic::quoted;
use crate::scenario::model::Model;
use crate::scenario::node::Node;

/// Doubts about one system; `tree` is where it is written.
pub(super) fn doubts(model: &Model, tree: &Node, doubts: &mut Problems) {
    let mut seen = Vec::new();
    for edge in &model.edges {
        let policy = innermost(&model.policies[edge.policy]);
        let Some(ejection) = &policy.ejection else { continue };
        let pair = (policy.name.as_str(), edge.target);
        if seen.contains(&pair) {
            continue;
        }
        seen.push(pair);
        let service = &model.services[edge.target];
        let Some((why, help)) = vain(&ejection.config, service.replicas) else { continue };
        let written = tree.get("policies").and_then(|all| all.get(&policy.name));
        let place =
            written.map_or(Place::default(), |it| it.get("ejection").map_or(it.head, Node::anchor));
        let name = quoted(&service.name);
        doubts.push_with(place, format!("{name} has {why}: `ejection` does nothing there"), help);
    }
}

/// Why no replica can ever be left out, and what would help.
fn vain(config: &EjectionConfig, replicas: u32) -> Option<(String, &'static str)> {
    if replicas == 1 {
        let help = "give the service more `replicas`, or use a `breaker` of the policy";
        return Some(("one replica".to_owned(), help));
    }
    let EjectionKind::Outlier(outlier) = &config.kind else { return None };
    let most = outlier.most_ejected;
    if outlier.always_one || most.get() * f64::from(replicas) >= 1.0 - 1e-9 {
        return None;
    }
    let why = format!("{replicas} replicas, and {most} of them is less than one");
    Some((why, "set a larger `most_ejected`, or `always_one: true`"))
}

/// The policy whose attempts are sent.
fn innermost(policy: &Policy) -> &Policy {
    let mut policy = policy;
    while let Some(inner) = &policy.inner {
        policy = inner;
    }
    policy
}
