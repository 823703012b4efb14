//! `inner`: policies inside policies, by name.
//!
//! A name stands for the policy as meant, and that for the one inside it, so nothing may be inside
//! itself, and the whole must stay small.

use std::collections::BTreeMap;

use crate::policy::stack::Policy;
use crate::scenario::defaults;
use crate::scenario::diagnostic::Problems;
use crate::scenario::diagnostic::quoted;
use crate::scenario::file::Written;
use crate::scenario::node::Node;
use crate::scenario::presets;
use crate::scenario::validate::Index;

/// Policies inside one another, the outermost included: more is a slip, not a system.
const MOST_NESTED: usize = 8;
/// What one policy costs, in values of the text, however little of it is written.
const COST: usize = 10;

/// Puts into each policy the one that it names.
pub(super) fn nest(
    written: &Written<'_>,
    names: &Index<'_>,
    policies: &mut [Policy],
    problems: &mut Problems,
) {
    let inside: Vec<_> = (0..policies.len()).map(|i| find(written, names, i, problems)).collect();
    let depths: Vec<_> = (0..policies.len()).map(|i| depth(&inside, i)).collect();
    let place = |i: usize| {
        written.policies[i]
            .it
            .inner
            .as_ref()
            .map_or_else(|| written.policies[i].name.place, |inner| inner.place)
    };
    let mut found = false;
    for i in 0..policies.len() {
        if let Some(circle) = circle_from(&inside, i) {
            found = true;
            let names: Vec<_> = circle.map(|at| policies[at].name.as_str()).collect();
            problems.push_with(
                place(i),
                format!("policies stand inside one another in a circle: {}", names.join(" -> ")),
                "an attempt must be made somewhere: remove one of them",
            );
        }
    }
    // Those around the first that is too deep are too deep as well: once is enough. A circle too
    // long to be seen as one has no first.
    let first = depths.iter().position(|depth| *depth == MOST_NESTED + 1);
    let first = first.or(depths.iter().position(|depth| *depth > MOST_NESTED));
    if let (Some(first), false) = (first, found) {
        problems.push_with(
            place(first),
            format!("more than {MOST_NESTED} policies stand inside one another here"),
            "put strategies that see the same attempts into one policy",
        );
        found = true;
    }
    if found {
        return; // Nobody will see the policies.
    }
    let mut order: Vec<_> = (0..policies.len()).collect();
    order.sort_by_key(|i| depths[*i]);
    for i in order {
        policies[i].inner = inside[i].map(|inner| Box::new(policies[inner].clone()));
    }
}

/// Which policy stands inside policy `index`.
fn find(
    written: &Written<'_>,
    names: &Index<'_>,
    index: usize,
    problems: &mut Problems,
) -> Option<usize> {
    let policy = &written.policies[index];
    let inner = policy.it.inner.as_ref().filter(|inner| inner.value != defaults::NO_POLICY)?;
    if inner.value == policy.name.value {
        problems.push_with(
            inner.place,
            format!("{} stands inside itself", quoted(&inner.value)),
            "name another policy, or remove `inner`",
        );
        return None;
    }
    let is_preset = presets::find(&inner.value).is_some();
    if names.get(&inner.value).is_none() && !names.written.contains(&*inner.value) && is_preset {
        let name = &inner.value;
        problems.push_with(
            inner.place,
            format!("{} is a preset, and `inner` names a policy of the file", quoted(name)),
            format!("write `{name}: {{ preset: {name} }}` under `policies`; then it can be named"),
        );
        return None;
    }
    names.find(inner, problems)
}

/// Policies inside one another from `index` inwards, counted no further than is allowed and two.
fn depth(inside: &[Option<usize>], index: usize) -> usize {
    chain(inside, index).take(MOST_NESTED + 2).count()
}

/// The circle from `start` back to it, if it is a short one and `start` its first policy.
fn circle_from(inside: &[Option<usize>], start: usize) -> Option<impl Iterator<Item = usize> + '_> {
    let length = chain(inside, start).skip(1).take(MOST_NESTED).position(|at| at == start)? + 1;
    let is_first = chain(inside, start).take(length).all(|at| at >= start);
    is_first.then(|| chain(inside, start).take(length + 1))
}

/// `start`, what stands inside it, and so on.
fn chain(inside: &[Option<usize>], start: usize) -> impl Iterator<Item = usize> + '_ {
    std::iter::successors(Some(start), |at| inside[*at])
}

/// What the policies inside others cost, in values: each is there once for every policy around it.
pub(super) fn cost(policies: &[Policy], tree: &Node) -> usize {
    if policies.iter().all(|policy| policy.inner.is_none()) {
        return 0;
    }
    let written = tree.get("policies").map(Node::entries).unwrap_or_default();
    let written: BTreeMap<_, _> =
        written.iter().map(|entry| (entry.key.as_str(), entry.node.cost())).collect();
    let alone = |policy: &Policy| COST + written.get(&*policy.name).copied().unwrap_or_default();
    policies.iter().map(|policy| policy.nested().skip(1).map(alone).sum::<usize>()).sum()
}
