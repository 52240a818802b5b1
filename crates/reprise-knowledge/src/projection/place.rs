//! The files of one projection on the disk: which are its own, and how one is replaced.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use fs_err::os::unix::fs::OpenOptionsExt;
use serde::{Deserialize, Serialize};

use crate::error::ExportError;

/// The file that says which files are a projection's own: beside it or in its folder.
const MARK: &str = ".reprise";

/// Numbers the unfinished files of this process.
static UNFINISHED: AtomicU64 = AtomicU64::new(0);

/// Where a projection stands; an empty name is the place itself.
pub(super) struct Place<'a> {
    root: &'a Path,
}

#[derive(Serialize, Deserialize)]
struct Mark {
    projection: String,
    files: BTreeSet<PathBuf>,
}

impl<'a> Place<'a> {
    pub(super) fn at(root: &'a Path) -> Self {
        Self { root }
    }

    pub(super) fn path(&self, name: &Path) -> PathBuf {
        if name.as_os_str().is_empty() {
            self.root.to_owned()
        } else {
            self.root.join(name)
        }
    }

    fn mark(&self, is_file: bool) -> PathBuf {
        if !is_file {
            return self.root.join(MARK);
        }
        let mut beside = self.root.as_os_str().to_owned();
        beside.push(MARK);
        beside.into()
    }

    /// The files that this house wrote here; `None` where it wrote nothing yet.
    pub(super) fn own(&self) -> Result<Option<BTreeSet<PathBuf>>, ExportError> {
        for is_file in [true, false] {
            match fs_err::read(self.mark(is_file)) {
                Ok(mark) => {
                    let mark: Mark = serde_json::from_slice(&mark).map_err(std::io::Error::from)?;
                    return Ok(Some(mark.files));
                }
                Err(error) if is_missing(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }

    /// Writes down which files are this projection's own.
    pub(super) fn note(&self, kind: &str, files: &BTreeSet<PathBuf>) -> Result<(), ExportError> {
        let is_file = files.iter().any(|name| name.as_os_str().is_empty());
        let mark = Mark {
            projection: kind.to_owned(),
            files: files.clone(),
        };
        let mark = serde_json::to_vec(&mark).map_err(std::io::Error::from)?;
        replace(&self.mark(is_file), &mark)?;
        Ok(())
    }

    /// Refuses to write over what another program wrote.
    pub(super) fn refuse_others<'b>(
        &self,
        names: impl IntoIterator<Item = &'b PathBuf>,
    ) -> Result<(), ExportError> {
        let paths = names.into_iter().map(|name| self.path(name));
        match paths.into_iter().find(|path| path.exists()) {
            Some(path) => Err(ExportError::Others { path }),
            None => Ok(()),
        }
    }

    /// Puts a file in the place of the one that is there. Answers whether that says something else.
    pub(super) fn put(&self, name: &Path, content: &[u8]) -> Result<bool, ExportError> {
        let path = self.path(name);
        match fs_err::read(&path) {
            Ok(there) if there == content => return Ok(false),
            Ok(_) => {}
            Err(error) if is_missing(&error) => {}
            Err(error) => return Err(error.into()),
        }
        replace(&path, content)?;
        Ok(true)
    }

    /// Removes a file of its own. Answers whether there was one.
    pub(super) fn remove(&self, name: &Path) -> Result<bool, ExportError> {
        match fs_err::remove_file(self.path(name)) {
            Ok(()) => Ok(true),
            Err(error) if is_missing(&error) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

fn is_missing(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
    )
}

/// A file is the old one or the new one, never a part: written beside its place under a name of its
/// own, synced, and renamed.
fn replace(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    fs_err::create_dir_all(folder)?;
    let number = UNFINISHED.fetch_add(1, Ordering::Relaxed);
    let mut beside = OsString::from(".");
    beside.push(path.file_name().unwrap_or_default());
    beside.push(format!(".{}-{number}.unfinished", std::process::id()));
    let beside = folder.join(beside);
    let mut options = fs_err::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let write = || {
        let mut file = options.open(&beside)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs_err::rename(&beside, path)?;
        fs_err::File::open(folder)?.sync_all()
    };
    write().inspect_err(|_| {
        // What is left of it is of no use to anybody.
        let _gone = fs_err::remove_file(&beside).is_ok();
    })
}
