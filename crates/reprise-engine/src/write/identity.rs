//! The identity of records. A record is recognised by its external ids, which belong to its newest
//! version, and a bare text by its hash. Its own id increases strictly within a file and is made of
//! a time and a seed.

use std::collections::{HashMap, HashSet};

use reprise_types::limits::EXTERNAL_IDS_MAX;
use reprise_types::{ContentHash, ExternalId, MemoryRecord, NewRecord, RecordId, WriteOutcome};

use crate::snapshot::Snapshot;
use crate::write::dedup_keys::hash_external_id;
use crate::write::lineage::Lineage;

/// Most versions of a record whose fields are compared with those of a new one.
const COMPARED_MAX: usize = 64;

/// The records that one call is about to write.
#[derive(Default)]
pub(crate) struct RecordBatch {
    pub(crate) records: Vec<MemoryRecord>,
    positions: HashMap<RecordId, usize>,
    /// The newest of these records, by external id.
    ids_by_external_id: HashMap<ExternalId, RecordId>,
}

impl RecordBatch {
    pub(crate) fn get(&self, id: RecordId) -> Option<&MemoryRecord> {
        self.records.get(*self.positions.get(&id)?)
    }

    pub(crate) fn get_mut(&mut self, id: RecordId) -> Option<&mut MemoryRecord> {
        self.records.get_mut(*self.positions.get(&id)?)
    }

    /// Returns the position of a record in the batch.
    pub(crate) fn position(&self, id: RecordId) -> Option<usize> {
        self.positions.get(&id).copied()
    }

    /// Returns the newest record of the batch with this external id.
    pub(crate) fn find_by_external_id(&self, name: &ExternalId) -> Option<RecordId> {
        self.ids_by_external_id.get(name).copied()
    }

    pub(crate) fn push(&mut self, record: MemoryRecord) {
        let names = record.external_ids.iter().cloned();
        self.ids_by_external_id
            .extend(names.map(|name| (name, record.id)));
        self.positions.insert(record.id, self.records.len());
        self.records.push(record);
    }
}

impl Snapshot {
    /// Returns the id of the record with this external id; of a corrected record, its newest
    /// version.
    pub fn find_by_external_id(&self, external: &ExternalId) -> Option<RecordId> {
        let ordinal = self.keys.get(hash_external_id(external))?;
        let doc = self.index.doc(ordinal)?;
        // A forgotten record's external ids are gone; its key alone keeps a replay from restoring
        // it.
        match self.reader.read_record(ordinal) {
            Ok(record) => record.external_ids.contains(external).then_some(record.id),
            Err(_) => Some(doc.id),
        }
    }

    /// Whether a record needs no vector, because it is known and will not change.
    #[must_use]
    pub fn is_known(&self, new: &NewRecord) -> bool {
        self.find_known(new).is_some()
    }

    /// Returns the stored record that a new one is known as.
    #[must_use]
    pub fn find_known(&self, new: &NewRecord) -> Option<RecordId> {
        let known = self.find_known_by(new, new.supersedes, None);
        known.filter(|of| !new.replaces_known_id || self.has_version_that_says(*of, new, None))
    }

    /// Returns the live record that was written as this text and has no other external id, or the
    /// external id under which to write the text. A text that was forgotten or corrected keeps its
    /// old external id.
    pub fn find_learned_text(&self, text: &str) -> Result<RecordId, ExternalId> {
        let mut time = 0_u32;
        loop {
            let name = Self::learned_external_id(text, time);
            match self.find_by_external_id(&name) {
                None => return Err(name),
                Some(held) if self.is_live(held) => return Ok(held),
                Some(_) => time += 1,
            }
        }
    }

    /// Returns the external id of a bare text; `time` counts how often the text was written anew,
    /// from 0.
    #[must_use]
    pub fn learned_external_id(text: &str, time: u32) -> ExternalId {
        let name = format!("text {:032x}/{time}", ContentHash::of_text(text).0);
        ExternalId::new(ExternalId::REQUEST, name)
    }

    /// Gives a correction the external ids of what it corrects. Returns the record's outcome if one
    /// of its external ids belongs to another record.
    pub(crate) fn resolve_identity(
        &self,
        new: &mut NewRecord,
        batch: &RecordBatch,
    ) -> Option<WriteOutcome> {
        let batch = Some(batch);
        if let Some(of) = self.find_known_by(new, new.supersedes, batch) {
            let differs = !self.has_version_that_says(of, new, batch);
            if !(differs && new.replaces_known_id && new.supersedes.is_none()) {
                return Some(WriteOutcome::Duplicate { of, differs });
            }
            if self.has_version_with_text(of, &new.text, batch) {
                // Only other fields are new: what it is tagged with stays.
                let staged = batch.and_then(|batch| Some(batch.get(of)?.tags.clone()));
                let stored = || Some(self.tags_of(self.live_ordinal(of)?));
                new.tags.extend(staged.or_else(stored).unwrap_or_default());
            }
            new.supersedes = Some(of);
            if let Some(of) = self.find_known_by(new, new.supersedes, batch) {
                return Some(WriteOutcome::Duplicate { of, differs });
            }
        }
        let corrected = new.supersedes;
        self.look_at_lineage(corrected, batch, |corrected| {
            for name in corrected.names() {
                if new.external_ids.len() < EXTERNAL_IDS_MAX && !new.external_ids.contains(name) {
                    new.external_ids.push(name.clone());
                }
            }
        });
        None
    }

    /// Finds the record that is known by one of the external ids of `new` or by one that it
    /// inherits, except for the versions that it corrects, of which `corrected` is the newest.
    fn find_known_by(
        &self,
        new: &NewRecord,
        corrected: Option<RecordId>,
        batch: Option<&RecordBatch>,
    ) -> Option<RecordId> {
        if is_bare_text(new)
            && let Ok(of) = self.find_learned_text(&new.text)
        {
            return Some(of);
        }
        self.look_at_lineage(corrected, batch, |corrected| {
            let mut names = new.external_ids.iter().chain(corrected.names());
            names.find_map(|name| {
                let staged = batch.and_then(|batch| batch.find_by_external_id(name));
                let known = staged.or_else(|| self.find_by_external_id(name))?;
                let is_own = corrected.contains(known);
                (!is_own || !name.is_shared_by_versions()).then_some(known)
            })
        })
    }

    /// Whether any version of a record says what a new one does: its text, and if its sender named
    /// it, the other fields that it gives.
    fn has_version_that_says(
        &self,
        id: RecordId,
        new: &NewRecord,
        batch: Option<&RecordBatch>,
    ) -> bool {
        if !self.has_version_with_text(id, &new.text, batch) {
            return false;
        }
        if !is_named_by_sender(new) {
            return true;
        }
        let (mut next, mut seen) = (Some(id), HashSet::new());
        while let Some(id) = next.filter(|id| seen.len() < COMPARED_MAX && seen.insert(*id)) {
            let staged = batch.and_then(|batch| batch.get(id)).cloned();
            let stored = || self.get_stored(id)?.ok();
            let Some(version) = staged.or_else(stored) else {
                return seen.len() == 1;
            };
            if adds_nothing(new, &version) {
                return true;
            }
            next = version.supersedes;
        }
        false
    }

    /// Whether any version of a record has this text. A forgotten record counts as having it, so
    /// that it stays forgotten.
    fn has_version_with_text(&self, id: RecordId, text: &str, batch: Option<&RecordBatch>) -> bool {
        self.look_at_lineage(Some(id), batch, |versions| {
            versions.is_empty() || versions.has_text(text)
        })
    }
}

/// Whether a record has the name that its sender gave it in a batch.
fn is_named_by_sender(new: &NewRecord) -> bool {
    let mut names = new.external_ids.iter();
    names.any(|name| name.namespace == ExternalId::BATCH)
}

/// Whether a stored version has all fields that a new record gives, except for text and tags.
fn adds_nothing(new: &NewRecord, version: &MemoryRecord) -> bool {
    let mut metadata = new.metadata.iter();
    metadata.all(|(key, value)| version.metadata.get(key) == Some(value))
        && new
            .confidence
            .is_none_or(|one| version.confidence == Some(one))
        && new
            .quality_score
            .is_none_or(|one| version.quality_score == Some(one))
}

/// Whether a new record is nothing but a text, which may have the external id of a request.
fn is_bare_text(new: &NewRecord) -> bool {
    let of_request = |name: &ExternalId| {
        name.namespace == ExternalId::REQUEST && !name.id.starts_with(ExternalId::LESSON_PREFIX)
    };
    new.external_ids.iter().all(of_request)
        && (new.supersedes, new.timestamp, &new.details) == (None, None, &None)
        && new.session_id.is_empty()
}

impl Snapshot {
    /// Looks at a version and all that it corrected, as far as they are stored. The writer, who has
    /// a batch, holds what was summed up for the next version; a reader has none.
    pub(crate) fn look_at_lineage<T>(
        &self,
        newest: Option<RecordId>,
        batch: Option<&RecordBatch>,
        look: impl FnOnce(&Lineage) -> T,
    ) -> T {
        let Some(newest) = newest else {
            return look(&Lineage::default());
        };
        let stored = |id: RecordId| self.get_stored(id)?.ok();
        let (mut later, mut passed) = (Vec::new(), HashSet::new());
        let (mut lineage, mut older, mut next) = (Lineage::default(), None, Some(newest));
        // A joined or foreign file may claim that a record corrects itself.
        while let Some(id) = next.filter(|id| passed.insert(*id)) {
            if let Some(known) = self.lineages.get(id) {
                (lineage, older) = (Lineage::new(known), Some(id));
                break;
            }
            let staged = batch.and_then(|batch| batch.get(id)).cloned();
            let Some(version) = staged.or_else(|| stored(id)) else {
                break;
            };
            next = version.supersedes;
            later.push(version);
        }
        for version in later.iter().rev() {
            lineage.add_newer(version);
        }
        let seen = look(&lineage);
        if batch.is_some() && !lineage.is_empty() {
            self.lineages.hold(newest, older, lineage);
        }
        seen
    }
}
