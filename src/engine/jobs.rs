//! Jobs in queues.

use crate::engine::caller::Request;

/// The queues of jobs of a run.
#[derive(Default)]
pub(super) struct Jobs {
    /// Does the model have any?
    pub(super) on: bool,
}

impl Jobs {
    /// The process that executes a job, or the client that asks by itself.
    pub(super) fn process_of(&self, _request: u32, asker: &Request) -> u32 {
        asker.client
    }
}
