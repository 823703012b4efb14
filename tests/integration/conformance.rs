//! Our policies beside recordings of the real libraries: `tests/traces` says how they were made.

mod backoff;
pub(crate) mod breaker;
mod budget;
mod calls;
mod limiter;
mod presets;
mod trace;
