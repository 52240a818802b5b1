//! The single writer of the index: it adds documents in append order, publishes snapshots and
//! erases forgotten documents.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use chrono::{DateTime, Utc};
use reprise_types::{CowVec, MemoryKind, MemorySource, RecordId};

use crate::cues::Cues;
use crate::docs::{self, Doc, NEVER, SessionInterner, SessionNames, micros_from_instant};
use crate::error::IndexResult;
use crate::facets::Facets;
use crate::graph_state::GraphState;
use crate::lexicon::{Lexicon, PendingSegment};
use crate::live_set::LiveSet;
use crate::snapshot::IndexSnapshot;
use crate::vectors::QuantisedVectors;
use crate::words;

/// Most documents pending for one segment; a larger batch is split.
const PENDING_MAX: u32 = 4096;

/// A record as the input of the index.
#[derive(Debug, Clone, Copy)]
pub struct NewDoc<'a> {
    pub id: RecordId,
    pub timestamp: DateTime<Utc>,
    /// When the store learned of it.
    pub known_at: DateTime<Utc>,
    pub kind: MemoryKind,
    pub source: MemorySource,
    /// Its session; empty for none, in which case it has no neighbours.
    pub session_id: &'a str,
    /// The speaker if the source names one, else empty; only the first name is used.
    pub speaker: &'a str,
    /// Its text, which is analysed and not stored.
    pub text: &'a str,
    /// A person sent it to an agent, and it was recorded for that reason.
    pub is_prompt: bool,
    /// Exact terms in addition to its words: see [`crate::IndexSnapshot::find_exact_term`].
    pub exact: &'a [String],
    /// Its unit vector. A vector of another length or with a non-finite number counts as none.
    pub vector: Option<&'a [f32]>,
}

/// The growing index of one store. There is a single writer; readers use what [`Self::publish`]
/// returns.
#[derive(Debug)]
pub struct IndexWriter {
    pub(crate) rows: CowVec<Doc>,
    pub(crate) sessions: SessionNames,
    pub(crate) vectors: QuantisedVectors,
    pub(crate) graph: GraphState,
    pub(crate) lexicon: Lexicon,
    pub(crate) live_set: LiveSet,
    pub(crate) facets: Facets,
    /// Forgotten documents, some of which may not be holes yet.
    pub(crate) forgotten: Vec<u32>,
    /// Set when a page of the file that it was opened from is found damaged.
    pub(crate) damage: Option<Arc<AtomicBool>>,
    pub(crate) interner: SessionInterner,
    pending: PendingSegment,
}

impl IndexWriter {
    /// Creates an empty index for vectors of `dimensions` numbers.
    pub fn new(dimensions: usize) -> Self {
        Self::from_columns(
            CowVec::default(),
            SessionNames::default(),
            QuantisedVectors::new(dimensions),
            Lexicon::default(),
            LiveSet::default(),
        )
    }

    /// Creates an index from columns of equal length.
    pub(crate) fn from_columns(
        rows: CowVec<Doc>,
        sessions: SessionNames,
        vectors: QuantisedVectors,
        lexicon: Lexicon,
        live_set: LiveSet,
    ) -> Self {
        Self {
            interner: SessionInterner::default(),
            live_set,
            facets: Facets::from_rows(&rows),
            forgotten: Vec::new(),
            damage: None,
            pending: PendingSegment::new(rows.len() as u32),
            rows,
            sessions,
            vectors,
            graph: GraphState::default(),
            lexicon,
        }
    }

    /// Returns the number of documents so far, published or not.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn dimensions(&self) -> usize {
        self.vectors.dimensions()
    }

    /// Finds the ordinal of a record; ids ascend with ordinals.
    pub fn find(&self, id: RecordId) -> Option<u32> {
        docs::find_row(&self.rows, id)
    }

    /// Returns id and `known_at` of the newest document.
    pub fn last(&self) -> Option<(RecordId, DateTime<Utc>)> {
        let row = self.rows.get(self.rows.len().checked_sub(1)?)?;
        Some((row.id, docs::instant_from_micros(row.known_at)))
    }

    /// Adds the next record and returns its ordinal. Readers see it after [`Self::publish`].
    pub fn push(&mut self, doc: &NewDoc<'_>) -> u32 {
        let (terms, head_terms) = self.pending.push_text(doc.text);
        doc.exact
            .iter()
            .for_each(|term| self.pending.add_exact_term(term));
        let row = Doc {
            id: doc.id,
            timestamp: micros_from_instant(doc.timestamp),
            known_at: micros_from_instant(doc.known_at),
            forgotten_at: NEVER,
            superseded_at: NEVER,
            terms,
            session: self.interner.intern(&mut self.sessions, doc.session_id),
            head_terms,
            kind: doc.kind,
            source: doc.source,
            cues: Cues::from_text(doc.text, doc.is_prompt),
            speaker: words::hash_speaker_name(doc.speaker),
        };
        self.push_row(row, doc.vector)
    }

    /// Adds a placeholder for a forgotten record whose text is erased; no query returns it.
    pub fn push_hole(&mut self, id: RecordId) -> u32 {
        self.pending.push_text("");
        self.push_row(Doc::new_hole(id), None)
    }

    fn push_row(&mut self, row: Doc, vector: Option<&[f32]>) -> u32 {
        let ordinal = self.rows.len() as u32;
        self.live_set.push(&row, row.is_live());
        self.facets.push(&row);
        self.vectors.push(vector);
        self.rows.push(row);
        if self.pending.document_count() == PENDING_MAX {
            self.move_pending_to_segment();
        }
        ordinal
    }

    /// Sets or replaces a document's vector. No effect on an unknown or purged document; an
    /// unusable vector (see [`NewDoc::vector`]) removes the old one.
    pub fn set_vector(&mut self, ordinal: u32, vector: &[f32]) {
        if self
            .rows
            .get(ordinal as usize)
            .is_some_and(|row| !row.is_hole())
        {
            self.vectors.set(ordinal, Some(vector));
            self.graph.mark_changed(ordinal);
        }
    }

    /// Removes a document's vector, because its newest vector is of another space.
    pub fn remove_vector(&mut self, ordinal: u32) {
        if self.vectors.has(ordinal) {
            self.vectors.set(ordinal, None);
            self.graph.mark_changed(ordinal);
        }
    }

    /// Forgets a document from `at` on; a second call changes nothing. Its words and codes stay
    /// until [`Self::purge`], so that queries about the past do not depend on when segments merge.
    pub fn forget(&mut self, ordinal: u32, at: DateTime<Utc>) {
        if let Some(row) = self.rows.get_mut(ordinal as usize)
            && row.forgotten_at == NEVER
        {
            row.forgotten_at = micros_from_instant(at);
            self.forgotten.push(ordinal);
            self.facets.mark_ended(ordinal);
            self.live_set.remove(ordinal);
        }
    }

    /// Whether a document was forgotten or lost, or never was.
    pub fn is_gone(&self, ordinal: u32) -> bool {
        let row = self.rows.get(ordinal as usize);
        row.is_none_or(|row| row.forgotten_at != NEVER)
    }

    /// Marks a document as replaced by a newer one from `at` on; a second call changes nothing.
    pub fn supersede(&mut self, ordinal: u32, at: DateTime<Utc>) {
        if let Some(row) = self.rows.get_mut(ordinal as usize)
            && row.superseded_at == NEVER
            && !row.is_hole()
        {
            row.superseded_at = micros_from_instant(at);
            self.facets.mark_ended(ordinal);
            self.live_set.remove(ordinal);
        }
    }

    /// Undoes [`Self::supersede`] if it was made at `since` (microseconds since the Unix epoch).
    pub fn restore(&mut self, ordinal: u32, since: i64) {
        if let Some(row) = self.rows.get_mut(ordinal as usize)
            && row.superseded_at == since
        {
            row.superseded_at = NEVER;
            if row.is_live() {
                self.live_set.restore(ordinal);
            }
        }
    }

    /// Publishes the present state for readers. It costs a counter per chunk, not a copy.
    pub fn publish(&mut self) -> Arc<IndexSnapshot> {
        self.move_pending_to_segment();
        Arc::new(IndexSnapshot {
            rows: self.rows.clone(),
            sessions: self.sessions.clone(),
            vectors: self.vectors.clone(),
            layers: self.graph.search_layers(),
            lexicon: self.lexicon.clone(),
            live_set: Arc::new(self.live_set.clone()),
            facets: self.facets.clone(),
            languages: OnceLock::new(),
            damage: self.damage.clone(),
        })
    }

    /// Brings the index into the form that depends on the log's content alone: one lexical segment,
    /// sessions in the order of their first documents, forgotten documents erased.
    pub fn canonicalise(&mut self) {
        self.purge();
        self.lexicon.merge_all();
        let old = std::mem::take(&mut self.sessions);
        self.interner = SessionInterner::default();
        let rows = self.rows.iter().map(|row| {
            let name = old.name(row.session).unwrap_or_default();
            let session = self.interner.intern(&mut self.sessions, name);
            Doc { session, ..*row }
        });
        self.rows = rows.collect();
        self.live_set = LiveSet::build_present(self.rows.iter());
        self.facets = Facets::from_rows(&self.rows);
    }

    /// Moves the pending words into a segment.
    pub(crate) fn move_pending_to_segment(&mut self) {
        if self.pending.document_count() > 0 {
            let segment = self.pending.build_segment();
            self.lexicon.push(segment);
        }
    }
}

/// The graph and the cells.
impl IndexWriter {
    /// Grows the graph by up to `budget` documents (about half a millisecond each), newest first;
    /// the first call after a load reads the saved graph. Returns how many documents were missing
    /// before and after; zero if the store is too small for a graph, and while a purge holds the
    /// graph ([`Self::is_purging`]). Readers see the result after [`Self::publish`]. It loads the
    /// codes and fails if they are damaged.
    pub fn advance_graph(&mut self, budget: usize) -> IndexResult<(usize, usize)> {
        self.load()?;
        let documents = self.rows.len() as u32;
        Ok(self.graph.advance(&self.vectors, documents, budget))
    }

    /// Returns the number of documents that the graph finds; 0 if the saved one is not read yet.
    pub fn graph_document_count(&self) -> usize {
        self.graph.document_count()
    }

    /// Sets the store size from which a graph is grown (default [`crate::GRAPH_THRESHOLD`]).
    pub fn set_graph_threshold(&mut self, documents: usize) {
        self.graph.threshold = documents;
    }

    /// Sets the number of documents with a vector from which cells are learned (default
    /// [`crate::CELLS_THRESHOLD`]).
    pub fn set_cells_threshold(&mut self, documents: usize) {
        self.graph.cells.threshold = documents;
    }

    /// Sets what [`crate::IndexSnapshot::measure_crossover`] measured, for the planner and the
    /// file.
    pub fn set_graph_faster_from(&mut self, documents: u32) {
        self.graph.graph_faster_from = Some(documents);
    }

    /// Returns the store size from which a graph is grown.
    pub fn graph_threshold(&self) -> usize {
        self.graph.threshold
    }

    /// Returns the number of documents with a vector from which cells are learned.
    pub fn cells_threshold(&self) -> usize {
        self.graph.cells.threshold
    }
}
