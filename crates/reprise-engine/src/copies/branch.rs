//! Branches: copies of a memory that begin with what it knew, the difference between the two, and
//! their merge.
//!
//! A branch is a whole file with its own writer: changes to it never touch its parent, and changes
//! to the parent never touch it.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::path::Path;

use chrono::{DateTime, Utc};
use reprise_index::Doc;
use reprise_store::{CommitSeq, StoreEntry, Tombstone};
use reprise_types::{
    Annotation, Embedding, ExternalId, MemoryRecord, NewRecord, RecordId, WriteOutcome,
    normalize_tags,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::snapshot::Snapshot;
use crate::write::WriteBatch;
use crate::write::prepare::forgotten_entries;

/// Entries of one commit while a branch is copied.
const FORK_ENTRIES: usize = 1024;

/// The difference between two memories; ids ascend.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BranchDiff {
    /// Records that are live in the branch and never were in the parent.
    pub added: Vec<RecordId>,
    /// Records that are live in the parent and never were in the branch.
    pub missing: Vec<RecordId>,
    /// Records that are live in the parent, and forgotten or replaced in the branch.
    pub removed: Vec<RecordId>,
    /// Records that are live in both, with different tags.
    pub retagged: Vec<RecordId>,
}

impl BranchDiff {
    /// Whether the two memories do not differ.
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
    /// Records that were rejected.
    pub rejected: Vec<NotMerged>,
}

/// A record of a branch that was rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotMerged {
    /// Its id in the branch.
    pub id: RecordId,
    /// Why it was rejected.
    pub why: String,
}

impl Engine {
    /// Writes what this memory knew at `as_of` (by default now) into `branch`, which must be empty;
    /// returns the number of records. Of what has been forgotten since only that is left, so that
    /// no replay of its source restores it. `stream` names this memory in the branch's cursors; its
    /// number there is the last commit that was copied.
    pub fn fork_into(
        &self,
        branch: &mut Self,
        stream: &str,
        as_of: Option<DateTime<Utc>>,
    ) -> Result<u32, EngineError> {
        if branch.log.record_count() > 0 {
            return Err(EngineError::BranchNotEmpty);
        }
        if branch.state.configured_space.is_none() {
            branch
                .state
                .configured_space
                .clone_from(&self.state.configured_space);
            branch.state.set_space(self.state.space.clone());
        }
        let mut copy = BranchCopier {
            parent: &self.snapshot,
            branch,
            tombstones: self.collect_tombstones()?,
            ordinals: Vec::new(),
            next: 0,
            pending: Vec::new(),
            error: None,
        };
        let mut over = false;
        self.log.replay(CommitSeq(0), &mut |ordinal, entry| {
            // An entry without a time goes with the entry before it.
            if let (Some(as_of), Some(at)) = (as_of, time_of_entry(&entry)) {
                over = at > as_of;
            }
            if !over {
                copy.copy_entry(ordinal, entry);
            }
        })?;
        copy.pending.push(StoreEntry::Cursor {
            stream: stream.to_owned(),
            seq: self.log.seq().0,
        });
        copy.flush();
        let failed = copy.error.take();
        failed.map_or(Ok(()), Err)?;
        branch.state.load_other_spaces(&branch.log.reader());
        if let Some((last, _)) = branch.state.index.last() {
            branch.ids.advance_past(last);
        }
        branch.publish();
        Ok(branch.snapshot.stored_count())
    }

    /// Creates a file at `path`, which must not exist, as a copy-on-write clone of this memory's
    /// file. Returns `false` if the file system cannot, if something forgotten may still be in the
    /// file, which no branch may get, or if another process wrote to it: then use
    /// [`Self::fork_into`].
    pub fn clone_file_to(&self, path: &Path) -> Result<bool, EngineError> {
        Ok(self.log.clone_to(path)?)
    }

    /// Notes in a clone that is open for writing which memory it is a branch of; returns the number
    /// of records. `stream` is that of [`Self::fork_into`].
    pub fn mark_as_branch(&mut self, stream: &str) -> Result<u32, EngineError> {
        let (stream, seq) = (stream.to_owned(), self.log.seq().0);
        self.append_and_publish(&[StoreEntry::Cursor { stream, seq }])?;
        Ok(self.snapshot.stored_count())
    }

    /// Copies the records that only `branch` has into this memory, as known from now on, and gives
    /// records of both the tags of both. What the branch has forgotten stays here: it must be
    /// forgotten here as well. A second merge of the same branch changes nothing.
    pub fn merge_branch(
        &mut self,
        branch: &Snapshot,
        now: DateTime<Utc>,
    ) -> Result<MergeReport, EngineError> {
        let diff = self.snapshot.diff(branch);
        self.merge_diff(branch, diff, now)
    }

    /// Like [`Self::merge_branch`], with the difference that [`Snapshot::diff`] found on another
    /// thread before.
    pub fn merge_diff(
        &mut self,
        branch: &Snapshot,
        diff: BranchDiff,
        now: DateTime<Utc>,
    ) -> Result<MergeReport, EngineError> {
        let mut merged = MergeReport::default();
        let (mut ids, mut new_records) = (Vec::new(), Vec::new());
        for id in diff.added {
            if let Some(record) = branch.get(id).transpose()? {
                ids.push(id);
                new_records.push(self.prepare_merged_record(branch, record));
            }
        }
        let mut retagged = Vec::new();
        for id in diff.retagged {
            if let (Some(own), Some(theirs)) =
                (self.snapshot.live_ordinal(id), branch.live_ordinal(id))
            {
                let own_tags = self.snapshot.tags_of(own);
                let mut tags = normalize_tags(&[&own_tags[..], &branch.tags_of(theirs)].concat());
                tags.sort_unstable();
                if tags != own_tags {
                    retagged.push((own, Annotation::Tagged { tags }));
                }
            }
        }
        merged.retagged = retagged.len();
        let batch = WriteBatch {
            records: new_records,
            ..WriteBatch::default()
        };
        let outcomes = self.write_with_annotations(batch, retagged, now)?.outcomes;
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

    /// Prepares a branch's record for this memory, where the id that it had in the branch is an
    /// external id. It corrects the nearest of its earlier versions that is known here.
    fn prepare_merged_record(&self, branch: &Snapshot, record: MemoryRecord) -> NewRecord {
        let older = |id: &RecordId| {
            let record = branch.reader.read_record(branch.index.find(*id)?);
            record.ok()?.supersedes
        };
        let mut forerunners = std::iter::successors(record.supersedes, older);
        let corrects = forerunners.find_map(|id| {
            let merged = || {
                self.snapshot
                    .current_version(self.snapshot.find_by_external_id(&merged_external_id(id))?)
            };
            self.snapshot.current_version(id).or_else(merged)
        });
        let (id, merged) = (record.id, merged_external_id(record.id));
        let mut new = record.into_new_record();
        new.external_ids.push(merged);
        new.supersedes = corrects;
        // A vector of another model is made anew.
        let space = branch
            .space()
            .filter(|space| self.snapshot.space().is_none_or(|own| own == *space));
        let vector = space.cloned().zip(branch.vector(id));
        new.embedding = vector.map(|(space, vector)| Embedding { space, vector });
        new
    }
}

impl Snapshot {
    /// Returns how `branch` differs from this memory.
    pub fn diff(&self, branch: &Self) -> BranchDiff {
        let mut diff = BranchDiff::default();
        let (mut own, mut theirs) = (self.docs_by_id().peekable(), branch.docs_by_id().peekable());
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
                    diff.removed.push(here.id);
                }
                (Some((own, here)), Some((their, _)))
                    if here.is_live() && self.has_other_tags(own, branch, their) =>
                {
                    diff.retagged.push(here.id);
                }
                (Some((_, here)), None) if here.is_live() => diff.missing.push(here.id),
                (None, Some((_, there))) if there.is_live() => diff.added.push(there.id),
                _ => {}
            }
        }
    }

    /// Lists the memories of which `copy` has no live version, and those of which it has another
    /// version than this memory. Receipts are no memories.
    pub fn list_absent_from(&self, copy: &Self) -> (Vec<RecordId>, Vec<RecordId>) {
        let diff = self.diff(copy);
        let (mut absent, mut other_version) = (Vec::new(), Vec::new());
        for id in diff.missing.into_iter().chain(diff.removed) {
            let record = self.get(id).and_then(Result::ok);
            if record.is_some_and(|record| record.is_receipt()) {
                continue;
            }
            let mut versions = self.version_ids(id).into_iter();
            if versions.any(|version| copy.current_version(version).is_some()) {
                other_version.push(id);
            } else {
                absent.push(id);
            }
        }
        (absent, other_version)
    }

    /// Counts the records that are not forgotten.
    fn stored_count(&self) -> u32 {
        let stored = self.docs().filter(|(_, doc)| doc.forgotten_at().is_none());
        stored.count() as u32
    }

    /// Iterates over the records, whose ids ascend.
    fn docs_by_id(&self) -> impl Iterator<Item = (u32, Doc)> {
        let mut last = None;
        // A hole may have the id of the record before it.
        let is_first = move |(_, doc): &(u32, Doc)| last.replace(doc.id) != Some(doc.id);
        self.docs().filter(is_first)
    }

    /// Whether a record of both has other tags in the branch. Both stored it with the same tags, so
    /// it is read only if they were changed since.
    fn has_other_tags(&self, here: u32, branch: &Self, there: u32) -> bool {
        let is_edited = self.marks.edited_tags(here, None).is_some()
            || branch.marks.edited_tags(there, None).is_some();
        is_edited && self.tags_of(here) != branch.tags_of(there)
    }
}

fn merged_external_id(id: RecordId) -> ExternalId {
    ExternalId::new(ExternalId::MERGED, id.to_string())
}

/// Returns when an entry was written, if it says. (Forgotten records are left out in any case.)
fn time_of_entry(entry: &StoreEntry) -> Option<DateTime<Utc>> {
    match entry {
        StoreEntry::Record(record) => Some(record.known_at),
        StoreEntry::Annotated { at, .. } | StoreEntry::Superseded { at, .. } => Some(*at),
        _ => None,
    }
}

/// Copies a log into a branch. Records get new ordinals, so every entry that names a record gets
/// the new ordinal or is left out with it.
struct BranchCopier<'a> {
    parent: &'a Snapshot,
    branch: &'a mut Engine,
    /// What is left of the parent's forgotten records, by their ordinals there.
    tombstones: HashMap<u32, Tombstone>,
    /// The ordinal in the branch of each ordinal of the parent, unless it is forgotten.
    ordinals: Vec<Option<u32>>,
    next: u32,
    pending: Vec<StoreEntry>,
    error: Option<EngineError>,
}

impl BranchCopier<'_> {
    fn copy_entry(&mut self, ordinal: Option<u32>, entry: StoreEntry) {
        let place = match (ordinal, &entry) {
            (Some(ordinal), StoreEntry::Record(_)) if self.parent.is_stored(ordinal) => {
                self.next += 1;
                Some(self.next - 1)
            }
            _ => None,
        };
        if let Some(ordinal) = ordinal {
            self.ordinals.resize(ordinal as usize, None);
            self.ordinals.push(place);
            if let Some(tombstone) = self.tombstones.remove(&ordinal) {
                self.pending.extend(forgotten_entries(self.next, tombstone));
                self.next += 1;
            }
        }
        let new_ordinal = |ordinal: u32| self.ordinals.get(ordinal as usize).copied().flatten();
        let copied = match entry {
            StoreEntry::Record(_) if place.is_some() => Some(entry),
            // What a forgotten correction had replaced stays replaced.
            StoreEntry::Record(gone) => gone.supersedes.map(|id| StoreEntry::Superseded {
                id,
                at: gone.known_at,
            }),
            StoreEntry::Embedded {
                ordinal,
                space,
                vector,
            } => new_ordinal(ordinal).map(|ordinal| StoreEntry::Embedded {
                ordinal,
                space,
                vector,
            }),
            StoreEntry::Annotated {
                ordinal,
                at,
                annotation,
            } => new_ordinal(ordinal)
                .zip(renumber_annotation(annotation, new_ordinal))
                .map(|(ordinal, annotation)| StoreEntry::from_annotation(ordinal, at, annotation)),
            StoreEntry::Superseded { .. } | StoreEntry::Cursor { .. } | StoreEntry::Learning(_) => {
                Some(entry)
            }
            _ => None,
        };
        let is_about_absent = |entry: &StoreEntry| match entry {
            StoreEntry::Superseded { id, .. } => !self.parent.is_stored_id(*id),
            _ => false,
        };
        self.pending
            .extend(copied.filter(|entry| !is_about_absent(entry)));
        if self.pending.len() >= FORK_ENTRIES {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let entries = std::mem::take(&mut self.pending);
        if self.error.is_none()
            && !entries.is_empty()
            && let Err(error) = self.branch.append_and_apply(&entries)
        {
            self.error = Some(error);
        }
    }
}

fn renumber_annotation(
    annotation: Annotation,
    new_ordinal: impl Fn(u32) -> Option<u32>,
) -> Option<Annotation> {
    Some(match annotation {
        Annotation::Linked { to, relation } => Annotation::Linked {
            to: new_ordinal(to)?,
            relation,
        },
        Annotation::Unlinked { to, relation } => Annotation::Unlinked {
            to: new_ordinal(to)?,
            relation,
        },
        other => other,
    })
}
