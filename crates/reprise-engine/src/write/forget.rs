//! Forgetting: a tombstone now; the text and vector are physically gone after the next compaction.

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use reprise_index::Doc;
use reprise_store::{StoreEntry, StoreError, Tombstone};
use reprise_types::{Annotation, ContentHash, ExternalId, RecordId, normalize_tag};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::snapshot::Snapshot;
use crate::snapshot::annotation_index::{DISTILLED, RETIRED};
use crate::write::dedup_keys::hash_external_id;

/// Selects the records to be forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForgetSelector {
    /// This version of a record and those that it corrected, whose texts are stored too.
    Id(RecordId),
    /// All versions of the record that this is a version of.
    Record(RecordId),
    /// All versions of the record with this external id.
    External(ExternalId),
    Session(String),
    /// All records of what happened before an instant.
    Before(DateTime<Utc>),
    /// All records that have one of these tags, which are the spellings of one tag.
    Tag(Vec<String>),
    /// All records of a project, by the tag `project:NAME` or by `project` in the metadata.
    Project(String),
    /// These versions of records, and those that they corrected.
    All(Vec<RecordId>),
}

/// One forgotten record: all that an audit may still say about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForgottenRecord {
    pub id: RecordId,
}

impl Engine {
    /// Forgets what the selector names, in one commit or a few; no later recall returns it. Returns
    /// what was forgotten: nothing if nothing stored was named.
    pub fn forget(
        &mut self,
        selector: &ForgetSelector,
        reason: &str,
        now: DateTime<Utc>,
    ) -> Result<Vec<ForgottenRecord>, EngineError> {
        self.forget_for_request(None, selector, reason, now)
    }

    /// Like [`Self::forget`], for a request with this external id, by which
    /// [`Self::forgotten_by_request`] finds what it forgot.
    pub fn forget_for_request(
        &mut self,
        request: Option<&ExternalId>,
        selector: &ForgetSelector,
        reason: &str,
        now: DateTime<Utc>,
    ) -> Result<Vec<ForgottenRecord>, EngineError> {
        self.ensure_keys_loaded()?;
        self.lineages = Arc::default();
        let at = self.advance_clock(now);
        let ordinals = self.snapshot.collect_affected(selector);
        let mut entries = self.end_links_to_forgotten(&ordinals, at);
        let mut keys_of_damaged = None;
        for ordinal in ordinals {
            let Some(doc) = self.snapshot.index.doc(ordinal) else {
                continue;
            };
            let keys = &self.state.keys;
            let (content_hash, mut keys): (_, Vec<u128>) =
                if let Ok(record) = self.snapshot.reader.read_record(ordinal) {
                    let keys_of_record = record.external_ids.iter().map(hash_external_id);
                    let own: BTreeSet<u128> = keys_of_record
                        .filter(|key| keys.get(*key) == Some(ordinal))
                        .collect();
                    (record.content_hash, own.into_iter().collect())
                } else {
                    let known = keys_of_damaged.get_or_insert_with(|| keys.group_by_ordinal());
                    let known = known.remove(&ordinal).unwrap_or_default();
                    (ContentHash::default(), known)
                };
            keys.extend(request.map(hash_external_id));
            let tombstone = Tombstone {
                id: doc.id,
                at,
                reason: reason.to_owned(),
                content_hash,
                keys,
            };
            entries.push(StoreEntry::Forgotten { ordinal, tombstone });
        }
        self.append_and_publish(&entries)?;
        let forgotten = entries.iter().filter_map(|entry| match entry {
            StoreEntry::Forgotten { tombstone, .. } => Some(ForgottenRecord { id: tombstone.id }),
            _ => None,
        });
        Ok(forgotten.collect())
    }

    /// Returns what the request with this external id forgot: all that was forgotten at that
    /// instant.
    pub fn forgotten_by_request(
        &mut self,
        request: &ExternalId,
    ) -> Result<Vec<RecordId>, EngineError> {
        self.ensure_keys_loaded()?;
        let reader = &self.snapshot.reader;
        // For a hole only the log knows the instant.
        let forgotten_at = |place| match reader.read_record(place) {
            Err(StoreError::Forgotten { at, .. }) => Some(at),
            _ => None,
        };
        let place = self.state.keys.get(hash_external_id(request));
        let Some(at) = place.and_then(forgotten_at) else {
            return Ok(Vec::new());
        };
        let forgotten = self.snapshot.docs().filter(|(place, doc)| {
            let is_forgotten = doc.forgotten_at().is_some();
            is_forgotten && forgotten_at(*place) == Some(at)
        });
        // In the order in which they were returned: the newest first.
        Ok(forgotten.map(|(_, doc)| doc.id).rev().collect())
    }

    /// Builds the ends of links from records that stay to those that are forgotten: the other
    /// sources of a distilled record become live again.
    fn end_links_to_forgotten(&self, going: &[u32], at: DateTime<Utc>) -> Vec<StoreEntry> {
        let all: BTreeSet<u32> = going.iter().copied().collect();
        let links = going.iter().flat_map(|to| {
            let dependents = self.snapshot.iter_retired_into(*to);
            dependents.map(|from| (from, *to))
        });
        let stays = links.filter(|(from, _)| !all.contains(from));
        let ends = stays.map(|(ordinal, to)| {
            let relation = RETIRED.to_owned();
            StoreEntry::from_annotation(ordinal, at, Annotation::Unlinked { to, relation })
        });
        ends.collect()
    }
}

impl Snapshot {
    /// Returns what [`Engine::forget`] would forget now.
    pub fn preview_forget(&self, selector: &ForgetSelector) -> Vec<RecordId> {
        let reached = self.collect_affected(selector).into_iter();
        let ids = reached.filter_map(|ordinal| Some(self.index.doc(ordinal)?.id));
        ids.collect()
    }

    /// Returns the ordinals of what a selector names, of what was retired into it and says the
    /// same, and of what was distilled from it and is told by no other; each once.
    fn collect_affected(&self, selector: &ForgetSelector) -> Vec<u32> {
        let mut ordinals = self.select_ordinals(selector);
        let dependents: Vec<u32> = ordinals
            .iter()
            .flat_map(|at| self.collect_dependents(*at))
            .collect();
        let going: BTreeSet<u32> = ordinals.iter().chain(&dependents).copied().collect();
        let goes =
            |ordinal: &u32| self.is_stored(*ordinal) && !self.is_told_by_others(*ordinal, &going);
        ordinals.extend(dependents.into_iter().filter(goes));
        let mut seen = BTreeSet::new();
        ordinals.retain(|ordinal| seen.insert(*ordinal));
        ordinals
    }

    /// Whether a distilled record is told word for word by a live record that stays: what was said
    /// twice is not forgotten with one of both.
    fn is_told_by_others(&self, made: u32, going: &BTreeSet<u32>) -> bool {
        let links = self.marks.open_links(made);
        let sources = links.filter(|link| link.from == made && &*link.relation == DISTILLED);
        let mut stay = sources
            .map(|link| link.to)
            .filter(|source| !going.contains(source) && self.live_doc(*source).is_some())
            .peekable();
        if stay.peek().is_none() {
            return false;
        }
        let Ok(own) = self.reader.read_record(made) else {
            return false;
        };
        stay.any(|source| {
            let source = self.reader.read_record(source);
            source.is_ok_and(|source| source.text.contains(own.text.as_str()))
        })
    }

    /// Returns the live version of a record that says the same; the record itself if it was retired
    /// into one distilled from several.
    fn current_version_with_same_text(&self, id: RecordId) -> RecordId {
        let current = self.current_version(id).unwrap_or(id);
        let index = &self.index;
        let ends = index.find(current).zip(index.find(id));
        let is_made = ends.is_some_and(|(current, id)| self.is_distilled_from(current, id));
        if is_made { id } else { current }
    }

    /// Returns those of these ordinals that are live or retired, with the versions that they
    /// corrected.
    fn add_earlier_versions(&self, ordinals: Vec<u32>) -> Vec<u32> {
        let index = &self.index;
        let present = ordinals
            .into_iter()
            .filter(|at| self.live_doc(*at).is_some() || self.retirement_link(*at).is_some());
        let ids = present.filter_map(|ordinal| Some(index.doc(ordinal)?.id));
        self.select_ordinals(&ForgetSelector::All(ids.collect()))
    }

    fn select_ordinals(&self, selector: &ForgetSelector) -> Vec<u32> {
        let those = |are_meant: &dyn Fn(&Doc) -> bool| -> Vec<u32> {
            let stored = self.docs().filter(|(_, doc)| doc.forgotten_at().is_none());
            let meant = stored.filter(|(_, doc)| are_meant(doc));
            meant.map(|(ordinal, _)| ordinal).collect()
        };
        match selector {
            ForgetSelector::Id(id) => self.version_ordinals(*id).collect(),
            ForgetSelector::Record(id) => self
                .version_ordinals(self.current_version_with_same_text(*id))
                .collect(),
            ForgetSelector::External(external) => match self.find_by_external_id(external) {
                Some(id) => self.select_ordinals(&ForgetSelector::Record(id)),
                None => Vec::new(),
            },
            ForgetSelector::Session(session) => {
                let session = self.index.find_session(session);
                those(&|doc: &Doc| session.is_some() && doc.session() == session)
            }
            ForgetSelector::Before(instant) => those(&|doc: &Doc| doc.timestamp() < *instant),
            ForgetSelector::Tag(tags) => {
                let tags = tags.iter().filter_map(|tag| normalize_tag(tag));
                let tagged = tags.flat_map(|tag| self.marks.ordinals_with_tag(&tag, None));
                let tagged: BTreeSet<u32> = tagged.collect();
                self.add_earlier_versions(tagged.into_iter().collect())
            }
            ForgetSelector::Project(name) => {
                self.add_earlier_versions(self.ordinals_in_project(name, None))
            }
            ForgetSelector::All(ids) => {
                let versions = ids.iter().flat_map(|id| self.version_ordinals(*id));
                versions.collect()
            }
        }
    }
}
