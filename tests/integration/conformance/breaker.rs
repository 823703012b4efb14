//! Recordings of breakers.
