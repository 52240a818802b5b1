//! The list of the copies of memories outside their folders, a line for each copy.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use reprise_files::{FileError, Folder};
use reprise_types::UserId;
use serde::{Deserialize, Serialize};

use crate::place::BACKUP_LIST_FILE;

/// Longest list that is read, in bytes.
const LIST_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// One copy of something in a memory, as a line of the list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CopyEntry {
    pub user: UserId,
    /// File or folder.
    pub file: PathBuf,
    #[serde(default, skip_serializing_if = "CopyForm::is_backup")]
    pub form: CopyForm,
    /// Stamp of the file when it was written, if only an unchanged file may be overwritten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamp: Option<CopyStamp>,
}

/// Size and time by which a written file is recognized.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CopyStamp {
    bytes: u64,
    /// Seconds and nanoseconds since 1970.
    modified: (i64, i64),
}

impl CopyEntry {
    /// Reads the list in the daemon's own folder; lines of another form are passed over.
    pub fn read_list(own: &Folder) -> Result<Vec<Self>, FileError> {
        let list = own.read_text(BACKUP_LIST_FILE, LIST_BYTES_MAX)?;
        let list = list.unwrap_or_default();
        let entries = list.lines().map(serde_json::from_str);
        Ok(entries.filter_map(Result::ok).collect())
    }

    /// Appends it to that list, by one write: two processes do not mix their lines.
    pub fn append_to_list(&self, own: &Folder) -> Result<(), FileError> {
        let line = serde_json::to_vec(self).map_err(|error| FileError::Io {
            what: "append to",
            path: own.path_of(BACKUP_LIST_FILE),
            source: error.into(),
        })?;
        own.append_line(BACKUP_LIST_FILE, &line)
    }
}

impl CopyStamp {
    /// Returns the stamp of a file; `None` for anything else.
    pub fn from_path(path: &Path) -> Option<Self> {
        let found = fs_err::symlink_metadata(path).ok()?;
        found.is_file().then(|| Self {
            bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
        })
    }
}

/// Contents of a copy.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CopyForm {
    /// A memory's file as it was.
    #[default]
    Backup,
    /// What `export` wrote.
    Export,
    /// What another program reads, and `rebuild` writes anew.
    Projection {
        kind: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        project: Option<String>,
    },
}

impl CopyForm {
    fn is_backup(&self) -> bool {
        *self == Self::Backup
    }
}
