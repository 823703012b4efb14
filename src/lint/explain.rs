//! `explain`: everything that can be said of a variant without running it.

use serde::Serialize;

use crate::lint::load;
use crate::lint::load::ServiceLoad;
use crate::lint::longest;
use crate::lint::meant::as_meant;
use crate::lint::meant_hedge::hedge_in_words;
use crate::lint::queues;
use crate::lint::queues::QueueCase;
use crate::lint::remarks;
use crate::lint::schedule;
use crate::lint::shares;
use crate::lint::shares::Instances;
use crate::lint::text;
use crate::lint::worst_case;
use crate::lint::worst_case::Attempts;
use crate::lint::worst_case::EdgeCase;
use crate::lint::worst_case::WaitRow;
use crate::lint::writes;
use crate::lint::writes::WriteCase;
use crate::policy::stack::Retry;
use crate::scenario::model::Model;
use crate::scenario::model::PolicyId;
use crate::scenario::model::Scenario;
use crate::units::Duration;

/// What `explain` says, for machines.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation<'s> {
    /// The scenario's name.
    pub scenario: &'s str,
    /// The variant's name.
    pub variant: &'s str,
    /// The variant as meant; machines read it as a scenario.
    #[serde(skip)]
    pub model: &'s Model,
    /// Each service's load against its capacity.
    pub services: Vec<ServiceLoad>,
    /// Each call at its worst.
    pub calls: Vec<EdgeCase>,
    /// Each call that has an effect.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<WriteCase>,
    /// Each queue of jobs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<QueueCase>,
    /// Each policy's waits and state.
    pub policies: Vec<PolicyCase>,
    /// What experience advises against.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// What a policy comes to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyCase {
    /// Its name.
    pub policy: String,
    /// The most attempts of one call.
    pub attempts_per_call: Attempts,
    /// The tree of its attempts, a level on each line, where more than one layer makes it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attempt_tree: Vec<String>,
    /// Its back-off and what it makes of hints in words, where they are not the plainest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_in_words: Option<String>,
    /// The waits before its first retries.
    pub schedule: Vec<WaitRow>,
    /// Has it more waits than these?
    #[serde(skip)]
    pub goes_on: bool,
    /// All waits of one call at their longest; `for ever` when attempts are unlimited.
    pub waits_in_all: Duration,
    /// Its hedge in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hedge_in_words: Option<String>,
    /// Its stateful strategies, counted.
    pub instances: Vec<Instances>,
}

/// Explains one variant; `None` when there is none of that name.
pub fn explanation<'s>(scenario: &'s Scenario, variant: &str) -> Option<Explanation<'s>> {
    let variant = scenario.variants.iter().find(|known| known.name == variant)?;
    let model = &variant.model;
    Some(Explanation {
        scenario: &scenario.name,
        variant: &variant.name,
        model,
        services: load::loads(model),
        calls: worst_case::edge_cases(model),
        writes: writes::write_cases(model),
        queues: queues::queue_cases(model),
        policies: (0..model.policies.len()).map(|policy| policy_case(model, policy)).collect(),
        remarks: remarks::remarks(model),
    })
}

fn policy_case(model: &Model, id: PolicyId) -> PolicyCase {
    let policy = &model.policies[id];
    let schedule = policy
        .retry
        .as_ref()
        .map_or(Vec::new(), |retry| worst_case::schedule(&retry.backoff, retry.max_attempts));
    let tries = policy.max_attempts();
    PolicyCase {
        policy: policy.name.clone(),
        attempts_per_call: worst_case::attempts_per_call(policy),
        attempt_tree: schedule::attempt_tree(policy),
        waits_in_words: policy.retry.as_ref().and_then(in_words),
        goes_on: tries.is_none_or(|tries| tries as usize > schedule.len() + 1),
        schedule,
        waits_in_all: longest::waits_in_all(policy),
        hedge_in_words: policy.hedge.as_ref().map(hedge_in_words),
        instances: shares::instances(model, id),
    }
}

/// What a schedule alone does not say of waits.
pub(super) fn in_words(retry: &Retry) -> Option<String> {
    let hint = retry.hint.listens().then(|| retry.hint.to_string());
    let waits =
        (!retry.backoff.is_simple() || hint.is_some()).then(|| retry.backoff.to_string())?;
    Some(waits + &hint.map_or(String::new(), |hint| format!("; {hint}")))
}

/// Explains one variant in words: the scenario as meant, then what follows from it.
pub fn explain(scenario: &Scenario, variant: &str) -> String {
    match explanation(scenario, variant) {
        Some(found) => format!("{}\n{}", as_meant(scenario, found.variant), text::text(&found)),
        None => {
            let known: Vec<_> = scenario.variants.iter().map(|it| it.name.as_str()).collect();
            format!("there is no variant `{variant}`; there are: {}\n", known.join(", "))
        }
    }
}
