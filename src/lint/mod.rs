//! What shows on paper, before anything runs: the scenario as meant, and worst-case arithmetic.
//!
//! None of this needs a simulation, and much of what goes wrong in outages can be read off here:
//! attempts that multiply from layer to layer, callers that give up long before the layers below
//! do, capacity that suffices only while nothing fails.

mod crash;
mod explain;
mod load;
mod long_run;
mod longest;
mod meant;
mod meant_backoff;
mod meant_breaker;
mod meant_budget;
mod meant_deferred;
mod meant_disturbance;
mod meant_effect;
mod meant_ejection;
mod meant_hedge;
mod meant_limiter;
mod meant_policy;
mod meant_queue;
mod queues;
mod remarks;
mod schedule;
mod shares;
mod text;
mod text_queue;
mod worst_case;
mod writes;

pub use crash::Crash;
pub use explain::Explanation;
pub use explain::PolicyCase;
pub use explain::explain;
pub use explain::explanation;
pub use load::LoadClass;
pub use load::ServiceLoad;
pub use longest::LongestCall;
pub use longest::longest_calls;
pub use longest::waits_in_all;
pub use meant::as_meant;
pub use meant::as_meant_json;
pub use meant::effective;
pub use meant_hedge::hedge_in_words;
pub use meant_policy::policy_as_meant;
pub use meant_policy::policy_as_meant_json;
pub use queues::QueueCase;
pub use schedule::Beside;
pub use schedule::End;
pub use schedule::Moment;
pub use schedule::Outage;
pub use schedule::Schedule;
pub use schedule::Sent;
pub use schedule::Shared;
pub use schedule::Spread;
pub use schedule::Wait;
pub use schedule::policy_schedule;
pub use shares::Instances;
pub use worst_case::Attempts;
pub use worst_case::EdgeCase;
pub use worst_case::WaitRow;
pub use worst_case::attempts_per_call;
pub use worst_case::attempts_per_request;
pub use worst_case::edge_cases;
pub use worst_case::schedule;
pub use writes::WriteCase;
