//! Each rule by the libraries that have it, and what holds for all of them.
