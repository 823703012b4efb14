//! Text in, checked model out.

pub mod load;
pub mod model;

pub use load::LoadError;
pub use load::load;
