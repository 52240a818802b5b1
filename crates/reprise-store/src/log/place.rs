//! Whether the log's path still names its file, and what is done where it does not: a file that was
//! removed is put back, one that was moved or replaced is left to whoever did that.
//!
//! The check before and after each write.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Log;
use super::open::{SUFFIX_PUT_BACK, beside};
use crate::disk::{Disk, DiskFile, LockAttempt};
use crate::error::{Displacement, StoreError};
use crate::swap::link_over_nothing;

/// Bytes that are copied at a time.
const COPIED: usize = 1024 * 1024;
/// Copies of replaced files that are kept beside one memory.
const RESCUED_MAX: u32 = 100;
const SUFFIX_RESCUED: &str = ".rescued";

impl Log {
    /// Whether another file stands in this one's place: it is to be given up and opened anew.
    pub fn is_displaced(&self) -> bool {
        self.displaced.is_some()
    }

    /// Refuses where the path does not name this file any more.
    pub(crate) fn check_place(&mut self) -> Result<(), StoreError> {
        let what = match self.displacement()? {
            None => return Ok(()),
            Some(Displacement::Replaced { .. }) => {
                let replaced = Displacement::Replaced {
                    rescued: self.rescue()?,
                };
                self.displaced = Some(replaced.clone());
                replaced
            }
            Some(what) => what,
        };
        Err(self.is_elsewhere(what))
    }

    /// The same for a commit, which is proof that the memory is in use: a file that was removed is
    /// put back first, with all that was acknowledged. The commit itself is refused all the same,
    /// so that whoever writes hears of it.
    pub(crate) fn check_place_of_commit(&mut self) -> Result<(), StoreError> {
        match self.check_place() {
            Err(StoreError::Displaced {
                what: Displacement::Removed,
                ..
            }) => {
                self.put_back()
                    .map_err(StoreError::io("put back", &self.path))?;
                let path = self.path.display();
                tracing::warn!(%path, "removed while in use; what it held was put back");
                Err(self.is_elsewhere(Displacement::PutBack))
            }
            other => other,
        }
    }

    fn is_elsewhere(&self, what: Displacement) -> StoreError {
        StoreError::Displaced {
            path: self.path.clone(),
            what,
        }
    }

    fn displacement(&self) -> Result<Option<Displacement>, StoreError> {
        let io = StoreError::io("look for", &self.path);
        let named = self.disk.identity(&self.path).map_err(&io)?;
        let own = self.file.identity().map_err(&io)?;
        Ok(match named {
            Some(named) if named == own => None,
            Some(_) => Some(Displacement::Replaced { rescued: None }),
            None if self.file.links().map_err(&io)? > 0 => Some(Displacement::Moved),
            None => Some(Displacement::Removed),
        })
    }

    /// Writes all that was acknowledged into a new file in the old one's place, and goes on with
    /// that. A file that somebody put there meanwhile is not touched.
    fn put_back(&mut self) -> io::Result<()> {
        self.disk.make_folder(&self.path)?;
        let temporary = beside(&self.path, SUFFIX_PUT_BACK);
        let file = self.copy_to_new(&temporary)?;
        let LockAttempt::Held(lock) = self.disk.lock(&temporary)? else {
            return Err(io::ErrorKind::WouldBlock.into());
        };
        link_over_nothing(&*self.disk, &temporary, &self.path)?;
        self.file = file;
        self.lock = Some(lock);
        Ok(())
    }

    /// Saves what the file held beside the one that replaced it, where it has no name of its own
    /// any more; else it is lost when this log is given up.
    fn rescue(&self) -> Result<Option<PathBuf>, StoreError> {
        let io = StoreError::io("save what was replaced at", &self.path);
        if self.file.links().map_err(&io)? > 0 {
            return Ok(None);
        }
        let temporary = beside(&self.path, SUFFIX_PUT_BACK);
        self.copy_to_new(&temporary).map_err(&io)?;
        let rescued = first_free(&*self.disk, &temporary, &self.path).map_err(&io)?;
        let (path, saved) = (self.path.display(), rescued.display());
        tracing::warn!(%path, %saved, "replaced while in use; what it held was saved");
        Ok(Some(rescued))
    }

    fn copy_to_new(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.disk.remove(path)?;
        let to = self.disk.open_or_create(path)?;
        let mut bytes = vec![0; COPIED];
        let mut at = 0;
        while at < self.end {
            let part = &mut bytes[..(self.end - at).min(COPIED as u64) as usize];
            self.file.read_exact_at(at, part)?;
            to.write_all_at(at, part)?;
            at += part.len() as u64;
        }
        to.sync()?;
        Ok(to)
    }
}

/// Gives `temporary` the first name of a rescued file that is not taken.
fn first_free(disk: &dyn Disk, temporary: &Path, path: &Path) -> io::Result<PathBuf> {
    for number in 1..=RESCUED_MAX {
        let name = match number {
            1 => beside(path, SUFFIX_RESCUED),
            _ => beside(path, &format!("{SUFFIX_RESCUED}-{number}")),
        };
        match link_over_nothing(disk, temporary, &name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            done => return done.map(|()| name),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}
