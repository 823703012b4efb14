//! Numbers in, numbers out; knows nothing of retries.

pub mod histogram;
