//! Faults where timeouts, retries, layers and hedges meet.
