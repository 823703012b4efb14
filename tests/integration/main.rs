//! Every integration test, in one binary.

mod analysis;
mod cases;
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod cli;
mod conformance;
mod determinism;
mod documents;
mod hostile;
mod invariants;
mod lab;
mod limits;
mod mission;
mod policy;
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod presets;
mod rules;
mod scenario;
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod scenarios;
mod theory;
mod tidy;
