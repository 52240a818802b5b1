//! Opening a log: the lock, the creation of a file, recovery, and the removal of a torn tail.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use super::checkpoint::Checkpoint;
use super::torn_tail::{SUFFIX_TORN_NEW, keep_torn_tail};
use super::{Log, OpenedLog};
use crate::commit::FileFacts;
use crate::compress::{Compressor, LEVEL_APPEND};
use crate::disk::{Disk, DiskFile, DiskLock, LockAttempt, sibling_path};
use crate::error::{StoreError, StoreResult};
use crate::options::OpenOptions;
use crate::reader::BlockCache;
use crate::recover::{RecoveredLog, encode_new_file, recover_log};
use crate::swap::move_without_replacing;

/// Most attempts to lock a file that other processes keep renaming.
const RENAMES_MAX: u32 = 16;

pub(crate) const SUFFIX_COMPACT: &str = ".compact";
const SUFFIX_NEW: &str = ".new";
pub(super) const SUFFIX_PUT_BACK: &str = ".put-back";

impl Log {
    /// Opens or creates the log at `path`. Its folder must exist.
    ///
    /// A file that is not a Reprise memory or has a newer format is not changed. The report lists
    /// the damage that recovery skipped; a torn tail is cut off unless `read_only` is set.
    pub fn open(disk: Arc<dyn Disk>, path: &Path, options: &OpenOptions) -> StoreResult<OpenedLog> {
        let (file, lock, created) = if options.read_only {
            let file = disk.open(path, false);
            let file = file.map_err(|source| match source.kind() {
                io::ErrorKind::NotFound => missing_error(path),
                _ => StoreError::io("open", path)(source),
            })?;
            (file, None, false)
        } else {
            let ((file, lock), created) = open_locked_file(&*disk, path, options)?;
            (file, Some(lock), created)
        };
        let size = file.size().map_err(StoreError::io("read", path))?;
        let mut recovered = recover_log(&file, path, size, options.verify)?;
        recovered.report.created = created;
        if lock.is_some() {
            remove_leftovers(&*disk, path);
            // Cuts off a torn tail, or completes the padding of the last commit.
            if size != recovered.end {
                if size > recovered.end {
                    let tail = (recovered.end, size);
                    recovered.report.kept_tail = keep_tail(&*disk, path, &*file, &recovered, tail)?;
                }
                let cut = file.set_size(recovered.end).and_then(|()| file.sync());
                cut.map_err(StoreError::io("cut the torn tail of", path))?;
            }
        }
        let end = if lock.is_some() {
            recovered.end
        } else {
            recovered.end.min(size)
        };
        let compressor = Compressor::new(LEVEL_APPEND, recovered.facts.file_id);
        let log = Log {
            compressor: compressor.map_err(StoreError::io("make a compressor for", path))?,
            disk,
            path: path.to_path_buf(),
            facts: recovered.facts,
            file,
            lock,
            directory: recovered.directory,
            end,
            checkpoint: Checkpoint::new(recovered.manifest, recovered.damage),
            poisoned: None,
            displaced: None,
            block_cache: Arc::new(BlockCache::default()),
            compacting: Weak::new(),
        };
        Ok(OpenedLog {
            log,
            report: recovered.report,
        })
    }
}

/// Keeps the torn tail in a file of its own. Where that is not possible, on a full disk for one,
/// the log is not opened: cutting off the tail could destroy all that is left of a memory.
fn keep_tail(
    disk: &dyn Disk,
    path: &Path,
    file: &dyn DiskFile,
    recovered: &RecoveredLog,
    (from, size): (u64, u64),
) -> StoreResult<Option<PathBuf>> {
    let head = encode_new_file(&recovered.facts);
    let kept = keep_torn_tail(disk, path, file, &head, (from, size))
        .map_err(StoreError::io("keep aside the incomplete end of", path))?;
    if let Some(kept) = &kept {
        let (path, kept, bytes) = (path.display(), kept.display(), size - from);
        tracing::warn!(%path, %kept, bytes, "an incomplete commit was cut off and kept aside");
    }
    Ok(kept)
}

fn missing_error(path: &Path) -> StoreError {
    StoreError::Missing {
        path: path.to_path_buf(),
    }
}

fn locked_error(path: &Path, holder: Option<String>) -> StoreError {
    StoreError::Locked {
        path: path.to_path_buf(),
        holder: holder.unwrap_or_else(|| "another process".to_owned()),
    }
}

/// A file and the lock on it.
type LockedFile = (Arc<dyn DiskFile>, Box<dyn DiskLock>);

/// Opens and locks the file at `path`, and first creates it if it is missing and `create` is set.
/// Returns whether it was created.
fn open_locked_file(
    disk: &dyn Disk,
    path: &Path,
    options: &OpenOptions,
) -> StoreResult<(LockedFile, bool)> {
    let io = StoreError::io("lock", path);
    for _ in 0..RENAMES_MAX {
        match disk.try_lock(path) {
            Ok(LockAttempt::Held(lock)) => {
                let file = disk.open(path, true).map_err(&io)?;
                // A compaction or a restore may have replaced the file meanwhile.
                let held = lock.identity().map_err(&io)?;
                if file.identity().map_err(&io)? == held
                    && disk.identity(path).map_err(&io)? == Some(held)
                {
                    return Ok(((file, lock), false));
                }
            }
            Ok(LockAttempt::Refused(holder)) => return Err(locked_error(path, holder)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if !options.create {
                    return Err(missing_error(path));
                }
                if let Some(locked) = create_locked_file(disk, path, options)? {
                    return Ok((locked, true));
                }
            }
            Err(error) => return Err(io(error)),
        }
    }
    Err(locked_error(path, None))
}

/// Creates and locks the file under a temporary name, then moves it to its own; returns `None` if
/// another process was faster. A file that another one has put there meanwhile, as a restore does,
/// is not replaced, and the caller opens it.
fn create_locked_file(
    disk: &dyn Disk,
    path: &Path,
    options: &OpenOptions,
) -> StoreResult<Option<LockedFile>> {
    let temporary = sibling_path(path, SUFFIX_NEW);
    let io = StoreError::io("create", path);
    if options.dimensions == 0 {
        let why = "a new file needs the dimensions of its vectors".to_owned();
        return Err(StoreError::BadEntry { index: 0, why });
    }
    let file = disk.open_or_create(&temporary).map_err(&io)?;
    let lock = match disk.try_lock(&temporary) {
        Ok(LockAttempt::Held(lock)) => lock,
        Ok(LockAttempt::Refused(holder)) => return Err(locked_error(path, holder)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io(error)),
    };
    let held = Some(lock.identity().map_err(&io)?);
    let ours = disk.identity(&temporary).map_err(&io)? == held
        && Some(file.identity().map_err(&io)?) == held;
    if !ours {
        return Ok(None);
    }
    // A crash while a file was moved left it a second name; its content is not to be overwritten.
    let has_other_name = file.link_count().map_err(&io)? > 1;
    if has_other_name || disk.identity(path).map_err(&io)?.is_some() {
        disk.remove(&temporary).map_err(&io)?;
        return Ok(None);
    }
    let facts = FileFacts {
        file_id: options.file_id,
        dimensions: options.dimensions,
        created_ms: options.created_at.timestamp_millis(),
    };
    file.set_size(0).map_err(&io)?;
    file.write_all_at(0, &encode_new_file(&facts))
        .map_err(&io)?;
    file.sync().map_err(&io)?;
    match move_without_replacing(disk, &temporary, path) {
        Ok(()) => Ok(Some((file, lock))),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            disk.remove(&temporary).map_err(&io)?;
            Ok(None)
        }
        Err(error) => Err(io(error)),
    }
}

/// Removes the temporary files of a crash. This process has the lock, so no other process writes
/// them.
fn remove_leftovers(disk: &dyn Disk, path: &Path) {
    for suffix in [SUFFIX_NEW, SUFFIX_COMPACT, SUFFIX_PUT_BACK, SUFFIX_TORN_NEW] {
        let leftover = sibling_path(path, suffix);
        if let Err(error) = disk.remove(&leftover) {
            tracing::warn!(path = %leftover.display(), %error, "cannot remove a leftover file");
        }
    }
}
