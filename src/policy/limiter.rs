//! Bulkheads: a bound on what one caller has under way, with a queue before it.

use serde::Serialize;

/// The settings of a bulkhead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BulkheadConfig {
    /// How many may be under way at once.
    pub limit: u32,
    /// How many may wait for a place; the next one is rejected at once.
    pub queue: u32,
}
