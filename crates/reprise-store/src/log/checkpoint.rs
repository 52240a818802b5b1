//! Checkpoints: begun by the first pages after a manifest, advanced by more of them between
//! commits, and completed by the next manifest, which makes all of them count.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use reprise_types::{SavedSections, SectionKey, SectionPages};

use super::Log;
use crate::directory::LogDirectory;
use crate::disk::{DiskFile, PastUnreadable};
use crate::entry::CommitSeq;
use crate::error::{StoreError, StoreResult};
use crate::frame::TYPE_PAGES;
use crate::manifest::{self, Manifest, is_of_caller};
use crate::options::Verify;
use crate::recover::recover_log;
use crate::sections::Sections;

/// The newest checkpoint of a log, and what is begun of the next one.
#[derive(Debug, Default)]
pub(crate) struct Checkpoint {
    /// The newest manifest, if there is one. What it names counts.
    pub(crate) manifest: Option<Manifest>,
    /// The places of all pages, those that no manifest names yet included.
    pub(crate) sections: Sections,
    /// Bytes at the end of the file of pages that no manifest names yet. Readers and compactions
    /// ignore them.
    pub(crate) begun_bytes: u64,
    /// Set when a page is found damaged.
    pub(crate) damage: Arc<AtomicBool>,
    /// Whether the places of all records were checked.
    pub(crate) has_verified_places: bool,
}

impl Checkpoint {
    /// Starts from the newest manifest.
    pub(crate) fn new(manifest: Option<Manifest>, damage: Arc<AtomicBool>) -> Self {
        Self {
            sections: named_sections(manifest.as_ref()),
            manifest,
            damage,
            ..Self::default()
        }
    }

    /// Forgets what was begun, and returns its bytes at the end of the file.
    fn give_up(&mut self) -> u64 {
        self.sections = named_sections(self.manifest.as_ref());
        std::mem::take(&mut self.begun_bytes)
    }

    fn complete(&mut self, manifest: Manifest) {
        self.sections = manifest.sections.clone();
        self.manifest = Some(manifest);
        self.begun_bytes = 0;
    }
}

fn named_sections(manifest: Option<&Manifest>) -> Sections {
    manifest.map_or_else(Sections::default, |manifest| manifest.sections.clone())
}

impl Log {
    /// Writes and syncs pages, as far as they differ from the saved ones, and about so many bytes
    /// of the log's own. They count once [`Self::complete_checkpoint`] has named them. After an
    /// error nothing counts that was not named.
    pub fn write_pages(&mut self, pages: &[SectionPages], own_bytes: usize) -> StoreResult<()> {
        self.verify_places()?;
        self.make_ready()?;
        self.check_path()?;
        let own = manifest::take_own_pages(&mut self.directory, &mut own_bytes.clone());
        let written = self.try_write_pages(&[pages, &own].concat());
        written.map_err(|source| self.give_up_checkpoint(source))
    }

    /// Returns the bytes of the log's own pages that changed since they were written.
    pub fn own_unsaved_bytes(&mut self) -> usize {
        let parts = manifest::own_parts(&mut self.directory);
        parts.iter().map(|part| part.unsaved_bytes()).sum()
    }

    /// Writes pages as [`Self::write_pages`] does, all that changed of the log's own, and the
    /// manifest that makes all sections count: they cover the last commit. The next open then
    /// starts from here.
    pub fn complete_checkpoint(&mut self, pages: &[SectionPages]) -> StoreResult<()> {
        self.verify_places()?;
        self.make_ready()?;
        self.check_path()?;
        let completed = self.try_complete(pages);
        completed.map_err(|source| self.give_up_checkpoint(source))
    }

    fn try_write_pages(&mut self, pages: &[SectionPages]) -> io::Result<()> {
        let mut sections = self.checkpoint.sections.clone();
        let trailer = self.facts.preamble(TYPE_PAGES, 0, self.directory.seq);
        let end = sections.write(&*self.file, trailer, self.end, pages)?;
        if end > self.end {
            self.file.sync()?;
        }
        self.directory.add_section_bytes(end - self.end);
        self.checkpoint.begun_bytes += end - self.end;
        self.end = end;
        self.checkpoint.sections = sections;
        Ok(())
    }

    fn try_complete(&mut self, pages: &[SectionPages]) -> io::Result<()> {
        self.try_write_pages(pages)?;
        let manifest = manifest::write_manifest(
            &*self.file,
            &self.facts,
            &mut self.directory,
            &self.checkpoint.sections,
            self.end,
        )?;
        self.end = manifest.end;
        self.checkpoint.complete(manifest);
        Ok(())
    }

    /// Forgets the pages since the newest manifest, and cuts off those at the end of the file,
    /// because commits need their space on a full disk.
    fn give_up_checkpoint(&mut self, source: io::Error) -> StoreError {
        let begun_bytes = self.checkpoint.give_up();
        self.end -= begun_bytes;
        self.directory.mark_unsaved();
        let section_bytes = &mut self.directory.section_bytes;
        *section_bytes = section_bytes.saturating_sub(begun_bytes);
        self.record_failed_write("write a checkpoint to", source)
    }

    /// Drops a section; the next manifest does not name it.
    pub fn drop_section(&mut self, key: SectionKey) {
        self.checkpoint.sections.remove(key);
    }

    /// Returns the keys of the caller's sections.
    pub fn section_keys(&self) -> impl Iterator<Item = SectionKey> {
        let keys = self.checkpoint.sections.keys();
        keys.filter(|key| is_of_caller(*key))
    }

    /// Opens the caller's sections that the newest manifest names, and returns the commit that they
    /// cover; `None` without a manifest.
    pub fn open_sections(&self) -> Option<(CommitSeq, SavedSections)> {
        let manifest = self.checkpoint.manifest.as_ref()?;
        let (sections, damage) = (&manifest.sections, &self.checkpoint.damage);
        let open = |key| Some((key, sections.open(key, &self.file, damage)?));
        let keys = sections.keys().filter(|key| is_of_caller(*key));
        Some((CommitSeq(manifest.seq), keys.filter_map(open).collect()))
    }

    /// Whether no page was found damaged, and the saved places of records are whole. A place that
    /// could not be read, if only once, is lost in memory.
    pub(crate) fn are_places_sound(&self) -> bool {
        let Checkpoint {
            manifest,
            damage,
            has_verified_places,
            ..
        } = &self.checkpoint;
        !damage.load(Ordering::Relaxed)
            && (*has_verified_places
                || manifest.as_ref().is_none_or(|manifest| {
                    manifest::are_places_sound(&manifest.sections, &self.file, damage)
                }))
    }

    /// Reads the directory from the commits, past what cannot be read, and returns whether it tells
    /// of everything that this one does.
    pub(crate) fn refold(&self) -> StoreResult<(LogDirectory, bool)> {
        let file = PastUnreadable::new(&self.file);
        let shown: Arc<dyn DiskFile> = file.clone();
        let all = recover_log(&shown, &self.path, self.end, Verify::Everything)?;
        let (path, report) = (self.path.display(), &all.report);
        tracing::warn!(%path, ?report, "places of records are damaged; they were found again");
        let (found, own) = (&all.directory, &self.directory);
        let is_complete = !file.has_unreadable()
            || report.missing_commits.is_empty()
                && report.missing_records.is_empty()
                && (found.seq, found.record_count()) == (own.seq, own.record_count())
                && found.vectors.len() >= own.vectors.len();
        Ok((all.directory, is_complete))
    }

    /// Checks the places of all records once, and again after a page was found damaged; where they
    /// are damaged, finds them again in the commits.
    pub fn verify_places(&mut self) -> StoreResult<()> {
        if !self.are_places_sound() {
            let (directory, is_complete) = self.refold()?;
            if !is_complete {
                let why = "the disk cannot read a part of it; salvage what it can read";
                return Err(StoreError::io("read", &self.path)(io::Error::other(why)));
            }
            self.directory = directory;
            self.checkpoint.damage = Arc::default();
        }
        self.checkpoint.has_verified_places = true;
        Ok(())
    }

    /// Writes the closing index, unless the last commit already has one. The file then opens in
    /// rvf-runtime; the speed of an open here depends on the commits after the newest manifest.
    pub fn write_closing_index(&mut self) -> StoreResult<()> {
        if self.directory.closing_seq == Some(self.directory.seq) {
            return Ok(());
        }
        // It lists the vectors of forgotten records by their places.
        self.verify_places()?;
        self.make_ready()?;
        self.check_path()?;
        let bytes = manifest::encode_closing_segment(&self.facts, &self.directory, self.end);
        let written = self.file.write_all_at(self.end, &bytes);
        let written = written.and_then(|()| self.file.sync());
        written.map_err(|source| self.record_failed_write("write the closing index of", source))?;
        self.end += bytes.len() as u64;
        self.checkpoint.begun_bytes = 0;
        self.directory.apply_closing_index(bytes.len() as u64);
        Ok(())
    }
}
