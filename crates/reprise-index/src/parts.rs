//! The saved form of the index: three parts, each a front with a checksum and pages with a checksum
//! each, read on demand.
//!
//! A damaged front is an error; a damaged page is not used, and reported when everything is loaded.
//! In both cases the caller rebuilds from the log.

mod documents;

use std::sync::Arc;

use reprise_types::CowVec;

use crate::codec::put_u32;
use crate::docs::{Row, Sessions};
use crate::error::{IndexError, Result};
use crate::growth::{GraphState, PART_CELLS, PART_GRAPH, PART_HOT_GRAPH};
use crate::lexicon::{Lexicon, Merged};
use crate::pages::{self, Damage, LeftPages, LeftPart, Pages};
use crate::segment::{Bytes, Segment};
use crate::vectors::{self, SavedCells, Vectors};
use crate::world::World;
use crate::writer::IndexWriter;

/// Segment type of the quantised vectors.
pub const PART_CODES: u8 = 0x41;
/// Segment type of the lexical segments.
pub const PART_WORDS: u8 = 0x44;
/// Segment type of the document columns and session names.
pub const PART_DOCUMENTS: u8 = 0x46;

/// Version of all three parts, which are written and read together. It covers the analyser's rules
/// too: change it when a text would give other terms or cues.
const VERSION: u8 = 11;
const WORDS: &str = "words";
/// Page size of the words part.
const WORDS_PAGE: usize = 4096;
/// Alignment of segments, so that no number within one crosses a page boundary.
const ALIGNED: usize = 4;

/// The index as of one moment, to be written as bytes by any thread.
#[derive(Debug)]
pub struct IndexCopy {
    rows: CowVec<Row>,
    sessions: Sessions,
    vectors: Vectors,
    graph: GraphState,
    lexicon: Lexicon,
    world: World,
}

/// Words' segments that [`IndexCopy::into_parts`] merged, for [`IndexWriter::take_merged`].
#[derive(Debug)]
pub struct MergedWords(Vec<Merged>);

impl IndexCopy {
    /// The whole index as bytes, by segment type.
    pub fn into_parts(mut self) -> (Vec<(u8, Vec<u8>)>, MergedWords) {
        let merged = self.lexicon.settle();
        let mut parts = vec![
            (PART_CODES, vectors::write(&self.vectors, VERSION)),
            (PART_WORDS, write_words(&self.lexicon)),
            (
                PART_DOCUMENTS,
                documents::write(&self.rows, &self.sessions, &self.world, VERSION),
            ),
        ];
        parts.extend(self.graph.parts(&self.vectors));
        (parts, MergedWords(merged))
    }
}

impl IndexWriter {
    /// The index as of now, for another thread: cheap, and nothing that comes later changes it.
    pub fn copy(&mut self) -> IndexCopy {
        self.seal();
        IndexCopy {
            rows: self.rows.clone(),
            sessions: self.sessions.clone(),
            vectors: self.vectors.clone(),
            graph: self.graph.copy(),
            lexicon: self.lexicon.clone(),
            world: self.world.clone(),
        }
    }

    /// Takes over the segments that were merged of a copy, in the place of those that they were
    /// made of, as far as these are still here: readers look each term up in fewer.
    pub fn take_merged(&mut self, words: MergedWords) {
        self.lexicon.adopt(words.0);
    }

    /// The whole index as bytes, by segment type. Forgotten documents are in it unless
    /// [`Self::purge`] came first.
    pub fn to_parts(&mut self) -> Vec<(u8, Vec<u8>)> {
        let (parts, words) = self.copy().into_parts();
        self.take_merged(words);
        parts
    }

    /// The index that [`Self::to_parts`] wrote, in any order of parts, copied and fully verified;
    /// unknown parts are skipped.
    pub fn from_parts(dimensions: usize, parts: &[(u8, Vec<u8>)]) -> Result<Self> {
        let left = parts
            .iter()
            .map(|(tag, bytes)| (*tag, LeftPart::from(bytes.clone())));
        let index = Self::from_left_parts(dimensions, &left.collect::<Vec<_>>())?;
        index.load()?;
        Ok(index)
    }

    /// As [`Self::from_parts`], but most of each part stays in its file and is read and verified
    /// page by page on demand, until [`Self::load`].
    pub fn from_left_parts(dimensions: usize, parts: &[(u8, LeftPart)]) -> Result<Self> {
        let find = |tag, part| {
            let found = parts.iter().find(|(known, _)| *known == tag);
            found
                .map(|(_, part)| part)
                .ok_or(IndexError::Missing { part })
        };
        let damage = Damage::default();
        let saved = documents::read(
            find(PART_DOCUMENTS, documents::DOCUMENTS)?,
            VERSION,
            &damage,
        )?;
        let documents = saved.rows.len();
        let codes = find(PART_CODES, "codes")?;
        let vectors = vectors::read(codes, VERSION, dimensions, documents, &damage)?;
        let (lexicon, words) = read_words(find(PART_WORDS, WORDS)?, documents, &damage)?;
        let mut index =
            Self::from_columns(saved.rows, saved.sessions, vectors, lexicon, saved.world);
        index.forgotten = saved.forgotten;
        index.damage = damage;
        index.left = Some(LeftPages {
            words,
            rows: saved.pages,
        });
        let graph = |tag: u8| parts.iter().find(|(known, _)| *known == tag);
        let cells = graph(PART_CELLS).map(|part| SavedCells::read(&part.1, dimensions, documents));
        let part = graph(PART_GRAPH).or_else(|| graph(PART_HOT_GRAPH));
        // Damaged cells are made anew.
        index.graph =
            GraphState::saved(part.map(|part| part.1.clone()), cells.and_then(Result::ok));
        Ok(index)
    }

    /// Work for another thread: it reads beforehand what [`Self::load`] and the graph's growth
    /// would read. `None` where nothing is left in the file.
    pub fn loading(&self) -> Option<impl FnOnce() + Send + use<>> {
        let graph = self.graph.loading(self.rows.len() as u32);
        let pages = self.left.clone().filter(|left| !left.words.is_loaded());
        let is_left = self.vectors.is_left() || pages.is_some() || graph.is_some();
        let vectors = is_left.then(|| self.vectors.clone())?;
        let near = self.world.near.clone();
        Some(move || {
            near.load();
            // What is damaged is found again, and reported, by whoever loads.
            let whole = vectors.load().is_ok() && pages.is_none_or(|left| left.load());
            if let Some(graph) = graph.filter(|_| whole) {
                graph();
            }
        })
    }

    /// Reads and verifies what [`Self::from_left_parts`] left in the file, for this writer and
    /// every snapshot of it. On an error rebuild from the log.
    pub fn load(&self) -> Result<()> {
        let what = "a page's check does not match";
        let damaged = |part| IndexError::Damaged { part, what };
        if let Some(left) = &self.left {
            if !left.words.load() {
                return Err(damaged(WORDS));
            }
            if !left.rows.prove() {
                return Err(damaged(documents::DOCUMENTS));
            }
        }
        self.vectors.load()?;
        self.world.near.load();
        if self.damage.is_found() {
            return Err(damaged("index"));
        }
        Ok(())
    }
}

/// Front: u32 segments, u32 bytes each | checks. Pages: the segments, each from a multiple of
/// [`ALIGNED`] on.
fn write_words(lexicon: &Lexicon) -> Vec<u8> {
    let segments = lexicon.segments();
    let mut front = Vec::new();
    let mut paged = Vec::with_capacity(segments.iter().map(|s| ALIGNED + s.size()).sum());
    put_u32(&mut front, segments.len() as u32);
    for segment in segments {
        put_u32(&mut front, segment.size() as u32);
        paged.extend_from_slice(&segment.bytes());
        paged.resize(paged.len().next_multiple_of(ALIGNED), 0);
    }
    pages::put_checks(&mut front, &paged, WORDS_PAGE);
    pages::write(VERSION, &front, &[&paged])
}

fn read_words(part: &LeftPart, documents: usize, damage: &Damage) -> Result<(Lexicon, Arc<Pages>)> {
    let front = part.front(WORDS, VERSION)?;
    let mut reader = pages::front_reader(WORDS, &front, VERSION)?;
    let count = reader.u32()? as usize;
    let sizes: &[[u8; 4]] = reader.column(count)?;
    let mut ranges = Vec::with_capacity(count);
    let mut end = 0_usize;
    for size in sizes {
        let size = u32::from_le_bytes(*size) as usize;
        ranges.push(end..end + size);
        end += size.next_multiple_of(ALIGNED);
    }
    let checks = reader.share(reader.left())?;
    let start = front.len() as u64;
    let fits = part.size.checked_sub(start) == Some(end as u64);
    let pages = Pages::new(part, (start, end), WORDS_PAGE, checks, damage).filter(|_| fits);
    let no_fit = || reader.damaged("its length does not fit its counts");
    let pages = Arc::new(pages.ok_or_else(no_fit)?);
    let open = |range| Segment::open(Bytes::Left(Arc::clone(&pages), range));
    let segments: Option<Vec<Segment>> = ranges.into_iter().map(open).collect();
    let segments = segments.ok_or_else(|| reader.damaged("a segment's frame does not hold"))?;
    let lexicon = Lexicon::from_segments(segments, documents as u32)
        .ok_or_else(|| reader.damaged("its segments do not cover the documents"))?;
    Ok((lexicon, pages))
}

#[cfg(test)]
mod tests;
