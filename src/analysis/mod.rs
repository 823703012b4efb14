//! What the runs mean.

pub mod deferred;
pub mod difference;
pub mod effects;
pub mod estimate;
pub mod finding;
pub mod jobs;
mod marks;
mod measures;
pub mod recovery;
pub mod summary;
mod words;

pub use summary::summarise;
