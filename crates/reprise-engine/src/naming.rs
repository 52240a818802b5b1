//! What a record is known by: its external ids, which belong to its newest version, and a bare text
//! that was learned.

use std::collections::HashMap;

use reprise_types::limits::EXTERNAL_IDS_MAX;
use reprise_types::{ExternalId, MemoryRecord, NewRecord, RecordId, WriteOutcome};

use crate::engine::Engine;
use crate::prepare;

/// What one call is about to keep.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) kept: Vec<MemoryRecord>,
    places: HashMap<RecordId, usize>,
    /// The newest of them by external id.
    named: HashMap<ExternalId, RecordId>,
}

impl Batch {
    pub(crate) fn get(&self, id: RecordId) -> Option<&MemoryRecord> {
        self.kept.get(*self.places.get(&id)?)
    }

    /// Its place among what is kept.
    pub(crate) fn place(&self, id: RecordId) -> Option<usize> {
        self.places.get(&id).copied()
    }

    /// The newest of them with this external id.
    pub(crate) fn named(&self, name: &ExternalId) -> Option<RecordId> {
        self.named.get(name).copied()
    }

    pub(crate) fn push(&mut self, record: MemoryRecord) {
        let names = record.external_ids.iter().cloned();
        self.named.extend(names.map(|name| (name, record.id)));
        self.places.insert(record.id, self.kept.len());
        self.kept.push(record);
    }
}

impl Engine {
    /// Whether a record needs no vector, because it is known and stays as it is.
    #[must_use]
    pub fn is_known(&self, new: &NewRecord) -> bool {
        let batch = Batch::default();
        let corrected = self.lineage(new.supersedes, &batch);
        let known = self.known_by(new, &corrected, &batch);
        known.is_some_and(|of| !new.updates || self.says(of, &new.text, &batch))
    }

    /// The live record that was learned with this text and nothing else to be known by, or the
    /// name under which it is to be learned: one that was forgotten or corrected keeps its own.
    pub fn learned(&self, text: &str) -> Result<RecordId, ExternalId> {
        let mut time = 0_u32;
        loop {
            let name = Self::learned_name(text, time);
            match self.duplicate_of(&name) {
                None => return Err(name),
                Some(held) if self.snapshot.is_live(held) => return Ok(held),
                Some(_) => time += 1,
            }
        }
    }

    /// The name under which a bare text is learned for the first time, the second, ...
    #[must_use]
    pub fn learned_name(text: &str, time: u32) -> ExternalId {
        let name = format!("text {:032x}/{time}", prepare::hash(text).0);
        ExternalId::new(ExternalId::REQUEST, name)
    }

    /// Gives a correction the external ids of what it corrects. Answers the record's outcome where
    /// one of them is another record's.
    pub(crate) fn name(&self, new: &mut NewRecord, batch: &Batch) -> Option<WriteOutcome> {
        let mut corrected = self.lineage(new.supersedes, batch);
        if let Some(of) = self.known_by(new, &corrected, batch) {
            let differs = !self.says(of, &new.text, batch);
            if !(differs && new.updates && new.supersedes.is_none()) {
                return Some(WriteOutcome::Duplicate { of, differs });
            }
            new.supersedes = Some(of);
            corrected = self.lineage(new.supersedes, batch);
            if let Some(of) = self.known_by(new, &corrected, batch) {
                return Some(WriteOutcome::Duplicate { of, differs });
            }
        }
        for name in handed_on(&corrected) {
            if new.external_ids.len() < EXTERNAL_IDS_MAX && !new.external_ids.contains(name) {
                new.external_ids.push(name.clone());
            }
        }
        None
    }

    /// The record, none of those that are `corrected`, that is known by one of the names of this
    /// one, or by one that is handed on to it.
    fn known_by(
        &self,
        new: &NewRecord,
        corrected: &[MemoryRecord],
        batch: &Batch,
    ) -> Option<RecordId> {
        if is_bare(new)
            && let Ok(of) = self.learned(&new.text)
        {
            return Some(of);
        }
        let mut names = new.external_ids.iter().chain(handed_on(corrected));
        names.find_map(|name| {
            let staged = batch.named(name);
            let known = staged.or_else(|| self.duplicate_of(name))?;
            let is_own = corrected.iter().any(|version| version.id == known);
            (!is_own || !name.is_handed_on()).then_some(known)
        })
    }

    /// A version and all that it corrected, newest first, as far as they are still there.
    fn lineage(&self, newest: Option<RecordId>, batch: &Batch) -> Vec<MemoryRecord> {
        let (mut versions, mut next) = (Vec::new(), newest);
        while let Some(id) = next {
            let stored = || self.snapshot.version(id)?.ok();
            let Some(version) = batch.get(id).cloned().or_else(stored) else {
                break;
            };
            next = version.supersedes;
            versions.push(version);
        }
        versions
    }

    /// Whether a record said this in any of its versions. One that is forgotten is not asked: it
    /// stays so.
    fn says(&self, id: RecordId, text: &str, batch: &Batch) -> bool {
        let versions = self.lineage(Some(id), batch);
        versions.is_empty() || versions.iter().any(|version| version.text == text)
    }
}

fn handed_on(versions: &[MemoryRecord]) -> impl Iterator<Item = &ExternalId> {
    let names = versions.iter().flat_map(|version| &version.external_ids);
    names.filter(|name| name.is_handed_on())
}

/// Whether a record is nothing but a text, which a request may have named.
fn is_bare(new: &NewRecord) -> bool {
    let of_request = |name: &ExternalId| {
        name.namespace == ExternalId::REQUEST && !name.id.starts_with(ExternalId::LESSON)
    };
    new.external_ids.iter().all(of_request)
        && (new.supersedes, new.timestamp, &new.details) == (None, None, &None)
        && new.session_id.is_empty()
}
