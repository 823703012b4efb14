//! What goes wrong, and what people do about it.
//!
//! Moments count from the end of the warm-up.

use serde::Serialize;

use crate::scenario::model::Errors;
use crate::scenario::model::Model;
use crate::scenario::model::PopulationId;
use crate::scenario::model::QueueId;
use crate::scenario::model::ServiceId;
use crate::units::Duration;
use crate::units::Share;

/// A disturbance: it starts, lasts, and is lifted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trigger {
    /// Its start, since the end of the warm-up.
    pub at: Duration,
    /// How long until it is lifted.
    pub lasts: Duration,
    /// What it does.
    pub effect: Effect,
    /// It strikes the first so many replicas of the service only. None: all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u32>,
}

impl Trigger {
    /// How many replicas of a service of that many it strikes.
    pub fn struck(&self, replicas: u32) -> u32 {
        self.replicas.map_or(replicas, |some| some.min(replicas))
    }
}

/// What a disturbance does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The service refuses new attempts at once (`unavailable`); what is inside goes on.
    Refuse(ServiceId),
    /// The service swallows: what is inside at the start and what arrives is never answered; when
    /// lifted it begins empty.
    Hang(ServiceId),
    /// Work begun takes `factor` times as long.
    Slow {
        /// Where.
        service: ServiceId,
        /// At least 1.
        factor: f64,
    },
    /// A share of the attempts that end their work during it end with an error.
    Errors {
        /// Where.
        service: ServiceId,
        /// Which and how many.
        errors: Errors,
    },
    /// Only `share` of the workers of each replica take up work (rounded to the nearest whole
    /// worker; work in service is finished). Zero pauses the service.
    Workers {
        /// Where.
        service: ServiceId,
        /// The share that is left.
        share: Share,
    },
    /// A share of the answers that a service's handlers give is lost on the way, after the effect;
    /// whoever waits for them hears nothing.
    LoseReplies {
        /// Where.
        service: ServiceId,
        /// How many of them.
        share: Share,
    },
    /// A share of the attempts whose key a service knows come with another body than the first one
    /// under that key: a fault of the client. They are refused (`rejected`).
    OtherBodies {
        /// Where.
        service: ServiceId,
        /// How many of them.
        share: Share,
    },
    /// Every replica loses what is inside (`connection_lost`), refuses for the length of the
    /// trigger and comes back cold, if the service has `overload.cold`.
    Restart(ServiceId),
    /// The arrival rate of a population is multiplied.
    Surge {
        /// Whose.
        population: PopulationId,
        /// By how much, at least 0.
        factor: f64,
    },
    /// Some processes of a queue are away: what they execute is cut off.
    Stop {
        /// Whose.
        queue: QueueId,
        /// So many, the first ones.
        processes: u32,
        /// What becomes of their jobs.
        how: Stop,
    },
}

/// How a process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// It dies: its jobs come back when their leases end.
    Crash,
    /// It gives its jobs back at once.
    Shutdown,
}

impl Stop {
    /// Its name in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Crash => "crash",
            Self::Shutdown => "shutdown",
        }
    }
}

/// What people do, at a moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Action {
    /// When, since the end of the warm-up.
    pub at: Duration,
    /// What.
    pub what: Deed,
}

/// What people do.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Deed {
    /// A share of the requests of a population ends at birth, for a while.
    Shed {
        /// Whose.
        population: PopulationId,
        /// How many of them.
        share: Share,
        /// For how long.
        lasts: Duration,
    },
    /// From here on the system is `model`, which has the same populations, services and edges:
    /// settings of policies, queues, workers and the like may differ.
    Set {
        /// The change as written, for people.
        change: String,
        /// The whole system after the change.
        model: Box<Model>,
    },
    /// Everything that waits in the service's queues is removed; callers hear `overloaded`.
    Flush(ServiceId),
    /// Suspended destinations of a queue are served again.
    Resume(QueueId),
    /// As the effect of that name, for `Overload::restarts_after` (1 s where there is none).
    Restart(ServiceId),
}

impl Deed {
    /// How long a restart takes where the service has no `overload.restarts_after`.
    pub const RESTART_LASTS: Duration = Duration::from_secs(1);
}
