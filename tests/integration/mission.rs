//! The five systems of the mission: their scenarios, their figures, and the pages that show them.
//!
//! The ids in brackets are those of the rules and figures that the systems state.

mod chokaq;
mod coverage;
mod deferred;
mod dotnet;
mod figures;
mod nest;
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod pages;
mod probes;
mod webhooks;
