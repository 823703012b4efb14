//! Faults of delay arithmetic: overflow, zero, cap, jitter.
