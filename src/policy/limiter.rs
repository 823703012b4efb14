//! Bounds on what is under way.
//!
//! A bulkhead bounds what one caller has out at once; an adaptive limit moves that bound with what
//! it sees of the server. Bounds on how often something begins are throttles.

pub mod adaptive;
pub mod bulkhead;

pub use crate::policy::limiter::bulkhead::Bulkhead;
pub use crate::policy::limiter::bulkhead::BulkheadConfig;
pub use crate::policy::limiter::bulkhead::Entry;
