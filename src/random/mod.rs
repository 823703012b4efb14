//! Draws by purpose, request and attempt: the same key gives the same number.

mod distribution;

pub use distribution::Distribution;
