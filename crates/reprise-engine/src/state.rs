//! The fold of the log: index, keys, marks, clock and space. What an entry means is said here,
//! once, for opening, writing and checking alike.

use std::collections::HashSet;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use reprise_index::{IndexCopy, IndexSnapshot, IndexWriter, LeftPart, MergedWords, NewDoc};
use reprise_learn::{LearnSettings, Learning};
use reprise_store::{CommitSeq, DerivedPart, DerivedSet, Entry, Log, LogReader, Tombstone};
use reprise_types::{
    Annotation, EmbeddingSpace, ExternalId, MemoryRecord, MemorySource, RecordId, VectorStore as _,
};

use crate::error::EngineError;
use crate::keys::{Head, KEYS_TAG, Keys, SavedKeys, key_of};
use crate::marks::{MARKS_TAG, Marks, puts_away};
use crate::names::names_of;
use crate::others::{Others, space_of_most};

/// Tag of the checkpoint's part that holds what was learned.
pub(crate) const LEARNING_TAG: u8 = 0x45;

/// Everything that can be rebuilt from the log.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) index: IndexWriter,
    pub(crate) keys: Keys,
    /// The instant given out last.
    pub(crate) known_at: DateTime<Utc>,
    /// The one space whose vectors are in use.
    pub(crate) space: Option<EmbeddingSpace>,
    /// The space of the model in use, where it is known: vectors of others are left out of the
    /// index.
    pub(crate) configured: Option<EmbeddingSpace>,
    /// The vectors of other spaces whose records still wait for that model.
    pub(crate) others: Others,
    pub(crate) learning: Learning,
    pub(crate) marks: Marks,
    /// Records forgotten in this fold: an older run of a compacted log may still name them.
    gone: HashSet<RecordId>,
    /// Entries applied,
    pub(crate) applied: u64,
    /// and how many of them the newest checkpoint holds.
    pub(crate) saved: u64,
    /// Records that entered the graph since then.
    pub(crate) graph_unsaved: u64,
}

/// What a checkpoint stores as of one moment, to be written as bytes by any thread.
#[derive(Debug)]
pub(crate) struct StateCopy {
    index: IndexCopy,
    head: Head,
    keys: Keys,
    learning: Learning,
    marks: Marks,
    entries: u64,
    graph: u64,
}

/// What the writing of a copy made that is of use to the state, and what it holds: entries, and
/// records that were new in the graph.
#[derive(Debug)]
pub(crate) struct Made {
    words: MergedWords,
    keys: SavedKeys,
    entries: u64,
    graph: u64,
}

impl StateCopy {
    /// The parts, by tag.
    pub(crate) fn into_parts(self) -> (Vec<(u8, Vec<u8>)>, Made) {
        let (mut parts, words) = self.index.into_parts();
        let (part, keys) = self.keys.saved(&self.head);
        parts.push((KEYS_TAG, part));
        parts.push((LEARNING_TAG, self.learning.to_part()));
        parts.push((MARKS_TAG, self.marks.to_part()));
        let made = Made {
            words,
            keys,
            entries: self.entries,
            graph: self.graph,
        };
        (parts, made)
    }
}

impl State {
    /// One without records, whose vectors are in `space`.
    fn new(
        index: IndexWriter,
        mut learning: Learning,
        configured: Option<EmbeddingSpace>,
        space: Option<EmbeddingSpace>,
    ) -> Self {
        learning.keep_to(space.as_ref());
        Self {
            index,
            keys: Keys::default(),
            known_at: DateTime::<Utc>::MIN_UTC,
            space,
            learning,
            configured,
            others: Others::default(),
            marks: Marks::default(),
            gone: HashSet::new(),
            applied: 0,
            saved: 0,
            graph_unsaved: 0,
        }
    }

    /// Folds a whole log. Where nobody says which model is in use, the space of most vectors is.
    pub(crate) fn of_log(
        learn: LearnSettings,
        configured: Option<EmbeddingSpace>,
        log: &Log,
    ) -> Result<Self, EngineError> {
        let reader = log.reader();
        let space = configured.clone().or_else(|| space_of_most(&reader));
        let dimensions = width(space.as_ref(), &reader);
        let learning = Learning::with_settings(dimensions, learn);
        let index = IndexWriter::new(dimensions);
        Self::new(index, learning, configured, space).replay(log, CommitSeq(0))
    }

    /// Puts a space in force that nobody has configured.
    pub(crate) fn be_in(&mut self, space: Option<EmbeddingSpace>) {
        self.learning.keep_to(space.as_ref());
        self.space = space;
    }

    /// Reads what other models made from the log, whose fold is done.
    pub(crate) fn read_others(&mut self, reader: &LogReader) {
        self.others = Others::read(&self.index.publish(), reader, self.space.as_ref());
    }

    /// The state at a checkpoint; `None` where a part is missing or unreadable, or holds vectors
    /// that the model in use cannot read.
    pub(crate) fn from_parts(
        learn: LearnSettings,
        configured: Option<&EmbeddingSpace>,
        set: DerivedSet,
        log: &LogReader,
    ) -> Option<Self> {
        let left: Vec<(u8, LeftPart)> = set.left.into_iter().map(left_part).collect();
        let keys = left.iter().find(|part| part.0 == KEYS_TAG)?;
        let (keys, head) = Keys::from_part(keys.1.clone())?;
        let in_force = configured.or(head.space.as_ref()).cloned();
        let in_force = in_force.or_else(|| space_of_most(log));
        let dimensions = width(in_force.as_ref(), log);
        let learning = set.parts.iter().find(|part| part.0 == LEARNING_TAG)?;
        let learning = Learning::from_part(dimensions, learn, &learning.1)?;
        let marks = set.parts.iter().find(|part| part.0 == MARKS_TAG)?;
        let marks = Marks::from_part(&marks.1)?;
        let mut index = IndexWriter::from_left_parts(dimensions, &left).ok()?;
        let last = || index.last().map_or(DateTime::<Utc>::MIN_UTC, |last| last.1);
        let known_at = head.known_at.unwrap_or_else(last);
        if let Some(space) = configured
            && head.space.as_ref() != Some(space)
            && (head.space.is_some() || holds_others(&index.publish(), log, space))
        {
            return None;
        }
        let (configured, space) = (configured.cloned().or(head.space), in_force);
        if configured.is_none()
            && let Some(space) = &space
            && holds_others(&index.publish(), log, space)
        {
            return None;
        }
        Some(Self {
            keys,
            known_at,
            marks,
            ..Self::new(index, learning, configured, space)
        })
    }

    /// What a checkpoint stores as of now: cheap, and nothing that comes later changes it.
    pub(crate) fn copy(&mut self) -> StateCopy {
        StateCopy {
            index: self.index.copy(),
            head: Head {
                known_at: (self.known_at > DateTime::<Utc>::MIN_UTC).then_some(self.known_at),
                space: self.configured.clone(),
            },
            keys: self.keys.copy(),
            learning: self.learning.clone(),
            marks: self.marks.clone(),
            entries: self.applied,
            graph: self.graph_unsaved,
        }
    }

    /// Takes over what was made of a copy that is in the file now, as far as it still fits.
    pub(crate) fn take(&mut self, made: Made) {
        self.saved = made.entries;
        self.graph_unsaved = self.graph_unsaved.saturating_sub(made.graph);
        self.index.take_merged(made.words);
        self.keys.take_saved(made.keys);
    }

    /// Entries behind the newest checkpoint: what the next opening has to fold.
    pub(crate) fn tail(&self) -> u64 {
        self.applied.saturating_sub(self.saved)
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
        self.read_others(&log.reader());
        Ok(self)
    }

    /// Applies one entry; `ordinal` is its place among the records, where it has one.
    pub(crate) fn apply(&mut self, ordinal: Option<u32>, entry: &Entry) {
        self.applied += 1;
        // Records lost to damage leave holes, so that every later ordinal stays what it was.
        self.fill_holes(ordinal.unwrap_or(0));
        match entry {
            Entry::Record(record) => {
                self.give_out(record.known_at);
                let vector = self.own_vector(record.embedding_space.as_ref(), &record.embedding);
                let names = names_of(record);
                let ordinal = self.index.push(&NewDoc {
                    vector,
                    ..doc_of(record, &names)
                });
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
                self.others.remove(*ordinal);
                if let Some(vector) = self.own_vector(Some(space), vector) {
                    self.index.set_vector(*ordinal, vector);
                } else {
                    // The log has the newest alone, and this is not one to compare with.
                    self.index.drop_vector(*ordinal);
                }
            }
            Entry::Forgotten { ordinal, tombstone } => {
                let Tombstone { id, at, keys, .. } = tombstone;
                if *ordinal as usize == self.index.len() {
                    self.index.push_hole(*id);
                }
                for key in keys {
                    self.keys.insert(*key, *ordinal);
                }
                self.give_out(*at);
                self.index.forget(*ordinal, *at);
                self.others.remove(*ordinal);
                self.learning.forget(*id);
                self.marks.forget(*ordinal);
                self.gone.insert(*id);
            }
            Entry::Annotated {
                ordinal,
                at,
                annotation,
            } => {
                self.give_out(*at);
                self.put_behind(*ordinal, annotation, *at);
                self.marks.say(*ordinal, annotation, at.timestamp_micros());
            }
            Entry::Learning(event) => {
                let (index, gone) = (&self.index, &self.gone);
                let live = |id| index.find(id).is_some() && !gone.contains(&id);
                self.learning.fold(event, &live);
            }
            // Cursors are the log's; kinds of a later version mean nothing to this index.
            _ => {}
        }
    }

    /// What a link that puts a record away does to it; the end of one takes that back, where
    /// nothing else replaced the record before.
    fn put_behind(&mut self, ordinal: u32, annotation: &Annotation, at: DateTime<Utc>) {
        match annotation {
            Annotation::Linked { relation, .. } if puts_away(relation) => {
                self.index.supersede(ordinal, at);
            }
            Annotation::Unlinked { to, relation } if puts_away(relation) => {
                if let Some(link) = self.marks.held_link(ordinal, *to, relation) {
                    self.index.restore(ordinal, link.since);
                }
            }
            _ => {}
        }
    }

    /// The instant of what is written at `at`: not before the last one given out. But a last one
    /// that lies far ahead was given out under a wrong clock, and does not hold time up; unless it
    /// is the clock now that is wrong.
    pub(crate) fn give_out(&mut self, at: DateTime<Utc>) -> DateTime<Utc> {
        let ahead = self.known_at.signed_duration_since(at);
        let is_plausible = at.timestamp() >= OLDEST_SECONDS;
        if at > self.known_at || (is_plausible && ahead > AHEAD_MAX) {
            self.known_at = at;
        }
        self.known_at
    }

    /// The vector, where it is in the space in use; the first one decides which that is, unless a
    /// model does.
    fn own_vector<'v>(
        &mut self,
        space: Option<&EmbeddingSpace>,
        vector: &'v [f32],
    ) -> Option<&'v [f32]> {
        if self.space.is_none() && vector.len() == self.index.dimensions() {
            self.be_in(space.cloned());
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

/// How far ahead of the clock the last instant may lie and still be held to: what clocks are set
/// back by when nothing is wrong with them.
const AHEAD_MAX: TimeDelta = TimeDelta::days(1);
/// The start of 2026 in Unix time. No memory is older than the format: a clock before that has
/// lost its battery.
const OLDEST_SECONDS: i64 = 1_767_225_600;

/// How wide the vectors in use are: the file's own width where there are none yet.
fn width(space: Option<&EmbeddingSpace>, log: &LogReader) -> usize {
    space.map_or(log.dimensions(), |space| usize::from(space.dimensions))
}

/// A part that was left in the file, as the index reads it.
fn left_part((tag, part): (u8, DerivedPart)) -> (u8, LeftPart) {
    let left = LeftPart {
        size: part.size(),
        read: Arc::new(move |at, out| part.read_at(at, out)),
    };
    (tag, left)
}

/// Whether an index holds vectors of another space.
fn holds_others(index: &IndexSnapshot, log: &LogReader, space: &EmbeddingSpace) -> bool {
    let other = |ordinal: &u32| log.space(*ordinal).is_some_and(|found| found != space);
    let mut others = (0..index.len() as u32).filter(other);
    log.has_other_spaces(space) && others.any(|ordinal| index.has_vector(ordinal))
}

/// Whether a person's words came as an event of a host, which keeps them for its agent. Turns of an
/// imported chat are none: people tell in them what they ask about.
fn is_users_event(record: &MemoryRecord) -> bool {
    record.source == MemorySource::UserInput && record.external_id(ExternalId::EVENT).is_some()
}

/// What the index needs of a record, but for its vector.
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
        // What only repeats its question answers nothing.
        is_prompt: record.is_prompt() || is_users_event(record) || record.is_bare_run(),
        exact: names,
        vector: None,
    }
}

/// Who speaks, where the record's source told it beside the text.
fn speaker_of(record: &MemoryRecord) -> &str {
    let named = ["speaker", "author", "sender"].iter();
    let named = named.filter_map(|key| record.metadata.get(*key)?.as_str());
    named.into_iter().next().unwrap_or_default()
}
