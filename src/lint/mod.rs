//! What shows on paper, before anything runs.

use crate::scenario::model::Scenario;

/// The system of a variant, in words.
pub fn explain(_scenario: &Scenario, _variant: &str) -> String {
    unimplemented!("written elsewhere")
}
