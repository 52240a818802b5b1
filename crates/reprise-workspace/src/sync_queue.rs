//! Making files and names durable together: one wait of the disk for many of them.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::{Result, WorkspaceError};
use crate::files::{self, OpenedFile};

/// Most files that are synced at a time, each from a thread of its own.
const THREADS_MAX: usize = 16;
/// Beyond so many bytes that others have written and the disk does not hold yet, each file is
/// synced by itself: to write the whole file system back would be to wait for them.
#[cfg(target_os = "linux")]
const FOREIGN_BYTES_MAX: u64 = 16 * 1024 * 1024;

#[cfg(test)]
thread_local! {
    /// What this thread has waited for the disk to hold, in order.
    pub(crate) static SYNCED: std::cell::RefCell<Vec<PathBuf>> = std::cell::RefCell::default();
}

/// Files and folders that the disk has to hold, contents and names, before the next step.
#[derive(Debug, Default)]
pub(crate) struct SyncQueue(BTreeMap<PathBuf, Option<File>>);

impl SyncQueue {
    pub(crate) fn add(&mut self, path: impl Into<PathBuf>) {
        self.0.entry(path.into()).or_default();
    }

    /// Adds one that is open already.
    pub(crate) fn add_file(&mut self, opened: OpenedFile) {
        self.0.insert(opened.path, Some(opened.file));
    }

    /// Adds a folder and those above it, up to one that is there already.
    pub(crate) fn make_folder(&mut self, folder: &Path) -> Result<()> {
        if folder.is_dir() {
            return Ok(());
        }
        for above in folder.ancestors() {
            self.add(above);
            if above.is_dir() {
                break;
            }
        }
        files::make_folder(folder)
    }

    /// Waits until the disk holds them all.
    pub(crate) fn sync(&mut self) -> Result<()> {
        let mut disks: BTreeMap<u64, Vec<(PathBuf, File)>> = BTreeMap::new();
        for (path, file) in std::mem::take(&mut self.0) {
            #[cfg(test)]
            SYNCED.with_borrow_mut(|synced| synced.push(path.clone()));
            let opened = file.map_or_else(|| files::open_unfollowed(&path), Ok);
            let opened = opened.and_then(|file| Ok((file.metadata()?.dev(), file)));
            let (disk, file) = opened.map_err(WorkspaceError::io("cannot sync", &path))?;
            disks.entry(disk).or_default().push((path, file));
        }
        for files in disks.into_values() {
            if files.len() < 2 || !sync_file_system(&files)? {
                sync_each_file(&files)?;
            }
        }
        Ok(())
    }
}

/// Syncs each file by itself, many at a time, because a disk serves waiting syncs together.
fn sync_each_file(files: &[(PathBuf, File)]) -> Result<()> {
    let sync = |(path, file): &(PathBuf, File)| {
        file.sync_all()
            .map_err(WorkspaceError::io("cannot sync", path))
    };
    let share = files.len().div_ceil(THREADS_MAX).max(1);
    std::thread::scope(|scope| {
        let threads: Vec<_> = files
            .chunks(share)
            .map(|files| scope.spawn(move || files.iter().try_for_each(sync)))
            .collect();
        threads.into_iter().try_for_each(|thread| {
            let synced = thread.join();
            synced.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })
}

/// Syncs the whole file system in one call, if it reports failed writes (Linux 5.8) and nobody else
/// has much to write; returns `false` if it was not done.
#[cfg(target_os = "linux")]
fn sync_file_system(files: &[(PathBuf, File)]) -> Result<bool> {
    static TELLS: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    let tells = || {
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let mut numbers = release.split(['.', '-']).map(str::parse::<u32>);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= (5, 8),
            _ => false,
        }
    };
    let Some((path, file)) = files.first() else {
        return Ok(true);
    };
    if !*TELLS.get_or_init(tells) || unwritten_bytes().is_none_or(|bytes| bytes > FOREIGN_BYTES_MAX)
    {
        return Ok(false);
    }
    rustix::fs::syncfs(file)
        .map_err(|error| WorkspaceError::io("cannot sync", path)(error.into()))?;
    Ok(true)
}

#[cfg(not(target_os = "linux"))]
fn sync_file_system(_: &[(PathBuf, File)]) -> Result<bool> {
    Ok(false)
}

/// Returns how many bytes the kernel has still to write to all disks.
#[cfg(target_os = "linux")]
fn unwritten_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok()
    };
    Some((of("Dirty:")? + of("Writeback:")?) * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_take_files_and_folders_and_name_what_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let mut unsynced = SyncQueue::default();
        unsynced.make_folder(&folder.path().join("a/b")).unwrap();
        assert_eq!(unsynced.0.len(), 3, "the new ones and the one above");
        for number in 0..40 {
            let path = folder.path().join(format!("a/b/{number}"));
            std::fs::write(&path, "text").unwrap();
            unsynced.add(path);
        }
        let opened = |path: &PathBuf| (path.clone(), File::open(path).unwrap());
        sync_each_file(&unsynced.0.keys().map(opened).collect::<Vec<_>>()).unwrap();
        unsynced.sync().unwrap();
        assert!(unsynced.0.is_empty());
        unsynced.add(folder.path().join("gone"));
        let error = unsynced.sync().unwrap_err().to_string();
        assert!(error.contains("gone"), "{error}");
    }
}
