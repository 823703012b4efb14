//! Faults of circuit breakers.
