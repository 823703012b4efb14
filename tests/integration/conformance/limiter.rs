//! Recordings of bulkheads, composed policies, hedging and timeouts.

mod adaptive;
mod bulkhead;
mod composed;
mod hedging;
mod timeouts;
