//! Bounds on what is under way, and on how fast it begins.
//!
//! A bulkhead bounds what one caller has out at once; an adaptive limit moves that bound with what
//! it sees of the server; a rate limiter bounds how often something begins.

pub mod adaptive;
pub mod bulkhead;
pub mod rate;

pub use crate::policy::limiter::bulkhead::Bulkhead;
pub use crate::policy::limiter::bulkhead::BulkheadConfig;
pub use crate::policy::limiter::bulkhead::Entry;
