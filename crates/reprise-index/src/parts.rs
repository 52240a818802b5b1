//! The saved form of the index: three parts, each with a checksummed front and pages that are read
//! on demand and have a checksum each.
//!
//! A damaged front is an error. A damaged page is not used, and is reported when everything is
//! loaded. In both cases the caller rebuilds the index from the log.

mod documents;

use std::sync::Arc;

use reprise_types::CowVec;

use crate::codec::append_u32;
use crate::docs::{Doc, SessionNames};
use crate::error::{IndexError, IndexResult};
use crate::graph_state::{GraphState, PART_CELLS, PART_GRAPH, PART_NEWEST_GRAPH};
use crate::lexicon::{Lexicon, MergedSegment};
use crate::live_set::LiveSet;
use crate::pages::{self, DamageFlag, LazyPages, LazyPart, PartPages};
use crate::segment::{Segment, SegmentBytes};
use crate::vectors::{self, QuantisedVectors, SavedCells};
use crate::writer::IndexWriter;

/// Segment type of the quantised vectors.
pub const PART_CODES: u8 = 0x41;
/// Segment type of the lexical segments.
pub const PART_WORDS: u8 = 0x44;
/// Segment type of the document columns and session names.
pub const PART_DOCUMENTS: u8 = 0x46;

/// Version of all three parts, which are written and read together. It also covers the analyser's
/// rules: change it when a text would give other terms or cues.
const VERSION: u8 = 12;
const WORDS: &str = "words";
/// Page size of the words part.
const WORDS_PAGE: usize = 4096;
/// Alignment of segments, so that no number in one crosses a page boundary.
const ALIGNMENT: usize = 4;

/// The index as of one moment, to be encoded by any thread.
#[derive(Debug)]
pub struct IndexCopy {
    rows: CowVec<Doc>,
    sessions: SessionNames,
    vectors: QuantisedVectors,
    graph: GraphState,
    lexicon: Lexicon,
    live_set: LiveSet,
}

/// Lexical segments that [`IndexCopy::into_parts`] merged, for [`IndexWriter::install_merged`].
#[derive(Debug)]
pub struct MergedSegments(Vec<MergedSegment>);

impl IndexCopy {
    /// Encodes the whole index, by segment type.
    pub fn into_parts(mut self) -> (Vec<(u8, Vec<u8>)>, MergedSegments) {
        let merged = self.lexicon.merge_for_saving();
        let mut parts = vec![
            (PART_CODES, vectors::encode_vectors(&self.vectors, VERSION)),
            (PART_WORDS, encode_words(&self.lexicon)),
            (
                PART_DOCUMENTS,
                documents::encode_documents(&self.rows, &self.sessions, &self.live_set, VERSION),
            ),
        ];
        parts.extend(self.graph.encode_parts(&self.vectors));
        (parts, MergedSegments(merged))
    }
}

impl IndexWriter {
    /// Copies the index as of now, for another thread. It is cheap, and later changes do not affect
    /// the copy.
    pub fn copy(&mut self) -> IndexCopy {
        self.move_pending_to_segment();
        IndexCopy {
            rows: self.rows.clone(),
            sessions: self.sessions.clone(),
            vectors: self.vectors.clone(),
            graph: self.graph.copy(),
            lexicon: self.lexicon.clone(),
            live_set: self.live_set.clone(),
        }
    }

    /// Swaps in the segments that [`IndexCopy::into_parts`] merged, if their inputs are still
    /// present: readers then look up each term in fewer segments.
    pub fn install_merged(&mut self, words: MergedSegments) {
        self.lexicon.install_merged(words.0);
    }

    /// Encodes the whole index, by segment type. It contains forgotten documents unless
    /// [`Self::purge`] came first.
    pub fn to_parts(&mut self) -> Vec<(u8, Vec<u8>)> {
        let (parts, words) = self.copy().into_parts();
        self.install_merged(words);
        parts
    }

    /// Loads the index that [`Self::to_parts`] encoded, with the parts in any order, and verifies
    /// it fully. Unknown parts are skipped.
    pub fn from_parts(dimensions: usize, parts: &[(u8, Vec<u8>)]) -> IndexResult<Self> {
        let left = parts
            .iter()
            .map(|(tag, bytes)| (*tag, LazyPart::from(bytes.clone())));
        let index = Self::from_lazy_parts(dimensions, &left.collect::<Vec<_>>())?;
        index.load()?;
        Ok(index)
    }

    /// Opens the index as [`Self::from_parts`] does, but most of each part stays in its file and is
    /// read and verified page by page on demand, until [`Self::load`].
    pub fn from_lazy_parts(dimensions: usize, parts: &[(u8, LazyPart)]) -> IndexResult<Self> {
        let find = |tag, part| {
            let found = parts.iter().find(|(known, _)| *known == tag);
            found
                .map(|(_, part)| part)
                .ok_or(IndexError::Missing { part })
        };
        let damage = DamageFlag::default();
        let saved = documents::open_documents(
            find(PART_DOCUMENTS, documents::DOCUMENTS)?,
            VERSION,
            &damage,
        )?;
        let documents = saved.rows.len();
        let codes = find(PART_CODES, "codes")?;
        let vectors = vectors::open_vectors(codes, VERSION, dimensions, documents, &damage)?;
        let (lexicon, words) = open_words(find(PART_WORDS, WORDS)?, documents, &damage)?;
        let mut index =
            Self::from_columns(saved.rows, saved.sessions, vectors, lexicon, saved.live_set);
        index.forgotten = saved.forgotten;
        index.damage = damage;
        index.lazy_pages = Some(LazyPages {
            words,
            rows: saved.pages,
        });
        let graph = |tag: u8| parts.iter().find(|(known, _)| *known == tag);
        let cells = graph(PART_CELLS).map(|part| SavedCells::read(&part.1, dimensions, documents));
        let part = graph(PART_GRAPH).or_else(|| graph(PART_NEWEST_GRAPH));
        // Damaged cells are learned again.
        index.graph =
            GraphState::from_saved(part.map(|part| part.1.clone()), cells.and_then(Result::ok));
        Ok(index)
    }

    /// Returns a job for another thread that reads in advance what [`Self::load`] and the graph's
    /// growth need. `None` if everything is in memory.
    pub fn preload_job(&self) -> Option<impl FnOnce() + Send + use<>> {
        let graph = self.graph.preload_job(self.rows.len() as u32);
        let pages = self
            .lazy_pages
            .clone()
            .filter(|left| !left.words.is_loaded());
        let is_unread = self.vectors.has_unread() || pages.is_some() || graph.is_some();
        let vectors = is_unread.then(|| self.vectors.clone())?;
        let rank_rows = self.live_set.rank_rows.clone();
        Some(move || {
            rank_rows.load();
            // The later load finds damage again and reports it.
            let whole = vectors.load().is_ok() && pages.is_none_or(|left| left.load());
            if let Some(graph) = graph.filter(|_| whole) {
                graph();
            }
        })
    }

    /// Reads and verifies what [`Self::from_lazy_parts`] left in the file, for this writer and
    /// every snapshot of it. On an error the caller rebuilds the index from the log.
    pub fn load(&self) -> IndexResult<()> {
        let what = "a page's check does not match";
        let damage_error = |part| IndexError::Damaged { part, what };
        if let Some(left) = &self.lazy_pages {
            if !left.words.load() {
                return Err(damage_error(WORDS));
            }
            if !left.rows.verify_all() {
                return Err(damage_error(documents::DOCUMENTS));
            }
        }
        self.vectors.load()?;
        self.live_set.rank_rows.load();
        if self.damage.is_set() {
            return Err(damage_error("index"));
        }
        Ok(())
    }
}

/// Front: u32 segments, u32 bytes each | checks. Pages: the segments, each from a multiple of
/// [`ALIGNMENT`] on.
fn encode_words(lexicon: &Lexicon) -> Vec<u8> {
    let segments = lexicon.segments();
    let mut front = Vec::new();
    let mut paged = Vec::with_capacity(segments.iter().map(|s| ALIGNMENT + s.size()).sum());
    append_u32(&mut front, segments.len() as u32);
    for segment in segments {
        append_u32(&mut front, segment.size() as u32);
        paged.extend_from_slice(&segment.bytes());
        paged.resize(paged.len().next_multiple_of(ALIGNMENT), 0);
    }
    pages::append_checksums(&mut front, &paged, WORDS_PAGE);
    pages::encode_part(VERSION, &front, &[&paged])
}

fn open_words(
    part: &LazyPart,
    documents: usize,
    damage: &DamageFlag,
) -> IndexResult<(Lexicon, Arc<PartPages>)> {
    let front = part.read_front(WORDS, VERSION)?;
    let mut reader = pages::open_front(WORDS, &front, VERSION)?;
    let count = reader.read_u32()? as usize;
    let sizes: &[[u8; 4]] = reader.read_arrays(count)?;
    let mut ranges = Vec::with_capacity(count);
    let mut end = 0_usize;
    for size in sizes {
        let size = u32::from_le_bytes(*size) as usize;
        ranges.push(end..end + size);
        end += size.next_multiple_of(ALIGNMENT);
    }
    let checks = reader.read_shared(reader.remaining())?;
    let start = front.len() as u64;
    let fits = part.size.checked_sub(start) == Some(end as u64);
    let pages = PartPages::new(part, (start, end), WORDS_PAGE, checks, damage).filter(|_| fits);
    let no_fit = || reader.damage_error("its length does not fit its counts");
    let pages = Arc::new(pages.ok_or_else(no_fit)?);
    let open = |range| Segment::open(SegmentBytes::InFile(Arc::clone(&pages), range));
    let segments: Option<Vec<Segment>> = ranges.into_iter().map(open).collect();
    let segments =
        segments.ok_or_else(|| reader.damage_error("a segment's frame does not hold"))?;
    let lexicon = Lexicon::from_segments(segments, documents as u32)
        .ok_or_else(|| reader.damage_error("its segments do not cover the documents"))?;
    Ok((lexicon, pages))
}

#[cfg(test)]
mod tests;
