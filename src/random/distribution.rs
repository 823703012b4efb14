//! Distributions of spans, sampled by inverting the distribution function.

use serde::Serialize;

use crate::units::Draw;
use crate::units::Duration;

/// A distribution of spans of time. Build one with the checked constructors.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Always the same.
    Constant(Duration),
    /// Exponential with that mean.
    Exponential(Duration),
}

impl Distribution {
    /// The span below which a share `draw` of the distribution lies.
    pub fn sample(&self, _draw: Draw) -> Duration {
        unimplemented!()
    }

    /// The mean.
    pub fn mean(&self) -> Duration {
        unimplemented!()
    }
}
