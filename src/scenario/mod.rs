//! Text in, checked model out.

pub mod model;
