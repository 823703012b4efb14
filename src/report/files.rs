//! Files that are either the old ones or the new ones, never a mixture.
//!
//! The manifest says which files are ours: a later run removes those that it does not make again
//! and whose content is still what we wrote, and nothing else. How they come into their folder is
//! told in `files/folder.rs`.
//!
//! Invariant: no file of ours is ever seen half written, and what cannot be written leaves what was
//! there before; the manifest says `complete` only when everything it names is in place.

mod folder;
mod lock;

pub use folder::Folder;

use std::collections::BTreeMap;
use std::io;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use serde::Deserialize;
use serde::Serialize;

use crate::report::Material;

/// The name of the manifest.
const MANIFEST: &str = "manifest.json";
/// Who writes manifests.
const PROGRAM: &str = "stormlab";
/// The longest file name made of a variant's name.
const LONGEST_NAME: usize = 80;

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Where, relative to the output folder, with `/` between its parts.
    pub path: String,
    /// What.
    pub bytes: Vec<u8>,
}

impl Output {
    /// A file and its content.
    pub const fn new(path: String, bytes: Vec<u8>) -> Self {
        Self { path, bytes }
    }
}

/// Why output could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Results have no place there.
    #[error("`{}` {why}; name a folder that is new, empty, or holds earlier results", .path.display())]
    Unfit {
        /// Where.
        path: PathBuf,
        /// Why not.
        why: &'static str,
    },
    /// Another process writes there.
    #[error("another run is writing to {}; wait for it, or choose another folder with --out", .0.display())]
    Busy(PathBuf),
    /// The system refused.
    #[error("could not {what} {}: {source}", .path.display())]
    System {
        /// What was tried.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Names the file and the deed in an error of the system.
fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> WriteError {
    move |source| WriteError::System { what, path: path.to_owned(), source }
}

/// The content of `manifest.json`: what made the files, and how to make them again.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Manifest {
    schema: u32,
    program: String,
    version: String,
    scenario: String,
    fingerprint: String,
    seed: u64,
    replications: u32,
    variants: BTreeMap<String, VariantEntry>,
    complete: bool,
    command: String,
    /// BLAKE3 of every file, in hex, by path.
    files: BTreeMap<String, String>,
}

/// How far a variant came.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct VariantEntry {
    finished: u32,
    planned: u32,
}

impl Manifest {
    /// The manifest of a report, its files not yet named.
    pub(super) fn of(material: &Material<'_>) -> Self {
        let variants: BTreeMap<_, _> = material
            .views()
            .map(|view| {
                let finished = view.result.runs.len() as u32;
                (view.name().to_owned(), VariantEntry { finished, planned: view.result.planned })
            })
            .collect();
        let (scenario, summary) = (material.scenario, material.summary);
        Self {
            schema: 1,
            program: PROGRAM.into(),
            version: summary.version.clone(),
            scenario: scenario.name.clone(),
            fingerprint: scenario.fingerprint.clone(),
            seed: summary.seed,
            replications: variants.values().map(|entry| entry.planned).max().unwrap_or(0),
            complete: summary.complete
                && variants.values().all(|entry| entry.finished == entry.planned),
            variants,
            command: material.command.to_owned(),
            files: BTreeMap::new(),
        }
    }

    /// The manifest of an earlier run; `None` where there is none that we wrote.
    fn read(folder: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(folder.join(MANIFEST)).ok()?;
        let manifest: Self = serde_json::from_str(&text).ok()?;
        (manifest.program == PROGRAM).then_some(manifest)
    }

    fn encoded(&self) -> Vec<u8> {
        let text = serde_json::to_string_pretty(self).expect("a manifest holds text and integers");
        (text + "\n").into_bytes()
    }
}

/// BLAKE3 in hex.
fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// Does a path from a manifest stay inside the folder? Manifests are files, and files get edited.
fn is_inside(path: &str) -> bool {
    !path.contains(['\\', ':'])
        && path.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
}

/// Puts files into a folder beside others, which may be anybody's: each is the old one or the new
/// one, and nothing else there is touched.
///
/// # Errors
/// What the system said; files before that one have been written.
pub fn put(folder: &Path, outputs: &[Output]) -> Result<(), WriteError> {
    std::fs::create_dir_all(folder).map_err(failed("create", folder))?;
    for output in outputs {
        let path = folder.join(&output.path);
        let mut stage = tempfile::Builder::new();
        #[cfg(unix)]
        stage.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644));
        let mut file = stage.tempfile_in(folder).map_err(failed("write to", folder))?;
        file.write_all(&output.bytes).map_err(failed("write", &path))?;
        file.persist(&path).map_err(|error| failed("write", &path)(error.error))?;
    }
    Ok(())
}

/// A file name for any name: letters, digits, `.`, `_` and `-`. A name that had to change carries
/// a part of its hash, so that different names never share a file.
pub fn safe_name(name: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    if name.len() <= LONGEST_NAME
        && !name.is_empty()
        && name.chars().all(plain)
        && !name.starts_with('.')
    {
        return name.to_owned();
    }
    let kept: String = name
        .chars()
        .take(LONGEST_NAME - 10)
        .map(|letter| if plain(letter) { letter } else { '-' })
        .collect();
    format!("{}-{}", kept.trim_start_matches('.'), &hash(name.as_bytes())[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_names_never_share_a_file() {
        #[track_caller]
        fn check(name: &str, expected: &str) {
            assert_eq!(safe_name(name), expected);
        }
        check("full-jitter", "full-jitter");
        assert_ne!(safe_name("a b"), safe_name("a-b"));
        assert_ne!(safe_name("a b"), safe_name("a/b"));
        assert!(!safe_name("../../x").contains('/'));
        assert!(!safe_name("..").starts_with('.'));
        assert!(safe_name(&"n".repeat(500)).len() <= LONGEST_NAME);
        assert!(!safe_name("").is_empty());
    }
}
