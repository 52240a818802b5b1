//! Files of a workspace: written whole, synced, put in place without overwriting what came between.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use data_encoding::HEXLOWER;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use sha2::{Digest, Sha256};

use crate::error::{Result, WorkspaceError};
use crate::path::RepoPath;

/// Writes a file whole and syncs it. The name must be free.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> Result<()> {
    let file = write_unsynced(path, bytes)?;
    file.sync_all()
        .map_err(WorkspaceError::io("cannot write", path))
}

/// Writes a file whole; it is for the caller to see it synced. The name must be free.
pub(crate) fn write_unsynced(path: &Path, bytes: &[u8]) -> Result<File> {
    let io = || WorkspaceError::io("cannot write", path);
    let mut file = File::create_new(path).map_err(io())?;
    file.write_all(bytes).map_err(io())?;
    Ok(file)
}

/// Appends bytes in one write and syncs them; the file is made if it is missing.
pub(crate) fn append(path: &Path, bytes: &[u8]) -> Result<()> {
    append_then(path, bytes, File::sync_data)
}

/// Appends bytes in one write; it is for the caller to see them synced.
pub(crate) fn append_unsynced(path: &Path, bytes: &[u8]) -> Result<()> {
    append_then(path, bytes, |_| Ok(()))
}

fn append_then(
    path: &Path,
    bytes: &[u8],
    then: impl FnOnce(&File) -> io::Result<()>,
) -> Result<()> {
    let io = || WorkspaceError::io("cannot append to", path);
    let mut file = File::options()
        .create(true)
        .append(true)
        .open(path)
        .map_err(io())?;
    let before = file.metadata().map_err(io())?.len();
    let written = file.write_all(bytes).and_then(|()| then(&file));
    if let Err(source) = written {
        // Half a line must not stand before the next one.
        file.set_len(before).map_err(io())?;
        return Err(io()(source));
    }
    Ok(())
}

/// Makes a folder and those above it.
pub(crate) fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(WorkspaceError::io("cannot make the folder", path))
}

/// Makes the names in a folder durable.
pub(crate) fn sync_folder(path: &Path) -> Result<()> {
    File::open(path)
        .and_then(|folder| folder.sync_all())
        .map_err(WorkspaceError::io("cannot sync", path))
}

/// Removes a file; one that is not there is as good.
pub(crate) fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(WorkspaceError::io("cannot remove", path)(error))
        }
        _ => Ok(()),
    }
}

/// The bytes of a file, or `None` where there is none.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(WorkspaceError::io("cannot read", path)(error)),
    }
}

/// The SHA-256 of bytes, in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

/// What identifies one state of a file: any write by anybody changes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

impl Mark {
    pub(crate) fn of(metadata: &fs::Metadata) -> Self {
        Self {
            inode: metadata.ino(),
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

/// A file's metadata without following a link, or `None` where there is none.
pub(crate) fn look(path: &Path) -> Result<Option<fs::Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(WorkspaceError::io("cannot look at", path)(error)),
    }
}

/// Whether its owner may run it: the one bit of a mode that git keeps.
pub(crate) fn is_executable(found: &fs::Metadata) -> bool {
    found.mode() & 0o100 != 0
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Refuses a path that a symbolic link or a file leads elsewhere, on the way or at its end.
pub(crate) fn refuse_detours(root: &Path, path: &RepoPath) -> Result<()> {
    let refuse = |why: &str| {
        Err(WorkspaceError::Invalid {
            rule: "no-links",
            path: path.to_string(),
            why: why.to_owned(),
        })
    };
    let mut at = root.to_owned();
    let parts: Vec<&str> = path.as_str().split('/').collect();
    for (index, part) in parts.iter().enumerate() {
        at.push(part);
        let is_last = index + 1 == parts.len();
        match look(&at)? {
            None => return Ok(()),
            Some(found) if found.is_symlink() => {
                return refuse("a symbolic link stands in its way; name the real place");
            }
            Some(found) if !is_last && !found.is_dir() => {
                return refuse("a file stands where a folder of it should be");
            }
            Some(found) if is_last && !found.is_file() => {
                return refuse("it is a folder or no regular file");
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// What became of putting a file in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placed {
    Done,
    /// Somebody changed the place since it was looked at; theirs stays.
    Theirs,
}

/// Puts `from` where `to` is, if `to` is still as `expected` (`None`: absent). The exchange is one
/// step of the file system, so an editor that saves meanwhile loses nothing: its file comes back.
pub(crate) fn place(from: &Path, to: &Path, expected: Option<Mark>) -> Result<Placed> {
    let io = || WorkspaceError::io("cannot put in its place", to);
    let Some(expected) = expected else {
        return match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(Placed::Done),
            Err(rustix::io::Errno::EXIST) => Ok(Placed::Theirs),
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
                if look(to)?.is_some() {
                    return Ok(Placed::Theirs);
                }
                fs::rename(from, to).map_err(io())?;
                Ok(Placed::Done)
            }
            Err(error) => Err(io()(error.into())),
        };
    };
    let is_expected = |path: &Path| {
        look(path).map(|found| found.is_some_and(|found| Mark::of(&found) == expected))
    };
    match renameat_with(CWD, from, CWD, to, RenameFlags::EXCHANGE) {
        Ok(()) if is_expected(from)? => Ok(Placed::Done),
        Ok(()) => {
            renameat_with(CWD, from, CWD, to, RenameFlags::EXCHANGE)
                .map_err(|error| io()(error.into()))?;
            Ok(Placed::Theirs)
        }
        Err(rustix::io::Errno::NOENT) => Ok(Placed::Theirs),
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
            if !is_expected(to)? {
                return Ok(Placed::Theirs);
            }
            fs::rename(from, to).map_err(io())?;
            Ok(Placed::Done)
        }
        Err(error) => Err(io()(error.into())),
    }
}

/// Takes a file away, if it is still as `expected`. It goes to `aside` first, so that what somebody
/// wrote meanwhile can come back.
pub(crate) fn take_away(path: &Path, aside: &Path, expected: Mark) -> Result<Placed> {
    let io = || WorkspaceError::io("cannot remove", path);
    match fs::rename(path, aside) {
        Err(error) if is_absent(&error) => return Ok(Placed::Done),
        moved => moved.map_err(io())?,
    }
    if look(aside)?.is_some_and(|found| Mark::of(&found) == expected) {
        return Ok(Placed::Done);
    }
    place(aside, path, None)?;
    Ok(Placed::Theirs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_saved_meanwhile_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (ours, theirs) = (folder.path().join("ours"), folder.path().join("theirs"));
        fs::write(&theirs, "before").unwrap();
        let before = Mark::of(&fs::metadata(&theirs).unwrap());
        fs::write(&ours, "new").unwrap();
        // An editor saves by renaming its own file over.
        fs::write(folder.path().join("edit"), "edited").unwrap();
        fs::rename(folder.path().join("edit"), &theirs).unwrap();
        assert_eq!(place(&ours, &theirs, Some(before)).unwrap(), Placed::Theirs);
        assert_eq!(fs::read_to_string(&theirs).unwrap(), "edited");
        assert_eq!(place(&ours, &theirs, None).unwrap(), Placed::Theirs);
        let gone = folder.path().join("gone");
        assert_eq!(take_away(&theirs, &gone, before).unwrap(), Placed::Theirs);
        assert_eq!(fs::read_to_string(&theirs).unwrap(), "edited");

        let now = Mark::of(&fs::metadata(&theirs).unwrap());
        assert_eq!(place(&ours, &theirs, Some(now)).unwrap(), Placed::Done);
        assert_eq!(fs::read_to_string(&theirs).unwrap(), "new");
    }

    #[test]
    fn links_on_the_way_are_refused() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("core")).unwrap();
        std::os::unix::fs::symlink("/tmp", root.path().join("core/prd")).unwrap();
        let path = RepoPath::new("core/prd/x.json").unwrap();
        let error = refuse_detours(root.path(), &path).unwrap_err().to_string();
        assert!(error.contains("symbolic link"), "{error}");
        fs::write(root.path().join("core/tsd"), "a file").unwrap();
        let path = RepoPath::new("core/tsd/x.json").unwrap();
        assert!(refuse_detours(root.path(), &path).is_err());
        let path = RepoPath::new("core/kb/new/x.md").unwrap();
        assert!(refuse_detours(root.path(), &path).is_ok());
    }
}
