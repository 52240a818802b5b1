//! A folder by its handle, and what can be done with the names below it.

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

use crate::beneath::{self, FOLDER};
use crate::error::{FileError, Result};
use crate::found::{Entry, Found, Kind, Stamp};

/// Between two looks at a lock.
const LOOK: Duration = Duration::from_millis(1);

/// A folder, held by its handle: what its path names later makes no difference. Names are plain
/// ones below it; of links none is followed.
#[derive(Debug)]
pub struct Folder {
    pub(crate) handle: OwnedFd,
    path: PathBuf,
    is_shared: bool,
}

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It must be there.
    Read,
    /// For reading and writing; it must be there.
    Write,
    /// For reading and writing; it is made where it is missing.
    Make,
    /// For reading and writing; the name must be free.
    New,
    /// For reading, and writing at its end; it is made where it is missing.
    Append,
}

impl Access {
    pub(crate) fn flags(self) -> OFlags {
        match self {
            Self::Read => OFlags::RDONLY,
            Self::Write => OFlags::RDWR,
            Self::Make => OFlags::RDWR | OFlags::CREATE,
            Self::New => OFlags::RDWR | OFlags::CREATE | OFlags::EXCL,
            Self::Append => OFlags::RDWR | OFlags::CREATE | OFlags::APPEND,
        }
    }
}

impl Folder {
    /// A folder that the user has chosen: links on the way to it are followed.
    pub fn open(path: &Path) -> Result<Self> {
        let is_here = path.as_os_str().is_empty();
        let here = if is_here { Path::new(".") } else { path };
        let handle = openat(CWD, here, FOLDER, Mode::empty());
        Ok(Self {
            handle: handle.map_err(FileError::io("open the folder", path))?,
            path: path.to_owned(),
            is_shared: false,
        })
    }

    /// The same, `None` where there is none.
    pub fn find(path: &Path) -> Result<Option<Self>> {
        found(Self::open(path))
    }

    /// The same, made where it is missing, closed to everybody else.
    pub fn make(path: &Path) -> Result<Self> {
        match Self::open(path) {
            Err(error) if error.is_missing() => {}
            opened => return opened,
        }
        let mut builder = std::fs::DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(path);
        made.map_err(FileError::io("make the folder", path))?;
        Self::open(path)
    }

    /// The folder that the user has chosen for a file, and the file's name in it.
    pub fn of_file(path: &Path) -> Result<(Self, &Path)> {
        match (path.parent(), path.file_name()) {
            (Some(folder), Some(name)) => Ok((Self::open(folder)?, Path::new(name))),
            _ => Err(FileError::Name {
                path: path.to_owned(),
            }),
        }
    }

    /// A folder of ours in one that the user has chosen: it is no link itself.
    pub fn own(path: &Path) -> Result<Self> {
        match (path.parent(), path.file_name()) {
            (Some(chosen), Some(name)) => Self::open(chosen)?.folder(name),
            _ => Self::open(path),
        }
    }

    /// The same, `None` where there is none.
    pub fn find_own(path: &Path) -> Result<Option<Self>> {
        found(Self::own(path))
    }

    /// The same, made where it is missing, closed to everybody else.
    pub fn make_own(path: &Path) -> Result<Self> {
        match (path.parent(), path.file_name()) {
            (Some(chosen), Some(name)) => Self::make(chosen)?.make_folder(name),
            _ => Self::make(path),
        }
    }

    /// New files and folders in it are for whom the process's umask lets in, not for their owner
    /// alone.
    #[must_use]
    pub fn shared(self) -> Self {
        Self {
            is_shared: true,
            ..self
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where a name in it is, for messages.
    pub fn path_of(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }

    /// Its permission bits.
    pub fn mode(&self) -> Result<u32> {
        let stat = fstat(&self.handle).map_err(FileError::io("look at", &self.path))?;
        Ok(Found::from(&stat).mode)
    }

    /// A folder below.
    pub fn folder(&self, name: impl AsRef<Path>) -> Result<Self> {
        let path = self.plain(name.as_ref())?;
        let handle = beneath::open(self.handle.as_fd(), name.as_ref(), FOLDER, Mode::empty());
        Ok(Self {
            handle: handle.map_err(FileError::open("open the folder", &path))?,
            path,
            is_shared: self.is_shared,
        })
    }

    /// The same, `None` where there is none.
    pub fn find_folder(&self, name: impl AsRef<Path>) -> Result<Option<Self>> {
        found(self.folder(name))
    }

    /// The same, made with those above it where they are missing.
    pub fn make_folder(&self, name: impl AsRef<Path>) -> Result<Self> {
        let name = name.as_ref();
        match self.folder(name) {
            Err(error) if error.is_missing() => {}
            opened => return opened,
        }
        let mode = self.new_mode(0o777, 0o700);
        let mut at: Option<Self> = None;
        for part in name {
            let above = at.as_ref().unwrap_or(self);
            match mkdirat(&above.handle, part, mode) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => {
                    let path = above.path.join(part);
                    return Err(FileError::io("make the folder", &path)(error));
                }
            }
            at = Some(above.folder(part)?);
        }
        at.ok_or_else(|| FileError::Name {
            path: name.to_owned(),
        })
    }

    /// A regular file.
    pub fn file(&self, name: impl AsRef<Path>, access: Access) -> Result<File> {
        let path = self.plain(name.as_ref())?;
        let mode = if access.flags().contains(OFlags::CREATE) {
            self.new_mode(0o666, 0o600)
        } else {
            Mode::empty()
        };
        let handle = self.handle.as_fd();
        let opened = beneath::open(handle, name.as_ref(), access.flags(), mode);
        regular(opened.map_err(FileError::open("open", &path))?, &path)
    }

    /// The same for reading, `None` where there is none.
    pub fn find_file(&self, name: impl AsRef<Path>) -> Result<Option<File>> {
        found(self.file(name, Access::Read))
    }

    /// All bytes of a file, `None` where there is none; longer ones are refused.
    pub fn read(&self, name: impl AsRef<Path>, bytes_max: u64) -> Result<Option<Vec<u8>>> {
        let read = self.read_stamped(name, bytes_max)?;
        Ok(read.map(|(bytes, _)| bytes))
    }

    /// The same with the state that the file was in before it was read.
    pub fn read_stamped(
        &self,
        name: impl AsRef<Path>,
        bytes_max: u64,
    ) -> Result<Option<(Vec<u8>, Stamp)>> {
        let Some(file) = self.find_file(name.as_ref())? else {
            return Ok(None);
        };
        let path = self.path_of(name);
        let stamp = file.metadata().map_err(FileError::io("look at", &path))?;
        let bytes = read_whole(file, &path, bytes_max)?;
        Ok(Some((bytes, Stamp::from(&stamp))))
    }

    /// The bytes of a file from an offset on, `None` where there is none; more are refused.
    pub fn read_from(
        &self,
        name: impl AsRef<Path>,
        offset: u64,
        bytes_max: u64,
    ) -> Result<Option<Vec<u8>>> {
        let Some(mut file) = self.find_file(name.as_ref())? else {
            return Ok(None);
        };
        let path = self.path_of(name);
        let length = file
            .metadata()
            .map_err(FileError::io("look at", &path))?
            .len();
        let offset = file.seek(SeekFrom::Start(offset.min(length)));
        let offset = offset.map_err(FileError::io("read", &path))?;
        read_rest(file, &path, length - offset, bytes_max).map(Some)
    }

    pub fn read_text(&self, name: impl AsRef<Path>, bytes_max: u64) -> Result<Option<String>> {
        let Some(bytes) = self.read(name.as_ref(), bytes_max)? else {
            return Ok(None);
        };
        let text = String::from_utf8(bytes).map_err(|error| {
            let error = io::Error::new(io::ErrorKind::InvalidData, error.utf8_error());
            FileError::io("read as text", &self.path_of(name))(error)
        });
        text.map(Some)
    }

    /// Appends a line in one write and syncs it. One that was never finished is ended first, and
    /// what a failed write left is cut off.
    pub fn append_line(&self, name: impl AsRef<Path>, line: &[u8]) -> Result<()> {
        let mut file = self.file(name.as_ref(), Access::Append)?;
        let path = self.path_of(name);
        let io = || FileError::io("append to", &path);
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

    /// The lock of all who change something here: a file that is made where it is missing, and
    /// waited for as long as `patience` while another process has it. It goes with the file.
    pub fn lock(&self, name: impl AsRef<Path>, patience: Duration) -> Result<File> {
        let file = self.file(name.as_ref(), Access::Make)?;
        let since = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(error)) => {
                    return Err(FileError::io("lock", &self.path_of(name))(error));
                }
                Err(TryLockError::WouldBlock) if since.elapsed() > patience => {
                    let path = self.path_of(name);
                    return Err(FileError::Locked { path });
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOOK),
            }
        }
    }

    /// Refuses a folder that this process may not write to.
    pub fn check_writable(&self) -> Result<()> {
        let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
        let may = rustix::fs::accessat(&self.handle, ".", access, AtFlags::EACCESS);
        may.map_err(FileError::io("write to", &self.path))
    }

    /// What stands at a name, which is not followed; `None` where nothing does.
    pub fn look(&self, name: impl AsRef<Path>) -> Result<Option<Found>> {
        let name = name.as_ref();
        let Some((folder, last)) = found(self.parent(name))? else {
            return Ok(None);
        };
        let handle = &folder.as_ref().unwrap_or(self).handle;
        match statat(handle, last, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(Found::from(&stat))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(FileError::io("look at", &self.path_of(name))(error)),
        }
    }

    /// The names in it, sorted.
    pub fn list(&self, entries_max: usize) -> Result<Vec<Entry>> {
        let io = |error: Errno| FileError::io("list", &self.path)(error);
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.handle).map_err(io)? {
            let entry = entry.map_err(io)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let kind = match entry.file_type() {
                rustix::fs::FileType::Unknown => match self.look(name)? {
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
            entries.push(Entry { name, kind });
        }
        entries.sort_unstable();
        Ok(entries)
    }

    /// Removes a file, or a link itself. Answers whether there was one.
    pub fn remove(&self, name: impl AsRef<Path>) -> Result<bool> {
        let name = name.as_ref();
        let Some((folder, last)) = found(self.parent(name))? else {
            return Ok(false);
        };
        let handle = &folder.as_ref().unwrap_or(self).handle;
        match unlinkat(handle, last, AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(false),
            Err(error) => Err(FileError::io("remove", &self.path_of(name))(error)),
        }
    }

    /// Makes the names in it durable.
    pub fn sync(&self) -> Result<()> {
        rustix::fs::fsync(&self.handle).map_err(FileError::io("sync", &self.path))
    }

    /// The folder below this one that a name is in, `None` for this one, and the name there.
    pub(crate) fn parent<'a>(&self, name: &'a Path) -> Result<(Option<Self>, &'a Path)> {
        self.plain(name)?;
        let above = match name.parent() {
            Some(above) if !above.as_os_str().is_empty() => Some(self.folder(above)?),
            _ => None,
        };
        Ok((above, Path::new(name.file_name().unwrap_or_default())))
    }

    fn new_mode(&self, shared: u32, own: u32) -> Mode {
        Mode::from_raw_mode(if self.is_shared { shared } else { own } as _)
    }

    /// The whole path of a name that is a plain one.
    fn plain(&self, name: &Path) -> Result<PathBuf> {
        if beneath::is_plain(name) {
            Ok(self.path.join(name))
        } else {
            Err(FileError::Name {
                path: name.to_owned(),
            })
        }
    }
}

/// Refuses what is no regular file.
pub(crate) fn regular(opened: OwnedFd, path: &Path) -> Result<File> {
    let stat = fstat(&opened).map_err(FileError::io("look at", path))?;
    match Found::from(&stat).kind {
        Kind::File => Ok(File::from(opened)),
        found => Err(FileError::Kind {
            path: path.to_owned(),
            found,
            expected: Kind::File,
        }),
    }
}

/// All of a file that is no longer than `bytes_max`.
pub(crate) fn read_whole(file: File, path: &Path, bytes_max: u64) -> Result<Vec<u8>> {
    let length = file
        .metadata()
        .map_err(FileError::io("look at", path))?
        .len();
    read_rest(file, path, length, bytes_max)
}

/// What is left of a file, `length` bytes as it seems, though it grow meanwhile.
fn read_rest(file: File, path: &Path, length: u64, bytes_max: u64) -> Result<Vec<u8>> {
    let too_large = |got| FileError::TooLarge {
        path: path.to_owned(),
        got,
        max: bytes_max,
    };
    if length > bytes_max {
        return Err(too_large(length));
    }
    let mut bytes = Vec::with_capacity(length as usize);
    let mut within = file.take(bytes_max.saturating_add(1));
    let read = within.read_to_end(&mut bytes);
    read.map_err(FileError::io("read", path))?;
    let got = bytes.len() as u64;
    if got > bytes_max {
        return Err(too_large(got));
    }
    Ok(bytes)
}

/// What was looked for, `None` where there is none.
pub(crate) fn found<T>(looked: Result<T>) -> Result<Option<T>> {
    match looked {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
