//! The read half: an immutable view of one moment, shared by any number of readers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use chrono::{DateTime, Utc};
use reprise_index::{Doc, IndexSnapshot, View};
use reprise_learn::Learner;
use reprise_store::{LogReader, StoreError};
use reprise_types::{
    Embedding, EmbeddingSpace, LearningEngine, MemoryFilter, MemoryRecord, RecordId, Unrelated,
    VectorStore, lock, show_fields,
};

use crate::marks::Marks;
use crate::open::Parts;
use crate::others::Others;
use crate::state::State;

/// Tags whose records are remembered of one moment.
const TAGS_MAX: usize = 16;

/// One moment of one user's memory. Later writes, and even a compaction, leave it as it is.
pub struct Snapshot {
    pub(crate) index: Arc<IndexSnapshot>,
    pub(crate) reader: LogReader,
    pub(crate) space: Option<EmbeddingSpace>,
    pub(crate) others: Others,
    /// Whole vectors, read as they are asked for.
    pub(crate) vectors: Arc<dyn VectorStore>,
    /// What adjusts scores,
    pub(crate) learning: Arc<dyn LearningEngine>,
    /// and what the runs of this memory teach, which mostly is the same.
    pub(crate) learner: Arc<Learner>,
    pub(crate) marks: Marks,
    /// Of records that answer alike the first that was told comes first, else the last.
    pub(crate) first_told: bool,
    /// By tag, the live records that have it: a tag on most records is asked for again and again.
    views: Mutex<HashMap<String, Arc<View>>>,
    /// See [`Self::unrelated`].
    unrelated: OnceLock<Unrelated>,
}

show_fields!(Snapshot { space, learner });

impl Snapshot {
    pub(crate) fn of(
        state: &mut State,
        reader: LogReader,
        first_told: bool,
        parts: &Parts,
    ) -> Self {
        let learner = state.learning.learner();
        let vectors: Arc<dyn VectorStore> = match &parts.vectors {
            Some(open) => open(reader.clone()),
            None => Arc::new(reader.clone()),
        };
        let own = || -> Arc<dyn LearningEngine> { Arc::clone(&learner) as _ };
        Self {
            index: state.index.publish(),
            reader,
            vectors,
            learning: parts.learning.clone().unwrap_or_else(own),
            space: state.space.clone(),
            others: state.others.clone(),
            learner,
            marks: state.marks.clone(),
            first_told,
            views: Mutex::default(),
            unrelated: OnceLock::new(),
        }
    }

    /// The live records that have a tag in its normal form.
    pub(crate) fn tagged_view(&self, tag: &str) -> Arc<View> {
        let known = || lock(&self.views);
        if let Some(view) = known().get(tag) {
            return Arc::clone(view);
        }
        let all = self.index.view(&MemoryFilter::default(), None);
        let view = Arc::new(all.among(self.marks.holding(tag, None)));
        let mut known = known();
        if known.len() >= TAGS_MAX {
            known.clear();
        }
        known.insert(tag.to_owned(), Arc::clone(&view));
        view
    }

    /// What the model of its space gives unrelated texts: looked up until it is known, as a model
    /// may be opened after the memory.
    pub(crate) fn unrelated(&self) -> Option<Unrelated> {
        let known = self.unrelated.get().copied();
        known.or_else(|| {
            let found = self.space.as_ref()?.unrelated()?;
            Some(*self.unrelated.get_or_init(|| found))
        })
    }

    /// The space of its vectors, once it has any.
    pub fn space(&self) -> Option<&EmbeddingSpace> {
        self.space.as_ref()
    }

    /// The other spaces that records still have their vector in: a question is asked in each.
    pub fn other_spaces(&self) -> impl Iterator<Item = &EmbeddingSpace> {
        self.others.iter().map(|other| &other.space)
    }

    /// The cosine of two records in the one space that both have their vector in; `None` where
    /// there is none.
    pub(crate) fn likeness(&self, one: u32, other: u32) -> Option<f32> {
        if self.index.has_vector(one) && self.index.has_vector(other) {
            Some(self.index.likeness(one, other))
        } else {
            self.others.likeness(one, other)
        }
    }

    /// The cosines of every two of these records that one space has, by their places.
    pub fn likenesses(&self, records: &[RecordId]) -> Vec<(usize, usize, f32)> {
        let ordinals: Vec<Option<u32>> = records.iter().map(|id| self.ordinal(*id)).collect();
        let mut found = Vec::new();
        for (place, one) in ordinals.iter().enumerate() {
            for (other_place, other) in ordinals.iter().enumerate().skip(place + 1) {
                let cosine = one.zip(*other).and_then(|(a, b)| self.likeness(a, b));
                found.extend(cosine.map(|cosine| (place, other_place, cosine)));
            }
        }
        found
    }

    /// What adjusts scores, as of this moment: the learner that a recall is meant to use.
    pub fn learning(&self) -> &dyn LearningEngine {
        self.learning.as_ref()
    }

    /// What past runs teach, as of this moment.
    pub fn learner(&self) -> &Arc<Learner> {
        &self.learner
    }

    /// The log behind it, for background verification and inspection.
    pub fn log(&self) -> &LogReader {
        &self.reader
    }

    /// The live record with this id.
    pub fn get(&self, id: RecordId) -> Option<Result<MemoryRecord, StoreError>> {
        self.ordinal(id).map(|ordinal| self.record(ordinal, None))
    }

    /// The record with this id, whether it still answers or was corrected or put away; `None` where
    /// it was never here or is forgotten.
    pub fn version(&self, id: RecordId) -> Option<Result<MemoryRecord, StoreError>> {
        let ordinal = self.index.find(id)?;
        let doc = self.index.doc(ordinal)?;
        let is_there = doc.forgotten_at().is_none() && !doc.hole;
        is_there.then(|| self.record(ordinal, None))
    }

    /// Whether the record with this id was here, and is forgotten.
    pub fn is_forgotten(&self, id: RecordId) -> bool {
        let doc = self.index.find(id).and_then(|at| self.index.doc(at));
        doc.is_some_and(|doc| doc.forgotten_at().is_some())
    }

    /// What this memory forgot, and another one has: records and their earlier versions.
    pub fn forgotten_of(&self, other: &Self) -> Vec<RecordId> {
        let there = other.docs().filter(|(_, doc)| doc.forgotten_at().is_none());
        let ids = there.map(|(_, doc)| doc.id);
        ids.filter(|id| self.is_forgotten(*id)).collect()
    }

    /// The live version of a record that was kept under this id: itself, or what has replaced it,
    /// in as many steps as that took. Reads the records that were kept at the instants of
    /// replacement.
    pub fn current(&self, id: RecordId) -> Option<RecordId> {
        let mut version = self.index.find(id)?;
        loop {
            let doc = self.index.doc(version)?;
            if doc.is_live() {
                return Some(doc.id);
            }
            if let Some(link) = self.retired_by(version) {
                // What was put away because its time was over leads nowhere.
                if link.to == version {
                    return None;
                }
                version = link.to;
                continue;
            }
            let then = self.index.learned_at(doc.superseded_at()?);
            let mut known_then = then.filter(|ordinal| *ordinal > version);
            version = known_then.find(|ordinal| {
                let record = self.reader.record(*ordinal);
                record.is_ok_and(|record| record.supersedes == Some(doc.id))
            })?;
        }
    }

    /// A version and all that it corrected, newest first: none of them but the first may answer,
    /// and the text of each is still there. Empty where there is no such record.
    pub(crate) fn corrected(&self, id: RecordId) -> Vec<RecordId> {
        let (mut versions, mut next) = (Vec::new(), Some(id));
        while let Some((id, ordinal)) = next.and_then(|id| Some((id, self.index.find(id)?))) {
            // A file of others may say that a record corrects itself.
            if versions.contains(&id) {
                break;
            }
            versions.push(id);
            let record = self.reader.record(ordinal);
            next = record.ok().and_then(|record| record.supersedes);
        }
        versions
    }

    /// The vector of the live record with this id, in the space in use.
    pub fn vector(&self, id: RecordId) -> Option<Vec<f32>> {
        let mut vector = vec![0.0; self.index.dimensions()];
        let held = self.is_live(id) && self.vector_of(id, &mut vector);
        held.then_some(vector)
    }

    /// The cosine of a question and a record, whether it still answers or not; `None` where it has
    /// no vector in the question's space.
    pub fn nearness(&self, id: RecordId, question: &Embedding) -> Option<f64> {
        let ordinal = self.index.find(id)?;
        let is_own = self.space.as_ref() == Some(&question.space);
        let mut vector = vec![0.0; self.index.dimensions()];
        let held =
            is_own && self.index.has_vector(ordinal) && self.reader.vector(ordinal, &mut vector);
        let pairs = vector.iter().zip(&question.vector);
        held.then(|| pairs.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum())
    }

    /// A version and all that it corrected, newest first, as far as they are still there.
    pub fn versions(&self, id: RecordId) -> Vec<MemoryRecord> {
        let places = self.version_places(id);
        let read = places.filter_map(|ordinal| self.record(ordinal, None).ok());
        read.collect()
    }

    /// The places of the same.
    pub(crate) fn version_places(&self, id: RecordId) -> impl Iterator<Item = u32> {
        let versions = self.corrected(id).into_iter();
        let places = versions.filter_map(|id| self.index.find(id));
        places.filter(|ordinal| self.is_kept(*ordinal))
    }

    /// When each live record was kept, in microseconds since the Unix epoch, in the order of the
    /// log.
    pub fn kept_micros(&self) -> impl Iterator<Item = i64> + '_ {
        self.index.known_micros()
    }

    /// The place of the live record with this id.
    pub(crate) fn ordinal(&self, id: RecordId) -> Option<u32> {
        let ordinal = self.index.find(id)?;
        self.live(ordinal).map(|_| ordinal)
    }

    /// Every place of the log with what the index holds of it.
    pub(crate) fn docs(&self) -> impl DoubleEndedIterator<Item = (u32, Doc)> {
        let places = 0..self.index.len() as u32;
        places.filter_map(|ordinal| Some((ordinal, self.index.doc(ordinal)?)))
    }

    /// What stands at a place, where it answers.
    pub(crate) fn live(&self, ordinal: u32) -> Option<Doc> {
        self.index.doc(ordinal).filter(Doc::is_live)
    }

    /// Whether what stands at a place is not forgotten. A corrected version answers no more, but
    /// its text is still there.
    pub(crate) fn is_kept(&self, ordinal: u32) -> bool {
        let doc = self.index.doc(ordinal);
        doc.is_some_and(|doc| doc.forgotten_at().is_none())
    }

    /// A record with the tags that it has now, or had at an instant.
    pub(crate) fn record(
        &self,
        ordinal: u32,
        as_of: Option<DateTime<Utc>>,
    ) -> Result<MemoryRecord, StoreError> {
        let mut record = self.reader.record(ordinal)?;
        let at = as_of.map(|at| at.timestamp_micros());
        if let Some(tags) = self.marks.edited(ordinal, at) {
            record.tags = tags;
        }
        Ok(record)
    }

    /// The tags of a record now, ascending.
    pub(crate) fn tags_of(&self, ordinal: u32) -> Vec<String> {
        let mut tags = self
            .record(ordinal, None)
            .map(|record| record.body.tags)
            .unwrap_or_default();
        tags.sort_unstable();
        tags
    }

    /// The live records that were kept last, newest first, at most `limit`.
    pub fn newest(&self, limit: usize) -> Vec<Result<MemoryRecord, StoreError>> {
        let view = self.view(&MemoryFilter::default(), None);
        let newest_first = (0..self.index.len() as u32).rev();
        newest_first
            .filter(|ordinal| view.admits(*ordinal))
            .take(limit)
            .map(|ordinal| self.record(ordinal, None))
            .collect()
    }

    /// Every live record, oldest first, read from disk as the iterator moves.
    pub fn records(&self) -> impl Iterator<Item = Result<MemoryRecord, StoreError>> + '_ {
        let live = self.docs().filter(|(_, doc)| doc.is_live());
        live.map(|(ordinal, _)| self.record(ordinal, None))
    }

    /// Every record that a question about this instant could have found, oldest first, each with
    /// the tags that it had.
    pub fn records_at(
        &self,
        at: DateTime<Utc>,
    ) -> impl Iterator<Item = Result<MemoryRecord, StoreError>> + '_ {
        let view = self.view(&MemoryFilter::default(), Some(at));
        (0..self.index.len() as u32)
            .filter(move |ordinal| view.admits(*ordinal))
            .map(move |ordinal| self.record(ordinal, Some(at)))
    }

    /// Every record that nothing had replaced at an instant, also what was kept only later, oldest
    /// first, each with the tags that it had then, or came with.
    pub fn unreplaced_at(
        &self,
        at: DateTime<Utc>,
    ) -> impl Iterator<Item = Result<MemoryRecord, StoreError>> + '_ {
        let stood = self.docs().filter(move |(_, doc)| {
            let is_there = doc.forgotten_at().is_none() && !doc.hole;
            is_there && doc.superseded_at().is_none_or(|end| end > at)
        });
        stood.map(move |(ordinal, doc)| self.record(ordinal, Some(at.max(doc.known_at()))))
    }

    /// A record as it stood at an instant: this version where it answered then, else the one of
    /// those that it corrected, or that corrected it, which did.
    pub fn version_at(
        &self,
        id: RecordId,
        at: DateTime<Utc>,
    ) -> Option<Result<MemoryRecord, StoreError>> {
        let view = self.view(&MemoryFilter::default(), Some(at));
        let present = self.current(id).into_iter();
        let later = present.flat_map(|present| self.corrected(present));
        let mut places = self
            .corrected(id)
            .into_iter()
            .chain(later)
            .filter_map(|id| self.index.find(id));
        let found = places.find(|ordinal| view.admits(*ordinal))?;
        Some(self.record(found, Some(at)))
    }

    /// As [`reprise_index::IndexSnapshot::crossover`].
    pub fn crossover(&self, clock: &dyn Fn() -> Duration) -> Option<u32> {
        self.index.crossover(clock)
    }

    /// Bytes of memory that the index holds.
    pub fn memory_bytes(&self) -> usize {
        self.index.memory_bytes() + self.others.memory_bytes()
    }
}
