//! Listens to one run, leaves one record.

pub mod outcome;
pub mod record;
pub mod recorder;

pub use recorder::simulate;
