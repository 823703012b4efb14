//! One run: a single thread, no clock but its own.
//!
//! `simulate` runs a model and leaves a record; `observe` runs it for an observer of your own.
//! Inside, `life.rs` is the road a request takes; everything else is asked by it and answers.

mod arrivals;
mod audit;
mod calendar;
mod caller;
mod event;
mod heap;
mod jobs;
mod life;
mod limits;
pub mod observe;
mod plan;
mod server;
mod slab;
mod strategies;
mod trigger;
mod wheel;

use std::sync::atomic::AtomicBool;

use crate::engine::life::Life;
use crate::engine::observe::Ending;
use crate::engine::observe::Observer;
use crate::engine::plan::Plan;
use crate::random::Keys;
use crate::scenario::model::Model;
use crate::units::SimTime;

/// Why a run left no record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The stop flag was raised before the run was over.
    #[error("interrupted")]
    Interrupted,
    /// A conservation law did not hold: a bug of ours.
    #[error("invariant broken: {0}")]
    Invariant(String),
}

/// What a run tells of itself when it is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunReport {
    /// How it ended.
    pub ending: Ending,
    /// Events that happened; timers that were no longer wanted do not count.
    pub events: u64,
    /// A hash over time, kind and entity of every event.
    pub fingerprint: u64,
    /// Most attempts in flight at once (as looked at every few thousand events).
    pub peak_attempts: u64,
    /// Requests still open: population, and when they were born.
    pub open: Vec<(usize, SimTime)>,
}

/// Runs `model` once under the keys `(seed, replication)` and tells `observer` what happens.
///
/// # Errors
/// `Interrupted` when `stop` is raised (looked at every few thousand events), `Invariant` when the
/// audit at the end finds a broken conservation law.
pub fn observe(
    model: &Model,
    seed: u64,
    replication: u32,
    stop: &AtomicBool,
    observer: &mut impl Observer,
) -> Result<RunReport, RunError> {
    let plans = Plan::all(model);
    let mut life = Life::new(model, &plans, Keys::new(seed, replication), observer);
    life.run(stop)
}
