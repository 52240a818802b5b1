//! Branches: a memory of its own that begins with what another one knew, their difference, and the
//! way back.
//!
//! A branch is a whole file with its own writer (M11): what happens to it never touches its parent,
//! and what happens to the parent never touches it.

use std::cmp::Ordering;
use std::path::Path;

use chrono::{DateTime, Utc};
use reprise_index::Doc;
use reprise_store::{CommitSeq, Entry};
use reprise_types::{
    Annotation, Embedding, ExternalId, MemoryRecord, NewRecord, RecordId, WriteOutcome, normal_tags,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::snapshot::Snapshot;
use crate::write::WriteBatch;

/// Entries of one commit of a branch in the making.
const FORK_ENTRIES: usize = 1024;

/// How two memories differ; ids ascend.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BranchDiff {
    /// Live in the branch, and the parent never had it.
    pub added: Vec<RecordId>,
    /// Live in the parent, and the branch never had it.
    pub missing: Vec<RecordId>,
    /// Live in the parent, forgotten or replaced in the branch.
    pub gone: Vec<RecordId>,
    /// Live in both, with other tags.
    pub retagged: Vec<RecordId>,
}

impl BranchDiff {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What the merge of a branch did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MergeReport {
    /// Records that are new.
    pub added: usize,
    /// Records that an earlier merge, or the source itself, had brought.
    pub known: usize,
    /// Records that have more tags now.
    pub retagged: usize,
    /// Records that were not taken.
    pub rejected: Vec<NotMerged>,
}

/// A record of a branch that was not taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotMerged {
    /// Its id in the branch.
    pub id: RecordId,
    /// What was wrong with it.
    pub why: String,
}

impl Engine {
    /// Writes what this memory knew at `as_of` (by default now) into `branch`, which must be empty;
    /// answers the number of records. What has been forgotten since is not in it. `stream` names
    /// this memory in the branch's cursors; its number there is the commit that was copied last.
    pub fn fork_into(
        &self,
        branch: &mut Self,
        stream: &str,
        as_of: Option<DateTime<Utc>>,
    ) -> Result<u32, EngineError> {
        if branch.log.records() > 0 {
            return Err(EngineError::BranchNotEmpty);
        }
        if branch.state.configured.is_none() {
            branch.state.configured.clone_from(&self.state.configured);
            branch.state.be_in(self.state.space.clone());
        }
        let mut copy = Copying {
            parent: &self.snapshot,
            branch,
            ordinals: Vec::new(),
            next: 0,
            waiting: Vec::new(),
            failed: None,
        };
        let mut over = false;
        self.log.replay(CommitSeq(0), &mut |ordinal, entry| {
            // What has no time of its own goes with what was written before it.
            if let (Some(as_of), Some(at)) = (as_of, said_at(&entry)) {
                over = at > as_of;
            }
            if !over {
                copy.take(ordinal, entry);
            }
        })?;
        copy.waiting.push(Entry::Cursor {
            stream: stream.to_owned(),
            seq: self.log.seq().0,
        });
        copy.flush();
        let failed = copy.failed.take();
        failed.map_or(Ok(()), Err)?;
        branch.state.read_others(&branch.log.reader());
        if let Some((last, _)) = branch.state.index.last() {
            branch.ids.go_on_from(last);
        }
        branch.publish();
        Ok(branch.log.records())
    }

    /// Makes the file at `path`, where there is none, a copy-on-write clone of this memory's.
    /// `false` where the file system cannot, or where something forgotten is still in the file,
    /// which no branch may get: then [`Self::fork_into`] copies.
    pub fn clone_to(&self, path: &Path) -> Result<bool, EngineError> {
        let held = |(_, doc): (u32, Doc)| doc.forgotten_at().is_some() && !doc.hole;
        if self.snapshot.docs().any(held) {
            return Ok(false);
        }
        Ok(self.log.clone_to(path)?)
    }

    /// Notes in a clone, opened for writing, which memory it is a branch of; answers the number of
    /// records. `stream` is that of [`Self::fork_into`].
    pub fn be_branch(&mut self, stream: &str) -> Result<u32, EngineError> {
        let (stream, seq) = (stream.to_owned(), self.log.seq().0);
        self.keep(&[Entry::Cursor { stream, seq }])?;
        let docs = self.snapshot.docs();
        Ok(docs.filter(|(_, doc)| !doc.hole).count() as u32)
    }

    /// Brings what only `branch` has into this memory, as newly learned now, and gives records of
    /// both the tags of both. What the branch has forgotten stays here: forgetting is asked for
    /// where it is meant. A second merge of the same branch changes nothing.
    pub fn merge(
        &mut self,
        branch: &Snapshot,
        now: DateTime<Utc>,
    ) -> Result<MergeReport, EngineError> {
        let diff = self.snapshot.diff(branch);
        self.merge_diff(branch, diff, now)
    }

    /// The same with their difference, as [`Snapshot::diff`] found it on any thread a moment ago.
    pub fn merge_diff(
        &mut self,
        branch: &Snapshot,
        diff: BranchDiff,
        now: DateTime<Utc>,
    ) -> Result<MergeReport, EngineError> {
        let mut merged = MergeReport::default();
        let (mut ids, mut brought) = (Vec::new(), Vec::new());
        for id in diff.added {
            if let Some(record) = branch.get(id).transpose()? {
                ids.push(id);
                brought.push(self.brought(branch, record));
            }
        }
        let mut retagged = Vec::new();
        for id in diff.retagged {
            if let (Some(own), Some(theirs)) = (self.snapshot.ordinal(id), branch.ordinal(id)) {
                let held = self.snapshot.tags_of(own);
                let mut tags = normal_tags(&[&held[..], &branch.tags_of(theirs)].concat());
                tags.sort_unstable();
                if tags != held {
                    retagged.push((own, Annotation::Tagged { tags }));
                }
            }
        }
        merged.retagged = retagged.len();
        let batch = WriteBatch {
            records: brought,
            ..WriteBatch::default()
        };
        let outcomes = self.write_and_say(batch, retagged, now)?.outcomes;
        for (id, outcome) in ids.into_iter().zip(outcomes) {
            match outcome {
                WriteOutcome::Inserted { .. } => merged.added += 1,
                WriteOutcome::Duplicate { .. } => merged.known += 1,
                WriteOutcome::Rejected { why } => {
                    let why = why.to_string();
                    merged.rejected.push(NotMerged { id, why });
                }
            }
        }
        Ok(merged)
    }

    /// A branch's record as one to be kept here, known by the id that it had there. It corrects
    /// what the first of its forerunners did that is known here.
    fn brought(&self, branch: &Snapshot, record: MemoryRecord) -> NewRecord {
        let older = |id: &RecordId| {
            let record = branch.reader.record(branch.index.find(*id)?);
            record.ok()?.supersedes
        };
        let mut forerunners = std::iter::successors(record.supersedes, older);
        let corrects = forerunners.find_map(|id| {
            let merged = || self.snapshot.current(self.duplicate_of(&merged_id(id))?);
            self.snapshot.current(id).or_else(merged)
        });
        let (id, merged) = (record.id, merged_id(record.id));
        let mut new = record.into_new();
        new.external_ids.push(merged);
        new.supersedes = corrects;
        // A vector of another model's is made anew.
        let space = branch
            .space()
            .filter(|space| self.snapshot.space().is_none_or(|own| own == *space));
        let vector = space.cloned().zip(branch.vector(id));
        new.embedding = vector.map(|(space, vector)| Embedding { space, vector });
        new
    }
}

impl Snapshot {
    /// How `branch` differs from this memory.
    pub fn diff(&self, branch: &Self) -> BranchDiff {
        let mut diff = BranchDiff::default();
        let (mut own, mut theirs) = (self.by_id().peekable(), branch.by_id().peekable());
        loop {
            let order = match (own.peek(), theirs.peek()) {
                (Some((_, here)), Some((_, there))) => here.id.cmp(&there.id),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return diff,
            };
            let here = own.next_if(|_| order.is_le());
            let there = theirs.next_if(|_| order.is_ge());
            match (here, there) {
                (Some((_, here)), Some((_, there))) if here.is_live() && !there.is_live() => {
                    diff.gone.push(here.id);
                }
                (Some((own, here)), Some((their, _)))
                    if here.is_live() && self.is_tagged_otherwise(own, branch, their) =>
                {
                    diff.retagged.push(here.id);
                }
                (Some((_, here)), None) if here.is_live() => diff.missing.push(here.id),
                (None, Some((_, there))) if there.is_live() => diff.added.push(there.id),
                _ => {}
            }
        }
    }

    /// Its records, ids ascending as they stand.
    fn by_id(&self) -> impl Iterator<Item = (u32, Doc)> {
        let mut last = None;
        // A hole may have the id of the record before it.
        let is_first = move |(_, doc): &(u32, Doc)| last.replace(doc.id) != Some(doc.id);
        self.docs().filter(is_first)
    }

    /// Whether a record of both has other tags there. It was kept with the same, and is read only
    /// where they were changed since.
    fn is_tagged_otherwise(&self, here: u32, branch: &Self, there: u32) -> bool {
        let is_edited =
            self.marks.edited(here, None).is_some() || branch.marks.edited(there, None).is_some();
        is_edited && self.tags_of(here) != branch.tags_of(there)
    }
}

fn merged_id(id: RecordId) -> ExternalId {
    ExternalId::new(ExternalId::MERGED, id.to_string())
}

/// When an entry was written, where it says. (What is forgotten is left out whenever it was.)
fn said_at(entry: &Entry) -> Option<DateTime<Utc>> {
    match entry {
        Entry::Record(record) => Some(record.known_at),
        Entry::Annotated { at, .. } => Some(*at),
        _ => None,
    }
}

/// A log on its way into another one. Records get new places, so every entry that names one is
/// told the new place, or left out with it.
struct Copying<'a> {
    parent: &'a Snapshot,
    branch: &'a mut Engine,
    /// By place in the parent: the place in the branch.
    ordinals: Vec<Option<u32>>,
    next: u32,
    waiting: Vec<Entry>,
    failed: Option<EngineError>,
}

impl Copying<'_> {
    fn take(&mut self, ordinal: Option<u32>, entry: Entry) {
        let place = match (ordinal, &entry) {
            (Some(ordinal), Entry::Record(_)) => {
                let doc = self.parent.index.doc(ordinal);
                let kept = doc.is_some_and(|doc| doc.forgotten_at().is_none() && !doc.hole);
                let place = kept.then_some(self.next);
                self.next += u32::from(kept);
                place
            }
            _ => None,
        };
        if let Some(ordinal) = ordinal {
            self.ordinals.resize(ordinal as usize, None);
            self.ordinals.push(place);
        }
        let moved = |ordinal: u32| self.ordinals.get(ordinal as usize).copied().flatten();
        let copied = match entry {
            Entry::Record(_) => place.map(|_| entry),
            Entry::Embedded {
                ordinal,
                space,
                vector,
            } => moved(ordinal).map(|ordinal| Entry::Embedded {
                ordinal,
                space,
                vector,
            }),
            Entry::Annotated {
                ordinal,
                at,
                annotation,
            } => moved(ordinal)
                .zip(readdressed(annotation, moved))
                .map(|(ordinal, annotation)| Entry::annotated(ordinal, at, annotation)),
            Entry::Cursor { .. } | Entry::Learning(_) => Some(entry),
            _ => None,
        };
        self.waiting.extend(copied);
        if self.waiting.len() >= FORK_ENTRIES {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let entries = std::mem::take(&mut self.waiting);
        if self.failed.is_none()
            && !entries.is_empty()
            && let Err(error) = self.branch.commit(&entries)
        {
            self.failed = Some(error);
        }
    }
}

fn readdressed(annotation: Annotation, moved: impl Fn(u32) -> Option<u32>) -> Option<Annotation> {
    Some(match annotation {
        Annotation::Linked { to, relation } => Annotation::Linked {
            to: moved(to)?,
            relation,
        },
        Annotation::Unlinked { to, relation } => Annotation::Unlinked {
            to: moved(to)?,
            relation,
        },
        other => other,
    })
}
