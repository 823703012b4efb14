//! The scenario as meant: checked, nothing optional that has a default, entities by index.
//!
//! This is what the engine runs and what `explain` prints. Everything in it has passed
//! `validate.rs`; whoever builds one by hand must keep the invariants stated on the fields.

mod calls;
mod clients;
mod deferred;
mod disturbances;
mod effects;
mod expectations;
mod questions;
mod queues;
mod run;
mod services;

pub use calls::Answer;
pub use calls::Caller;
pub use calls::Edge;
pub use calls::Link;
pub use clients::Arrivals;
pub use clients::Burst;
pub use clients::OpenArrivals;
pub use clients::Population;
pub use clients::Process;
pub use clients::RateSegment;
pub use deferred::Deferred;
pub use deferred::Malformed;
pub use deferred::Notification;
pub use deferred::ReadErrors;
pub use deferred::Told;
pub use disturbances::Action;
pub use disturbances::Deed;
pub use disturbances::Effect;
pub use disturbances::Stop;
pub use disturbances::Trigger;
pub use effects::Idempotency;
pub use effects::MadeOnce;
pub use effects::Operation;
pub use effects::Remembers;
pub use expectations::Comparison;
pub use expectations::Expectation;
pub use expectations::ExpectedMeasure;
pub use expectations::ExpectedResults;
pub use expectations::Phase;
pub use questions::AskedVerdict;
pub use questions::CAUSES;
pub use questions::DEAD_LETTERS;
pub use questions::JobQuestion;
pub use questions::Question;
pub use questions::Statistic;
pub use queues::Claim;
pub use queues::ClaimOrder;
pub use queues::Counter;
pub use queues::CounterScope;
pub use queues::DeliveryRate;
pub use queues::Destinations;
pub use queues::JobQueue;
pub use queues::JobsMeanwhile;
pub use queues::Refused;
pub use queues::ReplayWindow;
pub use queues::Requeue;
pub use queues::Returns;
pub use queues::Suspend;
pub use queues::WhenFullyInFlight;
pub use queues::WorkerErrors;
pub use run::Limits;
pub use run::RecoverySettings;
pub use run::RunSettings;
pub use services::Balance;
pub use services::Cancellation;
pub use services::Cold;
pub use services::Errors;
pub use services::ErrorsOf;
pub use services::Overload;
pub use services::Queue;
pub use services::QueueOrder;
pub use services::RetryAfter;
pub use services::Service;
pub use services::WhenFull;

use serde::Serialize;

use crate::policy::stack::Policy;
use crate::units::Duration;

/// A scenario file, checked: the base and its variants.
#[derive(Clone, Debug, Serialize)]
pub struct Scenario {
    /// Names the results folder.
    pub name: String,
    /// One sentence: what happens.
    pub about: String,
    /// Where the numbers come from; what is left out.
    pub source: String,
    /// The base first (named `base`), then the variants in the order of the file.
    pub variants: Vec<Variant>,
    /// What `check` asserts.
    pub expect: Vec<Expectation>,
    /// BLAKE3 of the text, in hex: names the scenario in manifests.
    pub fingerprint: String,
}

/// One system with one set of policies: the base, or the base with some settings changed.
#[derive(Clone, Debug, Serialize)]
pub struct Variant {
    /// `base`, or the variant's key.
    pub name: String,
    /// What it changes and why; empty when the file does not say.
    pub about: String,
    /// The system as meant.
    pub model: Model,
}

/// A system, its load and its disturbances.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Model {
    /// How it is run and judged.
    pub run: RunSettings,
    /// Who asks.
    pub populations: Vec<Population>,
    /// Where jobs wait.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<JobQueue>,
    /// Who answers.
    pub services: Vec<Service>,
    /// Who calls whom, under which policy. Populations' edges first, in order.
    pub edges: Vec<Edge>,
    /// The policies that edges name.
    pub policies: Vec<Policy>,
    /// What goes wrong, by time.
    pub triggers: Vec<Trigger>,
    /// What people do about it, by time.
    pub operator: Vec<Action>,
}

/// Index into `Model::populations`.
pub type PopulationId = usize;
/// Index into `Model::queues`.
pub type QueueId = usize;
/// Index into `Model::services`.
pub type ServiceId = usize;
/// Index into `Model::edges`.
pub type EdgeId = usize;
/// Index into `Model::policies`.
pub type PolicyId = usize;

impl Model {
    /// The first trigger's start and the last trigger's end, since the end of the warm-up.
    pub fn trigger_span(&self) -> Option<(Duration, Duration)> {
        let starts = self.triggers.iter().map(|trigger| trigger.at).min()?;
        let ends =
            self.triggers.iter().map(|trigger| trigger.at.saturating_add(trigger.lasts)).max()?;
        Some((starts, ends))
    }

    /// The same system with nothing going wrong and nobody acting: the control twin.
    pub fn control_twin(&self) -> Self {
        Self { triggers: Vec::new(), operator: Vec::new(), ..self.clone() }
    }

    /// Does no request ever give up? Then goodput says nothing of a backlog: it is back at once
    /// after an outage, although every answer is late.
    pub fn waits_for_ever(&self) -> bool {
        let patient =
            |policy: &Policy| policy.attempt_timeout.is_none() && policy.timeout.is_none();
        // A job is given up by its queue, long after the policy of one execution has ended.
        let of_job = |edge: &Edge| match edge.caller {
            Caller::Population(id) => self.populations[id].queue.is_some(),
            Caller::Service(_) => false,
        };
        self.populations.iter().all(|population| population.deadline.is_none())
            && self.edges.iter().all(|edge| of_job(edge) || patient(&self.policies[edge.policy]))
    }

    /// The mean arrival rate of a population from the end of the warm-up to the first trigger (to
    /// the horizon where there is none), in requests per second. A closed population counts as if
    /// answers took no time, which is the most it can ask.
    pub fn healthy_rate(&self, population: PopulationId) -> f64 {
        let until = self.trigger_span().map_or(self.run.horizon, |(start, _)| start);
        self.populations[population].mean_rate(self.run.warm_up, until)
    }

    /// How many processes call for a population: its instances, or those that work on its queue.
    pub fn processes_of(&self, population: PopulationId) -> u32 {
        let it = &self.populations[population];
        it.queue.map_or(it.size, |queue| self.queues[queue].processes)
    }

    /// Does any call have an effect at the service?
    pub fn is_written_to(&self, service: ServiceId) -> bool {
        self.edges.iter().any(|edge| edge.target == service && edge.operation.writes())
    }

    /// Does a service write its results under keys, for any of its callers?
    pub fn defers(&self, service: ServiceId) -> bool {
        self.edges.iter().any(|edge| edge.target == service && edge.deferred.is_some())
    }

    /// The policy of an edge.
    pub fn policy_of(&self, edge: EdgeId) -> &Policy {
        &self.policies[self.edges[edge].policy]
    }
}
