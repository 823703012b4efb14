//! The folder of one scenario's results: had by one process at a time, and changed whole.
//!
//! All files are written and synced into a folder that nobody looks at, the *stage*. What can fail
//! for want of room or rights fails there, and leaves what was there before untouched. A folder
//! that was not there before then gets its name in one step. In one that was, the new files change
//! places with the old ones, which stay on the stage until all is done and come back if it is not.

use std::collections::BTreeMap;
use std::fs;
use std::fs::File;
use std::io;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::report::files::MANIFEST;
use crate::report::files::Manifest;
use crate::report::files::Output;
use crate::report::files::WriteError;
use crate::report::files::failed;
use crate::report::files::hash;
use crate::report::files::is_inside;
use crate::report::files::lock::Lock;

/// The name of the lock inside a folder; beside one that is not there yet it bears its name, too.
const LOCK: &str = ".lock";
/// How the names of stages begin.
const STAGE: &str = ".stormlab-";

/// A folder for results, locked for as long as this value lives.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Where stages are made, and how their names begin.
    stages: (PathBuf, String),
    /// Was it there before?
    stands: bool,
    /// Folders made on the way to it, outermost first.
    made: Vec<PathBuf>,
    lock: Option<Lock>,
}

impl Folder {
    /// Locks a folder, which need not be there yet; it comes into being with its first files.
    ///
    /// # Errors
    /// `Unfit` when results have no place there, `Busy` when another process has it; otherwise what
    /// the system said.
    pub fn open(path: &Path) -> Result<Self, WriteError> {
        let stands = is_fit(path)?;
        let (place, lock, prefix) = match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) if !stands => {
                let parent = if parent == Path::new("") { Path::new(".") } else { parent };
                let name = name.to_string_lossy();
                (parent, format!(".{name}{LOCK}"), format!(".{name}{STAGE}"))
            }
            _ => (path, LOCK.to_owned(), STAGE.to_owned()),
        };
        let missing = place.ancestors().take_while(|it| !it.as_os_str().is_empty() && !it.exists());
        let mut made: Vec<_> = missing.map(Path::to_owned).collect();
        made.reverse();
        let stages = (place.to_owned(), prefix);
        let mut folder = Self { path: path.to_owned(), stages, stands, made, lock: None };
        fs::create_dir_all(place).map_err(failed("create", path))?;
        let lock = place.join(lock);
        match Lock::take(&lock).map_err(failed("write to", path))? {
            None => return Err(WriteError::Busy(path.to_owned())),
            found => folder.lock = found,
        }
        folder.sweep();
        Ok(folder)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the files and the manifest, and removes what is left of an earlier run.
    pub(in crate::report) fn write(
        &self,
        outputs: &[Output],
        mut manifest: Manifest,
    ) -> Result<Vec<String>, WriteError> {
        manifest.files = outputs.iter().map(|o| (o.path.clone(), hash(&o.bytes))).collect();
        let (place, prefix) = &self.stages;
        let stage = tempfile::Builder::new()
            .prefix(prefix)
            .tempdir_in(place)
            .map_err(failed("write to", &self.path))?;
        let new = stage.path().join("new");
        let put = |relative: &str, bytes: &[u8]| {
            put(&new.join(relative), bytes).map_err(failed("write", &self.path.join(relative)))
        };
        for output in outputs {
            put(&output.path, &output.bytes)?;
        }
        put(MANIFEST, &manifest.encoded())?;
        if self.stands {
            self.exchange(&stage, &manifest)?;
        } else {
            fs::rename(&new, &self.path).map_err(failed("write to", &self.path))?;
            sync(place).map_err(failed("write to", &self.path))?;
        }
        let mut paths: Vec<_> = outputs.iter().map(|output| output.path.clone()).collect();
        paths.push(MANIFEST.into());
        Ok(paths)
    }

    /// Changes the files on the stage for those of an earlier run.
    fn exchange(&self, stage: &TempDir, manifest: &Manifest) -> Result<(), WriteError> {
        let earlier = self.earlier();
        // Until all is in place the manifest owns old and new files alike and calls none complete,
        // so that the run after a crash can still tell what is ours.
        let mut interim = Manifest { complete: false, ..manifest.clone() };
        for (path, hash) in &earlier {
            interim.files.entry(path.clone()).or_insert_with(|| hash.clone());
        }
        let between = stage.path().join("interim");
        put(&between, &interim.encoded()).map_err(failed("write", &self.path.join(MANIFEST)))?;

        let mut exchange = Exchange::new(stage.path());
        let done = self.exchange_all(&mut exchange, &between, manifest, &earlier);
        if done.is_err() {
            exchange.undo();
        }
        done
    }

    fn exchange_all(
        &self,
        exchange: &mut Exchange,
        between: &Path,
        manifest: &Manifest,
        earlier: &BTreeMap<String, String>,
    ) -> Result<(), WriteError> {
        let last = self.path.join(MANIFEST);
        exchange.put(between, &last).map_err(failed("write", &last))?;
        for relative in manifest.files.keys() {
            let path = self.path.join(relative);
            exchange.put_new(relative, &path).map_err(failed("write", &path))?;
        }
        for (relative, hash) in earlier {
            if !manifest.files.contains_key(relative) {
                let path = self.path.join(relative);
                // Unless somebody has changed it since.
                if fs::read(&path).is_ok_and(|bytes| self::hash(&bytes) == *hash) {
                    exchange.take(&path).map_err(failed("remove", &path))?;
                    // Goes with its last file; stays while anything is in it.
                    let parent = path.parent().filter(|parent| *parent != self.path);
                    parent.map(fs::remove_dir).and_then(Result::ok);
                }
            }
        }
        exchange.put_new(MANIFEST, &last).map_err(failed("write", &last))?;
        sync(&self.path).map_err(failed("write to", &self.path))
    }

    /// The files of an earlier run, by its manifest; none when there is none that we can read.
    fn earlier(&self) -> BTreeMap<String, String> {
        let files = Manifest::read(&self.path).unwrap_or_default().files;
        files.into_iter().filter(|(path, _)| is_inside(path)).collect()
    }

    /// Removes the stages of processes that were killed: while we have the lock, nobody uses them.
    fn sweep(&self) {
        let (place, prefix) = &self.stages;
        for entry in fs::read_dir(place).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let rest = name.to_str().and_then(|name| name.strip_prefix(prefix.as_str()));
            if rest.is_some_and(|rest| rest.chars().all(char::is_alphanumeric)) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        self.lock = None;
        // Where nothing was written, nothing is left.
        for made in self.made.iter().rev() {
            let _ = fs::remove_dir(made);
        }
    }
}

/// Can results be put there? Says whether the folder is there already.
fn is_fit(path: &Path) -> Result<bool, WriteError> {
    let unfit = |why| Err(WriteError::Unfit { path: path.to_owned(), why });
    if path.as_os_str().is_empty() {
        return unfit("is no name of a folder");
    }
    let Ok(metadata) = fs::metadata(path) else {
        return match path.file_name() {
            Some(_) => Ok(false),
            None => unfit("is not there"),
        };
    };
    if !metadata.is_dir() {
        return unfit("is a file, not a folder");
    }
    if fs::canonicalize(path).is_ok_and(|path| path.parent().is_none()) {
        return unfit("is the root of the file system");
    }
    let hidden = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with('.');
    let mut entries = fs::read_dir(path).map_err(failed("read", path))?;
    let empty = entries.all(|entry| entry.is_ok_and(|entry| hidden(&entry.file_name())));
    if !empty && Manifest::read(path).is_none() {
        return unfit("holds other files, and no results of an earlier run");
    }
    Ok(true)
}

/// Files that change places, and the way back.
struct Exchange {
    stage: PathBuf,
    /// Where a file stood, and where it went.
    moved: Vec<(PathBuf, PathBuf)>,
}

impl Exchange {
    fn new(stage: &Path) -> Self {
        Self { stage: stage.to_owned(), moved: Vec::new() }
    }

    /// Takes a file away, onto the stage.
    fn take(&mut self, path: &Path) -> io::Result<()> {
        if fs::symlink_metadata(path)?.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "a folder is in the way"));
        }
        let kept = self.stage.join(format!("old-{}", self.moved.len()));
        self.rename(path, &kept)
    }

    /// Puts a file into the place of another one.
    fn put(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent)?;
        }
        match self.take(to) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        self.rename(from, to)
    }

    /// Puts a new file into its place.
    fn put_new(&mut self, relative: &str, to: &Path) -> io::Result<()> {
        let from = self.stage.join("new").join(relative);
        self.put(&from, to)
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)?;
        self.moved.push((from.to_owned(), to.to_owned()));
        Ok(())
    }

    /// Puts everything back where it was, as far as the system lets us.
    fn undo(&mut self) {
        for (from, to) in self.moved.drain(..).rev() {
            if let Some(parent) = from.parent() {
                let _ = fs::create_dir_all(parent);
            }
            let _ = fs::rename(&to, &from);
            // A folder that was made for a new file goes with it.
            to.parent().map(fs::remove_dir).and_then(Result::ok);
        }
    }
}

/// Writes one file whole and makes it last.
fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.flush()?;
    file.sync_all()
}

/// Makes a rename last.
#[cfg(unix)]
fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

#[cfg(not(unix))]
fn sync(_path: &Path) -> io::Result<()> {
    Ok(()) // Folders cannot be opened as files there.
}

#[cfg(test)]
mod tests;
