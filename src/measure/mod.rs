//! Listens to one run, leaves one record.

pub mod answers;
mod baseline;
mod counts;
pub mod deferred;
#[cfg(test)]
pub(crate) mod fixture;
pub mod horizon;
pub mod jobs;
pub mod outcome;
pub mod record;
pub mod recorder;
pub mod storm;
mod timeline;
mod trend;

pub use recorder::simulate;
