//! Checks whether the log's path still names its file. A removed file is restored; if the file was
//! moved or replaced, writing stops.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Log;
use super::open::SUFFIX_PUT_BACK;
use crate::disk::{DiskFile, read_pieces, sibling_path};
use crate::error::{Displacement, StoreError, StoreResult};
use crate::swap::{link_to_free_name, move_without_replacing};

const SUFFIX_RESCUED: &str = ".rescued";

impl Log {
    /// Whether another file has replaced this one, so that the caller must open the log again.
    pub fn is_displaced(&self) -> bool {
        self.displaced.is_some()
    }

    /// Fails if the path no longer names this file.
    pub(crate) fn check_path(&mut self) -> StoreResult<()> {
        let what = match self.find_displacement()? {
            None => return Ok(()),
            Some(Displacement::Replaced { .. }) => {
                let rescued = self.rescue_replaced_file()?;
                let replaced = Displacement::Replaced { rescued };
                self.displaced = Some(replaced.clone());
                replaced
            }
            Some(what) => what,
        };
        Err(self.displaced_error(what))
    }

    /// Calls [`Self::check_path`] for a commit, and restores a removed file with everything
    /// acknowledged. The commit still fails, so that its caller learns of the removal.
    pub(crate) fn check_path_for_commit(&mut self) -> StoreResult<()> {
        match self.check_path() {
            Err(StoreError::Displaced {
                what: Displacement::Removed,
                ..
            }) => {
                self.restore_removed_file()
                    .map_err(StoreError::io("put back", &self.path))?;
                let path = self.path.display();
                tracing::warn!(%path, "removed while in use; its content was restored");
                Err(self.displaced_error(Displacement::Restored))
            }
            other => other,
        }
    }

    fn displaced_error(&self, what: Displacement) -> StoreError {
        StoreError::Displaced {
            path: self.path.clone(),
            what,
        }
    }

    fn find_displacement(&self) -> StoreResult<Option<Displacement>> {
        let io = StoreError::io("look for", &self.path);
        let at_path = self.disk.identity(&self.path).map_err(&io)?;
        let own = self.file.identity().map_err(&io)?;
        Ok(match at_path {
            Some(at_path) if at_path == own => None,
            Some(_) => Some(Displacement::Replaced { rescued: None }),
            None if self.file.link_count().map_err(&io)? > 0 => Some(Displacement::Moved),
            None => Some(Displacement::Removed),
        })
    }

    /// Writes everything acknowledged to a new file at the old path and continues with it. Does not
    /// replace a file that another process created there meanwhile.
    fn restore_removed_file(&mut self) -> io::Result<()> {
        self.disk.create_parent_folder(&self.path)?;
        let temporary = sibling_path(&self.path, SUFFIX_PUT_BACK);
        let file = self.copy_to_new_file(&temporary, self.end)?;
        let lock = self.disk.try_lock(&temporary)?.into_lock()?;
        move_without_replacing(&*self.disk, &temporary, &self.path)?;
        self.file = file;
        self.lock = Some(lock);
        Ok(())
    }

    /// Saves the old file's content next to the file that replaced it, unless the old file still
    /// has a name; otherwise the content would be lost with this handle.
    fn rescue_replaced_file(&self) -> StoreResult<Option<PathBuf>> {
        let io = StoreError::io("save what was replaced at", &self.path);
        if self.file.link_count().map_err(&io)? > 0 {
            return Ok(None);
        }
        let temporary = sibling_path(&self.path, SUFFIX_PUT_BACK);
        let end = self.file.size().map_err(&io)?.min(self.end);
        self.copy_to_new_file(&temporary, end).map_err(&io)?;
        let rescued = || {
            let name = link_to_free_name(&*self.disk, &temporary, &self.path, SUFFIX_RESCUED)?;
            self.disk.remove(&temporary)?;
            self.disk.sync_parent_folder(&name)?;
            Ok(name)
        };
        let rescued = rescued().map_err(&io)?;
        let (path, saved) = (self.path.display(), rescued.display());
        tracing::warn!(%path, %saved, "replaced while in use; its content was saved");
        Ok(Some(rescued))
    }

    fn copy_to_new_file(&self, path: &Path, end: u64) -> io::Result<Arc<dyn DiskFile>> {
        self.disk.remove(path)?;
        let to = self.disk.open_or_create(path)?;
        read_pieces(&*self.file, 0..end, |at, piece| {
            to.write_all_at(at, piece).map(|()| true)
        })?;
        to.sync()?;
        Ok(to)
    }
}
