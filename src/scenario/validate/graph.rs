//! The graph of calls: no circles, and a number of attempts that is a number.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::policy::composition::AttemptTree;
use crate::policy::stack::Policy;
use crate::scenario::diagnostic::Problems;
use crate::scenario::file::Written;
use crate::scenario::model::Caller;
use crate::scenario::validate::system::Found;

/// The services in an order in which callers come first, or a problem that names the circle.
pub(super) fn without_circles(
    calls: &[&Found],
    written: &Written<'_>,
    problems: &mut Problems,
) -> Option<Vec<usize>> {
    let count = written.services.len();
    let mut callers = vec![0usize; count];
    let mut called: Vec<Vec<&Found>> = vec![Vec::new(); count];
    for call in calls {
        if let Caller::Service(caller) = call.caller {
            callers[call.target] += 1;
            called[caller].push(call);
        }
    }
    let mut order: Vec<usize> = (0..count).filter(|service| callers[*service] == 0).collect();
    let mut next = 0;
    while let Some(service) = order.get(next).copied() {
        next += 1;
        for call in &called[service] {
            callers[call.target] -= 1;
            if callers[call.target] == 0 {
                order.push(call.target);
            }
        }
    }
    if order.len() == count {
        return Some(order);
    }
    // Whoever is left is called by someone who is left: walking up must meet a service twice.
    let left: BTreeSet<usize> = (0..count).filter(|service| callers[*service] > 0).collect();
    let mut caller_of: BTreeMap<usize, &Found> = BTreeMap::new();
    for call in calls {
        if let Caller::Service(caller) = call.caller
            && left.contains(&caller)
            && left.contains(&call.target)
        {
            caller_of.entry(call.target).or_insert(call);
        }
    }
    let mut path = Vec::new();
    let mut seen = BTreeMap::new();
    let mut at = *left.first()?;
    let circle_start = loop {
        if let Some(start) = seen.insert(at, path.len()) {
            break start;
        }
        let call = caller_of.get(&at)?;
        path.push(*call);
        let Caller::Service(caller) = call.caller else { return None };
        at = caller;
    };
    let circle = &path[circle_start..];
    let name = |service: usize| written.services[service].name.value.as_str();
    let mut names: Vec<_> = circle.iter().rev().map(|call| name(call.target)).take(8).collect();
    names.insert(0, name(circle[0].target));
    if circle.len() > 8 {
        names.push("…");
    }
    problems.push_with(
        circle[0].place,
        format!("services call one another in a circle: {}", names.join(" -> ")),
        "a request must end somewhere: remove one of the calls",
    );
    None
}

/// Attempts of one request at each service when everything fails: the count must be a number.
pub(super) fn check_product(
    calls: &[&Found],
    order: &[usize],
    policies: &[Policy],
    written: &Written<'_>,
    problems: &mut Problems,
) {
    // `None`: more than a number can hold. Unlimited attempts are unlimited whatever they are
    // multiplied with.
    let most: Vec<_> = policies
        .iter()
        .map(|policy| AttemptTree::of(policy).most_attempts().unwrap_or(1))
        .map(|most| (most < u64::MAX).then_some(most))
        .collect();
    let attempts = |call: &Found| most.get(call.policy).copied().unwrap_or(Some(1));
    let mut arriving = vec![Some(0u64); written.services.len()];
    let mut called: Vec<Vec<&Found>> = vec![Vec::new(); written.services.len()];
    for call in calls {
        match call.caller {
            Caller::Population(_) => {
                arriving[call.target] =
                    arriving[call.target].zip(attempts(call)).and_then(|(a, b)| a.checked_add(b));
            }
            Caller::Service(caller) => called[caller].push(call),
        }
    }
    for service in order {
        let Some(here) = arriving[*service] else {
            problems.push_with(
                written.services[*service].name.place,
                "one request could make more than 2^64 attempts here",
                "`max_attempts` multiply from layer to layer; lower one of them",
            );
            return;
        };
        for call in &called[*service] {
            let more = attempts(call).and_then(|each| here.checked_mul(each));
            arriving[call.target] =
                arriving[call.target].and_then(|sum| more.and_then(|more| sum.checked_add(more)));
        }
    }
}
