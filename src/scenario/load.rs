//! Reads a file: the only place that does.

use std::io;
use std::path::Path;

use crate::scenario::model::Scenario;

/// Why a scenario could not be had.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file could not be read.
    #[error("error: {file} could not be read: {source}")]
    Read {
        /// The file as it was named.
        file: String,
        /// Why.
        source: io::Error,
    },
}

/// Reads and checks the scenario at `path`.
///
/// # Errors
/// When the file cannot be read.
pub fn load(path: &Path) -> Result<Scenario, LoadError> {
    let file = path.display().to_string();
    std::fs::read(path).map_err(|source| LoadError::Read { file, source })?;
    unimplemented!("written elsewhere")
}
