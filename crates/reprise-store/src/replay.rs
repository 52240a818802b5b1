//! Replays the log's entries in order, with their vectors.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use crate::block::RawEntry;
use crate::codec::{Outline, decode_entry, decode_outline, decode_vector, vector_checksum};
use crate::commit::{CommitHead, ReadCommit};
use crate::directory::slot::SlotState;
use crate::entry::{CommitSeq, StoreEntry};
use crate::error::{StoreError, StoreResult};
use crate::log::Log;
use crate::options::ReplayReport;
use crate::scan::{ScanItem, SegmentScanner};

impl Log {
    /// Passes every entry after commit `after` to `visit`, in log order. Records, stubs of
    /// forgotten records and lost records come with their ordinal, other entries with `None`.
    /// Records have their vectors. `CommitSeq(0)` means everything.
    pub fn replay(
        &self,
        after: CommitSeq,
        visit: &mut dyn FnMut(Option<u32>, StoreEntry),
    ) -> StoreResult<ReplayReport> {
        let (after, horizon) = (after.0, self.directory.horizon);
        if after != 0 && after < horizon {
            return Err(StoreError::Compacted { after, horizon });
        }
        let walked = self.replay_after(after, visit);
        walked.map_err(StoreError::io("read", &self.path))
    }

    fn replay_after(
        &self,
        after: u64,
        visit: &mut dyn FnMut(Option<u32>, StoreEntry),
    ) -> io::Result<ReplayReport> {
        // The sections that a manifest names cover its commit.
        let newest = self.checkpoint.manifest.as_ref();
        let newest = newest.filter(|manifest| manifest.seq == after);
        let from = newest.map_or(0, |manifest| manifest.end);
        let mut walk = Replay {
            log: self,
            visit,
            next: (from == 0).then_some(0),
            forgotten: HashSet::new(),
            report: ReplayReport::default(),
        };
        let mut scan = self.scan_from(from);
        while let Some(found) = scan.next_item()? {
            match found {
                ScanItem::Commit(commit, _) if commit.head.seq > after => {
                    walk.visit_commit(&commit)?;
                }
                ScanItem::Commit(commit, _) => {
                    let CommitHead {
                        first_ordinal,
                        ordinals,
                        ..
                    } = commit.head;
                    walk.next = Some(first_ordinal.saturating_add(ordinals));
                }
                ScanItem::Damage(damage) => walk.report.damage.push(damage),
                ScanItem::Manifest { .. } | ScanItem::Own { .. } | ScanItem::Foreign { .. } => {}
            }
        }
        walk.visit_lost_until(self.record_count());
        if from == 0 && after == 0 {
            walk.visit_forgotten_by_missing_commits();
        }
        Ok(walk.report)
    }

    fn scan_from(&self, from: u64) -> SegmentScanner {
        SegmentScanner::new(Arc::clone(&self.file), from, self.end, self.facts.file_id)
    }
}

struct Replay<'a> {
    log: &'a Log,
    visit: &'a mut dyn FnMut(Option<u32>, StoreEntry),
    /// The next ordinal; `None` before the first commit if the scan does not begin at the start.
    next: Option<u32>,
    /// Records that the entries so far forget.
    forgotten: HashSet<u32>,
    report: ReplayReport,
}

impl Replay<'_> {
    fn visit_commit(&mut self, commit: &ReadCommit) -> io::Result<()> {
        let first = commit.head.first_ordinal;
        // Recovery has refused what lies beyond.
        let is_beyond = commit.head.end_ordinal() > self.log.record_count();
        if is_beyond || self.next.is_some_and(|next| first < next) {
            return Ok(());
        }
        let Some(entries) = commit.decode_raw_entries(self.log.facts.file_id) else {
            return Ok(());
        };
        self.visit_lost_until(first);
        self.next = Some(first);
        self.report.commits += 1;
        let vectors = self.read_vectors(commit)?;
        let stride = self.log.facts.vector_stride() as usize;
        let mut vector_index = 0;
        for raw in &entries {
            let Some(outline) = decode_outline(raw) else {
                continue;
            };
            let mut vector = None;
            if let Some(mark) = outline.vector_mark() {
                let bytes = vectors.get(vector_index * stride + 8..(vector_index + 1) * stride);
                let whole = bytes.filter(|bytes| vector_checksum(bytes) == mark.checksum);
                vector = whole.map(decode_vector);
                self.report.damaged_vectors += u64::from(vector.is_none());
                vector_index += 1;
            }
            self.visit_entry(raw, outline, vector);
        }
        Ok(())
    }

    fn visit_entry(&mut self, raw: &RawEntry, outline: Outline, vector: Option<Vec<f32>>) {
        let takes = raw.has_ordinal();
        let ordinal = self.next.filter(|_| takes);
        let is_open = matches!(outline, Outline::Learning | Outline::Unknown);
        match decode_entry(raw, outline, ordinal, vector) {
            Some(entry) => {
                self.report.entries += 1;
                if let StoreEntry::Forgotten { ordinal, .. } = &entry {
                    self.forgotten.insert(*ordinal);
                }
                (self.visit)(ordinal, entry);
            }
            None => match ordinal {
                Some(ordinal) => (self.visit)(Some(ordinal), StoreEntry::Lost { ordinal }),
                None => self.report.unknown += u64::from(is_open),
            },
        }
        if takes {
            self.next = self.next.map(|next| next + 1);
        }
    }

    /// Reads the vectors of a commit, each with id and numbers, as its `VEC_SEG` stores them.
    fn read_vectors(&self, commit: &ReadCommit) -> io::Result<Vec<u8>> {
        let facts = &self.log.facts;
        let start = facts.vector_offset(commit.vectors_offset(), 0) - 8;
        let mut bytes = vec![0; commit.offset.saturating_sub(start) as usize];
        if commit.head.vectors_size > 0 {
            self.log.file.read_exact_at(start, &mut bytes)?;
        }
        Ok(bytes)
    }

    /// Passes on what a manifest alone knows: the records that missing commits forgot.
    fn visit_forgotten_by_missing_commits(&mut self) {
        let directory = &self.log.directory;
        if self.forgotten.len() >= directory.forgotten as usize {
            return;
        }
        for (ordinal, slot) in (0..).zip(directory.slots.iter()) {
            if slot.state == SlotState::Forgotten
                && !self.forgotten.contains(&ordinal)
                && let Some(tombstone) = directory.tombstones.get(slot.place as usize)
            {
                let tombstone = tombstone.clone();
                (self.visit)(None, StoreEntry::Forgotten { ordinal, tombstone });
            }
        }
    }

    fn visit_lost_until(&mut self, until: u32) {
        if let Some(next) = self.next {
            for ordinal in next..until {
                (self.visit)(Some(ordinal), StoreEntry::Lost { ordinal });
            }
            self.next = Some(next.max(until));
        }
    }
}
