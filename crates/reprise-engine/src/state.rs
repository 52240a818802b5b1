//! The fold of the log: index, keys, annotations, clock and space. What an entry means is defined
//! here, once, for opening, writing and checking alike.

mod saving;

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};
use reprise_index::{IndexSnapshot, IndexWriter, NewDoc, is_of_log};
use reprise_learn::{LearnSettings, OutcomeLearning};
use reprise_rank::lookup_terms;
use reprise_store::{CommitSeq, Log, LogReader, StoreEntry, Tombstone};
use reprise_types::{
    Annotation, EmbeddingSpace, ExternalId, MemoryRecord, MemorySource, RecordId, SavedSections,
    SectionKey, SectionPages, VectorStore as _,
};

use crate::error::EngineError;
use crate::snapshot::annotation_index::{AnnotationIndex, CORRECTED, is_retirement};
use crate::snapshot::other_spaces::{OtherSpaces, most_common_space};
use crate::write::dedup_keys::{DedupKeys, hash_external_id};
use saving::{StateCheckpoint, WholePart};

/// Kinds of the engine's own sections: the last instant and the configured space, what was learned,
/// and tags and links.
const FACTS: u8 = 40;
const LEARNING: u8 = 41;
pub(crate) const MARKS: u8 = 42;

/// The last instant, and the configured space.
type EngineFacts = (Option<DateTime<Utc>>, Option<EmbeddingSpace>);

/// Everything that can be rebuilt from the log.
#[derive(Debug)]
pub(crate) struct EngineState {
    pub(crate) index: IndexWriter,
    pub(crate) keys: DedupKeys,
    /// The `known_at` that was assigned last.
    pub(crate) known_at: DateTime<Utc>,
    /// The one space whose vectors are in use.
    pub(crate) space: Option<EmbeddingSpace>,
    /// Space of the model in use, if it is known; the index leaves out vectors of other spaces.
    pub(crate) configured_space: Option<EmbeddingSpace>,
    /// Vectors of other spaces, of records that still wait for the model in use.
    pub(crate) other_spaces: OtherSpaces,
    pub(crate) learning: WholePart<OutcomeLearning>,
    pub(crate) marks: WholePart<AnnotationIndex>,
    pub(crate) checkpoint: StateCheckpoint,
    /// What is encoded for the next checkpoint and not written yet.
    encoded: Vec<SectionPages>,
}

impl EngineState {
    /// Creates a state without records, whose vectors are in `space`.
    fn new(
        index: IndexWriter,
        mut learning: OutcomeLearning,
        configured: Option<EmbeddingSpace>,
        space: Option<EmbeddingSpace>,
    ) -> Self {
        learning.compare_only_in(space.as_ref());
        Self {
            index,
            keys: DedupKeys::default(),
            known_at: DateTime::<Utc>::MIN_UTC,
            space,
            learning: WholePart::new(learning, LEARNING, OutcomeLearning::to_bytes),
            configured_space: configured,
            other_spaces: OtherSpaces::default(),
            marks: WholePart::new(AnnotationIndex::default(), MARKS, AnnotationIndex::to_bytes),
            checkpoint: StateCheckpoint::default(),
            encoded: Vec::new(),
        }
    }

    /// Folds a whole log. Without a configured model the space of most vectors is in use.
    pub(crate) fn from_log(
        learn: LearnSettings,
        configured: Option<EmbeddingSpace>,
        log: &Log,
    ) -> Result<Self, EngineError> {
        let reader = log.reader();
        let space = configured.clone().or_else(|| most_common_space(&reader));
        let dimensions = dimensions_of(space.as_ref(), &reader);
        let learning = OutcomeLearning::with_settings(dimensions, learn);
        let index = IndexWriter::new(dimensions);
        Self::new(index, learning, configured, space).replay(log, CommitSeq(0))
    }

    /// Puts a space in use that nobody has configured.
    pub(crate) fn set_space(&mut self, space: Option<EmbeddingSpace>) {
        self.learning.edit_unsaved().compare_only_in(space.as_ref());
        self.space = space;
    }

    /// Reads the vectors of other models from the log, once it is folded.
    pub(crate) fn load_other_spaces(&mut self, reader: &LogReader) {
        self.other_spaces =
            OtherSpaces::from_log(&self.index.publish(), reader, self.space.as_ref());
    }

    /// Opens the state that the sections of a file hold. Returns `None` if one is missing or
    /// unreadable, or holds vectors that the model in use cannot read.
    pub(crate) fn from_sections(
        learn: LearnSettings,
        configured: Option<&EmbeddingSpace>,
        sections: &SavedSections,
        log: &LogReader,
    ) -> Option<Self> {
        let (known_at, space): EngineFacts = sections.get(&(FACTS, 0))?.read_value()?;
        let in_force = configured.or(space.as_ref()).cloned();
        let in_force = in_force.or_else(|| most_common_space(log));
        let dimensions = dimensions_of(in_force.as_ref(), log);
        let learning = sections.get(&(LEARNING, 0))?.read_all()?;
        let learning = OutcomeLearning::from_bytes(dimensions, learn, &learning)?;
        let marks = AnnotationIndex::from_bytes(&sections.get(&(MARKS, 0))?.read_all()?)?;
        let mut index = IndexWriter::from_sections(dimensions, sections).ok()?;
        let last = || index.last().map_or(DateTime::<Utc>::MIN_UTC, |last| last.1);
        let known_at = known_at.unwrap_or_else(last);
        if let Some(configured) = configured
            && space.as_ref() != Some(configured)
            && (space.is_some() || has_vectors_of_other_spaces(&index.publish(), log, configured))
        {
            return None;
        }
        let (configured, space) = (configured.cloned().or(space), in_force);
        if configured.is_none()
            && let Some(space) = &space
            && has_vectors_of_other_spaces(&index.publish(), log, space)
        {
            return None;
        }
        let mut state = Self::new(index, learning, configured, space);
        *state.marks = marks;
        state.learning.mark_saved();
        state.marks.mark_saved();
        state.keys = DedupKeys::open(sections)?;
        state.known_at = known_at;
        Some(state)
    }

    /// Takes what was encoded, unless it is not as it is now: the last step then encodes it.
    pub(crate) fn put_encoded(&mut self, encoded: Vec<SectionPages>) {
        let has_graph = encoded.iter().any(|section| !is_of_log(section.key));
        let has_graph = has_graph && self.index.finish_graph_encoding();
        for section in encoded {
            let is_current = match section.key.0 {
                LEARNING => self.learning.finish_encoding(),
                MARKS => self.marks.finish_encoding(),
                _ => has_graph,
            };
            if is_current {
                self.encoded.retain(|older| older.key != section.key);
                self.encoded.push(section);
            }
        }
    }

    /// Takes pages that changed since they were saved, as [`IndexWriter::take_unsaved`] does.
    pub(crate) fn take_unsaved(&mut self, budget: &mut usize) -> Vec<SectionPages> {
        let Self {
            encoded,
            index,
            learning,
            marks,
            ..
        } = self;
        encoded.retain(|section| match section.key.0 {
            LEARNING => learning.is_saved(),
            MARKS => marks.is_saved(),
            _ => index.is_graph_saved(),
        });
        let left = encoded.iter_mut();
        let mut all: Vec<_> = left.map(|section| section.take_front(budget)).collect();
        encoded.retain(|section| !section.pages.is_empty());
        self.keys.publish();
        let keys = self.keys.parts();
        all.extend(keys.map(|mut part| part.take_unsaved(budget)));
        all.extend(index.take_unsaved(budget));
        if *budget > 0 {
            all.extend(learning.take_unsaved());
            all.extend(marks.take_unsaved());
            let known_at = Some(self.known_at).filter(|at| *at > DateTime::<Utc>::MIN_UTC);
            let facts: EngineFacts = (known_at, self.configured_space.clone());
            all.push(SectionPages::from_value((FACTS, 0), &facts));
        }
        all
    }

    /// Notes that nothing is saved.
    pub(crate) fn mark_unsaved(&mut self) {
        self.encoded.clear();
        self.index.mark_unsaved();
        self.keys.parts().for_each(|mut part| part.mark_unsaved());
        self.learning.mark_unsaved();
        self.marks.mark_unsaved();
    }

    /// Whether a saved section holds some of the state.
    pub(crate) fn is_in_use(&mut self, key: SectionKey) -> bool {
        match key.0 {
            FACTS | LEARNING | MARKS => true,
            _ => self.keys.parts().any(|part| part.key() == key) || self.index.is_in_use(key),
        }
    }

    /// Reads the keys that are still in the file.
    pub(crate) fn load_keys(&mut self) {
        for load in self.keys.parts().filter_map(|part| part.loader()) {
            load();
        }
    }

    /// Folds all entries after `covers`, then checks that index and log are in step.
    pub(crate) fn replay(mut self, log: &Log, covers: CommitSeq) -> Result<Self, EngineError> {
        self.checkpoint = StateCheckpoint::new(covers);
        log.replay(covers, &mut |ordinal, entry| self.apply(ordinal, &entry))?;
        let logged = log.record_count();
        self.fill_holes(logged);
        let held = self.index.len() as u32;
        if held != logged {
            return Err(EngineError::OutOfStep {
                index: held,
                log: logged,
            });
        }
        self.load_other_spaces(&log.reader());
        Ok(self)
    }

    /// Applies one entry; `ordinal` is its number among the records, if the entry is one.
    pub(crate) fn apply(&mut self, ordinal: Option<u32>, entry: &StoreEntry) {
        self.checkpoint.note_entry();
        // Records lost to damage leave holes, so that every later ordinal stays what it was.
        self.fill_holes(ordinal.unwrap_or(0));
        match entry {
            StoreEntry::Record(record) => {
                self.next_known_at(record.known_at);
                let vector = self.accept_vector(record.embedding_space.as_ref(), &record.embedding);
                let names = lookup_terms(record);
                let ordinal = self.index.push(&NewDoc {
                    vector,
                    ..build_doc(record, &names)
                });
                let at = record.known_at.timestamp_micros();
                if !record.tags.is_empty() {
                    self.marks.insert_tags(ordinal, &record.tags, at);
                }
                for external in &record.external_ids {
                    self.keys.insert(hash_external_id(external), ordinal);
                }
                if let Some(old) = record.supersedes {
                    self.supersede(old, record.known_at);
                }
            }
            StoreEntry::Embedded {
                ordinal,
                vector,
                space,
            } => {
                self.other_spaces.remove(*ordinal);
                if let Some(vector) = self.accept_vector(Some(space), vector) {
                    self.index.set_vector(*ordinal, vector);
                } else {
                    // The log has only the newest vector, and this one cannot be compared with.
                    self.index.remove_vector(*ordinal);
                }
            }
            StoreEntry::Forgotten { ordinal, tombstone } => {
                let Tombstone { id, at, keys, .. } = tombstone;
                if *ordinal as usize == self.index.len() {
                    self.index.push_hole(*id);
                }
                for key in keys {
                    self.keys.insert(*key, *ordinal);
                }
                self.next_known_at(*at);
                self.index.forget(*ordinal, *at);
                self.other_spaces.remove(*ordinal);
                self.learning.forget_record(*id);
                self.marks.forget(*ordinal);
            }
            StoreEntry::Superseded { id, at } => self.supersede(*id, *at),
            StoreEntry::Annotated {
                ordinal,
                at,
                annotation,
            } => {
                self.next_known_at(*at);
                if self.closes_a_circle(*ordinal, annotation) {
                    return;
                }
                self.apply_retirement(*ordinal, annotation, *at);
                self.marks
                    .apply(*ordinal, annotation, at.timestamp_micros());
            }
            StoreEntry::Learning(event) => {
                // An older run in a compacted log, or a fit begun before, may name the forgotten.
                let index = &self.index;
                let live = |id| index.find(id).is_some_and(|place| !index.is_gone(place));
                self.learning.apply_event(event, &live);
            }
            // Cursors belong to the log; this index ignores kinds of a later version.
            _ => {}
        }
    }

    /// Marks a record as replaced by a newer version. It stays so when a retirement from before is
    /// undone.
    fn supersede(&mut self, id: RecordId, at: DateTime<Utc>) {
        let Some(old) = self.index.find(id) else {
            return;
        };
        let retirements = self.marks.open_retirements(old).map(|link| link.to);
        for to in retirements.collect::<Vec<u32>>() {
            let relation = CORRECTED.to_owned();
            let corrected = Annotation::Linked { to, relation };
            self.marks.apply(old, &corrected, at.timestamp_micros());
        }
        self.index.supersede(old, at);
    }

    /// Whether a link retires a record into one that leads back to it, as when two machines each
    /// retired one of two records into the other. The first of the two links holds, so that one of
    /// the records stays.
    fn closes_a_circle(&self, ordinal: u32, annotation: &Annotation) -> bool {
        let Annotation::Linked { to, relation } = annotation else {
            return false;
        };
        if !is_retirement(relation) || *to == ordinal {
            return false;
        }
        let next = |at: &u32| self.marks.find_retirement(*at).map(|link| link.to);
        let mut passed = BTreeSet::new();
        let mut way = std::iter::successors(Some(*to), next).take_while(|at| passed.insert(*at));
        way.any(|at| at == ordinal)
    }

    /// Applies a link that retires a record, or the end of one, which restores the record unless
    /// something else had replaced it before.
    fn apply_retirement(&mut self, ordinal: u32, annotation: &Annotation, at: DateTime<Utc>) {
        match annotation {
            Annotation::Linked { relation, .. } if is_retirement(relation) => {
                self.index.supersede(ordinal, at);
            }
            Annotation::Unlinked { to, relation } if is_retirement(relation) => {
                if let Some(link) = self.marks.find_open_link(ordinal, *to, relation) {
                    self.index.restore(ordinal, link.since);
                }
                let corrected = self.marks.corrected_at(ordinal);
                if let Some(at) = corrected.and_then(DateTime::from_timestamp_micros) {
                    self.index.supersede(ordinal, at);
                }
            }
            _ => {}
        }
    }

    /// Returns the instant at which something written at `at` becomes known: never before the last
    /// one. A last one that lies far ahead was assigned under a wrong clock and does not hold time
    /// up, unless it is the present clock that is wrong.
    pub(crate) fn next_known_at(&mut self, at: DateTime<Utc>) -> DateTime<Utc> {
        let ahead = self.known_at.signed_duration_since(at);
        let is_plausible = at.timestamp() >= OLDEST_SECONDS;
        if at > self.known_at || (is_plausible && ahead > AHEAD_MAX) {
            self.known_at = at;
        }
        self.known_at
    }

    /// Returns the vector if it is in the space in use. The first vector decides which space that
    /// is, unless a model is configured.
    fn accept_vector<'v>(
        &mut self,
        space: Option<&EmbeddingSpace>,
        vector: &'v [f32],
    ) -> Option<&'v [f32]> {
        if self.space.is_none() && vector.len() == self.index.dimensions() {
            self.set_space(space.cloned());
        }
        let own = space.is_some() && space == self.space.as_ref();
        (own && !vector.is_empty()).then_some(vector)
    }

    fn fill_holes(&mut self, until: u32) {
        let last = self
            .index
            .last()
            .map_or_else(|| RecordId::from_u128(0), |last| last.0);
        for _ in self.index.len() as u32..until {
            self.index.push_hole(last);
        }
    }
}

/// How far the last instant may lie ahead of the clock and still hold: clocks are set back by less
/// when nothing is wrong with them.
const AHEAD_MAX: TimeDelta = TimeDelta::days(1);
/// The start of 2026 in Unix time. No memory is older than the format: a clock before that has lost
/// its battery.
const OLDEST_SECONDS: i64 = 1_767_225_600;

/// Returns the width of the vectors in use: the file's own width while there are none.
fn dimensions_of(space: Option<&EmbeddingSpace>, log: &LogReader) -> usize {
    space.map_or(log.dimensions(), |space| usize::from(space.dimensions))
}

/// Whether an index holds vectors of another space.
fn has_vectors_of_other_spaces(
    index: &IndexSnapshot,
    log: &LogReader,
    space: &EmbeddingSpace,
) -> bool {
    let other = |ordinal: &u32| log.space_of(*ordinal).is_some_and(|found| found != space);
    let mut others = (0..index.len() as u32).filter(other);
    log.has_other_spaces(space) && others.any(|ordinal| index.has_vector(ordinal))
}

/// Whether a person's words came as an event of a host, which keeps them for its agent. Turns of an
/// imported chat do not count, because people also tell things in them.
fn is_users_event(record: &MemoryRecord) -> bool {
    record.source == MemorySource::UserInput && record.find_external_id(ExternalId::EVENT).is_some()
}

/// Builds what the index needs of a record, except for its vector.
fn build_doc<'a>(record: &'a MemoryRecord, names: &'a [String]) -> NewDoc<'a> {
    NewDoc {
        id: record.id,
        timestamp: record.timestamp,
        known_at: record.known_at,
        kind: record.kind,
        source: record.source,
        session_id: &record.session_id,
        speaker: speaker_of(record),
        text: &record.text,
        // A record that only repeats its question answers nothing.
        is_prompt: record.is_prompt() || is_users_event(record) || record.is_run_without_steps(),
        exact: names,
        vector: None,
    }
}

/// Returns who speaks, if the record's metadata names the speaker.
fn speaker_of(record: &MemoryRecord) -> &str {
    let named = ["speaker", "author", "sender"].iter();
    let named = named.filter_map(|key| record.metadata.get(*key)?.as_str());
    named.into_iter().next().unwrap_or_default()
}
