//! Whether the log's path still names its file. A removed file is restored; one that was moved or
//! replaced is left alone, and writing stops.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Log;
use super::open::{SUFFIX_PUT_BACK, beside};
use crate::disk::DiskFile;
use crate::error::{Displacement, Result, StoreError};
use crate::swap::{link_over_nothing, link_to_free};

const COPIED: usize = 1024 * 1024;
const SUFFIX_RESCUED: &str = ".rescued";

impl Log {
    /// Whether another file has replaced this one: the caller must open the log again.
    pub fn is_displaced(&self) -> bool {
        self.displaced.is_some()
    }

    /// Fails where the path does not name this file any more.
    pub(crate) fn check_place(&mut self) -> Result<()> {
        let what = match self.displacement()? {
            None => return Ok(()),
            Some(Displacement::Replaced { .. }) => {
                let rescued = self.rescue()?;
                let replaced = Displacement::Replaced { rescued };
                self.displaced = Some(replaced.clone());
                replaced
            }
            Some(what) => what,
        };
        Err(self.is_elsewhere(what))
    }

    /// As [`Self::check_place`], for a commit: a removed file is restored first, with everything
    /// acknowledged. The commit still fails, so that its caller learns of the removal.
    pub(crate) fn check_place_of_commit(&mut self) -> Result<()> {
        match self.check_place() {
            Err(StoreError::Displaced {
                what: Displacement::Removed,
                ..
            }) => {
                self.put_back()
                    .map_err(StoreError::io("put back", &self.path))?;
                let path = self.path.display();
                tracing::warn!(%path, "removed while in use; its content was restored");
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

    fn displacement(&self) -> Result<Option<Displacement>> {
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

    /// Writes everything acknowledged to a new file at the old path and continues with it. A file
    /// that another process put there meanwhile is not touched.
    fn put_back(&mut self) -> io::Result<()> {
        self.disk.make_folder(&self.path)?;
        let temporary = beside(&self.path, SUFFIX_PUT_BACK);
        let file = self.copy_to_new(&temporary, self.end)?;
        let lock = self.disk.lock(&temporary)?.held()?;
        link_over_nothing(&*self.disk, &temporary, &self.path)?;
        self.file = file;
        self.lock = Some(lock);
        Ok(())
    }

    /// Saves the old file's content, or what was left of it, beside the file that replaced it,
    /// where no name refers to it any more; otherwise it would be lost with this handle.
    fn rescue(&self) -> Result<Option<PathBuf>> {
        let io = StoreError::io("save what was replaced at", &self.path);
        if self.file.links().map_err(&io)? > 0 {
            return Ok(None);
        }
        let temporary = beside(&self.path, SUFFIX_PUT_BACK);
        let end = self.file.size().map_err(&io)?.min(self.end);
        self.copy_to_new(&temporary, end).map_err(&io)?;
        let rescued = || {
            let name = link_to_free(&*self.disk, &temporary, &self.path, SUFFIX_RESCUED)?;
            self.disk.remove(&temporary)?;
            self.disk.sync_dir(&name)?;
            Ok(name)
        };
        let rescued = rescued().map_err(&io)?;
        let (path, saved) = (self.path.display(), rescued.display());
        tracing::warn!(%path, %saved, "replaced while in use; its content was saved");
        Ok(Some(rescued))
    }

    fn copy_to_new(&self, path: &Path, end: u64) -> io::Result<Arc<dyn DiskFile>> {
        self.disk.remove(path)?;
        let to = self.disk.open_or_create(path)?;
        let mut bytes = vec![0; COPIED];
        let mut at = 0;
        while at < end {
            let part = &mut bytes[..(end - at).min(COPIED as u64) as usize];
            self.file.read_exact_at(at, part)?;
            to.write_all_at(at, part)?;
            at += part.len() as u64;
        }
        to.sync()?;
        Ok(to)
    }
}
