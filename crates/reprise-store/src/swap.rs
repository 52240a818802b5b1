//! Replaces or creates a memory's file so that a crash at any moment leaves either the old file or
//! the new one. Also writes projections: files next to the log for other programs, whose content
//! comes from the log. The log is never built from them, so losing one loses nothing.

use std::io;
use std::path::{Path, PathBuf};

use crate::disk::{Disk, sibling_path};
use crate::error::{StoreError, StoreResult};
use crate::log::Log;

/// Most files with the same ending next to a memory.
const BESIDE_MAX: u32 = 1_000;

/// Renames `file` to `target`, which must not exist yet.
pub fn move_to_free_path(disk: &dyn Disk, file: &Path, target: &Path) -> StoreResult<()> {
    move_without_replacing(disk, file, target).map_err(StoreError::io("create", target))
}

/// Replaces the memory `target`, whose lock the caller holds, by `file`. Keeps the old memory in
/// the same folder under its name with this ending, plus a number if that name is used, and returns
/// that path.
pub fn replace_file(
    disk: &dyn Disk,
    file: &Path,
    target: &Path,
    ending: &str,
) -> StoreResult<PathBuf> {
    let swap = || {
        let aside = link_to_free_name(disk, target, target, ending)?;
        disk.sync_parent_folder(&aside)?;
        disk.rename(file, target)?;
        disk.sync_parent_folder(target)?;
        Ok(aside)
    };
    swap().map_err(StoreError::io("replace", target))
}

/// Links `file` to the first free name of `path` with this ending and a number, and returns that
/// name. Reuses the link of an earlier attempt.
pub(crate) fn link_to_free_name(
    disk: &dyn Disk,
    file: &Path,
    path: &Path,
    ending: &str,
) -> io::Result<PathBuf> {
    let own = disk.identity(file)?;
    for number in 1..=BESIDE_MAX {
        let name = match number {
            1 => sibling_path(path, ending),
            _ => sibling_path(path, &format!("{ending}-{number}")),
        };
        if own.is_some() && disk.identity(&name)? == own {
            return Ok(name);
        }
        match disk.link(file, &name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            done => return done.map(|()| name),
        }
    }
    Err(io::Error::new(
        io::ErrorKind::AlreadyExists,
        format!("{BESIDE_MAX} files ending in `{ending}` exist already; move some away"),
    ))
}

/// Renames a file durably, without replacing another one.
pub(crate) fn move_without_replacing(disk: &dyn Disk, from: &Path, to: &Path) -> io::Result<()> {
    disk.move_to_free(from, to)?;
    disk.sync_parent_folder(to)
}

impl Log {
    /// Replaces the file `name` in the log's folder atomically and durably, so that a reader sees
    /// either the old content or the new.
    pub fn write_projection(&self, name: &str, content: &[u8]) -> StoreResult<()> {
        self.check_writable()?;
        let path = self.path.with_file_name(name);
        let io = StoreError::io("write", &path);
        let fresh = self.path.with_file_name(format!("{name}.new"));
        self.disk.remove(&fresh).map_err(&io)?;
        let file = self.disk.open_or_create(&fresh).map_err(&io)?;
        file.write_all_at(0, content).map_err(&io)?;
        file.sync().map_err(&io)?;
        self.disk.rename(&fresh, &path).map_err(&io)?;
        self.disk.sync_parent_folder(&path).map_err(&io)
    }

    /// Reads the file `name` in the log's folder; returns `None` if it does not exist. A file
    /// longer than `bytes_max` reads as empty because it is not one of ours.
    pub fn read_projection(&self, name: &str, bytes_max: u64) -> StoreResult<Option<Vec<u8>>> {
        let path = self.path.with_file_name(name);
        let io = StoreError::io("read", &path);
        if self.disk.identity(&path).map_err(&io)?.is_none() {
            return Ok(None);
        }
        let file = self.disk.open(&path, false).map_err(&io)?;
        let size = file.size().map_err(&io)?;
        if size > bytes_max {
            return Ok(Some(Vec::new()));
        }
        let mut content = vec![0; size as usize];
        file.read_exact_at(0, &mut content).map_err(&io)?;
        Ok(Some(content))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use reprise_types::parse_timestamp;

    use super::*;
    use crate::{OpenOptions, RealDisk, Verify};

    #[test]
    fn a_projection_is_replaced_whole_and_a_strange_one_reads_as_empty() {
        let folder = tempfile::tempdir().unwrap();
        let options = OpenOptions {
            dimensions: 4,
            file_id: 1,
            created_at: parse_timestamp("2026-02-16T09:00:00Z").unwrap(),
            create: true,
            read_only: false,
            verify: Verify::Tail,
        };
        let path: &Path = &folder.path().join("memory.rvf");
        let log = Log::open(Arc::new(RealDisk), path, &options).unwrap().log;
        assert_eq!(log.read_projection("sona.json", 100).unwrap(), None);
        for content in [&b"one"[..], b"another"] {
            log.write_projection("sona.json", content).unwrap();
            let found = log.read_projection("sona.json", 100).unwrap();
            assert_eq!(found.as_deref(), Some(content));
        }
        let long = log.read_projection("sona.json", 3).unwrap();
        assert_eq!(long, Some(Vec::new()));
        let names = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(names, 2, "nothing is left over");
    }
}
