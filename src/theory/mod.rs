//! Closed forms to test against: queues, closed loops, drains; amplification, equilibria.
//!
//! Rates are per second and times in seconds, or both in units of a service time. Nothing here is
//! on the path from seed to counts; tests hold the engine against it, and `explain` prints what it
//! says of a scenario before any simulation.

pub mod queues;
pub mod retries;
