//! Forgetting: a tombstone now, the text and vector physically gone after the next compaction.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use reprise_index::Doc;
use reprise_store::{Entry, StoreError, Tombstone};
use reprise_types::{Annotation, ContentHash, ExternalId, RecordId, normal_tag};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::keys::key_of;
use crate::marks::RETIRED;

/// Which records are to be forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForgetSelector {
    /// This version of a record, and those that it corrected: their texts are there too.
    Id(RecordId),
    /// The record of which this is a version, whatever it says by now: all its versions.
    Record(RecordId),
    /// The record that was kept under this external id: all its versions.
    External(ExternalId),
    Session(String),
    /// All that happened before an instant.
    Before(DateTime<Utc>),
    /// All that have one of these tags: one tag in all its spellings.
    Tag(Vec<String>),
    /// All of a project, by the tag `project:NAME` or by `project` in the metadata.
    Project(String),
    /// These versions of records, and those that they corrected.
    All(Vec<RecordId>),
}

/// One forgotten record: all that an audit may still say about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forgotten {
    pub id: RecordId,
}

impl Engine {
    /// Forgets what the selector names, in one commit or a few; from then on no recall shows it.
    /// Answers what was forgotten, which is nothing where nothing was named that is still there.
    pub fn forget(
        &mut self,
        selector: &ForgetSelector,
        reason: &str,
        now: DateTime<Utc>,
    ) -> Result<Vec<Forgotten>, EngineError> {
        self.forget_for(None, selector, reason, now)
    }

    /// The same for a request of this name: what it forgot is known by it afterwards.
    pub fn forget_for(
        &mut self,
        request: Option<&ExternalId>,
        selector: &ForgetSelector,
        reason: &str,
        now: DateTime<Utc>,
    ) -> Result<Vec<Forgotten>, EngineError> {
        self.know_keys()?;
        let at = self.advance_clock(now);
        let ordinals = self.reached(selector);
        let mut entries = self.answering_again(&ordinals, at);
        let mut keys_of_damaged = None;
        for ordinal in ordinals {
            let Some(doc) = self.snapshot.index.doc(ordinal) else {
                continue;
            };
            let keys = &self.state.keys;
            let (content_hash, mut keys): (_, Vec<u128>) =
                if let Ok(record) = self.snapshot.reader.record(ordinal) {
                    let named = record.external_ids.iter().map(key_of);
                    let own: BTreeSet<u128> = named
                        .filter(|key| keys.get(*key) == Some(ordinal))
                        .collect();
                    (record.content_hash, own.into_iter().collect())
                } else {
                    let known = keys_of_damaged.get_or_insert_with(|| keys.by_ordinal());
                    let known = known.remove(&ordinal).unwrap_or_default();
                    (ContentHash::default(), known)
                };
            keys.extend(request.map(key_of));
            let tombstone = Tombstone {
                id: doc.id,
                at,
                reason: reason.to_owned(),
                content_hash,
                keys,
            };
            entries.push(Entry::Forgotten { ordinal, tombstone });
        }
        self.keep(&entries)?;
        let forgotten = entries.iter().filter_map(|entry| match entry {
            Entry::Forgotten { tombstone, .. } => Some(Forgotten { id: tombstone.id }),
            _ => None,
        });
        Ok(forgotten.collect())
    }

    /// What the request of this name forgot: all that went at the same moment.
    pub fn forgotten_for(&mut self, request: &ExternalId) -> Result<Vec<RecordId>, EngineError> {
        self.know_keys()?;
        let reader = &self.snapshot.reader;
        // Of a hole the log alone knows when.
        let forgotten_at = |place| match reader.record(place) {
            Err(StoreError::Forgotten { at, .. }) => Some(at),
            _ => None,
        };
        let place = self.state.keys.get(key_of(request));
        let Some(at) = place.and_then(forgotten_at) else {
            return Ok(Vec::new());
        };
        let gone = self.snapshot.docs().filter(|(place, doc)| {
            let is_gone = doc.forgotten_at().is_some();
            is_gone && forgotten_at(*place) == Some(at)
        });
        // As they were answered: the newest first.
        Ok(gone.map(|(_, doc)| doc.id).rev().collect())
    }

    /// Ends the links of what stays behind something that goes: the other sources of what was made
    /// of a source.
    fn answering_again(&self, going: &[u32], at: DateTime<Utc>) -> Vec<Entry> {
        let all: BTreeSet<u32> = going.iter().copied().collect();
        let links = going.iter().flat_map(|to| {
            let behind = self.snapshot.put_behind(*to);
            behind.map(|from| (from, *to))
        });
        let stays = links.filter(|(from, _)| !all.contains(from));
        let ends = stays.map(|(ordinal, to)| {
            let relation = RETIRED.to_owned();
            Entry::annotated(ordinal, at, Annotation::Unlinked { to, relation })
        });
        ends.collect()
    }

    /// What [`Self::forget`] would forget, as it stands now.
    pub fn would_forget(&self, selector: &ForgetSelector) -> Vec<RecordId> {
        let reached = self.reached(selector).into_iter();
        let ids = reached.filter_map(|ordinal| Some(self.snapshot.index.doc(ordinal)?.id));
        ids.collect()
    }

    /// The places of what a selector names, of what was put behind it, which says the same, and of
    /// what was distilled from it; each once.
    fn reached(&self, selector: &ForgetSelector) -> Vec<u32> {
        let mut ordinals = self.select(selector);
        let behind: Vec<u32> = ordinals
            .iter()
            .flat_map(|at| self.snapshot.behind(*at))
            .collect();
        let there = |ordinal: &u32| self.snapshot.is_kept(*ordinal);
        ordinals.extend(behind.into_iter().filter(there));
        let mut seen = BTreeSet::new();
        ordinals.retain(|ordinal| seen.insert(*ordinal));
        ordinals
    }

    /// The version of a record that answers for it and says the same: none that was made of it and
    /// of others.
    fn said_by(&self, id: RecordId) -> RecordId {
        let current = self.snapshot.current(id).unwrap_or(id);
        let index = &self.snapshot.index;
        let ends = index.find(current).zip(index.find(id));
        let is_made = ends.is_some_and(|(current, id)| self.snapshot.cites(current, id));
        if is_made { id } else { current }
    }

    /// Those of these places that answer or were put away, with the versions that they corrected.
    fn present(&self, ordinals: Vec<u32>) -> Vec<u32> {
        let index = &self.snapshot.index;
        let present = ordinals.into_iter().filter(|at| {
            self.snapshot.live(*at).is_some() || self.snapshot.retired_by(*at).is_some()
        });
        let ids = present.filter_map(|ordinal| Some(index.doc(ordinal)?.id));
        self.select(&ForgetSelector::All(ids.collect()))
    }

    fn select(&self, selector: &ForgetSelector) -> Vec<u32> {
        let memory = &self.snapshot;
        let those = |are_meant: &dyn Fn(&Doc) -> bool| -> Vec<u32> {
            let there = memory
                .docs()
                .filter(|(_, doc)| doc.forgotten_at().is_none());
            let meant = there.filter(|(_, doc)| are_meant(doc));
            meant.map(|(ordinal, _)| ordinal).collect()
        };
        match selector {
            ForgetSelector::Id(id) => memory.version_places(*id).collect(),
            ForgetSelector::Record(id) => memory.version_places(self.said_by(*id)).collect(),
            ForgetSelector::External(external) => match self.duplicate_of(external) {
                Some(id) => self.select(&ForgetSelector::Record(id)),
                None => Vec::new(),
            },
            ForgetSelector::Session(session) => {
                let session = memory.index.session(session);
                those(&|doc: &Doc| session.is_some() && doc.session == session)
            }
            ForgetSelector::Before(instant) => those(&|doc: &Doc| doc.timestamp() < *instant),
            ForgetSelector::Tag(tags) => {
                let tags = tags.iter().filter_map(|tag| normal_tag(tag));
                let tagged = tags.flat_map(|tag| memory.marks.tagged(&tag, None));
                let tagged: BTreeSet<u32> = tagged.collect();
                self.present(tagged.into_iter().collect())
            }
            ForgetSelector::Project(name) => self.present(memory.of_project(name, None)),
            ForgetSelector::All(ids) => {
                let versions = ids.iter().flat_map(|id| memory.version_places(*id));
                versions.collect()
            }
        }
    }
}
