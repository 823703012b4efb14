//! Text in, checked model out.
//!
//! `tree` turns text into nodes with places; `merge` lays a variant over the base; `file` reads a
//! tree into the scenario as written; `validate` turns that into the scenario as meant, the
//! `model`. Each step collects every problem it finds instead of stopping at the first.

pub mod asked;
pub mod defaults;
pub mod diagnostic;
pub(crate) mod effective;
mod examples;
mod fields;
mod file;
pub mod load;
mod merge;
pub mod model;
mod node;
pub mod presets;
mod reader;
mod scalar;
mod tree;
mod validate;

pub(crate) use file::EXPLAINED;
pub use file::MeasureKind;
pub use load::LoadError;
pub use load::load;
pub use load::load_with_doubts;
pub use load::parse;
pub use load::parse_with_doubts;
pub(crate) use reader::suggest;
