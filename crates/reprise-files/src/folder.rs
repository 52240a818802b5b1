//! A folder by its handle, and the operations on the names below it.

use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, fstat, mkdirat, openat, statat, unlinkat};
use rustix::io::Errno;

use crate::beneath::{self, FOLDER_FLAGS};
use crate::error::{FileError, FileResult};
use crate::status::{FileFingerprint, FileKind, FileStatus, FolderEntry};

/// Time between two attempts to lock a file.
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(1);

/// A folder that is open by its handle, so that a later change of its path makes no difference.
/// Names are plain paths below it, and no link is followed.
#[derive(Debug)]
pub struct Folder {
    pub(crate) handle: OwnedFd,
    path: PathBuf,
    has_shared_modes: bool,
}

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// For reading; the file must exist.
    Read,
    /// For reading and writing; the file must exist.
    Write,
    /// For reading and writing; the file is created if it is missing.
    Create,
    /// For reading and writing; the name must be free.
    CreateNew,
    /// For reading, and writing at its end; the file is created if it is missing.
    Append,
}

impl OpenMode {
    pub(crate) fn flags(self) -> OFlags {
        match self {
            Self::Read => OFlags::RDONLY,
            Self::Write => OFlags::RDWR,
            Self::Create => OFlags::RDWR | OFlags::CREATE,
            Self::CreateNew => OFlags::RDWR | OFlags::CREATE | OFlags::EXCL,
            Self::Append => OFlags::RDWR | OFlags::CREATE | OFlags::APPEND,
        }
    }
}

impl Folder {
    /// Opens a folder that the user has chosen: links on its path are followed.
    pub fn open(path: &Path) -> FileResult<Self> {
        let is_here = path.as_os_str().is_empty();
        let here = if is_here { Path::new(".") } else { path };
        let handle = openat(CWD, here, FOLDER_FLAGS, Mode::empty());
        Ok(Self {
            handle: handle.map_err(FileError::from_io("open the folder", path))?,
            path: path.to_owned(),
            has_shared_modes: false,
        })
    }

    /// Opens a folder that the user has chosen, `None` if it does not exist.
    pub fn find(path: &Path) -> FileResult<Option<Self>> {
        none_if_missing(Self::open(path))
    }

    /// Opens a folder that the user has chosen; a missing one is created for its owner alone.
    pub fn open_or_create(path: &Path) -> FileResult<Self> {
        match Self::open(path) {
            Err(error) if error.is_missing() => {}
            opened => return opened,
        }
        let mut builder = std::fs::DirBuilder::new();
        let created = builder.recursive(true).mode(0o700).create(path);
        created.map_err(FileError::from_io("create the folder", path))?;
        Self::open(path)
    }

    /// Opens the folder of a file whose path the user has chosen; returns the file's name, too.
    pub fn open_parent(path: &Path) -> FileResult<(Self, &Path)> {
        match (path.parent(), path.file_name()) {
            (Some(folder), Some(name)) => Ok((Self::open(folder)?, Path::new(name))),
            _ => Err(FileError::Name {
                path: path.to_owned(),
            }),
        }
    }

    /// Opens one of our folders in one that the user has chosen: it must not be a link itself.
    pub fn open_no_follow(path: &Path) -> FileResult<Self> {
        match (path.parent(), path.file_name()) {
            (Some(chosen), Some(name)) => Self::open(chosen)?.open_folder(name),
            _ => Self::open(path),
        }
    }

    /// Opens a folder as [`Self::open_no_follow`] does, `None` if it does not exist.
    pub fn find_no_follow(path: &Path) -> FileResult<Option<Self>> {
        none_if_missing(Self::open_no_follow(path))
    }

    /// Opens a folder as [`Self::open_no_follow`] does; a missing one is created for its owner
    /// alone.
    pub fn open_or_create_no_follow(path: &Path) -> FileResult<Self> {
        match (path.parent(), path.file_name()) {
            (Some(chosen), Some(name)) => Self::open_or_create(chosen)?.open_or_create_folder(name),
            _ => Self::open_or_create(path),
        }
    }

    /// Creates new files and folders in it with the permissions of the process's umask, not for
    /// their owner alone.
    #[must_use]
    pub fn with_shared_modes(self) -> Self {
        Self {
            has_shared_modes: true,
            ..self
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a name in it, for messages.
    pub fn path_of(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }

    /// Returns its permission bits.
    pub fn permission_bits(&self) -> FileResult<u32> {
        let stat = fstat(&self.handle).map_err(FileError::from_io("look at", &self.path))?;
        Ok(FileStatus::from(&stat).mode)
    }

    /// Opens a folder below this one.
    pub fn open_folder(&self, name: impl AsRef<Path>) -> FileResult<Self> {
        let path = self.checked_path(name.as_ref())?;
        let handle = beneath::open(
            self.handle.as_fd(),
            name.as_ref(),
            FOLDER_FLAGS,
            Mode::empty(),
        );
        Ok(Self {
            handle: handle.map_err(FileError::from_open("open the folder", &path))?,
            path,
            has_shared_modes: self.has_shared_modes,
        })
    }

    /// Opens a folder below this one, `None` if it does not exist.
    pub fn find_folder(&self, name: impl AsRef<Path>) -> FileResult<Option<Self>> {
        none_if_missing(self.open_folder(name))
    }

    /// Opens a folder below this one; it and its parents are created if they are missing.
    pub fn open_or_create_folder(&self, name: impl AsRef<Path>) -> FileResult<Self> {
        let name = name.as_ref();
        match self.open_folder(name) {
            Err(error) if error.is_missing() => {}
            opened => return opened,
        }
        let mode = self.creation_mode(0o777, 0o700);
        let mut at: Option<Self> = None;
        for part in name {
            let parent = at.as_ref().unwrap_or(self);
            match mkdirat(&parent.handle, part, mode) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => {
                    let path = parent.path.join(part);
                    return Err(FileError::from_io("create the folder", &path)(error));
                }
            }
            at = Some(parent.open_folder(part)?);
        }
        at.ok_or_else(|| FileError::Name {
            path: name.to_owned(),
        })
    }

    /// Opens a regular file.
    pub fn open_file(&self, name: impl AsRef<Path>, access: OpenMode) -> FileResult<File> {
        let path = self.checked_path(name.as_ref())?;
        let mode = if access.flags().contains(OFlags::CREATE) {
            self.creation_mode(0o666, 0o600)
        } else {
            Mode::empty()
        };
        let handle = self.handle.as_fd();
        let opened = beneath::open(handle, name.as_ref(), access.flags(), mode);
        ensure_regular_file(opened.map_err(FileError::from_open("open", &path))?, &path)
    }

    /// Opens a regular file for reading, `None` if it does not exist.
    pub fn find_file(&self, name: impl AsRef<Path>) -> FileResult<Option<File>> {
        none_if_missing(self.open_file(name, OpenMode::Read))
    }

    /// Reads all bytes of a file, `None` if it does not exist; a longer file is refused.
    pub fn read(&self, name: impl AsRef<Path>, bytes_max: u64) -> FileResult<Option<Vec<u8>>> {
        let read = self.read_with_fingerprint(name, bytes_max)?;
        Ok(read.map(|(bytes, _)| bytes))
    }

    /// Reads all bytes of a file, with the fingerprint that it had before it was read.
    pub fn read_with_fingerprint(
        &self,
        name: impl AsRef<Path>,
        bytes_max: u64,
    ) -> FileResult<Option<(Vec<u8>, FileFingerprint)>> {
        let Some(file) = self.find_file(name.as_ref())? else {
            return Ok(None);
        };
        let path = self.path_of(name);
        let metadata = file
            .metadata()
            .map_err(FileError::from_io("look at", &path))?;
        let bytes = read_all(file, &path, bytes_max)?;
        Ok(Some((bytes, FileFingerprint::from(&metadata))))
    }

    /// Reads the bytes of a file from an offset on, `None` if it does not exist; more than
    /// `bytes_max` are refused.
    pub fn read_from_offset(
        &self,
        name: impl AsRef<Path>,
        offset: u64,
        bytes_max: u64,
    ) -> FileResult<Option<Vec<u8>>> {
        let Some(mut file) = self.find_file(name.as_ref())? else {
            return Ok(None);
        };
        let path = self.path_of(name);
        let length = file
            .metadata()
            .map_err(FileError::from_io("look at", &path))?
            .len();
        let offset = file.seek(SeekFrom::Start(offset.min(length)));
        let offset = offset.map_err(FileError::from_io("read", &path))?;
        read_rest(file, &path, length - offset, bytes_max).map(Some)
    }

    pub fn read_text(&self, name: impl AsRef<Path>, bytes_max: u64) -> FileResult<Option<String>> {
        let Some(bytes) = self.read(name.as_ref(), bytes_max)? else {
            return Ok(None);
        };
        let text = String::from_utf8(bytes).map_err(|error| {
            let error = io::Error::new(io::ErrorKind::InvalidData, error.utf8_error());
            FileError::from_io("read as text", &self.path_of(name))(error)
        });
        text.map(Some)
    }

    /// Appends a line in one write and syncs it. An unfinished last line is ended first.
    pub fn append_line(&self, name: impl AsRef<Path>, line: &[u8]) -> FileResult<()> {
        let mut file = self.open_file(name.as_ref(), OpenMode::Append)?;
        let path = self.path_of(name);
        let io = || FileError::from_io("append to", &path);
        let end = file.seek(SeekFrom::End(0)).map_err(io())?;
        let mut bytes = Vec::with_capacity(line.len() + 2);
        if end > 0 {
            let mut last = [0];
            file.seek(SeekFrom::Start(end - 1)).map_err(io())?;
            file.read_exact(&mut last).map_err(io())?;
            if last != *b"\n" {
                bytes.push(b'\n');
            }
        }
        bytes.extend_from_slice(line);
        bytes.push(b'\n');
        let written = file.write_all(&bytes).and_then(|()| file.sync_data());
        written.map_err(io())
    }

    /// Locks a file that all writers of this folder share, which is created if it is missing. Waits
    /// for as long as `timeout` while another process has the lock, which ends with the returned
    /// file.
    pub fn lock(&self, name: impl AsRef<Path>, timeout: Duration) -> FileResult<File> {
        let file = self.open_file(name.as_ref(), OpenMode::Create)?;
        let since = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(error)) => {
                    return Err(FileError::from_io("lock", &self.path_of(name))(error));
                }
                Err(TryLockError::WouldBlock) if since.elapsed() > timeout => {
                    let path = self.path_of(name);
                    return Err(FileError::Locked { path });
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_POLL_INTERVAL),
            }
        }
    }

    /// Returns an error if this process may not write to the folder.
    pub fn check_writable(&self) -> FileResult<()> {
        let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
        let allowed = rustix::fs::accessat(&self.handle, ".", access, AtFlags::EACCESS);
        allowed.map_err(FileError::from_io("write to", &self.path))
    }

    /// Returns the status of a name, which is not followed; `None` if it does not exist.
    pub fn find_status(&self, name: impl AsRef<Path>) -> FileResult<Option<FileStatus>> {
        let name = name.as_ref();
        let Some((folder, last)) = none_if_missing(self.resolve_parent(name))? else {
            return Ok(None);
        };
        let handle = &folder.as_ref().unwrap_or(self).handle;
        match statat(handle, last, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(FileStatus::from(&stat))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(FileError::from_io("look at", &self.path_of(name))(error)),
        }
    }

    /// Lists the entries of the folder, sorted by name.
    pub fn list(&self, entries_max: usize) -> FileResult<Vec<FolderEntry>> {
        let io = |error: Errno| FileError::from_io("list", &self.path)(error);
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.handle).map_err(io)? {
            let entry = entry.map_err(io)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let kind = match entry.file_type() {
                rustix::fs::FileType::Unknown => match self.find_status(name)? {
                    Some(found) => found.kind,
                    None => continue,
                },
                known => known.into(),
            };
            if entries.len() == entries_max {
                return Err(FileError::TooMany {
                    path: self.path.clone(),
                    max: entries_max,
                });
            }
            let name = name.to_owned();
            entries.push(FolderEntry { name, kind });
        }
        entries.sort_unstable();
        Ok(entries)
    }

    /// Removes a file, or a link itself. Returns whether there was one.
    pub fn remove_file(&self, name: impl AsRef<Path>) -> FileResult<bool> {
        let name = name.as_ref();
        let Some((folder, last)) = none_if_missing(self.resolve_parent(name))? else {
            return Ok(false);
        };
        let handle = &folder.as_ref().unwrap_or(self).handle;
        match unlinkat(handle, last, AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(false),
            Err(error) => Err(FileError::from_io("remove", &self.path_of(name))(error)),
        }
    }

    /// Syncs the folder, so that the names in it are durable.
    pub fn sync(&self) -> FileResult<()> {
        rustix::fs::fsync(&self.handle).map_err(FileError::from_io("sync", &self.path))
    }

    /// Opens the folder that a name is in, `None` for this one; returns the name in it, too.
    pub(crate) fn resolve_parent<'a>(
        &self,
        name: &'a Path,
    ) -> FileResult<(Option<Self>, &'a Path)> {
        self.checked_path(name)?;
        let parent = match name.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => Some(self.open_folder(parent)?),
            _ => None,
        };
        Ok((parent, Path::new(name.file_name().unwrap_or_default())))
    }

    fn creation_mode(&self, shared: u32, own: u32) -> Mode {
        Mode::from_raw_mode(if self.has_shared_modes { shared } else { own } as _)
    }

    /// Returns the whole path of a name, which must be plain.
    fn checked_path(&self, name: &Path) -> FileResult<PathBuf> {
        if beneath::is_plain_path(name) {
            Ok(self.path.join(name))
        } else {
            Err(FileError::Name {
                path: name.to_owned(),
            })
        }
    }
}

/// Converts a handle to a file; returns an error if it is not a regular file.
pub(crate) fn ensure_regular_file(opened: OwnedFd, path: &Path) -> FileResult<File> {
    let stat = fstat(&opened).map_err(FileError::from_io("look at", path))?;
    match FileStatus::from(&stat).kind {
        FileKind::File => Ok(File::from(opened)),
        found => Err(FileError::Kind {
            path: path.to_owned(),
            found,
            expected: FileKind::File,
        }),
    }
}

/// Reads a whole file of at most `bytes_max` bytes.
pub(crate) fn read_all(file: File, path: &Path, bytes_max: u64) -> FileResult<Vec<u8>> {
    let length = file
        .metadata()
        .map_err(FileError::from_io("look at", path))?
        .len();
    read_rest(file, path, length, bytes_max)
}

/// Reads the rest of a file, which has about `length` bytes, but may grow meanwhile.
fn read_rest(file: File, path: &Path, length: u64, bytes_max: u64) -> FileResult<Vec<u8>> {
    let too_large = |got| FileError::TooLarge {
        path: path.to_owned(),
        got,
        max: bytes_max,
    };
    if length > bytes_max {
        return Err(too_large(length));
    }
    let mut bytes = Vec::with_capacity(length as usize);
    let mut limited = file.take(bytes_max.saturating_add(1));
    let read = limited.read_to_end(&mut bytes);
    read.map_err(FileError::from_io("read", path))?;
    let got = bytes.len() as u64;
    if got > bytes_max {
        return Err(too_large(got));
    }
    Ok(bytes)
}

/// Converts the error of a missing file or folder to `None`.
pub(crate) fn none_if_missing<T>(result: FileResult<T>) -> FileResult<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
