//! Policies in words and pictures: presets, the schedule of one, what changes between two.
//!
//! Everything is read off the policies; what an outage costs is handed in, measured.

mod difference;
pub(crate) mod guards;
mod list;
mod outages;
mod schedule;
pub(crate) mod words;

pub use difference::Difference;
pub use difference::Outages;
pub use difference::Side;
pub use difference::difference;
pub use difference::difference_text;
pub use list::preset_json;
pub use list::preset_list;
pub use list::preset_text;
pub use list::presets_json;
pub use schedule::schedule_text;
