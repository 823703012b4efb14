//! Deferred replies in the words of the scenario language.

use crate::lint::meant::Lines;
use crate::lint::meant::distribution;
use crate::lint::meant_effect::operation;
use crate::policy::deferred::Fault;
use crate::scenario::model::Deferred;
use crate::scenario::model::Edge;
use crate::units::Share;

/// What a population's call does and how its reply comes, where it is not the usual.
pub(super) fn of_client(out: &mut Lines, edge: &Edge) {
    if edge.operation.writes() {
        out.put(2, "operation", operation(edge.operation));
    }
    if let Some(deferred) = &edge.deferred {
        out.put(2, "reply", reply(deferred));
    }
}

/// The same of a call in a list.
pub(super) fn of_handler(edge: &Edge) -> String {
    let mut text = String::new();
    if edge.operation.writes() {
        text += &format!(", operation: {}", operation(edge.operation));
    }
    if let Some(deferred) = &edge.deferred {
        text += &format!(", reply: {}", reply(deferred));
    }
    text
}

/// `{ deferred: { … } }`, every default written out.
fn reply(it: &Deferred) -> String {
    let mut parts = Vec::new();
    if let Some(notification) = &it.notification {
        let (latency, loss) = (distribution(&notification.latency), notification.loss);
        parts.push(format!("notification: {{ latency: {latency}, loss: {loss} }}"));
    }
    if let Some(every) = it.poll {
        parts.push(format!("poll: {every}"));
    }
    parts.push(format!("read: {}", it.read.name()));
    if let Some(errors) = it.read_errors {
        let (share, value) = (errors.share, errors.value.name());
        parts.push(format!("read_errors: {{ share: {share}, value: {value} }}"));
    }
    parts.push(format!("consumer: {}", it.consumer.name()));
    if !it.malformed.is_never() {
        let faults = Fault::NAMED.iter().zip(it.malformed.0);
        let faults = faults.filter(|(_, share)| *share != Share::ZERO);
        let faults: Vec<_> = faults.map(|((name, _), it)| format!("{name}: {it}")).collect();
        parts.push(format!("malformed: {{ {} }}", faults.join(", ")));
    }
    parts.push(format!("retryable: {}", it.failures.name()));
    format!("{{ deferred: {{ {} }} }}", parts.join(", "))
}
