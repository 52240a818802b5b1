//! What filters ask of the documents, a block of 64 at a time: bitmaps of kinds and sources, bounds
//! of their times, and who was ever ended. A narrow filter costs what it admits.
//!
//! Of documents in the file a block is made when it is first asked for, from their rows.

use std::sync::Arc;

use reprise_types::{CowVec, Fetch, MemoryKind, MemorySource};

use crate::docs::{NEVER, Row};

/// Documents of one block.
pub(crate) const BLOCK: usize = 64;
/// Blocks that are copied, or made from the file, together.
const TOGETHER: usize = 32;

/// The documents of one block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block {
    kinds: [u64; MemoryKind::ALL.len()],
    sources: [u64; MemorySource::ALL.len()],
    /// Those that were forgotten or superseded, and may have lived before.
    pub(crate) ended: u64,
    /// First and last instant at which one of them happened, and was learned of.
    pub(crate) happened: (i64, i64),
    pub(crate) known: (i64, i64),
}

const EMPTY: Block = Block {
    kinds: [0; MemoryKind::ALL.len()],
    sources: [0; MemorySource::ALL.len()],
    ended: 0,
    happened: (i64::MAX, i64::MIN),
    known: (i64::MAX, i64::MIN),
};

impl Block {
    fn of(rows: &CowVec<Row>, number: usize) -> Self {
        let mut block = EMPTY;
        for place in 0..BLOCK {
            match rows.get(number * BLOCK + place) {
                Some(row) => block.put(place, row),
                None => break,
            }
        }
        block
    }

    fn put(&mut self, place: usize, row: &Row) {
        if row.hole {
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
        widen(&mut self.happened, row.timestamp);
        widen(&mut self.known, row.known_at);
    }

    /// The documents of one of these kinds.
    pub(crate) fn of_kinds(&self, kinds: &[MemoryKind]) -> u64 {
        any_of(MemoryKind::ALL, &self.kinds, kinds)
    }

    /// The documents from one of these sources.
    pub(crate) fn of_sources(&self, sources: &[MemorySource]) -> u64 {
        any_of(MemorySource::ALL, &self.sources, sources)
    }
}

fn any_of<T: PartialEq>(all: &[T], words: &[u64], asked: &[T]) -> u64 {
    let asked = all.iter().zip(words).filter(|(one, _)| asked.contains(one));
    asked.fold(0, |any, (_, word)| any | word)
}

fn widen(bounds: &mut (i64, i64), instant: i64) {
    *bounds = (bounds.0.min(instant), bounds.1.max(instant));
}

/// The blocks of all documents. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facets {
    blocks: CowVec<Block, TOGETHER, TOGETHER>,
    documents: usize,
}

impl Facets {
    /// Of rows that may be in the file.
    pub(crate) fn of(rows: &CowVec<Row>) -> Self {
        let documents = rows.len();
        let blocks = documents.div_ceil(BLOCK);
        let rows = rows.clone();
        let make: Fetch<Block> = Arc::new(move |page| {
            let first = page * TOGETHER;
            let numbers = first..blocks.min(first + TOGETHER);
            numbers.map(|number| Block::of(&rows, number)).collect()
        });
        Self {
            blocks: CowVec::left(blocks, &make),
            documents,
        }
    }

    pub(crate) fn push(&mut self, row: &Row) {
        if self.documents.is_multiple_of(BLOCK) {
            self.blocks.push(EMPTY);
        }
        let (number, place) = (self.documents / BLOCK, self.documents % BLOCK);
        if let Some(block) = self.blocks.get_mut(number) {
            block.put(place, row);
        }
        self.documents += 1;
    }

    /// Notes that a document was forgotten or superseded.
    pub(crate) fn end(&mut self, ordinal: u32) {
        if let Some(block) = self.blocks.get_mut(ordinal as usize / BLOCK) {
            block.ended |= 1 << (ordinal as usize % BLOCK);
        }
    }

    /// Makes the block of a document anew.
    pub(crate) fn renew(&mut self, rows: &CowVec<Row>, ordinal: u32) {
        let number = ordinal as usize / BLOCK;
        if let Some(block) = self.blocks.get_mut(number) {
            *block = Block::of(rows, number);
        }
    }

    pub(crate) fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.blocks.iter()
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.blocks.memory_bytes()
    }
}
