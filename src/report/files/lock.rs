//! A file that keeps a second process out, and goes when its owner does.
//!
//! Whoever removes a lock opens a race: another process may hold the removed file and believe that
//! it has the lock, while a third one makes a new file. So whoever takes a lock looks afterwards
//! whether the file still stands under its name, and starts again if it does not.

use std::fs::File;
use std::fs::TryLockError;
use std::io;
use std::path::Path;
use std::path::PathBuf;

/// Tries before a name that others keep taking away is given up.
const MOST_TRIES: u32 = 100;

/// A lock, held for as long as this value lives.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    /// Takes the lock; `None` when another process has it.
    pub(super) fn take(path: &Path) -> io::Result<Option<Self>> {
        for _ in 0..MOST_TRIES {
            let file = File::options().create(true).truncate(false).write(true).open(path)?;
            match file.try_lock() {
                Ok(()) if stands(&file, path) => {
                    return Ok(Some(Self { path: path.to_owned(), _file: file }));
                }
                Ok(()) => {} // It was removed between opening and locking.
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Ok(None)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // While it is still locked: nobody else can have taken a file of that name. One that
        // cannot be removed is no harm, the next process takes it over.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Is it this file that stands under that name?
#[cfg(unix)]
fn stands(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |metadata: &std::fs::Metadata| (metadata.dev(), metadata.ino());
    matches!((file.metadata(), std::fs::metadata(path)), (Ok(a), Ok(b)) if id(&a) == id(&b))
}

#[cfg(not(unix))]
fn stands(_file: &File, path: &Path) -> bool {
    path.exists() // An open file cannot be replaced there.
}
