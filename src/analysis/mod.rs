//! What the runs mean.

pub mod summary;
