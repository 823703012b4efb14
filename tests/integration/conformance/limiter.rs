//! Recordings of bulkheads, composed policies, hedging and timeouts.

mod bulkhead;
mod composed;
mod hedging;
mod timeouts;
