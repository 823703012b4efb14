//! Many runs: replications on every core, results in seed order.

mod band;
mod fold;
pub mod outage;
pub mod replicate;
pub mod result;

pub use replicate::ExperimentError;
pub use replicate::Plan;
pub use replicate::Progress;
pub use replicate::Silent;
pub use replicate::run;
pub use result::Experiment;
pub use result::LimitHit;
