//! Moving files within a folder without overwriting what came between.

use std::path::Path;

use rustix::fs::{RenameFlags, renameat, renameat_with};
use rustix::io::Errno;

use crate::error::{FileError, Result};
use crate::folder::Folder;
use crate::found::Stamp;

/// What became of putting a file in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placed {
    Done,
    /// Somebody changed the place since it was looked at; theirs stays.
    Theirs,
}

impl Folder {
    /// Gives a file or folder another name, over a file that has it.
    pub fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<()> {
        let (from, to) = (from.as_ref(), to.as_ref());
        self.moved(from, to, RenameFlags::empty())?
            .map_err(FileError::io("rename", &self.path_of(from)))
    }

    /// Puts `from` where `to` is, if `to` is still as `expected` (`None`: absent). The exchange is
    /// one step of the file system, so an editor that saves meanwhile loses nothing: its file comes
    /// back. What stood there may be left at `from`.
    pub fn place(
        &self,
        from: impl AsRef<Path>,
        to: impl AsRef<Path>,
        expected: Option<Stamp>,
    ) -> Result<Placed> {
        let (from, to) = (from.as_ref(), to.as_ref());
        let flags = match expected {
            Some(_) => RenameFlags::EXCHANGE,
            None => RenameFlags::NOREPLACE,
        };
        let misplaced = |error: Errno| FileError::io("put in its place", &self.path_of(to))(error);
        match (self.moved(from, to, flags)?, expected) {
            (Ok(()), Some(expected)) if !self.is_still(from, expected)? => {
                self.moved(from, to, flags)?.map_err(misplaced)?;
                Ok(Placed::Theirs)
            }
            (Ok(()), _) => Ok(Placed::Done),
            (Err(Errno::NOENT), Some(_)) | (Err(Errno::EXIST), None) => Ok(Placed::Theirs),
            (Err(Errno::INVAL | Errno::NOSYS), expected) => {
                let is_still = match expected {
                    Some(expected) => self.is_still(to, expected)?,
                    None => self.look(to)?.is_none(),
                };
                if !is_still {
                    return Ok(Placed::Theirs);
                }
                self.rename(from, to).map(|()| Placed::Done)
            }
            (Err(error), _) => Err(misplaced(error)),
        }
    }

    /// Takes a file away, if it is still as `expected`. It goes to `aside` first, so that what
    /// somebody wrote meanwhile can come back; what is taken away is left there.
    pub fn take_away(
        &self,
        name: impl AsRef<Path>,
        aside: impl AsRef<Path>,
        expected: Stamp,
    ) -> Result<Placed> {
        let (name, aside) = (name.as_ref(), aside.as_ref());
        match self.rename(name, aside) {
            Err(error) if error.is_missing() => return Ok(Placed::Done),
            moved => moved?,
        }
        if self.is_still(aside, expected)? {
            return Ok(Placed::Done);
        }
        self.place(aside, name, None)?;
        Ok(Placed::Theirs)
    }

    fn is_still(&self, name: &Path, expected: Stamp) -> Result<bool> {
        let found = self.look(name)?;
        Ok(found.is_some_and(|found| found.is_file() && found.stamp == expected))
    }

    /// Renames; what the system says of it is for the caller.
    fn moved(&self, from: &Path, to: &Path, flags: RenameFlags) -> Result<Result<(), Errno>> {
        let (from_above, from) = self.parent(from)?;
        let (to_above, to) = self.parent(to)?;
        let from_handle = &from_above.as_ref().unwrap_or(self).handle;
        let to_handle = &to_above.as_ref().unwrap_or(self).handle;
        Ok(if flags.is_empty() {
            renameat(from_handle, from, to_handle, to)
        } else {
            // Older systems have no flags.
            renameat_with(from_handle, from, to_handle, to, flags)
        })
    }
}
