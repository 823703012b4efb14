//! The regression gate: what was expected against what was found.

mod deferred;
pub mod exit;
pub mod expect;

pub use exit::Exit;
pub use expect::Decision;
pub use expect::Judgement;
pub use expect::check;
pub use expect::judge;
