//! The fold of the log: index, keys, marks, clock and space. What an entry means is said here,
//! once, for opening, writing and checking alike.

use std::collections::HashSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use reprise_index::{IndexWriter, LeftPart, NewDoc};
use reprise_learn::{LearnSettings, Learning};
use reprise_store::{CommitSeq, DerivedSet, Entry, Log};
use reprise_types::{EmbeddingSpace, LearningEvent, MemoryRecord, RecordId};

use crate::error::EngineError;
use crate::keys::{KEYS_TAG, Keys, key_of};
use crate::learning::LEARNING_TAG;
use crate::marks::{MARKS_TAG, Marks};
use crate::names::names_of;

/// Everything that can be rebuilt from the log.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) index: IndexWriter,
    pub(crate) keys: Keys,
    /// The latest `known_at`; the next one is never earlier.
    pub(crate) known_at: DateTime<Utc>,
    /// The one space whose vectors the file holds.
    pub(crate) space: Option<EmbeddingSpace>,
    pub(crate) learning: Learning,
    pub(crate) marks: Marks,
    /// Records forgotten in this fold: an older run of a compacted log may still name them.
    gone: HashSet<RecordId>,
    /// Whether records wait to be placed along the adapter's weights until the fold is done.
    pub(crate) unplaced: bool,
}

impl State {
    pub(crate) fn empty(dimensions: usize, learn: LearnSettings) -> Self {
        Self {
            index: IndexWriter::new(dimensions),
            keys: Keys::default(),
            known_at: DateTime::<Utc>::MIN_UTC,
            space: None,
            learning: Learning::with_settings(dimensions, learn),
            marks: Marks::default(),
            gone: HashSet::new(),
            unplaced: false,
        }
    }

    /// The state at a checkpoint; `None` where a part is missing or unreadable.
    pub(crate) fn from_parts(
        dimensions: usize,
        learn: LearnSettings,
        mut set: DerivedSet,
    ) -> Option<Self> {
        let keys = set.parts.iter().position(|part| part.0 == KEYS_TAG)?;
        let keys = Keys::from_part(set.parts.swap_remove(keys).1)?;
        let learning = set.parts.iter().find(|part| part.0 == LEARNING_TAG)?;
        let learning = Learning::from_part(dimensions, learn, &learning.1)?;
        let marks = set.parts.iter().find(|part| part.0 == MARKS_TAG)?;
        let marks = Marks::from_part(&marks.1)?;
        let part = set.left?;
        let left = LeftPart {
            size: part.size(),
            read: Arc::new(move |at, out| part.read_at(at, out)),
        };
        let index = IndexWriter::from_left_parts(dimensions, set.parts, &left).ok()?;
        let known_at = index.last().map_or(DateTime::<Utc>::MIN_UTC, |last| last.1);
        Some(Self {
            index,
            keys,
            known_at,
            space: None,
            learning,
            marks,
            gone: HashSet::new(),
            unplaced: false,
        })
    }

    /// The parts a checkpoint stores.
    pub(crate) fn parts(&mut self) -> Vec<(u8, Vec<u8>)> {
        let mut parts = self.index.to_parts();
        parts.push((KEYS_TAG, self.keys.to_part()));
        parts.push((LEARNING_TAG, self.learning.to_part()));
        parts.push((MARKS_TAG, self.marks.to_part()));
        parts
    }

    /// Folds everything after `covers`, then checks that index and log are in step.
    pub(crate) fn replay(mut self, log: &Log, covers: CommitSeq) -> Result<Self, EngineError> {
        log.replay(covers, &mut |ordinal, entry| self.apply(ordinal, &entry))?;
        let logged = log.records();
        self.fill_holes(logged);
        let held = self.index.len() as u32;
        if held != logged {
            return Err(EngineError::OutOfStep {
                index: held,
                log: logged,
            });
        }
        if self.space.is_none() {
            self.space = self.index_space(log);
        }
        if self.unplaced {
            self.place_all(&log.reader());
        }
        Ok(self)
    }

    /// Applies one entry; `ordinal` is its place among the records, where it has one.
    pub(crate) fn apply(&mut self, ordinal: Option<u32>, entry: &Entry) {
        // Records lost to damage leave holes, so that every later ordinal stays what it was.
        self.fill_holes(ordinal.unwrap_or(0));
        match entry {
            Entry::Record(record) => {
                self.known_at = self.known_at.max(record.known_at);
                if record.embedding_space.is_some() {
                    self.space.clone_from(&record.embedding_space);
                }
                let ordinal = self.index.push(&doc_of(record, &names_of(record)));
                self.learning.place(record.id, &record.embedding);
                let at = record.known_at.timestamp_micros();
                self.marks.kept(ordinal, &record.tags, at);
                for external in &record.external_ids {
                    self.keys.insert(key_of(external), ordinal);
                }
                if let Some(old) = record.supersedes.and_then(|id| self.index.find(id)) {
                    self.index.supersede(old, record.known_at);
                }
            }
            Entry::Embedded {
                ordinal,
                vector,
                space,
            } => {
                self.space = Some(space.clone());
                self.index.set_vector(*ordinal, vector);
                self.unplaced |= self.learning.has_weights();
            }
            Entry::Forgotten {
                ordinal,
                id,
                at,
                keys,
                ..
            } => {
                if *ordinal as usize == self.index.len() {
                    self.index.push_hole(*id);
                }
                for key in keys {
                    self.keys.insert(*key, *ordinal);
                }
                self.known_at = self.known_at.max(*at);
                self.index.forget(*ordinal, *at);
                self.learning.forget(*id);
                self.marks.forget(*ordinal);
                self.gone.insert(*id);
            }
            Entry::Annotated {
                ordinal,
                at,
                annotation,
            } => {
                self.known_at = self.known_at.max(*at);
                self.marks.say(*ordinal, annotation, at.timestamp_micros());
            }
            Entry::Learning(event) => {
                self.unplaced |= matches!(**event, LearningEvent::Consolidated(_));
                let (index, gone) = (&self.index, &self.gone);
                let live = |id| index.find(id).is_some() && !gone.contains(&id);
                self.learning.fold(event, &live);
            }
            // Cursors are the log's; kinds of a later version mean nothing to this index.
            _ => {}
        }
    }

    /// The space of the newest vector, asked of the log: the index stores numbers only.
    fn index_space(&mut self, log: &Log) -> Option<EmbeddingSpace> {
        let (index, reader) = (self.index.publish(), log.reader());
        let embedded = (0..index.len() as u32)
            .rev()
            .filter(|o| index.has_vector(*o));
        embedded
            .filter_map(|o| reader.record(o).ok())
            .find_map(|record| record.embedding_space)
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

/// What the index needs of a record.
fn doc_of<'a>(record: &'a MemoryRecord, names: &'a [String]) -> NewDoc<'a> {
    NewDoc {
        id: record.id,
        timestamp: record.timestamp,
        known_at: record.known_at,
        kind: record.kind,
        source: record.source,
        session_id: &record.session_id,
        speaker: speaker_of(record),
        text: &record.text,
        exact: names,
        vector: (!record.embedding.is_empty()).then_some(record.embedding.as_slice()),
    }
}

/// Who speaks, where the record's source told it beside the text.
fn speaker_of(record: &MemoryRecord) -> &str {
    let named = ["speaker", "author", "sender"].iter();
    let named = named.filter_map(|key| record.metadata.get(*key)?.as_str());
    named.into_iter().next().unwrap_or_default()
}
