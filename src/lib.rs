//! Stormlab: a retry-storm simulation and analysis lab.

pub mod analysis;
pub mod check;
pub mod cli;
pub mod engine;
pub mod experiment;
pub mod lint;
pub mod measure;
pub mod policy;
pub mod random;
pub mod report;
pub mod scenario;
pub mod stats;
pub mod theory;
pub mod units;
