//! What shows on paper, before anything runs.
