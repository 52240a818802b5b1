//! Streaming the log's entries in order, with their vectors.

use std::io;
use std::sync::Arc;

use crate::codec::{Outline, RawEntry, decode, outline, vector_check, vector_from_bytes};
use crate::commit::{CommitHead, FileFacts, ReadCommit};
use crate::compress::Decompressor;
use crate::disk::DiskFile;
use crate::entry::Entry;
use crate::options::ReplayReport;
use crate::scan::{Found, Scan};

/// Most commits that may stand between a checkpoint and the commit that its blobs cover; where
/// there are more the file is read from its start.
const BACK_MAX: usize = 8_192;

pub(crate) struct Range<'a> {
    pub(crate) file: &'a Arc<dyn DiskFile>,
    pub(crate) facts: FileFacts,
    /// Commits up to this one are skipped.
    pub(crate) after: u64,
    /// Commits that come first: those behind `after` that stand before `from`.
    pub(crate) first: Vec<u64>,
    /// Where to begin: 0, or the end of a checkpoint.
    pub(crate) from: u64,
    pub(crate) end: u64,
    /// Ordinals the log has given out.
    pub(crate) records: u32,
}

/// Where the commits after `after` stand, from the one at `newest` back, oldest first; `None` where
/// they are many or one of them is not whole.
pub(crate) fn since(range: &Range<'_>, newest: u64) -> io::Result<Option<Vec<u64>>> {
    let (mut at, mut commits) = (newest, Vec::new());
    while at > 0 && commits.len() < BACK_MAX {
        let Some(commit) = range.commit(at)? else {
            return Ok(None);
        };
        if commit.head.seq <= range.after {
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

impl Range<'_> {
    /// The commit segment that begins there, if it is whole.
    fn commit(&self, at: u64) -> io::Result<Option<Box<ReadCommit>>> {
        let file = Arc::clone(self.file);
        let mut scan = Scan::new(file, at, self.end, self.facts.file_id);
        Ok(match scan.next()? {
            Some(Found::Commit(commit, _)) => Some(commit),
            _ => None,
        })
    }
}

pub(crate) fn run(
    range: &Range<'_>,
    visit: &mut dyn FnMut(Option<u32>, Entry),
) -> io::Result<ReplayReport> {
    let mut walk = Walk {
        range,
        visit,
        next: (range.from == 0).then_some(0),
        report: ReplayReport::default(),
        tool: Decompressor::default(),
    };
    for at in &range.first {
        if let Some(commit) = range.commit(*at)? {
            walk.commit(&commit)?;
        }
    }
    let file_id = range.facts.file_id;
    let mut scan = Scan::new(Arc::clone(range.file), range.from, range.end, file_id);
    while let Some(found) = scan.next()? {
        match found {
            Found::Commit(commit, _) if commit.head.seq > range.after => walk.commit(&commit)?,
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
    walk.lose_until(range.records);
    Ok(walk.report)
}

struct Walk<'a> {
    range: &'a Range<'a>,
    visit: &'a mut dyn FnMut(Option<u32>, Entry),
    /// The next ordinal; `None` until the first commit, where the scan begins in the middle.
    next: Option<u32>,
    report: ReplayReport,
    tool: Decompressor,
}

impl Walk<'_> {
    fn commit(&mut self, commit: &ReadCommit) -> io::Result<()> {
        let first = commit.head.first_ordinal;
        if self.next.is_some_and(|next| first < next) {
            return Ok(());
        }
        let Some(entries) = commit.raw_entries(self.range.facts.file_id, &self.tool) else {
            return Ok(());
        };
        self.lose_until(first);
        self.next = Some(first);
        self.report.commits += 1;
        let vectors = self.vectors(commit)?;
        let stride = self.range.facts.stride() as usize;
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
            self.entry(raw, &outline, vector);
        }
        Ok(())
    }

    fn entry(&mut self, raw: &RawEntry, outline: &Outline, vector: Option<Vec<f32>>) {
        let takes = raw.takes_ordinal();
        let ordinal = self.next.filter(|_| takes);
        match decode(raw, ordinal, vector) {
            Some(entry) => {
                self.report.entries += 1;
                (self.visit)(ordinal, entry);
            }
            None => match ordinal {
                Some(ordinal) => (self.visit)(Some(ordinal), Entry::Lost { ordinal }),
                None => {
                    self.report.unknown +=
                        u64::from(matches!(outline, Outline::Learning | Outline::Unknown));
                }
            },
        }
        if takes {
            self.next = self.next.map(|next| next + 1);
        }
    }

    /// The vectors of a commit, id and numbers each, as they stand in its `VEC_SEG`.
    fn vectors(&self, commit: &ReadCommit) -> io::Result<Vec<u8>> {
        let facts = &self.range.facts;
        let start = facts.vector_offset(commit.vectors_offset(), 0) - 8;
        let mut bytes = vec![0; commit.offset.saturating_sub(start) as usize];
        if commit.head.vectors_size > 0 {
            self.range.file.read_exact_at(start, &mut bytes)?;
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
