//! Who answers: services, their queues, and what pushes a replica over.

use serde::Serialize;

use crate::policy::outcome::Class;
use crate::policy::outcome::ClassSet;
use crate::policy::shedding::CoDelConfig;
use crate::random::Distribution;
use crate::scenario::model::EdgeId;
use crate::scenario::model::Idempotency;
use crate::scenario::model::ReplayWindow;
use crate::units::Duration;
use crate::units::Share;

/// A service: replicas that answer calls.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Service {
    /// Its name in the scenario.
    pub name: String,
    /// Replicas; at least 1.
    pub replicas: u32,
    /// Workers of each replica; at least 1.
    pub workers: u32,
    /// Does a worker wait with its request while a call and its back-off are out?
    pub holds_worker: bool,
    /// Where attempts wait for a worker; one queue per replica.
    pub queue: Queue,
    /// What happens to work whose caller left.
    pub cancellation: Cancellation,
    /// A worker's own work on one attempt.
    pub work: Distribution,
    /// Errors of its own, besides those of triggers.
    pub errors: Option<Errors>,
    /// What it tells callers about when to come again, by the class of its answer.
    pub retry_after: Vec<RetryAfter>,
    /// Calls made after the own work, one after another.
    pub calls: Vec<EdgeId>,
    /// What pushes a replica over, and how it comes back.
    pub overload: Option<Overload>,
    /// How attempts are spread over replicas.
    pub balance: Balance,
    /// What it remembers of idempotency keys; `None`: it does not know them.
    pub idempotency: Option<Idempotency>,
    /// How old a signature may be; `None`: it does not look.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay_window: Option<ReplayWindow>,
}

impl Service {
    /// The failures with which it tells callers when to come again.
    pub fn hinted(&self) -> ClassSet {
        let hinted: Vec<_> = self.retry_after.iter().map(|said| said.class).collect();
        ClassSet::of(&hinted)
    }
}

/// How attempts are spread over replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Balance {
    /// Each edge deals its attempts out in turn.
    RoundRobin,
    /// Drawn evenly for each attempt.
    Random,
    /// Each instance of the population whose request it is has its own, in turn: a receiver.
    ByDestination,
    /// Each process of the queue has its own, in turn: a node.
    ByProcess,
}

/// Where attempts wait for a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Queue {
    /// Attempts that may wait, service not included; `None`: without limit.
    pub limit: Option<u32>,
    /// Who is next.
    pub order: QueueOrder,
    /// What an attempt hears that finds it full.
    pub when_full: WhenFull,
    /// Is work dropped, unserved, when its turn comes and its caller has left or its deadline has
    /// passed?
    pub drop_expired: bool,
    /// Is what waited too long turned away when its turn comes?
    #[serde(skip_serializing_if = "Option::is_none")]
    pub codel: Option<CoDelConfig>,
}

/// Who is served next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueOrder {
    /// First in, first out.
    Fifo,
    /// Last in, first out.
    Lifo,
    /// First in, first out, but last in, first out while the queue stands.
    AdaptiveLifo,
}

/// What an attempt hears that finds the queue full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenFull {
    /// `overloaded`, at once.
    Reply,
    /// Nothing.
    Drop,
}

/// What happens to work whose caller left (the caller tells it, along the link).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cancellation {
    /// The server never learns of it: everything is finished.
    None,
    /// Work still waiting is removed from the queue; work in service is finished.
    Queue,
    /// Both stop, and so do calls and retries below.
    Full,
}

/// A share of attempts that end in an error instead of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Errors {
    /// What the caller hears.
    pub class: Class,
    /// How many of them.
    pub share: Share,
    /// Of what it is a share.
    pub of: ErrorsOf,
}

/// Of what errors are a share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorsOf {
    /// Each attempt is drawn for anew.
    #[default]
    Attempts,
    /// Each request of a user is drawn for once: it fails at every attempt, or at none.
    Requests,
}

/// What a service tells a caller about when to come again.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RetryAfter {
    /// The answer that carries it.
    pub class: Class,
    /// The time it names; `None`: not at all.
    pub after: Option<Distribution>,
}

/// What pushes a replica over, and how it comes back.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Overload {
    /// Attempts present at one replica (in service, waiting, and out on calls; abandoned ones
    /// included) at which it crashes; `None`: it never crashes of its own, but restarts use the
    /// rest.
    pub crashes_at: Option<u32>,
    /// How long a crashed or restarted replica refuses.
    pub restarts_after: Duration,
    /// How slow it is afterwards.
    pub cold: Option<Cold>,
}

/// A replica that has just come back.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cold {
    /// Work begun while cold takes that many times as long; at least 1.
    pub work_factor: f64,
    /// For how long after coming back.
    pub lasts: Duration,
}
