//! What the page shows of backups, restores and imports, as the process that serves it tells.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

/// A backup, an export or a derived file that was made of the user's memory on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupFile {
    pub file: String,
    /// Whether it is a whole memory file. Exports and derived files are listed apart: they are no
    /// backups.
    pub is_backup: bool,
    pub origin: BackupOrigin,
    /// Time and bytes if the file is there; a folder has 0 bytes.
    pub there: Option<(DateTime<Utc>, u64)>,
}

/// What wrote a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BackupOrigin {
    /// A command, which chose the place of the file.
    Command,
    /// A person on the page.
    Page,
    Schedule,
    /// Another machine: a browser uploaded it.
    Upload,
    /// A restore, which kept the memory that it replaced.
    Restore,
}

/// How often a memory is backed up without being asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BackupInterval {
    Day,
    Week,
}

impl BackupInterval {
    /// Returns the time between two backups.
    #[must_use]
    pub fn duration(self) -> TimeDelta {
        match self {
            Self::Day => TimeDelta::days(1),
            Self::Week => TimeDelta::weeks(1),
        }
    }

    /// Returns its name in a form.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
        }
    }
}

impl FromStr for BackupInterval {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        let all = [Self::Day, Self::Week];
        all.into_iter().find(|one| one.name() == name).ok_or(())
    }
}

/// The backups that the daemon makes by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupSchedule {
    pub every: BackupInterval,
    /// How many of them are kept; the oldest is removed first.
    pub kept: u16,
}

/// Most scheduled backups that are kept of one memory.
pub const SCHEDULED_KEPT_MAX: u16 = 100;

/// What a restore would replace.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RestorePreview {
    /// The memories and sessions in the backup.
    pub memories: u64,
    pub sessions: u64,
    /// When the newest of them was saved.
    pub last_saved: Option<DateTime<Utc>>,
    /// The memories that the user has now.
    pub memories_now: u64,
    /// How many of these the backup does not have.
    pub only_now: u64,
    /// Of how many of these it has another version.
    pub other_version: u64,
    /// How many the backup has that are not there now.
    #[serde(default)]
    pub only_then: u64,
    /// How the first of each of these begin.
    #[serde(default)]
    pub only_now_texts: Vec<String>,
    #[serde(default)]
    pub other_version_texts: Vec<String>,
    #[serde(default)]
    pub only_then_texts: Vec<String>,
    /// How many forgotten memories would be there again.
    pub would_come_back: u64,
    /// Whether texts that were forgotten before the backup was saved may be in its file, where
    /// nothing reads them.
    pub may_hold_forgotten: bool,
}

/// What a restore did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoredBackup {
    pub memories: u64,
    /// The file with the memory that was there before.
    pub earlier: Option<String>,
    /// How many forgotten memories are there again.
    pub came_back: u64,
}

/// What an import brought in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UploadedImport {
    /// The kind that the file was recognised as, if it is of another program.
    pub kind: Option<String>,
    pub inserted: u64,
    pub replaced: u64,
    /// Memories that were known already.
    pub known: u64,
    pub refused: u64,
    pub truncated: u64,
    /// Secrets that were removed.
    pub secrets: u64,
    /// Lines that were refused or cut, each with its place and reason.
    pub problems: Vec<String>,
}

/// A private file for an upload, which is removed with this value.
#[derive(Debug)]
pub struct UploadFile {
    folder: PathBuf,
    name: String,
    /// The open file, until everything was written.
    pub(crate) file: Option<File>,
}

impl UploadFile {
    /// Takes charge of a file of this name, alone in its folder.
    #[must_use]
    pub fn new(folder: PathBuf, name: String, file: File) -> Self {
        let file = Some(file);
        Self { folder, name, file }
    }

    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for UploadFile {
    fn drop(&mut self) {
        self.file = None;
        // What cannot be removed now is removed when the daemon starts.
        drop(std::fs::remove_dir_all(&self.folder));
    }
}
