//! The single writer: takes documents in append order, publishes snapshots, drops what is
//! forgotten.

use std::sync::{Arc, OnceLock};

use chrono::{DateTime, Utc};
use reprise_types::{CowVec, MemoryKind, MemorySource, RecordId};

use crate::cues::Cues;
use crate::docs::{self, Interner, NEVER, Row, Sessions, micros};
use crate::facets::Facets;
use crate::growth::GraphState;
use crate::lexicon::{Lexicon, Pending};
use crate::pages::{Damage, LeftPages};
use crate::snapshot::IndexSnapshot;
use crate::vectors::Vectors;
use crate::words;
use crate::world::World;

/// Most documents pending for one segment; a larger batch is split.
const PENDING_MAX: u32 = 4096;

/// A record as input of the index.
#[derive(Debug, Clone, Copy)]
pub struct NewDoc<'a> {
    pub id: RecordId,
    pub timestamp: DateTime<Utc>,
    /// When the store learned of it.
    pub known_at: DateTime<Utc>,
    pub kind: MemoryKind,
    pub source: MemorySource,
    /// Its session; empty for none, and then it has no neighbours.
    pub session_id: &'a str,
    /// The speaker, where the source names one; only the first name is used.
    pub speaker: &'a str,
    /// Analysed, not stored.
    pub text: &'a str,
    /// Somebody put it to an agent, and it was kept for that.
    pub is_prompt: bool,
    /// Exact terms beside its words: see [`crate::IndexSnapshot::holding`].
    pub exact: &'a [String],
    /// Its unit vector. One of another length, or with a number that is not finite, counts as none.
    pub vector: Option<&'a [f32]>,
}

/// The growing index of one store. Single writer; readers use what [`Self::publish`] returns.
#[derive(Debug)]
pub struct IndexWriter {
    pub(crate) rows: CowVec<Row>,
    pub(crate) sessions: Sessions,
    pub(crate) vectors: Vectors,
    pub(crate) graph: GraphState,
    pub(crate) lexicon: Lexicon,
    pub(crate) world: World,
    pub(crate) facets: Facets,
    /// Forgotten documents that may be no holes yet.
    pub(crate) forgotten: Vec<u32>,
    pub(crate) damage: Damage,
    pub(crate) left: Option<LeftPages>,
    pub(crate) interner: Interner,
    pending: Pending,
}

impl IndexWriter {
    /// An empty index for vectors of `dimensions` numbers.
    pub fn new(dimensions: usize) -> Self {
        Self::from_columns(
            CowVec::default(),
            Sessions::default(),
            Vectors::new(dimensions),
            Lexicon::default(),
            World::default(),
        )
    }

    /// An index from columns of equal length.
    pub(crate) fn from_columns(
        rows: CowVec<Row>,
        sessions: Sessions,
        vectors: Vectors,
        lexicon: Lexicon,
        world: World,
    ) -> Self {
        Self {
            interner: Interner::default(),
            world,
            facets: Facets::of(&rows),
            forgotten: Vec::new(),
            damage: Damage::default(),
            left: None,
            pending: Pending::new(rows.len() as u32),
            rows,
            sessions,
            vectors,
            graph: GraphState::default(),
            lexicon,
        }
    }

    /// Documents so far, published or not.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn dimensions(&self) -> usize {
        self.vectors.dimensions()
    }

    /// The ordinal of a record; ids ascend with ordinals.
    pub fn find(&self, id: RecordId) -> Option<u32> {
        docs::find(&self.rows, id)
    }

    /// Id and `known_at` of the newest document.
    pub fn last(&self) -> Option<(RecordId, DateTime<Utc>)> {
        let row = self.rows.get(self.rows.len().checked_sub(1)?)?;
        Some((row.id, docs::instant(row.known_at)))
    }

    /// Adds the next record and returns its ordinal. Readers see it after [`Self::publish`].
    pub fn push(&mut self, doc: &NewDoc<'_>) -> u32 {
        let (terms, head_terms) = self.pending.push(doc.text);
        doc.exact.iter().for_each(|term| self.pending.exact(term));
        let row = Row {
            id: doc.id,
            timestamp: micros(doc.timestamp),
            known_at: micros(doc.known_at),
            forgotten_at: NEVER,
            superseded_at: NEVER,
            terms,
            session: self.interner.intern(&mut self.sessions, doc.session_id),
            head_terms,
            kind: doc.kind,
            source: doc.source,
            cues: Cues::of(doc.text, doc.is_prompt),
            speaker: words::name_number(doc.speaker),
            hole: false,
        };
        self.push_row(row, doc.vector)
    }

    /// Adds a placeholder for a forgotten record whose text is gone; it never answers.
    pub fn push_hole(&mut self, id: RecordId) -> u32 {
        self.pending.push("");
        self.push_row(Row::hole(id), None)
    }

    fn push_row(&mut self, row: Row, vector: Option<&[f32]>) -> u32 {
        let ordinal = self.rows.len() as u32;
        self.world.push(&row, row.is_live());
        self.facets.push(&row);
        self.vectors.push(vector);
        self.rows.push(row);
        if self.pending.documents() == PENDING_MAX {
            self.seal();
        }
        ordinal
    }

    /// Sets or replaces a document's vector. No effect on an unknown or purged document; an
    /// unusable vector (see [`NewDoc::vector`]) removes the old one.
    pub fn set_vector(&mut self, ordinal: u32, vector: &[f32]) {
        if self.rows.get(ordinal as usize).is_some_and(|row| !row.hole) {
            self.vectors.set(ordinal, Some(vector));
            self.graph.moved(ordinal);
        }
    }

    /// Takes a document's vector away: its newest is one that this index is not for.
    pub fn drop_vector(&mut self, ordinal: u32) {
        if self.vectors.has(ordinal) {
            self.vectors.set(ordinal, None);
            self.graph.moved(ordinal);
        }
    }

    /// Forgets a document from `at` on; a second time changes nothing. Its words and codes stay
    /// until [`Self::purge`], so that answers about the past do not depend on when segments merge.
    pub fn forget(&mut self, ordinal: u32, at: DateTime<Utc>) {
        if let Some(row) = self.rows.get_mut(ordinal as usize)
            && row.forgotten_at == NEVER
        {
            row.forgotten_at = micros(at);
            self.forgotten.push(ordinal);
            self.facets.end(ordinal);
            self.world.kill(ordinal, row.terms);
        }
    }

    /// Marks a document as replaced by a newer one from `at` on; a second time changes nothing.
    pub fn supersede(&mut self, ordinal: u32, at: DateTime<Utc>) {
        if let Some(row) = self.rows.get_mut(ordinal as usize)
            && row.superseded_at == NEVER
        {
            row.superseded_at = micros(at);
            self.facets.end(ordinal);
            self.world.kill(ordinal, row.terms);
        }
    }

    /// Undoes [`Self::supersede`], if it was done at `since` (microseconds since the Unix epoch).
    pub fn restore(&mut self, ordinal: u32, since: i64) {
        if let Some(row) = self.rows.get_mut(ordinal as usize)
            && row.superseded_at == since
        {
            row.superseded_at = NEVER;
            if row.is_live() {
                self.world.revive(ordinal, row.terms);
            }
        }
    }

    /// Publishes the present state for readers. Costs a counter per chunk, not a copy.
    pub fn publish(&mut self) -> Arc<IndexSnapshot> {
        self.seal();
        Arc::new(IndexSnapshot {
            rows: self.rows.clone(),
            sessions: self.sessions.clone(),
            vectors: self.vectors.clone(),
            layers: self.graph.published(),
            lexicon: self.lexicon.clone(),
            world: Arc::new(self.world.clone()),
            facets: self.facets.clone(),
            languages: OnceLock::new(),
            damage: self.damage.clone(),
        })
    }

    /// Brings what the log gives into one form, however it was written: one lexical segment, the
    /// sessions in the order of their first documents, nothing of the forgotten.
    pub fn canonicalise(&mut self) {
        self.purge();
        self.lexicon.rewrite();
        let old = std::mem::take(&mut self.sessions);
        self.interner = Interner::default();
        let rows = self.rows.iter().map(|row| {
            let name = old.name(row.session).unwrap_or_default();
            let session = self.interner.intern(&mut self.sessions, name);
            Row { session, ..*row }
        });
        self.rows = rows.collect();
        self.world = World::now(self.rows.iter());
        self.facets = Facets::of(&self.rows);
    }

    /// Moves the pending words into a segment.
    pub(crate) fn seal(&mut self) {
        if self.pending.documents() > 0 {
            let segment = self.pending.seal();
            self.lexicon.push(segment);
        }
    }
}
