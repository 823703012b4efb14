//! Numbers in, numbers out; knows nothing of retries.
//!
//! Nothing here is on the path from seed to counts: these functions judge what was counted.

pub mod histogram;
pub mod holm;
pub mod interval;
pub mod quantile;
pub mod survival;
pub mod warmup;
