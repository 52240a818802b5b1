//! Streaming the log's entries in order, with their vectors.

use std::io;
use std::sync::Arc;

use crate::codec::{Outline, RawEntry, decode, outline, vector_check, vector_from_bytes};
use crate::commit::{CommitHead, ReadCommit};
use crate::entry::{CommitSeq, Entry};
use crate::error::{Result, StoreError};
use crate::log::Log;
use crate::options::ReplayReport;
use crate::scan::{Found, Scan};

/// Most commits that may stand between a checkpoint and the commit that its blobs cover; where
/// there are more the file is read from its start.
const BACK_MAX: usize = 8_192;

impl Log {
    /// Passes every entry after commit `after` to `visit`, in log order, with its ordinal (records,
    /// stubs of records forgotten and compacted away, lost records) or `None`. Records come with
    /// their vectors. `CommitSeq(0)` means everything.
    pub fn replay(
        &self,
        after: CommitSeq,
        visit: &mut dyn FnMut(Option<u32>, Entry),
    ) -> Result<ReplayReport> {
        let (after, horizon) = (after.0, self.directory.horizon);
        if after != 0 && after < horizon {
            return Err(StoreError::Compacted { after, horizon });
        }
        let walked = self.walk(after, visit);
        walked.map_err(StoreError::io("read", &self.path))
    }

    fn walk(
        &self,
        after: u64,
        visit: &mut dyn FnMut(Option<u32>, Entry),
    ) -> io::Result<ReplayReport> {
        let sealed = self.checkpoint.filter(|_| after > 0);
        let first = match sealed {
            Some(sealed) if sealed.seq > after => self.since(after, sealed.last_commit)?,
            sealed => sealed.map(|_| Vec::new()),
        };
        // The checkpoint's own bytes are passed over.
        let first = first.zip(sealed).map(|(first, sealed)| (first, sealed.end));
        let (first, from) = first.unwrap_or_default();
        let mut walk = Walk {
            log: self,
            visit,
            next: (from == 0).then_some(0),
            report: ReplayReport::default(),
        };
        for at in first {
            if let Some(commit) = self.commit_at(at)? {
                walk.commit(&commit)?;
            }
        }
        let mut scan = self.scan(from);
        while let Some(found) = scan.next()? {
            match found {
                Found::Commit(commit, _) if commit.head.seq > after => walk.commit(&commit)?,
                Found::Commit(commit, _) => {
                    let CommitHead {
                        first_ordinal,
                        ordinals,
                        ..
                    } = commit.head;
                    walk.next = Some(first_ordinal.saturating_add(ordinals));
                }
                Found::Damage(damage) => walk.report.damage.push(damage),
                Found::Seal { .. } | Found::Own { .. } | Found::Foreign { .. } => {}
            }
        }
        walk.lose_until(self.records());
        Ok(walk.report)
    }

    /// Where the commits after `after` stand, from the one at `newest` back, oldest first; `None`
    /// where they are many or one of them is not whole.
    fn since(&self, after: u64, newest: u64) -> io::Result<Option<Vec<u64>>> {
        let (mut at, mut commits) = (newest, Vec::new());
        while at > 0 && commits.len() < BACK_MAX {
            let Some(commit) = self.commit_at(at)? else {
                return Ok(None);
            };
            if commit.head.seq <= after {
                commits.reverse();
                return Ok(Some(commits));
            }
            if commit.head.previous >= at {
                return Ok(None);
            }
            commits.push(at);
            at = commit.head.previous;
        }
        Ok(None)
    }

    /// The commit segment that begins there, if it is whole.
    fn commit_at(&self, at: u64) -> io::Result<Option<Box<ReadCommit>>> {
        Ok(match self.scan(at).next()? {
            Some(Found::Commit(commit, _)) => Some(commit),
            _ => None,
        })
    }

    fn scan(&self, from: u64) -> Scan {
        Scan::new(Arc::clone(&self.file), from, self.end, self.facts.file_id)
    }
}

struct Walk<'a> {
    log: &'a Log,
    visit: &'a mut dyn FnMut(Option<u32>, Entry),
    /// The next ordinal; `None` until the first commit, where the scan begins in the middle.
    next: Option<u32>,
    report: ReplayReport,
}

impl Walk<'_> {
    fn commit(&mut self, commit: &ReadCommit) -> io::Result<()> {
        let first = commit.head.first_ordinal;
        if self.next.is_some_and(|next| first < next) {
            return Ok(());
        }
        let Some(entries) = commit.raw_entries(self.log.facts.file_id) else {
            return Ok(());
        };
        self.lose_until(first);
        self.next = Some(first);
        self.report.commits += 1;
        let vectors = self.vectors(commit)?;
        let stride = self.log.facts.stride() as usize;
        let mut turn = 0;
        for raw in &entries {
            let Some(outline) = outline(raw) else {
                continue;
            };
            let mut vector = None;
            if let Some(mark) = outline.mark() {
                let bytes = vectors.get(turn * stride + 8..(turn + 1) * stride);
                let whole = bytes.filter(|bytes| vector_check(bytes) == mark.check);
                vector = whole.map(vector_from_bytes);
                self.report.damaged_vectors += u64::from(vector.is_none());
                turn += 1;
            }
            self.entry(raw, outline, vector);
        }
        Ok(())
    }

    fn entry(&mut self, raw: &RawEntry, outline: Outline, vector: Option<Vec<f32>>) {
        let takes = raw.takes_ordinal();
        let ordinal = self.next.filter(|_| takes);
        let is_open = matches!(outline, Outline::Learning | Outline::Unknown);
        match decode(raw, outline, ordinal, vector) {
            Some(entry) => {
                self.report.entries += 1;
                (self.visit)(ordinal, entry);
            }
            None => match ordinal {
                Some(ordinal) => (self.visit)(Some(ordinal), Entry::Lost { ordinal }),
                None => self.report.unknown += u64::from(is_open),
            },
        }
        if takes {
            self.next = self.next.map(|next| next + 1);
        }
    }

    /// The vectors of a commit, id and numbers each, as they stand in its `VEC_SEG`.
    fn vectors(&self, commit: &ReadCommit) -> io::Result<Vec<u8>> {
        let facts = &self.log.facts;
        let start = facts.vector_offset(commit.vectors_offset(), 0) - 8;
        let mut bytes = vec![0; commit.offset.saturating_sub(start) as usize];
        if commit.head.vectors_size > 0 {
            self.log.file.read_exact_at(start, &mut bytes)?;
        }
        Ok(bytes)
    }

    fn lose_until(&mut self, until: u32) {
        if let Some(next) = self.next {
            for ordinal in next..until {
                (self.visit)(Some(ordinal), Entry::Lost { ordinal });
            }
            self.next = Some(next.max(until));
        }
    }
}
