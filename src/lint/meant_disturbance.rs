//! Triggers and the operator's deeds as meant, as text.

use crate::lint::meant;
use crate::lint::meant::Lines;
use crate::lint::meant::name;
use crate::scenario::effective;
use crate::scenario::model::Deed;
use crate::scenario::model::Effect;
use crate::scenario::model::Model;

/// What goes wrong.
pub(super) fn triggers(out: &mut Lines, model: &Model) {
    if !model.triggers.is_empty() {
        out.open(0, "triggers");
    }
    for it in &model.triggers {
        let of = |service: usize| format!("service: {}", name(&model.services[service].name));
        let (whom, effect) = match it.effect {
            Effect::Refuse(i) => (of(i), "refuse".to_owned()),
            Effect::Hang(i) => (of(i), "hang".to_owned()),
            Effect::Restart(i) => (of(i), "restart".to_owned()),
            Effect::Slow { service, factor } => (of(service), format!("{{ slow: {factor} }}")),
            Effect::Workers { service, share } => (of(service), format!("{{ workers: {share} }}")),
            Effect::Errors { service, errors } => {
                (of(service), format!("{{ errors: {} }}", meant::errors_in_words(errors)))
            }
            Effect::LoseReplies { service, share } => {
                (of(service), format!("{{ lose_replies: {share} }}"))
            }
            Effect::OtherBodies { service, share } => {
                (of(service), format!("{{ other_bodies: {share} }}"))
            }
            Effect::Stop { queue, processes, how } => (
                format!("queue: {}", name(&model.queues[queue].name)),
                format!("{{ {}: {processes} }}", how.name()),
            ),
            Effect::Surge { population, factor } => (
                format!("clients: {}", name(&model.populations[population].name)),
                format!("{{ surge: {factor} }}"),
            ),
        };
        let (at, lasts) = (it.at, it.lasts);
        let replicas = it.replicas.map_or(String::new(), |some| format!(", replicas: {some}"));
        let all = format!("at: {at}, lasts: {lasts}, {whom}, effect: {effect}{replicas}");
        out.raw(1, &format!("- {{ {all} }}"));
    }
}

/// What people do about it.
pub(super) fn operator(out: &mut Lines, model: &Model) {
    if !model.operator.is_empty() {
        out.open(0, "operator");
    }
    let mut before = model;
    for it in &model.operator {
        let deed = match &it.what {
            Deed::Shed { population, share, lasts } => {
                let clients = name(&model.populations[*population].name);
                format!("shed: {{ clients: {clients}, share: {share}, lasts: {lasts} }}")
            }
            Deed::Set { change, model } => {
                let changes = effective::changes(
                    &meant::system_text(before),
                    &meant::system_text(model),
                    change,
                );
                before = model;
                format!("set: {{ {changes} }}")
            }
            Deed::Flush(service) => format!("flush: {}", name(&model.services[*service].name)),
            Deed::Resume(queue) => format!("resume: {}", name(&model.queues[*queue].name)),
            Deed::Restart(service) => {
                format!("restart: {}", name(&model.services[*service].name))
            }
        };
        out.raw(1, &format!("- {{ at: {}, {deed} }}", it.at));
    }
}
