//! Replacing a memory's file, or putting one where there was none, so that a crash at any moment
//! leaves either the old or the new; and the files beside it that are written from the log for
//! others to read. The log never reads them back into itself, so losing one loses nothing.

use std::io;
use std::path::{Path, PathBuf};

use crate::disk::Disk;
use crate::error::{Result, StoreError};
use crate::log::{Log, beside};

/// Files of one ending beside a memory.
const BESIDE_MAX: u32 = 1_000;

/// Gives `file` the name `target`, which must name nothing yet.
pub fn place_file(disk: &dyn Disk, file: &Path, target: &Path) -> Result<()> {
    link_over_nothing(disk, file, target).map_err(StoreError::io("create", target))
}

/// Puts `file` in the place of the memory `target`, whose lock the caller holds, and which is kept
/// beside itself under its name with this ending and, where that is taken, a number. Answers that
/// name.
pub fn replace_file(disk: &dyn Disk, file: &Path, target: &Path, ending: &str) -> Result<PathBuf> {
    let swap = || {
        let aside = link_to_free(disk, target, target, ending)?;
        disk.sync_dir(&aside)?;
        disk.rename(file, target)?;
        disk.sync_dir(target)?;
        Ok(aside)
    };
    swap().map_err(StoreError::io("replace", target))
}

/// Gives `file` a second name: the first free one of `path` with this ending and a number. One that
/// an earlier attempt gave it is enough.
pub(crate) fn link_to_free(
    disk: &dyn Disk,
    file: &Path,
    path: &Path,
    ending: &str,
) -> io::Result<PathBuf> {
    let own = disk.identity(file)?;
    for number in 1..=BESIDE_MAX {
        let name = match number {
            1 => beside(path, ending),
            _ => beside(path, &format!("{ending}-{number}")),
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
        format!("{BESIDE_MAX} files named `{ending}` are there; move some away"),
    ))
}

/// A link never replaces, as a rename would; a crash before the end leaves a second name.
pub(crate) fn link_over_nothing(disk: &dyn Disk, from: &Path, to: &Path) -> io::Result<()> {
    disk.link(from, to)?;
    disk.remove(from)?;
    disk.sync_dir(to)
}

impl Log {
    /// Replaces the file `name` in the log's folder: written under another name, synced, renamed,
    /// and the folder synced, so that a reader sees the old content or the new.
    pub fn write_projection(&self, name: &str, content: &[u8]) -> Result<()> {
        self.check_writable()?;
        let path = self.path.with_file_name(name);
        let io = StoreError::io("write", &path);
        let fresh = self.path.with_file_name(format!("{name}.new"));
        self.disk.remove(&fresh).map_err(&io)?;
        let file = self.disk.open_or_create(&fresh).map_err(&io)?;
        file.write_all_at(0, content).map_err(&io)?;
        file.sync().map_err(&io)?;
        self.disk.rename(&fresh, &path).map_err(&io)?;
        self.disk.sync_dir(&path).map_err(&io)
    }

    /// The content of the file `name` in the log's folder; `None` where there is none. A file
    /// longer than `bytes_max` reads as empty: it is not one of ours.
    pub fn read_projection(&self, name: &str, bytes_max: u64) -> Result<Option<Vec<u8>>> {
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
            leave: &[],
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
