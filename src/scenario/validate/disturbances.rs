//! `triggers` and `operator`: names, times within the run, and the systems that `set` makes.

use crate::scenario::defaults;
use crate::scenario::diagnostic::Place;
use crate::scenario::diagnostic::Problems;
use crate::scenario::diagnostic::quoted;
use crate::scenario::file::Written;
use crate::scenario::file::WrittenArrivals;
use crate::scenario::file::WrittenDeed;
use crate::scenario::file::WrittenEffect;
use crate::scenario::file::WrittenTrigger;
use crate::scenario::merge;
use crate::scenario::model::Action;
use crate::scenario::model::Deed;
use crate::scenario::model::Edge;
use crate::scenario::model::Effect;
use crate::scenario::model::Model;
use crate::scenario::model::RunSettings;
use crate::scenario::model::ServiceId;
use crate::scenario::model::Trigger;
use crate::scenario::node::Entry;
use crate::scenario::node::Node;
use crate::scenario::reader;
use crate::scenario::reader::Spanned;
use crate::scenario::validate;
use crate::scenario::validate::Allowance;
use crate::scenario::validate::Names;
use crate::scenario::validate::queues;
use crate::units::Duration;

/// The moment of the first trigger.
pub(super) fn first_trigger(written: &Written<'_>) -> Option<Spanned<Duration>> {
    written.triggers.iter().filter_map(|trigger| trigger.at).min_by_key(|at| at.value)
}

/// The triggers by time.
pub(super) fn triggers(
    written: &Written<'_>,
    names: &Names<'_>,
    run: &RunSettings,
    problems: &mut Problems,
) -> Vec<Trigger> {
    let mut all: Vec<_> = written
        .triggers
        .iter()
        .filter_map(|trigger| meant_trigger(trigger, written, names, run, problems))
        .collect();
    all.sort_by_key(|trigger| trigger.at);
    all
}

fn meant_trigger(
    trigger: &WrittenTrigger,
    written: &Written<'_>,
    names: &Names<'_>,
    run: &RunSettings,
    problems: &mut Problems,
) -> Option<Trigger> {
    if let (Some(at), Some(lasts)) = (trigger.at, trigger.lasts) {
        let ends = at.value.saturating_add(lasts.value);
        if ends > run.horizon {
            problems.push_with(
                at.place,
                format!("this trigger ends at {ends}, after the horizon of {}", run.horizon),
                "nothing could be said about recovery; move it, or lengthen `run: horizon`",
            );
        }
    }
    let effect = trigger.effect?;
    let whom = target(trigger, effect.value, problems)?;
    let effect = match effect.value {
        WrittenEffect::Surge(factor) => {
            let population = names.clients.find(whom, problems)?;
            if let Some(WrittenArrivals::Users { .. }) = written.clients[population].it.arrivals {
                problems.push_with(
                    effect.place,
                    "users who wait for their answers have no rate that could surge",
                    "a surge needs a population with `arrivals`",
                );
            }
            Effect::Surge { population, factor }
        }
        WrittenEffect::Stop(how, processes) => {
            let queue = names.queues.find(whom, problems)?;
            queues::stop(queue, (how, processes), written, effect.place, problems)
        }
        of_service => on_service(of_service, names.services.find(whom, problems)?),
    };
    let replicas = struck(trigger, effect, written, problems);
    Some(Trigger { at: trigger.at?.value, lasts: trigger.lasts?.value, effect, replicas })
}

/// How many replicas a trigger strikes, where it is not all.
fn struck(
    trigger: &WrittenTrigger,
    effect: Effect,
    written: &Written<'_>,
    problems: &mut Problems,
) -> Option<u32> {
    let replicas = trigger.replicas?;
    let (Effect::Refuse(service)
    | Effect::Hang(service)
    | Effect::Slow { service, .. }
    | Effect::Errors { service, .. }) = effect
    else {
        problems.push_with(
            replicas.place,
            "this effect does not strike single replicas",
            "`refuse`, `hang`, `slow` and `errors` take `replicas`; leave it out here",
        );
        return None;
    };
    let service = &written.services[service];
    let all = service.it.replicas.map_or(defaults::REPLICAS, |all| all.value);
    if replicas.value > all {
        let name = quoted(&service.name.value);
        problems.push_with(
            replicas.place,
            format!("{name} has {all} {}", if all == 1 { "replica" } else { "replicas" }),
            format!("accepted are 1 to {all}; without `replicas` all are struck"),
        );
    }
    (replicas.value < all).then_some(replicas.value)
}

/// An effect that strikes a service.
fn on_service(effect: WrittenEffect, service: ServiceId) -> Effect {
    match effect {
        WrittenEffect::Refuse => Effect::Refuse(service),
        WrittenEffect::Hang => Effect::Hang(service),
        WrittenEffect::Restart => Effect::Restart(service),
        WrittenEffect::Slow(factor) => Effect::Slow { service, factor },
        WrittenEffect::Errors(errors) => Effect::Errors { service, errors },
        WrittenEffect::Workers(share) => Effect::Workers { service, share },
        WrittenEffect::LoseReplies(share) => Effect::LoseReplies { service, share },
        WrittenEffect::OtherBodies(share) => Effect::OtherBodies { service, share },
        WrittenEffect::Surge(_) | WrittenEffect::Stop(..) => {
            unreachable!("these strike no service")
        }
    }
}

/// Whom a trigger hits: the one key it needs, without the others.
fn target<'t>(
    trigger: &'t WrittenTrigger,
    effect: WrittenEffect,
    problems: &mut Problems,
) -> Option<&'t Spanned<String>> {
    const HELP: &str = "`surge` strikes `clients`, `crash` and `shutdown` a `queue`, every other \
                        effect a `service`";
    let this = match effect {
        WrittenEffect::Surge(_) => "clients",
        WrittenEffect::Stop(..) => "queue",
        _ => "service",
    };
    let keys =
        [("service", &trigger.service), ("clients", &trigger.clients), ("queue", &trigger.queue)];
    let strange = keys.iter().filter(|(key, _)| *key != this);
    let strange = strange.filter_map(|(key, whom)| whom.as_ref().map(|whom| (key, whom)));
    let needed = keys.iter().find(|(key, _)| *key == this).and_then(|(_, whom)| whom.as_ref());
    let mut others = 0;
    for (that, other) in strange {
        others += 1;
        problems.push_with(
            other.place,
            format!("this effect strikes `{this}`, not `{that}`"),
            HELP,
        );
    }
    if needed.is_none() && others == 0 {
        let problem = format!("a trigger with this effect needs `{this}`");
        problems.push_with(trigger.head, problem, HELP);
    }
    needed
}

/// The operator's actions by time. `base` is the system before the first of them.
pub(super) fn operator(
    written: &Written<'_>,
    names: &Names<'_>,
    base: &Model,
    tree: &Node,
    text: &str,
    allowance: &mut Allowance,
    problems: &mut Problems,
) -> Vec<Action> {
    let mut actions: Vec<_> = written.operator.iter().collect();
    actions.sort_by_key(|action| action.at.map(|at| at.value));
    let mut changing: Option<Node> = None;
    let mut all = Vec::new();
    for action in actions {
        if let Some(at) = action.at
            && at.value >= base.run.horizon
        {
            problems.push_with(
                at.place,
                format!("this is after the horizon of {}", base.run.horizon),
                "act earlier, or lengthen `run: horizon`",
            );
        }
        let deed = match &action.deed {
            Some(WrittenDeed::Shed { clients, share, lasts }) => clients
                .as_ref()
                .and_then(|clients| names.clients.find(clients, problems))
                .zip(share.zip(*lasts))
                .map(|(population, (share, lasts))| Deed::Shed {
                    population,
                    share: share.value,
                    lasts: lasts.value,
                }),
            Some(WrittenDeed::Flush(service)) => {
                names.services.find(service, problems).map(Deed::Flush)
            }
            Some(WrittenDeed::Restart(service)) => {
                names.services.find(service, problems).map(Deed::Restart)
            }
            Some(WrittenDeed::Resume(queue)) => {
                names.queues.find(queue, problems).map(Deed::Resume)
            }
            Some(WrittenDeed::Set { changes, place }) => {
                let when = action.at.map(|at| at.value).unwrap_or_default();
                let current = changing
                    .take()
                    .unwrap_or_else(|| merge::without(tree, &["triggers", "operator"]));
                let (after, deed) =
                    set(changes, *place, when, current, base, names, text, allowance, problems);
                changing = Some(after);
                deed
            }
            None => None,
        };
        if let (Some(at), Some(what)) = (action.at, deed) {
            all.push(Action { at: at.value, what });
        }
    }
    all
}

#[expect(clippy::too_many_arguments, reason = "the whole state of checking meets in `set`")]
fn set(
    changes: &[Entry],
    place: Place,
    when: Duration,
    mut tree: Node,
    base: &Model,
    names: &Names<'_>,
    text: &str,
    allowance: &mut Allowance,
    problems: &mut Problems,
) -> (Node, Option<Deed>) {
    let mut known = true;
    for change in changes {
        known &= names_something(change, names, problems);
    }
    if !known {
        return (tree, None);
    }
    let cost: usize = tree.cost() + changes.iter().map(|change| change.node.cost()).sum::<usize>();
    if !allowance.pay(cost.saturating_mul(changes.len())) {
        problems.push_with(
            place,
            "variants and `set` make too large a scenario of this file",
            "split the file, or change fewer settings",
        );
        return (tree, None);
    }
    for change in changes {
        tree = merge::merge(&tree, &merge::overlay(change));
    }
    let mut own = Problems::default();
    let found = validate::model(&tree, text, allowance, &mut own);
    problems.absorb(own, place, &format!("after the `set` at {when}"));
    let Some((mut model, _)) = found else { return (tree, None) };
    let ends = |edge: &Edge| (edge.caller, edge.target);
    if !model.edges.iter().map(ends).eq(base.edges.iter().map(ends)) {
        problems.push_with(
            place,
            "`set` may not change who calls whom",
            "make it a variant, which may",
        );
        return (tree, None);
    }
    model.run.clone_from(&base.run);
    model.triggers.clone_from(&base.triggers);
    let change = changes
        .iter()
        .map(|change| format!("{}: {}", change.key, one_line(change.node.place, text)))
        .collect::<Vec<_>>()
        .join(", ");
    (tree, Some(Deed::Set { change, model: Box::new(model) }))
}

/// Does the path of a change begin at something that exists?
fn names_something(change: &Entry, names: &Names<'_>, problems: &mut Problems) -> bool {
    let mut parts = change.key.split('.');
    let (kind, name) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let index = match kind {
        "clients" => &names.clients,
        "services" => &names.services,
        "policies" => &names.policies,
        "queues" => &names.queues,
        _ => return true, // The ends of a link are looked up with the other links.
    };
    if index.get(name).is_none() {
        reader::unknown(change.place, index.what, name, &index.names, problems);
        return false;
    }
    true
}

/// A piece of the text on one line, for people.
fn one_line(place: Place, text: &str) -> String {
    const LONGEST: usize = 200;
    let words: Vec<_> =
        text.get(place.start..place.end).unwrap_or_default().split_whitespace().collect();
    let line = words.join(" ");
    if line.chars().count() > LONGEST {
        return quoted(&line);
    }
    line
}
