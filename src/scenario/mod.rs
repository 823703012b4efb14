//! Text in, checked model out.
//!
//! `tree` turns text into nodes with places; `merge` lays a variant over the base; `file` reads a
//! tree into the scenario as written; `validate` turns that into the scenario as meant, the
//! `model`. Each step collects every problem it finds instead of stopping at the first.

pub mod defaults;
pub mod diagnostic;
mod fields;
mod file;
pub mod load;
mod merge;
pub mod model;
mod reader;
mod scalar;
mod tree;
mod validate;

pub use load::LoadError;
pub use load::load;
pub use load::parse;
