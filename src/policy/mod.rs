//! Defences as pure state machines: `now` and draws come in, decisions go out.
//!
//! Nothing here knows of the engine, of files or of clocks, so each policy can be held against
//! the real library that it imitates, and used on its own.

pub mod backoff;
pub mod breaker;
pub mod budget;
pub mod limiter;
pub mod outcome;
pub mod stack;
