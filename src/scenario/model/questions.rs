//! What an expectation may ask of each run: a number that the record of one run answers.
//!
//! A question is asked while the record is at hand, since records do not outlive the run that made
//! them; what is compared is the mean of the answers over the runs.

use serde::Serialize;

use crate::policy::outcome::Class;
use crate::scenario::model::Model;
use crate::scenario::model::ServiceId;
use crate::units::Duration;
use crate::units::Share;

/// Why a request failed, by the names used in results.
pub const CAUSES: [&str; 9] = [
    "attempts",
    "time",
    "budget",
    "breaker",
    "bulkhead",
    "not_retried",
    "shed",
    "throttle",
    "pushed_back",
];

/// Why a job is given up, by the names used in results.
pub const DEAD_LETTERS: [&str; 7] =
    ["permanent", "attempts", "age", "refused", "suspended", "counter", "pushed_back"];

/// A number of one run. Everything counts from the end of the warm-up.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// Attempts that reached a service in the windows of a span.
    Attempts {
        /// The service.
        service: ServiceId,
        /// The start of the span; `None`: time 0.
        from: Option<Duration>,
        /// Its end, left out itself; `None`: the horizon.
        to: Option<Duration>,
    },
    /// The most attempts that reached a service within a span, over all spans of whole windows.
    MostAttempts {
        /// The service.
        service: ServiceId,
        /// The length of the span.
        within: Duration,
    },
    /// Effects of writes: of one service, or of all.
    Effects(Option<ServiceId>),
    /// Of the requests that ended: the share with a verdict.
    Ended {
        /// The verdict.
        verdict: AskedVerdict,
        /// The population; `None`: all.
        population: Option<usize>,
        /// The cause of failures, by name; `None`: every one.
        cause: Option<&'static str>,
    },
    /// Of the requests born: the share still open at the end of the run.
    Unanswered {
        /// The population; `None`: all.
        population: Option<usize>,
    },
    /// Birth to verdict, in seconds.
    Latency {
        /// The population; `None`: all.
        population: Option<usize>,
        /// Which number stands for all.
        at: Statistic,
        /// Of the requests that failed or came late, in place of those answered in time?
        failed: bool,
    },
    /// Attempts that the callers' own policies turned away on the edges to a service.
    Rejected {
        /// The service.
        service: ServiceId,
        /// `breaker_open`, `bulkhead_full` or `throttled`; `None`: all of them.
        class: Option<Class>,
    },
    /// Something of the jobs of a queue.
    Jobs {
        /// The queue, by its place in the model.
        queue: usize,
        /// What.
        of: JobQuestion,
    },
}

/// What is asked of the jobs of a queue; spans in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JobQuestion {
    /// Jobs done ÷ jobs stored.
    DeliveredShare,
    /// Jobs given up, for one reason by name or for any.
    DeadLetters(Option<&'static str>),
    /// Executions ÷ jobs stored.
    Executions,
    /// Executions of the jobs given up ÷ jobs given up.
    ExecutionsPerDeadLetter,
    /// Executions of the jobs given up ÷ executions.
    UselessShare,
    /// What workers write to the storage ÷ jobs stored.
    StorageWrites,
    /// From birth to the end of the jobs done.
    Lateness(Statistic),
    /// From the first failure to the end of the jobs given up.
    ToDeadLetter(Statistic),
    /// From falling due to the claim.
    ClaimLag(Statistic),
    /// When the first job was given up.
    FirstDeadLetter,
    /// The longest that the oldest job due had been so at the end of a window.
    OldestDue,
    /// Destinations suspended at the end of the run.
    Suspended,
    /// Times that a destination was suspended.
    Suspensions,
    /// Jobs at rest at the end of the run, those that wait for their destination among them.
    AtRest,
    /// Most of them at the end of a window.
    MostAtRest,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AskedVerdict {
    /// Answered in time.
    Ok,
    /// Answered after its deadline.
    Late,
    /// Failed; requests that the operator shed are among them.
    Failed,
}

/// One number in place of many.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// The mean, exact.
    Mean,
    /// The largest, exact.
    Max,
    /// The value below which a share lies, to 0.4 %.
    Quantile(Share),
}

impl Statistic {
    /// As it is written in a scenario.
    pub fn name(self) -> String {
        match self {
            Self::Mean => "mean".into(),
            Self::Max => "max".into(),
            Self::Quantile(share) => format!("{}%", percent(share)),
        }
    }
}

/// A share in per cent without the noise of the multiplication: 99.9, not 99.90000000000001.
fn percent(share: Share) -> f64 {
    (share.get() * 1e11).round() / 1e9
}

impl Question {
    /// The keys that say more closely what is asked, and their values, as written in a scenario.
    pub fn scope(&self, model: &Model) -> Vec<(&'static str, String)> {
        let service = |id: ServiceId| ("service", model.services[id].name.clone());
        let population =
            |id: &Option<usize>| id.map(|id| ("population", model.populations[id].name.clone()));
        let mut scope = Vec::new();
        match self {
            Self::Attempts { service: id, from, to } => {
                scope.push(service(*id));
                scope.extend(from.map(|from| ("from", from.to_string())));
                scope.extend(to.map(|to| ("to", to.to_string())));
            }
            Self::MostAttempts { service: id, within } => {
                scope.extend([service(*id), ("within", within.to_string())]);
            }
            Self::Effects(id) => scope.extend(id.map(service)),
            Self::Ended { population: of, cause, .. } => {
                scope.extend(population(of));
                scope.extend(cause.map(|cause| ("cause", cause.into())));
            }
            Self::Unanswered { population: of } => scope.extend(population(of)),
            Self::Latency { population: of, at, failed } => {
                scope.extend(population(of));
                scope.push(("quantile", at.name()));
                scope.extend(failed.then(|| ("failed", "true".into())));
            }
            Self::Rejected { service: id, class } => {
                scope.push(service(*id));
                scope.extend(class.map(|class| ("class", class.name().into())));
            }
            Self::Jobs { queue, of } => {
                scope.push(("queue", model.queues[*queue].name.clone()));
                match of {
                    JobQuestion::DeadLetters(reason) => {
                        scope.extend(reason.map(|reason| ("reason", reason.into())));
                    }
                    JobQuestion::Lateness(at)
                    | JobQuestion::ToDeadLetter(at)
                    | JobQuestion::ClaimLag(at) => scope.push(("quantile", at.name())),
                    _ => {}
                }
            }
        }
        scope
    }

    /// The least and the largest answer there can be.
    pub const fn range(&self) -> (f64, f64) {
        match self {
            Self::Ended { .. }
            | Self::Unanswered { .. }
            | Self::Jobs { of: JobQuestion::DeliveredShare | JobQuestion::UselessShare, .. } => {
                (0.0, 1.0)
            }
            _ => (0.0, f64::INFINITY),
        }
    }
}
