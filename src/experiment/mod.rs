//! Many runs: replications on every core, results in seed order.

pub mod result;
