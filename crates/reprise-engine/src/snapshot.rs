//! The reading half: an immutable view of one moment, shared by any number of readers.

pub(crate) mod annotation_index;
pub(crate) mod filtering;
pub(crate) mod other_spaces;
pub(crate) mod owner;
pub(crate) mod second_store;
pub(crate) mod similarity;
pub(crate) mod stats;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use chrono::{DateTime, Utc};
use reprise_index::{Doc, IndexSnapshot, IndexView};
use reprise_learn::{Learner, LearningStatus};
use reprise_store::{LogReader, StoreError};
use reprise_types::{
    ContentHash, Embedding, EmbeddingSpace, LearningEngine, MemoryFilter, MemoryRecord, RecordId,
    UnrelatedCosines, VectorStore, lock, show_fields,
};

use crate::ports::{CosinesOfModel, EnginePorts};
use crate::snapshot::annotation_index::AnnotationIndex;
use crate::snapshot::other_spaces::OtherSpaces;
use crate::state::EngineState;
use crate::write::dedup_keys::DedupKeys;
use crate::write::lineage::LineageCache;

/// Number of tags whose views are cached per snapshot.
const TAGS_MAX: usize = 16;

/// One moment of one user's memory. Later writes, and even a compaction, leave it as it is.
pub struct Snapshot {
    pub(crate) index: Arc<IndexSnapshot>,
    pub(crate) reader: LogReader,
    pub(crate) space: Option<EmbeddingSpace>,
    pub(crate) other_spaces: OtherSpaces,
    /// The store that answers for vectors in place of the index, if the memory has one.
    pub(crate) second_store: Option<Arc<dyn VectorStore>>,
    /// The engine that adjusts scores; mostly the learner of this memory.
    pub(crate) learning: Arc<dyn LearningEngine>,
    /// What the runs of this memory teach.
    pub(crate) learner: Arc<Learner>,
    /// Number of runs under way.
    open_runs: usize,
    pub(crate) marks: AnnotationIndex,
    pub(crate) keys: DedupKeys,
    pub(crate) lineages: Arc<LineageCache>,
    /// Whether the older of two records with the same score comes first; the newer does otherwise.
    pub(crate) prefer_oldest: bool,
    /// The live records of a tag, cached, because a tag on most records is asked for often.
    views: Mutex<HashMap<String, Arc<IndexView>>>,
    /// What the host knows of the models.
    cosines: Option<CosinesOfModel>,
    /// The value of [`Self::unrelated`], once it is known.
    unrelated: OnceLock<UnrelatedCosines>,
}

show_fields!(Snapshot { space, learner });

impl Snapshot {
    pub(crate) fn from_state(
        state: &mut EngineState,
        reader: LogReader,
        first_told: bool,
        parts: &EnginePorts,
        second_store: Option<Arc<dyn VectorStore>>,
        lineages: Arc<LineageCache>,
    ) -> Self {
        let learner = state.learning.learner();
        let own = || -> Arc<dyn LearningEngine> { Arc::clone(&learner) as _ };
        Self {
            index: state.index.publish(),
            reader,
            second_store,
            learning: parts.learning.clone().unwrap_or_else(own),
            space: state.space.clone(),
            other_spaces: state.other_spaces.clone(),
            learner,
            open_runs: state.learning.open_run_count(),
            marks: state.marks.clone(),
            keys: state.keys.publish(),
            lineages,
            prefer_oldest: first_told,
            views: Mutex::default(),
            cosines: parts.cosines.clone(),
            unrelated: OnceLock::new(),
        }
    }

    /// Returns the live records that have a tag, which must be normalised.
    pub(crate) fn tag_view(&self, tag: &str) -> Arc<IndexView> {
        let known = || lock(&self.views);
        if let Some(view) = known().get(tag) {
            return Arc::clone(view);
        }
        let all = self.index.view(&MemoryFilter::default(), None);
        let view = Arc::new(all.restrict_to(self.marks.iter_with_tag(tag, None)));
        let mut known = known();
        if known.len() >= TAGS_MAX {
            known.clear();
        }
        known.insert(tag.to_owned(), Arc::clone(&view));
        view
    }

    /// Returns how similar the model in use finds unrelated texts. It is looked up until it is
    /// known, because a model may be measured after the memory was opened.
    pub(crate) fn unrelated(&self) -> Option<UnrelatedCosines> {
        let known = self.unrelated.get().copied();
        known.or_else(|| {
            let found = self.unrelated_in(self.space.as_ref()?)?;
            Some(*self.unrelated.get_or_init(|| found))
        })
    }

    /// Returns how similar the model of a space finds unrelated texts.
    pub(crate) fn unrelated_in(&self, space: &EmbeddingSpace) -> Option<UnrelatedCosines> {
        self.cosines.as_ref()?(space)
    }

    /// Returns the space of the vectors in use, once there is one.
    pub fn space(&self) -> Option<&EmbeddingSpace> {
        self.space.as_ref()
    }

    /// Returns the other spaces that records still have their vector in; a question is asked in
    /// each.
    pub fn other_spaces(&self) -> impl Iterator<Item = &EmbeddingSpace> {
        self.other_spaces.iter().map(|other| &other.space)
    }

    /// Returns the cosine of two records, by ordinal, in the one space that has both vectors;
    /// `None` if none has.
    pub(crate) fn cosine_of_ordinals(&self, one: u32, other: u32) -> Option<f32> {
        if self.index.has_vector(one) && self.index.has_vector(other) {
            Some(self.index.similarity(one, other))
        } else {
            self.other_spaces.cosine_of_ordinals(one, other)
        }
    }

    /// Returns the cosine of every pair of these records that have vectors in one space, with the
    /// positions of the two in `records`.
    pub fn pairwise_cosines(&self, records: &[RecordId]) -> Vec<(usize, usize, f32)> {
        let ordinals: Vec<Option<u32>> = records.iter().map(|id| self.live_ordinal(*id)).collect();
        let mut found = Vec::new();
        for (place, one) in ordinals.iter().enumerate() {
            for (other_place, other) in ordinals.iter().enumerate().skip(place + 1) {
                let cosine = one
                    .zip(*other)
                    .and_then(|(a, b)| self.cosine_of_ordinals(a, b));
                found.extend(cosine.map(|cosine| (place, other_place, cosine)));
            }
        }
        found
    }

    /// Returns the engine that adjusts scores, as of this moment.
    pub fn learning_engine(&self) -> &dyn LearningEngine {
        self.learning.as_ref()
    }

    /// Returns what past runs teach, as of this moment.
    pub fn learner(&self) -> &Arc<Learner> {
        &self.learner
    }

    /// Returns the status of learning, as of this moment.
    pub fn learning_status(&self) -> LearningStatus {
        self.learner.status(self.open_runs)
    }

    /// Returns the log's reader, for background verification and inspection.
    pub fn log_reader(&self) -> &LogReader {
        &self.reader
    }

    /// Returns the live record with this id.
    pub fn get(&self, id: RecordId) -> Option<Result<MemoryRecord, StoreError>> {
        self.live_ordinal(id)
            .map(|ordinal| self.record(ordinal, None))
    }

    /// Returns the record with this id if it is stored, whether it is live, corrected or retired;
    /// `None` if it was never here or is forgotten.
    pub fn get_stored(&self, id: RecordId) -> Option<Result<MemoryRecord, StoreError>> {
        let ordinal = self.index.find(id)?;
        let doc = self.index.doc(ordinal)?;
        let is_there = doc.forgotten_at().is_none() && !doc.is_hole();
        is_there.then(|| self.record(ordinal, None))
    }

    /// Whether the record with this id was here and is forgotten.
    pub fn is_forgotten(&self, id: RecordId) -> bool {
        let doc = self.index.find(id).and_then(|at| self.index.doc(at));
        doc.is_some_and(|doc| doc.forgotten_at().is_some())
    }

    /// Returns when a record with exactly this text was forgotten last.
    pub fn text_forgotten_at(&self, text: &str) -> Option<DateTime<Utc>> {
        let hash = ContentHash::of_text(text);
        self.reader.find_forgotten_text(hash).map(|left| left.at)
    }

    /// Returns the ids of records that this memory forgot and `other` still has, earlier versions
    /// included.
    pub fn forgotten_ids_still_in(&self, other: &Self) -> Vec<RecordId> {
        let stored = other.docs().filter(|(_, doc)| doc.forgotten_at().is_none());
        let ids = stored.map(|(_, doc)| doc.id);
        ids.filter(|id| self.is_forgotten(*id)).collect()
    }

    /// Returns the live record that replaced this one through any number of corrections and
    /// retirements, or itself. Reads the records that were stored at the instants of replacement.
    pub fn current_version(&self, id: RecordId) -> Option<RecordId> {
        let mut version = self.index.find(id)?;
        let mut passed = BTreeSet::new();
        // A joined or foreign file may lead in a circle.
        while passed.insert(version) {
            let doc = self.index.doc(version)?;
            if doc.is_live() {
                return Some(doc.id);
            }
            if let Some(link) = self.retirement_link(version) {
                // An expired record was replaced by nothing.
                if link.to == version {
                    return None;
                }
                version = link.to;
                continue;
            }
            let known_at_that_time = self.index.documents_learned_at(doc.superseded_at()?);
            let mut later = known_at_that_time.filter(|ordinal| *ordinal > version);
            version = later.find(|ordinal| {
                let record = self.reader.read_record(*ordinal);
                record.is_ok_and(|record| record.supersedes == Some(doc.id))
            })?;
        }
        None
    }

    /// Returns the ids of a version and of all that it corrected, newest first; empty if there is
    /// no such record. Only the first can be live, but the text of each is stored.
    pub(crate) fn version_ids(&self, id: RecordId) -> Vec<RecordId> {
        let (mut versions, mut next) = (Vec::new(), Some(id));
        let mut passed = BTreeSet::new();
        while let Some((id, ordinal)) = next.and_then(|id| Some((id, self.index.find(id)?))) {
            // A foreign file may claim that a record corrects itself.
            if !passed.insert(id) {
                break;
            }
            versions.push(id);
            let record = self.reader.read_record(ordinal);
            next = record.ok().and_then(|record| record.supersedes);
        }
        versions
    }

    /// Returns the vector of the live record with this id, in the space in use.
    pub fn vector(&self, id: RecordId) -> Option<Vec<f32>> {
        let mut vector = vec![0.0; self.index.dimensions()];
        let has_vector = self.is_live(id) && self.read_vector(id, &mut vector);
        has_vector.then_some(vector)
    }

    /// Returns the cosine of a question and a record, live or not; `None` if the record has no
    /// vector in the question's space.
    pub fn cosine_to(&self, id: RecordId, question: &Embedding) -> Option<f64> {
        let ordinal = self.index.find(id)?;
        let is_own = self.space.as_ref() == Some(&question.space);
        let mut vector = vec![0.0; self.index.dimensions()];
        let has_vector = is_own
            && self.index.has_vector(ordinal)
            && self.reader.copy_vector(ordinal, &mut vector);
        let pairs = vector.iter().zip(&question.vector);
        has_vector.then(|| pairs.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum())
    }

    /// Returns a version and all that it corrected, newest first, as far as they are stored.
    pub fn version_history(&self, id: RecordId) -> Vec<MemoryRecord> {
        let places = self.version_ordinals(id);
        let read = places.filter_map(|ordinal| self.record(ordinal, None).ok());
        read.collect()
    }

    /// Returns the ordinals of a version and of all that it corrected, newest first, as far as they
    /// are stored.
    pub(crate) fn version_ordinals(&self, id: RecordId) -> impl Iterator<Item = u32> {
        let versions = self.version_ids(id).into_iter();
        let places = versions.filter_map(|id| self.index.find(id));
        places.filter(|ordinal| self.is_stored(*ordinal))
    }

    /// Returns when each live record became known, in microseconds since the Unix epoch, in the
    /// order of the log. Receipts are no memories.
    pub fn known_at_micros(&self) -> impl Iterator<Item = i64> + '_ {
        let receipts = self.marks.iter_with_tag(MemoryRecord::RECEIPT_TAG, None);
        let receipts: BTreeSet<u32> = receipts.collect();
        let all = self.index.live_known_at();
        let memories = all.filter(move |(ordinal, _)| !receipts.contains(ordinal));
        memories.map(|(_, known_at)| known_at)
    }

    /// Returns the ordinal of the live record with this id.
    pub(crate) fn live_ordinal(&self, id: RecordId) -> Option<u32> {
        let ordinal = self.index.find(id)?;
        self.live_doc(ordinal).map(|_| ordinal)
    }

    /// Returns every ordinal of the log with what the index holds of it.
    pub(crate) fn docs(&self) -> impl DoubleEndedIterator<Item = (u32, Doc)> {
        let places = 0..self.index.len() as u32;
        places.filter_map(|ordinal| Some((ordinal, self.index.doc(ordinal)?)))
    }

    /// Returns what the index holds of an ordinal, if that record is live.
    pub(crate) fn live_doc(&self, ordinal: u32) -> Option<Doc> {
        self.index.doc(ordinal).filter(Doc::is_live)
    }

    /// Whether the record at an ordinal is not forgotten. A corrected version is no longer live,
    /// but its text is still stored.
    pub(crate) fn is_stored(&self, ordinal: u32) -> bool {
        let doc = self.index.doc(ordinal);
        doc.is_some_and(|doc| doc.forgotten_at().is_none())
    }

    /// Reads a record with the tags that it has now, or had at an instant.
    pub(crate) fn record(
        &self,
        ordinal: u32,
        as_of: Option<DateTime<Utc>>,
    ) -> Result<MemoryRecord, StoreError> {
        let mut record = self.reader.read_record(ordinal)?;
        let at = as_of.map(|at| at.timestamp_micros());
        if let Some(tags) = self.marks.edited_tags(ordinal, at) {
            record.tags = tags;
        }
        Ok(record)
    }

    /// Returns the tags that a record has now, ascending.
    pub(crate) fn tags_of(&self, ordinal: u32) -> Vec<String> {
        let mut tags = self
            .record(ordinal, None)
            .map(|record| record.body.tags)
            .unwrap_or_default();
        tags.sort_unstable();
        tags
    }

    /// Returns the newest live records, newest first, at most `limit`.
    pub fn newest_records(&self, limit: usize) -> Vec<Result<MemoryRecord, StoreError>> {
        let view = self.view(&MemoryFilter::default(), None);
        let newest_first = (0..self.index.len() as u32).rev();
        newest_first
            .filter(|ordinal| view.contains(*ordinal))
            .take(limit)
            .map(|ordinal| self.record(ordinal, None))
            .collect()
    }

    /// Iterates over all live records, oldest first, and reads each from disk when it is reached.
    pub fn records(&self) -> impl Iterator<Item = Result<MemoryRecord, StoreError>> + '_ {
        let live = self.docs().filter(|(_, doc)| doc.is_live());
        live.map(|(ordinal, _)| self.record(ordinal, None))
    }

    /// Iterates over all records that a question about this instant could have found, oldest first,
    /// each with the tags that it had then.
    pub fn records_as_of(
        &self,
        at: DateTime<Utc>,
    ) -> impl Iterator<Item = Result<MemoryRecord, StoreError>> + '_ {
        let view = self.view(&MemoryFilter::default(), Some(at));
        (0..self.index.len() as u32)
            .filter(move |ordinal| view.contains(*ordinal))
            .map(move |ordinal| self.record(ordinal, Some(at)))
    }

    /// Iterates over all records that nothing had replaced at an instant, including those stored
    /// later, oldest first, each with the tags that it had then or came with.
    pub fn records_unreplaced_at(
        &self,
        at: DateTime<Utc>,
    ) -> impl Iterator<Item = Result<MemoryRecord, StoreError>> + '_ {
        let unreplaced = self.docs().filter(move |(_, doc)| {
            let is_there = doc.forgotten_at().is_none() && !doc.is_hole();
            is_there && doc.superseded_at().is_none_or(|end| end > at)
        });
        unreplaced.map(move |(ordinal, doc)| self.record(ordinal, Some(at.max(doc.known_at()))))
    }

    /// Returns a record as it was at an instant: this version if it was live then, otherwise the
    /// version of it that was.
    pub fn version_at(
        &self,
        id: RecordId,
        at: DateTime<Utc>,
    ) -> Option<Result<MemoryRecord, StoreError>> {
        let view = self.view(&MemoryFilter::default(), Some(at));
        let present = self.current_version(id).into_iter();
        let later = present.flat_map(|present| self.version_ids(present));
        let mut places = self
            .version_ids(id)
            .into_iter()
            .chain(later)
            .filter_map(|id| self.index.find(id));
        let found = places.find(|ordinal| view.contains(*ordinal))?;
        Some(self.record(found, Some(at)))
    }

    /// Measures from how many records on the graph is faster than a scan: see
    /// [`reprise_index::IndexSnapshot`].
    pub fn measure_crossover(&self, clock: &dyn Fn() -> Duration) -> Option<u32> {
        self.index.measure_crossover(clock)
    }

    /// Returns the bytes of main memory that the index holds.
    pub fn memory_bytes(&self) -> usize {
        self.index.memory_bytes() + self.other_spaces.memory_bytes()
    }
}
