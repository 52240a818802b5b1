//! Forgetting: a tombstone now, the text and vector physically gone after the next compaction.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use reprise_store::{Entry, StoreError, Tombstone};
use reprise_types::{Annotation, ContentHash, ExternalId, RecordId, normal_tag};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::keys::key_of;
use crate::marks::RETIRED;
use crate::snapshot::Snapshot;

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
        let mut back = self.answering_again(&ordinals, at);
        let mut entries = Vec::with_capacity(ordinals.len());
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
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        back.extend(entries);
        let entries = back;
        self.commit(&entries)?;
        self.publish();
        let forgotten = entries.iter().filter_map(|entry| match entry {
            Entry::Forgotten { tombstone, .. } => Some(Forgotten { id: tombstone.id }),
            _ => None,
        });
        Ok(forgotten.collect())
    }

    /// What the request of this name forgot: all that went at the same moment.
    pub fn forgotten_for(&mut self, request: &ExternalId) -> Result<Vec<RecordId>, EngineError> {
        self.know_keys()?;
        let Snapshot { index, reader, .. } = &*self.snapshot;
        // Of a hole the log alone knows when.
        let forgotten_at = |place| match reader.record(place) {
            Err(StoreError::Forgotten { at, .. }) => Some(at),
            _ => None,
        };
        let place = self.state.keys.get(key_of(request));
        let Some(at) = place.and_then(forgotten_at) else {
            return Ok(Vec::new());
        };
        let gone = (0..index.len() as u32).filter(|place| {
            let is_gone = !self.is_there(*place);
            is_gone && forgotten_at(*place) == Some(at)
        });
        // As they were answered: the newest first.
        let ids = gone.filter_map(|place| Some(index.doc(place)?.id));
        Ok(ids.rev().collect())
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
        ordinals.extend(behind.into_iter().filter(|ordinal| self.is_there(*ordinal)));
        let mut seen = BTreeSet::new();
        ordinals.retain(|ordinal| seen.insert(*ordinal));
        ordinals
    }

    /// The places of a version and of all that it corrected, newest first, as far as they are still
    /// there.
    fn versions(&self, id: RecordId) -> Vec<u32> {
        let versions = self.snapshot.corrected(id).into_iter();
        let places = versions.filter_map(|id| self.snapshot.index.find(id));
        places.filter(|ordinal| self.is_there(*ordinal)).collect()
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

    /// A corrected version answers no more, but its text is still there to be forgotten.
    fn is_there(&self, ordinal: u32) -> bool {
        let doc = self.snapshot.index.doc(ordinal);
        doc.is_some_and(|doc| doc.forgotten_at.is_none())
    }

    /// Those of these places that answer or were put away, with the versions that they corrected.
    fn present(&self, ordinals: Vec<u32>) -> Vec<u32> {
        let index = &self.snapshot.index;
        let present = ordinals.into_iter().filter(|ordinal| {
            let doc = index.doc(*ordinal);
            doc.is_some_and(|doc| doc.is_live()) || self.snapshot.retired_by(*ordinal).is_some()
        });
        let ids = present.filter_map(|ordinal| Some(index.doc(ordinal)?.id));
        self.select(&ForgetSelector::All(ids.collect()))
    }

    fn select(&self, selector: &ForgetSelector) -> Vec<u32> {
        let index = &self.snapshot.index;
        let all = || (0..index.len() as u32).filter(|ordinal| self.is_there(*ordinal));
        match selector {
            ForgetSelector::Id(id) => self.versions(*id),
            ForgetSelector::Record(id) => self.versions(self.said_by(*id)),
            ForgetSelector::External(external) => match self.duplicate_of(external) {
                Some(id) => self.select(&ForgetSelector::Record(id)),
                None => Vec::new(),
            },
            ForgetSelector::Session(session) => {
                let Some(session) = index.session(session) else {
                    return Vec::new();
                };
                all()
                    .filter(|o| {
                        index
                            .doc(*o)
                            .is_some_and(|doc| doc.session == Some(session))
                    })
                    .collect()
            }
            ForgetSelector::Before(instant) => {
                let before = |o: &u32| index.doc(*o).is_some_and(|doc| doc.timestamp < *instant);
                all().filter(before).collect()
            }
            ForgetSelector::Tag(tags) => {
                let tags = tags.iter().filter_map(|tag| normal_tag(tag));
                let tagged = tags.flat_map(|tag| self.snapshot.marks.tagged(&tag, None));
                let tagged: BTreeSet<u32> = tagged.collect();
                self.present(tagged.into_iter().collect())
            }
            ForgetSelector::Project(name) => self.present(self.snapshot.of_project(name, None)),
            ForgetSelector::All(ids) => ids.iter().flat_map(|id| self.versions(*id)).collect(),
        }
    }
}
