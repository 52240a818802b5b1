//! Moves of files within a folder that overwrite nothing that another program wrote meanwhile.

use std::path::Path;

use rustix::fs::{RenameFlags, renameat, renameat_with};
use rustix::io::Errno;

use crate::error::{FileError, FileResult};
use crate::folder::Folder;
use crate::status::FileFingerprint;

/// The outcome of a change that depends on a file being unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeOutcome {
    Applied,
    /// Another program changed the file since its status was read; its version stays.
    Conflict,
}

impl Folder {
    /// Renames a file or folder; a file that has the new name is replaced.
    pub fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> FileResult<()> {
        let (from, to) = (from.as_ref(), to.as_ref());
        self.rename_with_flags(from, to, RenameFlags::empty())?
            .map_err(FileError::from_io("rename", &self.path_of(from)))
    }

    /// Moves `from` to `to`, if `to` is still as `expected` (`None`: absent). The exchange is one
    /// step of the file system, so an editor that saves meanwhile loses nothing: its file is moved
    /// back. The earlier file at `to` may be left at `from`.
    pub fn move_if_unchanged(
        &self,
        from: impl AsRef<Path>,
        to: impl AsRef<Path>,
        expected: Option<FileFingerprint>,
    ) -> FileResult<ChangeOutcome> {
        let (from, to) = (from.as_ref(), to.as_ref());
        let flags = match expected {
            Some(_) => RenameFlags::EXCHANGE,
            None => RenameFlags::NOREPLACE,
        };
        let move_error =
            |error: Errno| FileError::from_io("move a file to", &self.path_of(to))(error);
        match (self.rename_with_flags(from, to, flags)?, expected) {
            (Ok(()), Some(expected)) if !self.is_unchanged(from, expected)? => {
                self.rename_with_flags(from, to, flags)?
                    .map_err(move_error)?;
                Ok(ChangeOutcome::Conflict)
            }
            (Ok(()), _) => Ok(ChangeOutcome::Applied),
            (Err(Errno::NOENT), Some(_)) | (Err(Errno::EXIST), None) => Ok(ChangeOutcome::Conflict),
            (Err(Errno::INVAL | Errno::NOSYS), expected) => {
                let is_unchanged = match expected {
                    Some(expected) => self.is_unchanged(to, expected)?,
                    None => self.find_status(to)?.is_none(),
                };
                if !is_unchanged {
                    return Ok(ChangeOutcome::Conflict);
                }
                self.rename(from, to).map(|()| ChangeOutcome::Applied)
            }
            (Err(error), _) => Err(move_error(error)),
        }
    }

    /// Moves a file to `aside`, if it is still as `expected`. It is moved before it is compared, so
    /// that a version that another program wrote meanwhile can be moved back.
    pub fn move_aside_if_unchanged(
        &self,
        name: impl AsRef<Path>,
        aside: impl AsRef<Path>,
        expected: FileFingerprint,
    ) -> FileResult<ChangeOutcome> {
        let (name, aside) = (name.as_ref(), aside.as_ref());
        match self.rename(name, aside) {
            Err(error) if error.is_missing() => return Ok(ChangeOutcome::Applied),
            moved => moved?,
        }
        if self.is_unchanged(aside, expected)? {
            return Ok(ChangeOutcome::Applied);
        }
        self.move_if_unchanged(aside, name, None)?;
        Ok(ChangeOutcome::Conflict)
    }

    fn is_unchanged(&self, name: &Path, expected: FileFingerprint) -> FileResult<bool> {
        let status = self.find_status(name)?;
        Ok(status.is_some_and(|status| status.is_file() && status.fingerprint == expected))
    }

    /// Renames with flags; the inner error is the system's, which the caller interprets.
    fn rename_with_flags(
        &self,
        from: &Path,
        to: &Path,
        flags: RenameFlags,
    ) -> FileResult<Result<(), Errno>> {
        let (from_parent, from) = self.resolve_parent(from)?;
        let (to_parent, to) = self.resolve_parent(to)?;
        let from_handle = &from_parent.as_ref().unwrap_or(self).handle;
        let to_handle = &to_parent.as_ref().unwrap_or(self).handle;
        Ok(if flags.is_empty() {
            renameat(from_handle, from, to_handle, to)
        } else {
            // Older systems have no flags.
            renameat_with(from_handle, from, to_handle, to, flags)
        })
    }
}
