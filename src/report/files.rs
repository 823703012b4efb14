//! Files that are either the old ones or the new ones, never a mixture.
//!
//! A file is written under a temporary name in its own folder, flushed, synced and renamed; the
//! folder is synced after it. A lock keeps a second process out for as long as the first one runs.
//! The manifest says which files are ours: a later run removes those that it does not make again
//! and whose content is still what we wrote, and nothing else.
//!
//! Invariant: no file of ours is ever seen half written; the manifest says `complete` only when
//! everything it names is in place.

use std::collections::BTreeMap;
use std::fs::File;
use std::fs::TryLockError;
use std::io;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use serde::Deserialize;
use serde::Serialize;
use tempfile::NamedTempFile;

use crate::report::Material;

/// The name of the manifest.
const MANIFEST: &str = "manifest.json";
/// The name of the lock, which stays in the folder: removing it would open a race.
const LOCK: &str = ".lock";
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
            program: "stormlab".into(),
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

    fn encoded(&self) -> Vec<u8> {
        let text = serde_json::to_string_pretty(self).expect("a manifest holds text and integers");
        (text + "\n").into_bytes()
    }
}

/// A folder for results, locked for as long as this value lives.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Makes the folder if need be and locks it.
    ///
    /// # Errors
    /// `Busy` when another process has it; otherwise what the system said.
    pub fn open(path: &Path) -> Result<Self, WriteError> {
        std::fs::create_dir_all(path).map_err(failed("create", path))?;
        let lock_path = path.join(LOCK);
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&lock_path)
            .map_err(failed("open", &lock_path))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(WriteError::Busy(path.to_owned())),
            Err(TryLockError::Error(error)) => Err(failed("lock", &lock_path)(error)),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the files, removes what is left of an earlier run, and closes with the manifest.
    pub(super) fn write(
        &self,
        outputs: Vec<Output>,
        mut manifest: Manifest,
    ) -> Result<Vec<String>, WriteError> {
        let earlier = self.earlier();
        manifest.files = outputs.iter().map(|o| (o.path.clone(), hash(&o.bytes))).collect();

        // Until all is in place the manifest owns old and new files alike and calls none complete,
        // so that the run after a crash can still tell what is ours.
        let mut interim = Manifest { complete: false, ..manifest.clone() };
        for (path, hash) in &earlier {
            interim.files.entry(path.clone()).or_insert_with(|| hash.clone());
        }
        self.put(MANIFEST, &interim.encoded())?;
        for output in &outputs {
            self.put(&output.path, &output.bytes)?;
        }
        for (path, hash) in &earlier {
            if !manifest.files.contains_key(path) {
                self.remove(path, hash)?;
            }
        }
        self.put(MANIFEST, &manifest.encoded())?;
        let mut paths: Vec<_> = outputs.into_iter().map(|output| output.path).collect();
        paths.push(MANIFEST.into());
        Ok(paths)
    }

    /// The files of an earlier run, by its manifest; none when there is none that we can read.
    fn earlier(&self) -> BTreeMap<String, String> {
        let text = std::fs::read_to_string(self.path.join(MANIFEST)).unwrap_or_default();
        let manifest: Manifest = serde_json::from_str(&text).unwrap_or_default();
        manifest.files.into_iter().filter(|(path, _)| is_inside(path)).collect()
    }

    /// Writes one file whole.
    fn put(&self, relative: &str, bytes: &[u8]) -> Result<(), WriteError> {
        let path = self.path.join(relative);
        let parent = path.parent().unwrap_or(&self.path);
        std::fs::create_dir_all(parent).map_err(failed("create", parent))?;
        let mut file = NamedTempFile::new_in(parent).map_err(failed("write to", parent))?;
        open_to_readers(file.as_file()).map_err(failed("write", &path))?;
        file.write_all(bytes).map_err(failed("write", &path))?;
        file.flush().map_err(failed("write", &path))?;
        file.as_file().sync_all().map_err(failed("write", &path))?;
        file.persist(&path).map_err(|error| failed("write", &path)(error.error))?;
        sync_folder(parent).map_err(failed("write to", parent))
    }

    /// Removes a file that we wrote, unless somebody has changed it since.
    fn remove(&self, relative: &str, expected: &str) -> Result<(), WriteError> {
        let path = self.path.join(relative);
        match std::fs::read(&path) {
            Ok(bytes) if hash(&bytes) == expected => {
                std::fs::remove_file(&path).map_err(failed("remove", &path))?;
                // Goes with its last file; stays while anything is in it.
                let parent = path.parent().filter(|parent| *parent != self.path);
                parent.map(std::fs::remove_dir).and_then(Result::ok);
                Ok(())
            }
            _ => Ok(()),
        }
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

/// Temporary files are private; results are for everyone who may read the folder.
#[cfg(unix)]
fn open_to_readers(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn open_to_readers(_file: &File) -> io::Result<()> {
    Ok(())
}

/// Makes a rename last.
#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(()) // Folders cannot be opened as files there.
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

    fn output(path: &str, text: &str) -> Output {
        Output::new(path.into(), text.into())
    }

    fn read(folder: &Folder, path: &str) -> String {
        std::fs::read_to_string(folder.path().join(path)).unwrap()
    }

    #[test]
    fn a_second_process_is_refused_until_the_first_is_done() {
        let place = tempfile::tempdir().unwrap();
        let first = Folder::open(place.path()).unwrap();
        assert!(matches!(Folder::open(place.path()), Err(WriteError::Busy(_))));
        drop(first);
        assert!(Folder::open(place.path()).is_ok());
    }

    #[test]
    fn only_files_of_ours_that_nobody_changed_are_removed() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::open(place.path()).unwrap();
        let first = vec![output("charts/a.svg", "a"), output("b.csv", "b"), output("c.csv", "c")];
        folder.write(first, Manifest::default()).unwrap();
        std::fs::write(place.path().join("notes.txt"), "mine").unwrap();
        std::fs::write(place.path().join("c.csv"), "changed by hand").unwrap();

        folder.write(vec![output("b.csv", "b2")], Manifest::default()).unwrap();
        assert!(!place.path().join("charts").exists());
        assert_eq!(read(&folder, "b.csv"), "b2");
        assert_eq!(read(&folder, "c.csv"), "changed by hand");
        assert_eq!(read(&folder, "notes.txt"), "mine");
    }

    #[test]
    fn a_manifest_cannot_reach_outside_its_folder() {
        let place = tempfile::tempdir().unwrap();
        let victim = place.path().join("victim");
        std::fs::write(&victim, "v").unwrap();
        let folder = Folder::open(&place.path().join("out")).unwrap();
        let files = BTreeMap::from([("../victim".to_owned(), hash(b"v"))]);
        folder.put(MANIFEST, &Manifest { files, ..Manifest::default() }.encoded()).unwrap();
        folder.write(Vec::new(), Manifest::default()).unwrap();
        assert!(victim.exists());
    }

    #[test]
    fn a_failure_names_the_file_keeps_the_old_ones_and_leaves_no_debris() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::open(place.path()).unwrap();
        folder.write(vec![output("a.csv", "old")], Manifest::default()).unwrap();
        std::fs::create_dir(place.path().join("b.csv")).unwrap(); // A folder is in the way.
        let both = vec![output("b.csv", "new"), output("a.csv", "new")];
        let error = folder.write(both, Manifest::default()).unwrap_err().to_string();
        assert!(error.starts_with("could not write") && error.contains("b.csv"), "{error}");
        assert_eq!(read(&folder, "a.csv"), "old");
        assert!(read(&folder, MANIFEST).contains("\"complete\": false"));
        let names: Vec<_> = std::fs::read_dir(place.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(names.len(), 4, "{names:?}"); // The lock, the manifest, a.csv and the folder.
    }

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
