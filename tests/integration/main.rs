//! Every integration test, in one binary.

mod analysis;
mod cli;
mod scenario;
