//! Vectors quantised to one signed byte per number, and to one sign bit per number of these.

mod cells;
mod closest;
mod kernels;
mod query;
mod query_codes;
mod sampling;
mod signs;

use std::ops::Range;

pub use cells::{CELLS_THRESHOLD, SPREAD_SAMPLE};
pub(crate) use cells::{CellState, SavedCells};
pub use query::VectorScratch;
pub use query_codes::QueryCodes;

use reprise_hnsw::Metric;
use reprise_types::{CowVec, SavedPart, SavedSections, column_part, rows_part};

use crate::error::IndexResult;
use crate::section_kinds::{CODES, PRESENT, SIGNS, damage_error, open_part};

/// Documents whose signs are stored together, by word and not by document.
pub(crate) const CHUNK_DOCUMENTS: usize = 256;

/// Documents in one page of codes: few, because a query reads those of some hundred documents.
const PAGE_DOCUMENTS: usize = 2;
/// Bytes of a row after its codes: the scale, 0 for a document without a vector.
const SCALE_BYTES: usize = 4;
const CODES_PER_CHUNK: usize = CHUNK_DOCUMENTS / PAGE_DOCUMENTS;
/// Words of the bits of documents with a vector that are in one page.
const PRESENT_PAGE: usize = 512;

/// Codes, signs and scales of every document, as they are in the file.
#[derive(Debug, Clone)]
pub(crate) struct QuantisedVectors {
    dimensions: usize,
    documents: usize,
    /// For each document its codes (i8) and their scale (f32).
    codes: CowVec<Box<[u8]>, CODES_PER_CHUNK, 1>,
    signs: CowVec<Box<[u64]>, 1, 1>,
    /// One bit for each document that has a vector.
    present: CowVec<u64, PRESENT_PAGE, PRESENT_PAGE>,
}

impl QuantisedVectors {
    pub(crate) fn new(dimensions: usize) -> Self {
        Self {
            dimensions,
            documents: 0,
            codes: CowVec::default(),
            signs: CowVec::default(),
            present: CowVec::default(),
        }
    }

    /// Opens the saved vectors of so many documents.
    pub(crate) fn open(
        sections: &SavedSections,
        dimensions: usize,
        documents: usize,
    ) -> IndexResult<Self> {
        const PART: &str = "codes";
        let words = signs::words_per_chunk(dimensions);
        let opened = Self {
            dimensions,
            documents,
            codes: open_part(sections, CODES, PART, |section| {
                section.to_column(page_bytes(dimensions), |_, bytes| bytes.into())
            })?,
            signs: open_part(sections, SIGNS, PART, |section| {
                section.to_column(words * 8, |_, bytes| {
                    let words = bytes.as_chunks().0.iter();
                    words.map(|word| u64::from_le_bytes(*word)).collect()
                })
            })?,
            present: open_part(sections, PRESENT, PART, |section| {
                section.to_rows(0, |_| true)
            })?,
        };
        let lengths = [opened.codes.len(), opened.signs.len(), opened.present.len()];
        let fits = lengths == [PAGE_DOCUMENTS, CHUNK_DOCUMENTS, 64].map(|n| documents.div_ceil(n));
        fits.then_some(opened).ok_or(damage_error(PART))
    }

    /// Lists the columns as what is saved.
    pub(crate) fn parts(&mut self) -> [Box<dyn SavedPart + '_>; 3] {
        let (page, words) = (
            page_bytes(self.dimensions),
            signs::words_per_chunk(self.dimensions) * 8,
        );
        [
            rows_part((PRESENT, 0), &mut self.present),
            column_part((SIGNS, 0), &mut self.signs, words, |_, signs, out| {
                let words = signs.iter().flatten();
                out.extend(words.flat_map(|word| word.to_le_bytes()));
            }),
            column_part((CODES, 0), &mut self.codes, page, |_, codes, out| {
                out.extend(codes.iter().flatten());
            }),
        ]
    }

    pub(crate) fn dimensions(&self) -> usize {
        self.dimensions
    }

    pub(crate) fn len(&self) -> usize {
        self.documents
    }

    /// Whether a vector can be quantised: it has the right length, is finite and not all zero.
    fn is_usable(&self, vector: &[f32]) -> bool {
        vector.len() == self.dimensions
            && vector.iter().all(|x| x.is_finite())
            && vector.iter().any(|x| *x != 0.0)
    }

    /// Adds a document. A vector that cannot be quantised counts as none.
    pub(crate) fn push(&mut self, vector: Option<&[f32]>) {
        let (ordinal, dimensions) = (self.documents, self.dimensions);
        if ordinal.is_multiple_of(PAGE_DOCUMENTS) {
            self.codes.push(vec![0; page_bytes(dimensions)].into());
        }
        if ordinal.is_multiple_of(CHUNK_DOCUMENTS) {
            self.signs
                .push(vec![0; signs::words_per_chunk(dimensions)].into());
        }
        if ordinal.is_multiple_of(64) {
            self.present.push(0);
        }
        self.documents += 1;
        self.set(ordinal as u32, vector);
    }

    /// Replaces a document's vector; `None`, or one that cannot be quantised, removes it.
    pub(crate) fn set(&mut self, ordinal: u32, vector: Option<&[f32]>) {
        let (index, dimensions) = (ordinal as usize, self.dimensions);
        let vector = vector.filter(|vector| self.is_usable(vector));
        let range = row_range(index, dimensions);
        let (Some(page), Some(signs), Some(present)) = (
            self.codes.get_mut(index / PAGE_DOCUMENTS),
            self.signs.get_mut(index / CHUNK_DOCUMENTS),
            self.present.get_mut(index / 64),
        ) else {
            return;
        };
        let row = page.get_mut(range).and_then(<[u8]>::split_last_chunk_mut);
        if let Some((codes, scale)) = row.filter(|_| index < self.documents) {
            let codes: &mut [i8] = bytemuck::cast_slice_mut(codes);
            codes.fill(0);
            let found = vector.map_or(0.0, |vector| quantise(vector, codes));
            *scale = found.to_le_bytes();
            signs::store_signs(signs, index % CHUNK_DOCUMENTS, codes);
            let bit = 1 << (index % 64);
            *present = *present & !bit | if found == 0.0 { 0 } else { bit };
        }
    }

    pub(crate) fn has(&self, ordinal: u32) -> bool {
        self.present_word(ordinal as usize / 64) >> (ordinal % 64) & 1 == 1
    }

    /// Returns the bits of 64 documents, by the number of their word.
    fn present_word(&self, word: usize) -> u64 {
        self.present.get(word).copied().unwrap_or(0)
    }

    pub(crate) fn vector_count(&self) -> u32 {
        self.present.iter().map(|word| word.count_ones()).sum()
    }

    /// Returns codes and scale of one document, zeros if it has no vector; `None` if they are
    /// damaged in the file.
    fn row(&self, ordinal: u32) -> Option<(&[i8], f32)> {
        let index = ordinal as usize;
        let page = self.codes.get(index / PAGE_DOCUMENTS)?;
        let (codes, scale) = page
            .get(row_range(index, self.dimensions))?
            .split_last_chunk()?;
        let scale = f32::from_le_bytes(*scale);
        (scale.is_finite() && scale >= 0.0).then_some((bytemuck::cast_slice(codes), scale))
    }

    /// Returns the signs of a chunk.
    fn signs(&self, chunk: usize) -> Option<&[u64]> {
        self.signs.get(chunk).map(|signs| &**signs)
    }

    /// Whether a document's codes are still in the file.
    fn is_unread_at(&self, ordinal: u32) -> bool {
        !self.codes.is_loaded_at(ordinal as usize / PAGE_DOCUMENTS)
    }

    /// Whether some codes are still in the file.
    pub(crate) fn has_unread(&self) -> bool {
        !(self.codes.is_loaded() && self.signs.is_loaded() && self.present.is_loaded())
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let codes = self.codes.len() * page_bytes(self.dimensions);
        // The signs take an eighth of the codes.
        codes + codes / 8
    }
}

fn page_bytes(dimensions: usize) -> usize {
    PAGE_DOCUMENTS * (dimensions + SCALE_BYTES)
}

/// Returns the range of a document's row in its page.
fn row_range(index: usize, dimensions: usize) -> Range<usize> {
    let (at, bytes) = (index % PAGE_DOCUMENTS, dimensions + SCALE_BYTES);
    at * bytes..(at + 1) * bytes
}

impl Metric for QuantisedVectors {
    /// Returns the approximate cosine; 0 if either document has no vector.
    fn similarity(&self, a: u32, b: u32) -> f32 {
        match (self.row(a), self.row(b)) {
            (Some((left, one)), Some((right, other))) => {
                kernels::dot(left, right) as f32 * (one * other)
            }
            _ => 0.0,
        }
    }
}

/// Writes `round(x / scale)`, half to even, with `scale = max |x| / 127`; returns the scale.
fn quantise(vector: &[f32], codes: &mut [i8]) -> f32 {
    let largest = vector.iter().fold(0.0_f32, |m, x| m.max(x.abs()));
    let scale = largest / 127.0;
    if scale == 0.0 {
        // A subnormal scale is too small to divide by; the vector counts as zero.
        return 0.0;
    }
    for (code, x) in codes.iter_mut().zip(vector) {
        // Adding a number whose last bit is 1 rounds half to even, as `round_ties_even` does, but
        // without a call for each number.
        const LAST_BIT_IS_ONE: f32 = 12_582_912.0;
        *code = ((x / scale + LAST_BIT_IS_ONE) - LAST_BIT_IS_ONE) as i8;
    }
    scale
}

#[cfg(test)]
mod tests;
