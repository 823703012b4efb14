//! The five source systems as scenarios: their pages, and the list of what they state.

mod coverage;
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod pages;
