//! Listens to one run, leaves one record.

pub mod outcome;
pub mod record;
