//! Writes on paper: what tells their repetitions, and for how long it can.

use serde::Serialize;

use crate::lint::longest::LongestCall;
use crate::lint::longest::longest_calls;
use crate::lint::meant_effect::operation;
use crate::scenario::model::Caller;
use crate::scenario::model::EdgeId;
use crate::scenario::model::JobQueue;
use crate::scenario::model::MadeOnce;
use crate::scenario::model::Model;
use crate::scenario::model::Operation;
use crate::units::Duration;

/// A call that has an effect.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WriteCase {
    /// Who asks.
    pub caller: String,
    /// Who answers.
    pub target: String,
    /// As in the scenario: `write`, or with its key.
    pub operation: String,
    /// Can it be repeated, by its own policy or because a handler around it runs again?
    pub repeated: bool,
    /// Does its key tell every repetition, and does the service know keys?
    pub told: bool,
    /// How long the service keeps the key after its answer.
    pub kept_for: Option<Duration>,
    /// For how long attempts with one key can follow one another.
    pub longest: LongestCall,
    /// Can one of them come after the key is forgotten?
    pub outlives_key: bool,
}

/// Every write of a model.
pub(super) fn write_cases(model: &Model) -> Vec<WriteCase> {
    let longest = longest_calls(model);
    let writes = (0..model.edges.len()).filter(|id| model.edges[*id].operation.writes());
    writes.map(|id| write_case(model, id, &longest)).collect()
}

fn write_case(model: &Model, id: EdgeId, longest: &[LongestCall]) -> WriteCase {
    let edge = &model.edges[id];
    let above = edges_above(model, id);
    let repeats = |id: EdgeId| model.policy_of(id).repeats();
    let all_above = above.iter().chain([&id]);
    let queues: Vec<_> = all_above.filter_map(|id| queue_of(model, *id)).collect();
    let queued = queues.iter().any(|queue| queue.repeats());
    let around = queued || above.iter().any(|id| repeats(*id));
    let idempotency = model.services[edge.target].idempotency;
    let (told, longest) = match edge.operation {
        Operation::Write(Some(MadeOnce::Request)) => {
            let all = above.iter().map(|id| longest[*id]).chain([longest[id]]);
            let call = all.max_by_key(|call| call.span).unwrap_or(LongestCall::NOTHING);
            (true, in_queues(&queues, call))
        }
        Operation::Write(Some(MadeOnce::Call)) => (!around, longest[id]),
        Operation::Write(Some(MadeOnce::Attempt) | None) | Operation::Read => (false, longest[id]),
    };
    let kept_for = idempotency.map(|it| it.kept_for);
    WriteCase {
        caller: match edge.caller {
            Caller::Population(i) => model.populations[i].name.clone(),
            Caller::Service(i) => model.services[i].name.clone(),
        },
        target: model.services[edge.target].name.clone(),
        operation: operation(edge.operation),
        repeated: around || repeats(id),
        told: told && idempotency.is_some(),
        kept_for,
        longest,
        outlives_key: told && kept_for.is_some_and(|kept_for| longest.span > kept_for),
    }
}

/// The queue whose jobs make a call, if it is one of jobs.
fn queue_of(model: &Model, id: EdgeId) -> Option<&JobQueue> {
    let Caller::Population(population) = model.edges[id].caller else { return None };
    model.populations[population].queue.map(|queue| &model.queues[queue])
}

/// A call that is made anew by each execution of a job: its waits come on top.
fn in_queues(queues: &[&JobQueue], call: LongestCall) -> LongestCall {
    let lives = queues.iter().filter(|queue| queue.repeats());
    let longest = lives.map(|queue| queue.longest_life().unwrap_or(Duration::MAX)).max();
    longest.map_or(call, |span| LongestCall { span, open_ended: false }.then(call))
}

/// The calls whose handlers lead to an edge, by whatever way.
fn edges_above(model: &Model, id: EdgeId) -> Vec<EdgeId> {
    let mut found = vec![false; model.edges.len()];
    let mut open = vec![id];
    while let Some(id) = open.pop() {
        let Caller::Service(caller) = model.edges[id].caller else { continue };
        for (above, edge) in model.edges.iter().enumerate() {
            if edge.target == caller && !std::mem::replace(&mut found[above], true) {
                open.push(above);
            }
        }
    }
    (0..found.len()).filter(|id| found[*id]).collect()
}
