//! Recordings of limiters.
