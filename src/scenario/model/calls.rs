//! Who calls whom, under which policy, over which network.

use serde::Serialize;

use crate::policy::outcome::Class;
use crate::random::Distribution;
use crate::scenario::model::Deferred;
use crate::scenario::model::Operation;
use crate::scenario::model::PolicyId;
use crate::scenario::model::PopulationId;
use crate::scenario::model::ServiceId;
use crate::units::Share;

/// Who makes a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Caller {
    /// A client of a population.
    Population(PopulationId),
    /// A handler of a service.
    Service(ServiceId),
}

/// Who calls whom.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Edge {
    /// Who asks.
    pub caller: Caller,
    /// Who answers.
    pub target: ServiceId,
    /// Under which policy.
    pub policy: PolicyId,
    /// The network between them.
    pub link: Link,
    /// What its attempts do at the service.
    pub operation: Operation,
    /// What the handler answers in place of rule R11 when the call failed, by class.
    pub answers: Vec<Answer>,
    /// Its attempts are submits, whose results come later under a key; `None`: they are answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deferred: Option<Deferred>,
}

impl Edge {
    /// The class a handler answers with when this call failed with `class` (rule R11).
    pub fn answer_to(&self, class: Class) -> Class {
        let said = self.answers.iter().find(|answer| answer.failed == class);
        said.map_or(class.propagated(), |answer| answer.with)
    }
}

/// An error of a call, and what a handler makes of it for its own caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// How the call failed.
    pub failed: Class,
    /// What the handler answers with; never a local class.
    pub with: Class,
}

/// The network between a caller and a service; the same both ways.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Link {
    /// The time one message takes.
    pub latency: Distribution,
    /// The share of messages that never arrive, each way.
    pub loss: Share,
}
