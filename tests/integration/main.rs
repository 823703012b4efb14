//! Every integration test, in one binary.

mod analysis;
mod policy;
mod scenario;
mod theory;
