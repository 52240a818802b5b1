//! Opening: the lock, the file's birth, recovery, and the cut of a torn tail.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use super::{Log, Opened};
use crate::commit::FileFacts;
use crate::compress::{Compressor, LEVEL_APPEND};
use crate::disk::{Disk, DiskLock, LockAttempt};
use crate::error::{Result, StoreError};
use crate::options::OpenOptions;
use crate::reader::ReadTools;
use crate::recover::{new_file, recover};

/// How often an opener follows a file that is being renamed under it.
const RENAMES_MAX: u32 = 16;

/// The path of a temporary file beside `path`.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

pub(crate) const SUFFIX_COMPACT: &str = ".compact";
const SUFFIX_NEW: &str = ".new";
pub(super) const SUFFIX_PUT_BACK: &str = ".put-back";

impl Log {
    /// Opens or creates the log at `path`. Its folder must exist.
    ///
    /// A file that is not a Reprise memory, or of a newer format, is left untouched. The report
    /// lists what recovery had to skip; a torn tail is cut off unless `read_only`.
    pub fn open(disk: Arc<dyn Disk>, path: &Path, options: &OpenOptions) -> Result<Opened> {
        let mut created = false;
        let lock = if options.read_only {
            None
        } else {
            let (lock, new) = acquire(&*disk, path, options)?;
            created = new;
            Some(lock)
        };
        let file = disk
            .open(path, lock.is_some())
            .map_err(|source| match source.kind() {
                io::ErrorKind::NotFound => missing(path),
                _ => StoreError::io("open", path)(source),
            })?;
        let size = file.size().map_err(StoreError::io("read", path))?;
        let mut found = recover(&file, path, size, options.verify, options.leave)?;
        found.report.created = created;
        if lock.is_some() {
            remove_leftovers(&*disk, path);
            // Cuts a torn tail, or completes the padding of a last commit that is whole without it.
            if size != found.end {
                let cut = file.set_size(found.end).and_then(|()| file.sync());
                cut.map_err(StoreError::io("cut the torn tail of", path))?;
            }
        }
        let end = if lock.is_some() {
            found.end
        } else {
            found.end.min(size)
        };
        let compressor = Compressor::new(LEVEL_APPEND, found.facts.file_id);
        let log = Log {
            compressor: compressor.map_err(StoreError::io("make a compressor for", path))?,
            disk,
            path: path.to_path_buf(),
            facts: found.facts,
            file,
            lock,
            directory: found.directory,
            end,
            unsealed: 0,
            checkpoint: found.checkpoint,
            poisoned: None,
            displaced: None,
            tools: Arc::new(ReadTools::default()),
            compacting: Weak::new(),
        };
        Ok(Opened {
            log,
            derived: found.derived,
            report: found.report,
        })
    }
}

fn missing(path: &Path) -> StoreError {
    StoreError::Missing {
        path: path.to_path_buf(),
    }
}

fn locked(path: &Path, holder: Option<String>) -> StoreError {
    StoreError::Locked {
        path: path.to_path_buf(),
        holder: holder.unwrap_or_else(|| "another process".to_owned()),
    }
}

/// The lock on the file that `path` names, which is created first where asked for and missing.
fn acquire(
    disk: &dyn Disk,
    path: &Path,
    options: &OpenOptions,
) -> Result<(Box<dyn DiskLock>, bool)> {
    let io = StoreError::io("lock", path);
    for _ in 0..RENAMES_MAX {
        match disk.lock(path) {
            Ok(LockAttempt::Held(lock)) => {
                // A compaction may have put another file in its place between open and lock.
                let held = lock.identity().map_err(&io)?;
                if disk.identity(path).map_err(&io)? == Some(held) {
                    return Ok((lock, false));
                }
            }
            Ok(LockAttempt::Refused(holder)) => return Err(locked(path, holder)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if !options.create {
                    return Err(missing(path));
                }
                if let Some(lock) = create(disk, path, options)? {
                    return Ok((lock, true));
                }
            }
            Err(error) => return Err(io(error)),
        }
    }
    Err(locked(path, None))
}

/// Creates and locks the file under a temporary name, then renames it to its own; `None` where
/// another process was faster.
fn create(
    disk: &dyn Disk,
    path: &Path,
    options: &OpenOptions,
) -> Result<Option<Box<dyn DiskLock>>> {
    let temporary = beside(path, SUFFIX_NEW);
    let io = StoreError::io("create", path);
    if options.dimensions == 0 {
        let why = "a new file needs the dimensions of its vectors".to_owned();
        return Err(StoreError::BadEntry { index: 0, why });
    }
    let file = disk.open_or_create(&temporary).map_err(&io)?;
    let lock = match disk.lock(&temporary) {
        Ok(LockAttempt::Held(lock)) => lock,
        Ok(LockAttempt::Refused(holder)) => return Err(locked(path, holder)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io(error)),
    };
    let held = Some(lock.identity().map_err(&io)?);
    let ours = disk.identity(&temporary).map_err(&io)? == held
        && Some(file.identity().map_err(&io)?) == held;
    if !ours {
        return Ok(None);
    }
    if disk.identity(path).map_err(&io)?.is_some() {
        disk.remove(&temporary).map_err(&io)?;
        return Ok(None);
    }
    let facts = FileFacts {
        file_id: options.file_id,
        dimensions: options.dimensions,
        created_ms: options.created_at.timestamp_millis(),
    };
    file.set_size(0).map_err(&io)?;
    file.write_all_at(0, &new_file(&facts)).map_err(&io)?;
    file.sync().map_err(&io)?;
    disk.rename(&temporary, path).map_err(&io)?;
    disk.sync_dir(path).map_err(&io)?;
    Ok(Some(lock))
}

/// Removes temporary files that a crash left behind. We hold the lock, so no other process is
/// writing them.
fn remove_leftovers(disk: &dyn Disk, path: &Path) {
    for suffix in [SUFFIX_NEW, SUFFIX_COMPACT, SUFFIX_PUT_BACK] {
        let leftover = beside(path, suffix);
        if let Err(error) = disk.remove(&leftover) {
            tracing::warn!(path = %leftover.display(), %error, "cannot remove a leftover file");
        }
    }
}
