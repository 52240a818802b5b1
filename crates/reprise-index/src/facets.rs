//! Columns for filters, in blocks of 64 documents: bitmaps of kinds and sources, bounds of times,
//! and a bitmap of ended documents. A narrow filter costs only what it admits.
//!
//! The block of documents that are still in the file is built from their rows at first use.

use std::sync::Arc;

use reprise_types::{CowVec, MemoryKind, MemorySource, PageFetcher};

use crate::docs::{Doc, NEVER};

/// Number of documents in one block.
pub(crate) const BLOCK_DOCUMENTS: usize = 64;
/// Blocks that are copied, or built from the file, together.
const PAGE_BLOCKS: usize = 32;

/// Bitmaps and time bounds of the documents in one block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FacetBlock {
    kinds: [u64; MemoryKind::ALL.len()],
    sources: [u64; MemorySource::ALL.len()],
    /// Documents that were forgotten or superseded, and may have been live before.
    pub(crate) ended: u64,
    /// First and last instant at which one of the documents happened.
    pub(crate) happened_range: (i64, i64),
    pub(crate) known_range: (i64, i64),
}

const EMPTY: FacetBlock = FacetBlock {
    kinds: [0; MemoryKind::ALL.len()],
    sources: [0; MemorySource::ALL.len()],
    ended: 0,
    happened_range: (i64::MAX, i64::MIN),
    known_range: (i64::MAX, i64::MIN),
};

impl FacetBlock {
    fn from_rows(rows: &CowVec<Doc>, number: usize) -> Self {
        let mut block = EMPTY;
        for place in 0..BLOCK_DOCUMENTS {
            match rows.get(number * BLOCK_DOCUMENTS + place) {
                Some(row) => block.add_row(place, row),
                None => break,
            }
        }
        block
    }

    fn add_row(&mut self, place: usize, row: &Doc) {
        if row.is_hole() {
            return;
        }
        let bit = 1 << place;
        let kind = MemoryKind::ALL.iter().position(|kind| *kind == row.kind);
        let source = MemorySource::ALL
            .iter()
            .position(|source| *source == row.source);
        if let Some(word) = kind.and_then(|kind| self.kinds.get_mut(kind)) {
            *word |= bit;
        }
        if let Some(word) = source.and_then(|source| self.sources.get_mut(source)) {
            *word |= bit;
        }
        if row.forgotten_at != NEVER || row.superseded_at != NEVER {
            self.ended |= bit;
        }
        widen_range(&mut self.happened_range, row.timestamp);
        widen_range(&mut self.known_range, row.known_at);
    }

    /// Returns the bitmap of documents that have one of these kinds.
    pub(crate) fn mask_documents_of_kinds(&self, kinds: &[MemoryKind]) -> u64 {
        merge_masks(MemoryKind::ALL, &self.kinds, kinds)
    }

    /// Returns the bitmap of documents that come from one of these sources.
    pub(crate) fn mask_documents_from_sources(&self, sources: &[MemorySource]) -> u64 {
        merge_masks(MemorySource::ALL, &self.sources, sources)
    }
}

fn merge_masks<T: PartialEq>(all: &[T], words: &[u64], wanted: &[T]) -> u64 {
    let matching = all
        .iter()
        .zip(words)
        .filter(|(one, _)| wanted.contains(one));
    matching.fold(0, |any, (_, word)| any | word)
}

fn widen_range(bounds: &mut (i64, i64), instant: i64) {
    *bounds = (bounds.0.min(instant), bounds.1.max(instant));
}

/// The blocks of all documents. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facets {
    blocks: CowVec<FacetBlock, PAGE_BLOCKS, PAGE_BLOCKS>,
    documents: usize,
}

impl Facets {
    /// Builds the blocks of rows, lazily if the rows are still in the file.
    pub(crate) fn from_rows(rows: &CowVec<Doc>) -> Self {
        let documents = rows.len();
        let blocks = documents.div_ceil(BLOCK_DOCUMENTS);
        let rows = rows.clone();
        let build_page: PageFetcher<FacetBlock> = Arc::new(move |pages| {
            let numbers = pages.start * PAGE_BLOCKS..blocks.min(pages.end * PAGE_BLOCKS);
            numbers
                .map(|number| FacetBlock::from_rows(&rows, number))
                .collect()
        });
        Self {
            blocks: CowVec::from_fetcher(blocks, &build_page),
            documents,
        }
    }

    pub(crate) fn push(&mut self, row: &Doc) {
        if self.documents.is_multiple_of(BLOCK_DOCUMENTS) {
            self.blocks.push(EMPTY);
        }
        let (number, place) = (
            self.documents / BLOCK_DOCUMENTS,
            self.documents % BLOCK_DOCUMENTS,
        );
        if let Some(block) = self.blocks.get_mut(number) {
            block.add_row(place, row);
        }
        self.documents += 1;
    }

    /// Records that a document was forgotten or superseded.
    pub(crate) fn mark_ended(&mut self, ordinal: u32) {
        if let Some(block) = self.blocks.get_mut(ordinal as usize / BLOCK_DOCUMENTS) {
            block.ended |= 1 << (ordinal as usize % BLOCK_DOCUMENTS);
        }
    }

    /// Builds the block of a document again from its rows.
    pub(crate) fn rebuild_block(&mut self, rows: &CowVec<Doc>, ordinal: u32) {
        let number = ordinal as usize / BLOCK_DOCUMENTS;
        if let Some(block) = self.blocks.get_mut(number) {
            *block = FacetBlock::from_rows(rows, number);
        }
    }

    pub(crate) fn blocks(&self) -> impl Iterator<Item = &FacetBlock> {
        self.blocks.iter()
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.blocks.memory_bytes()
    }
}
