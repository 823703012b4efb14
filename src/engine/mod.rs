//! One run: a single thread, no clock but its own.

use std::sync::atomic::AtomicBool;

use crate::measure::record::RunRecord;
use crate::scenario::model::Model;

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

/// Runs `model` once under the keys `(seed, replication)`.
///
/// # Errors
/// `Interrupted` when `stop` is raised (looked at every few thousand events), `Invariant` when the
/// audit at the end finds a broken conservation law.
pub fn simulate(
    _model: &Model,
    _seed: u64,
    _replication: u32,
    _stop: &AtomicBool,
) -> Result<RunRecord, RunError> {
    unimplemented!()
}
