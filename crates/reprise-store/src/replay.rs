//! Replays the log's entries in order, with their vectors.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;

use crate::codec::EncodedEntry;
use crate::commit::ReadCommit;
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
            seq: after,
            next: (from == 0).then_some(0),
            forgotten: HashSet::new(),
            report: ReplayReport::default(),
        };
        let mut scan = self.scan_from(from);
        while let Some(found) = scan.next_item()? {
            match found {
                ScanItem::Commit(commit, _) if commit.head.seq() > after => {
                    walk.visit_commit(&commit)?;
                }
                ScanItem::Commit(commit, _) => walk.next = Some(commit.head.end_ordinal()),
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
    /// The last commit that was passed on.
    seq: u64,
    /// The next ordinal; `None` before the first commit if the scan does not begin at the start.
    next: Option<u32>,
    /// Records that the entries so far forget.
    forgotten: HashSet<u32>,
    report: ReplayReport,
}

impl Replay<'_> {
    fn visit_commit(&mut self, commit: &ReadCommit) -> io::Result<()> {
        let (head, first) = (&commit.head, commit.head.first_ordinal);
        // Recovery has refused what lies beyond.
        let is_beyond = head.end_ordinal() > self.log.record_count();
        if is_beyond || !head.follows((self.seq, self.next.unwrap_or(0))) {
            return Ok(());
        }
        let Some(mut entries) = commit.decode_entries(self.log.facts.file_id) else {
            return Ok(());
        };
        self.visit_lost_until(first);
        (self.seq, self.next) = (head.seq(), Some(first));
        self.report.commits += 1;
        self.report.damaged_vectors += commit.read_vectors(&*self.log.file, &mut entries)?;
        for entry in &entries {
            self.visit_entry(entry);
        }
        Ok(())
    }

    fn visit_entry(&mut self, encoded: &EncodedEntry) {
        let takes = encoded.has_ordinal();
        let ordinal = self.next.filter(|_| takes);
        match encoded.to_store_entry(ordinal) {
            Some(entry) => {
                self.report.entries += 1;
                if let StoreEntry::Forgotten { ordinal, .. } = &entry {
                    self.forgotten.insert(*ordinal);
                }
                (self.visit)(ordinal, entry);
            }
            None => match ordinal {
                Some(ordinal) => (self.visit)(Some(ordinal), StoreEntry::Lost { ordinal }),
                None => self.report.unknown += u64::from(encoded.outline.is_none()),
            },
        }
        if takes {
            self.next = self.next.map(|next| next + 1);
        }
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
