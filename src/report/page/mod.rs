//! Pages whose numbers come from runs: a template beside its scenarios, filled in.
//!
//! A template is Markdown with placeholders: a measure of a variant of a scenario file, a table of
//! them, a chart, the commands that make the same runs. A number in prose is then never older than
//! the scenario, and since runs are reproducible to the bit, a page is the same text until a
//! scenario, a template or the engine changes; a build can compare it.
//!
//! `template.rs` reads a template, `measure.rs` finds a number in what the runs came to, and
//! `fill.rs` puts them into the text.

mod fill;
mod measure;
mod template;

pub use fill::Page;
pub use fill::Ran;
pub use template::Template;
