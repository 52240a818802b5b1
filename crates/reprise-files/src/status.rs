//! The status of a name in a folder, which is read without opening or following it.

use std::ffi::OsString;
use std::fmt;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{FileType, Stat};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileKind {
    File,
    Folder,
    Link,
    /// A pipe, a socket or a device.
    Other,
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "a regular file",
            Self::Folder => "a folder",
            Self::Link => "a symbolic link",
            Self::Other => "a pipe, a socket or a device",
        })
    }
}

impl From<FileType> for FileKind {
    fn from(found: FileType) -> Self {
        match found {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Folder,
            FileType::Symlink => Self::Link,
            _ => Self::Other,
        }
    }
}

/// The identity of one state of a file: any write by anybody changes it, a rename does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileFingerprint {
    pub device: u64,
    pub inode: u64,
    pub size_bytes: u64,
    /// Time of the last change in seconds and nanoseconds since 1970.
    pub modified: (i64, i64),
}

impl From<&Metadata> for FileFingerprint {
    fn from(found: &Metadata) -> Self {
        Self {
            device: found.dev(),
            inode: found.ino(),
            size_bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStatus {
    pub kind: FileKind,
    pub fingerprint: FileFingerprint,
    /// The permission bits.
    pub mode: u32,
}

impl FileStatus {
    /// Whether its owner may execute it: the one bit of a mode that git stores.
    pub fn is_executable(&self) -> bool {
        self.mode & 0o100 != 0
    }

    pub fn is_file(&self) -> bool {
        self.kind == FileKind::File
    }

    pub fn is_folder(&self) -> bool {
        self.kind == FileKind::Folder
    }
}

impl From<&Stat> for FileStatus {
    #[expect(
        clippy::cast_possible_wrap,
        reason = "the fields' types are the platform's; nanoseconds and modes fit in each"
    )]
    fn from(stat: &Stat) -> Self {
        Self {
            kind: FileType::from_raw_mode(stat.st_mode).into(),
            fingerprint: FileFingerprint {
                device: stat.st_dev as _,
                inode: stat.st_ino as _,
                size_bytes: stat.st_size as _,
                modified: (stat.st_mtime as _, stat.st_mtime_nsec as _),
            },
            mode: (stat.st_mode & 0o7777) as _,
        }
    }
}

/// An entry of a folder: its name and its kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FolderEntry {
    pub name: OsString,
    pub kind: FileKind,
}
