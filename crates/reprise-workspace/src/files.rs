//! Files of a workspace: written whole, synced, put in place without overwriting what came between.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use reprise_files::{ChangeOutcome, FileFingerprint, Folder, OpenMode, is_missing};
use rustix::fs::{Mode, OFlags};

use crate::error::{Result, WorkspaceError, invalid_error};
use reprise_workspace_types::RepoPath;

/// Writes a file whole; it is for the caller to see it synced. The name must be free.
pub(crate) fn write_unsynced(path: &Path, bytes: &[u8]) -> Result<()> {
    File::create_new(path)
        .and_then(|mut file| file.write_all(bytes))
        .map_err(WorkspaceError::io("cannot write", path))
}

/// Puts a file below `root` in the place of the one that is there, whole and synced.
pub(crate) fn replace(root: &Path, below: &str, bytes: &[u8]) -> Result<()> {
    Ok(open_root(root)?.replace(below, bytes)?)
}

/// A file that is open, by its name.
#[derive(Debug)]
pub(crate) struct OpenedFile {
    pub(crate) file: File,
    pub(crate) path: PathBuf,
}

impl OpenedFile {
    /// Waits until the disk has the file's content.
    pub(crate) fn sync(self) -> Result<()> {
        let synced = self.file.sync_data();
        #[cfg(test)]
        crate::sync_queue::SYNCED.with_borrow_mut(|synced| synced.push(self.path.clone()));
        synced.map_err(WorkspaceError::io("cannot sync", &self.path))
    }
}

/// Opens the root by its handle, so that names below it never follow a link.
fn open_root(root: &Path) -> Result<Folder> {
    Ok(Folder::open(root)?.with_shared_modes())
}

/// Opens the file or folder at a path of ours, to lock or to sync it.
pub(crate) fn open_unfollowed(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

/// Opens a folder of ours, to lock it.
pub(crate) fn open_folder(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

/// Opens a file of our own to append to it; it is made if it is missing.
pub(crate) fn open_to_append(path: &Path) -> Result<File> {
    let (folder, name) = Folder::open_parent(path)?;
    Ok(folder
        .with_shared_modes()
        .open_file(name, OpenMode::Append)?)
}

/// Opens a file below `root`, which can come from a foreign repository. Returns `None` if it is
/// missing.
pub(crate) fn open_below(root: &Path, below: &str, access: OpenMode) -> Result<Option<OpenedFile>> {
    match open_root(root)?.open_file(below, access) {
        Ok(file) => Ok(Some(OpenedFile {
            file,
            path: root.join(below),
        })),
        Err(error) if error.is_missing() && access != OpenMode::Append => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Reads a file below `root` whole, if it has `bytes_max` bytes at most.
pub(crate) fn read_below(root: &Path, below: &str, bytes_max: u64) -> Result<Option<Vec<u8>>> {
    Ok(open_root(root)?.read(below, bytes_max)?)
}

/// Appends whole lines to a log below `root` in one write; it is for the caller to see them synced.
/// After a line that was cut short they begin a new one.
pub(crate) fn append_lines(root: &Path, below: &str, lines: &[u8]) -> Result<OpenedFile> {
    let absent =
        || WorkspaceError::io("cannot open", &root.join(below))(io::ErrorKind::NotFound.into());
    let opened = open_below(root, below, OpenMode::Append)?.ok_or_else(absent)?;
    append_to_open_file(&opened.file, lines)
        .map_err(WorkspaceError::io("cannot append to", &opened.path))?;
    Ok(opened)
}

/// Appends lines to a file that is ours alone (git's logs and attributes).
pub(crate) fn append_to_own(path: &Path, lines: &[u8]) -> Result<()> {
    let file = open_to_append(path)?;
    append_to_open_file(&file, lines).map_err(WorkspaceError::io("cannot append to", path))
}

fn append_to_open_file(mut file: &File, lines: &[u8]) -> io::Result<()> {
    let before = file.metadata()?.len();
    let mut last = [b'\n'];
    if before > 0 {
        file.read_exact_at(&mut last, before - 1)?;
    }
    let gap: &[u8] = if last == [b'\n'] || lines.is_empty() {
        b""
    } else {
        b"\n"
    };
    let written = file.write_all(&[gap, lines].concat());
    if written.is_err() {
        // Half a line must not remain before the next one.
        file.set_len(before)?;
    }
    written
}

/// Returns whether a log below `root` ends with these lines.
pub(crate) fn ends_with(root: &Path, below: &str, lines: &[u8]) -> Result<bool> {
    let Some(OpenedFile { file, path }) = open_below(root, below, OpenMode::Read)? else {
        return Ok(false);
    };
    let mut end = vec![0; lines.len()];
    let read = file.metadata().and_then(|found| {
        let Some(from) = found.len().checked_sub(lines.len() as u64) else {
            return Ok(false);
        };
        file.read_exact_at(&mut end, from)?;
        Ok(end == lines)
    });
    read.map_err(WorkspaceError::io("cannot read", &path))
}

/// Makes a folder and those above it.
pub(crate) fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(WorkspaceError::io("cannot make the folder", path))
}

/// Makes a file of ours, or the names in a folder, durable.
pub(crate) fn sync(path: &Path) -> Result<()> {
    open_unfollowed(path)
        .and_then(|file| file.sync_all())
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

/// Reads the bytes of a file, or `None` if it is missing.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(WorkspaceError::io("cannot read", path)(error)),
    }
}

/// Returns a file's metadata without following a link, or `None` if it is missing.
pub(crate) fn find_metadata(path: &Path) -> Result<Option<fs::Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(WorkspaceError::io("cannot look at", path)(error)),
    }
}

/// Lists the regular files below a folder of the tree, at most `depth_max` folders deep, without
/// links and pipes.
pub(crate) fn list_files(root: &Path, folder: &str, depth_max: usize) -> Result<Vec<PathBuf>> {
    refuse_detours_to(root, folder, folder)?;
    let (mut found, mut ahead) = (Vec::new(), vec![(PathBuf::from(folder), 1)]);
    while let Some((folder, depth)) = ahead.pop() {
        let place = root.join(&folder);
        let entries = match fs::read_dir(&place) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(WorkspaceError::io("cannot list", &place)(error)),
        };
        for entry in entries.flatten() {
            let (path, kind) = (folder.join(entry.file_name()), entry.file_type());
            if kind.as_ref().is_ok_and(fs::FileType::is_file) {
                found.push(path);
            } else if kind.is_ok_and(|kind| kind.is_dir()) && depth < depth_max {
                ahead.push((path, depth + 1));
            }
        }
    }
    Ok(found)
}

/// Returns whether the owner may run the file: the one bit of a mode that git keeps.
pub(crate) fn is_executable(found: &fs::Metadata) -> bool {
    found.mode() & 0o100 != 0
}

/// Refuses a path that a symbolic link or a file leads elsewhere, on the way or at its end.
pub(crate) fn refuse_detours(root: &Path, path: &RepoPath) -> Result<()> {
    let text = path.as_str();
    let folder = text.rsplit_once('/').map_or("", |(folder, _)| folder);
    let is_there = refuse_detours_to(root, folder, text)?;
    let found = if is_there {
        find_metadata(&root.join(text))?
    } else {
        None
    };
    match found {
        Some(found) if found.is_symlink() => Err(detour_error(text, LINK)),
        Some(found) if !found.is_file() => {
            Err(detour_error(text, "it is a folder or no regular file"))
        }
        _ => Ok(()),
    }
}

/// Refuses a folder that a link or a file leads elsewhere; returns whether the folder exists.
/// `path` is named in the error.
pub(crate) fn refuse_detours_to(root: &Path, folder: &str, path: &str) -> Result<bool> {
    let mut at = root.to_owned();
    for part in folder.split('/').filter(|part| !part.is_empty()) {
        at.push(part);
        match find_metadata(&at)? {
            None => return Ok(false),
            Some(found) if found.is_symlink() => return Err(detour_error(path, LINK)),
            Some(found) if !found.is_dir() => {
                return Err(detour_error(
                    path,
                    "a file is where a folder of it should be",
                ));
            }
            Some(_) => {}
        }
    }
    Ok(true)
}

const LINK: &str = "a symbolic link is on its path; name the real place";

fn detour_error(path: &str, why: &str) -> WorkspaceError {
    invalid_error("no-links", path, why)
}

/// Strips the root from a path of the tree.
fn strip_root<'a>(root: &Path, path: &'a Path) -> &'a Path {
    path.strip_prefix(root).unwrap_or(path)
}

/// Moves `from` to `to`, both in the tree, if `to` is still as `expected`.
pub(crate) fn move_into_place(
    root: &Path,
    from: &Path,
    to: &Path,
    expected: Option<FileFingerprint>,
) -> Result<ChangeOutcome> {
    Ok(open_root(root)?.move_if_unchanged(
        strip_root(root, from),
        strip_root(root, to),
        expected,
    )?)
}

/// Moves a file of the tree to `aside`, if it is still as `expected`.
pub(crate) fn move_aside(
    root: &Path,
    path: &Path,
    aside: &Path,
    expected: FileFingerprint,
) -> Result<ChangeOutcome> {
    Ok(open_root(root)?.move_aside_if_unchanged(
        strip_root(root, path),
        strip_root(root, aside),
        expected,
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;

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
