//! Every integration test, in one binary.

mod analysis;
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod cli;
mod policy;
mod scenario;
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod scenarios;
