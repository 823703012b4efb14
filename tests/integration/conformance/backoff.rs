//! Recordings of backoffs.
