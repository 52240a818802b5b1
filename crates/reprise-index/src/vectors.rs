//! Vectors quantised to one signed byte per number, and to one sign bit per number of these.

mod cells;
mod closest;
mod kernels;
mod query;
mod query_codes;
mod sampling;
mod saved;
mod signs;

use std::sync::Arc;

pub use cells::{CELLS_THRESHOLD, SPREAD_SAMPLE};
pub(crate) use cells::{CellState, SavedCells};
pub use query::VectorScratch;
pub use query_codes::QueryCodes;
use saved::SavedCodes;
pub(crate) use saved::{encode_vectors, open_vectors};

use crate::error::IndexResult;
use reprise_hnsw::Metric;

/// Documents per shared chunk of codes. It is small because an append copies one chunk.
pub(crate) const CHUNK_DOCUMENTS: usize = 256;

/// Content of a chunk: in memory, or still in the saved part.
#[derive(Debug, Clone)]
enum ChunkContent {
    InMemory {
        codes: Vec<i8>,
        /// 0 for a document without a vector.
        scales: Vec<f32>,
        signs: Vec<u64>,
    },
    InFile(Arc<SavedCodes>),
}

#[derive(Debug, Clone)]
struct Chunk {
    content: ChunkContent,
    /// One bit for each document that has a vector.
    present: [u64; CHUNK_DOCUMENTS / 64],
}

impl Chunk {
    fn new(dimensions: usize) -> Self {
        Self {
            content: ChunkContent::InMemory {
                codes: Vec::with_capacity(CHUNK_DOCUMENTS * dimensions),
                scales: Vec::with_capacity(CHUNK_DOCUMENTS),
                signs: vec![0; signs::words_per_chunk(dimensions)],
            },
            present: [0; CHUNK_DOCUMENTS / 64],
        }
    }

    /// Whether its content is still in the saved part.
    fn is_in_file(&self) -> bool {
        matches!(self.content, ChunkContent::InFile(_))
    }

    /// Returns the signs of this chunk, whose number is `number`; they are read into `spare` if
    /// they are still in the file, and `None` if they are damaged there.
    fn signs<'a>(&'a self, number: usize, spare: &'a mut Vec<u64>) -> Option<&'a [u64]> {
        match &self.content {
            ChunkContent::InMemory { signs, .. } => Some(signs),
            ChunkContent::InFile(saved) => saved.signs(number, spare),
        }
    }

    /// Stores the codes of `vector` (zeros for `None`) as document `place`.
    fn store_vector(&mut self, place: usize, dimensions: usize, vector: Option<&[f32]>) {
        let ChunkContent::InMemory {
            codes,
            scales,
            signs,
        } = &mut self.content
        else {
            return;
        };
        let range = place * dimensions..(place + 1) * dimensions;
        if scales.len() <= place {
            codes.resize(range.end, 0);
            scales.resize(place + 1, 0.0);
        }
        let (Some(codes), Some(scale)) = (codes.get_mut(range), scales.get_mut(place)) else {
            return;
        };
        codes.fill(0);
        *scale = vector.map_or(0.0, |vector| quantise(vector, codes));
        signs::store_signs(signs, place, codes);
        let bit = 1 << (place % 64);
        self.present[place / 64] &= !bit;
        if *scale != 0.0 {
            self.present[place / 64] |= bit;
        }
    }
}

/// Codes, signs and scales of every document.
#[derive(Debug, Clone)]
pub(crate) struct QuantisedVectors {
    dimensions: usize,
    documents: usize,
    chunks: Vec<Arc<Chunk>>,
    /// The saved part, for chunks not read yet.
    saved: Option<Arc<SavedCodes>>,
}

impl QuantisedVectors {
    pub(crate) fn new(dimensions: usize) -> Self {
        Self {
            dimensions,
            documents: 0,
            chunks: Vec::new(),
            saved: None,
        }
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
        let place = self.len() % CHUNK_DOCUMENTS;
        if place == 0 {
            self.chunks.push(Arc::new(Chunk::new(self.dimensions)));
        }
        let vector = vector.filter(|vector| self.is_usable(vector));
        let number = self.len() / CHUNK_DOCUMENTS;
        if let Some(chunk) = self.chunks.last_mut() {
            make_writable(chunk, number, self.dimensions).store_vector(
                place,
                self.dimensions,
                vector,
            );
            self.documents += 1;
        }
    }

    /// Replaces a document's vector; `None`, or one that cannot be quantised, removes it.
    pub(crate) fn set(&mut self, ordinal: u32, vector: Option<&[f32]>) {
        let index = ordinal as usize;
        let vector = vector.filter(|vector| self.is_usable(vector));
        if let Some(chunk) = self.chunks.get_mut(index / CHUNK_DOCUMENTS)
            && index < self.documents
        {
            let (number, place) = (index / CHUNK_DOCUMENTS, index % CHUNK_DOCUMENTS);
            make_writable(chunk, number, self.dimensions).store_vector(
                place,
                self.dimensions,
                vector,
            );
        }
    }

    pub(crate) fn has(&self, ordinal: u32) -> bool {
        let (number, place) = (
            ordinal as usize / CHUNK_DOCUMENTS,
            ordinal as usize % CHUNK_DOCUMENTS,
        );
        let chunk = self.chunks.get(number);
        chunk.is_some_and(|chunk| chunk.present[place / 64] >> (place % 64) & 1 == 1)
    }

    pub(crate) fn vector_count(&self) -> u32 {
        let words = self.chunks.iter().flat_map(|chunk| chunk.present);
        words.map(u64::count_ones).sum()
    }

    /// Returns codes and scale of one document, zeros if it has no vector; `None` if they are
    /// damaged in the file.
    fn row(&self, ordinal: u32) -> Option<(&[i8], f32)> {
        let index = ordinal as usize;
        match &self.chunks.get(index / CHUNK_DOCUMENTS)?.content {
            ChunkContent::InMemory { codes, scales, .. } => {
                let place = index % CHUNK_DOCUMENTS;
                let from = place * self.dimensions;
                let codes = codes.get(from..from + self.dimensions)?;
                Some((codes, *scales.get(place)?))
            }
            ChunkContent::InFile(saved) => saved.row(ordinal),
        }
    }

    /// Whether a document's codes are still in the file.
    fn is_unread_at(&self, ordinal: u32) -> bool {
        let chunk = self.chunks.get(ordinal as usize / CHUNK_DOCUMENTS);
        chunk.is_some_and(|chunk| chunk.is_in_file())
    }

    /// Whether some codes are still in the file.
    pub(crate) fn has_unread(&self) -> bool {
        self.saved.as_ref().is_some_and(|saved| !saved.is_loaded())
    }

    /// Reads the codes still in the file, for every snapshot that shares them.
    pub(crate) fn load(&self) -> IndexResult<()> {
        self.saved.as_ref().map_or(Ok(()), |saved| saved.load())
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let codes = self.chunks.len() * CHUNK_DOCUMENTS * self.dimensions;
        // The signs take an eighth of the codes.
        codes + codes / 8 + self.documents * size_of::<f32>()
    }
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

/// Returns chunk `number` for writing: unshared, in memory, with full capacity.
fn make_writable(chunk: &mut Arc<Chunk>, number: usize, dimensions: usize) -> &mut Chunk {
    let is_own = Arc::get_mut(chunk)
        .is_some_and(|chunk| matches!(chunk.content, ChunkContent::InMemory { .. }));
    if !is_own {
        let mut all = Vec::with_capacity(CHUNK_DOCUMENTS * dimensions);
        let mut factors = Vec::with_capacity(CHUNK_DOCUMENTS);
        let mut words = Vec::new();
        match &chunk.content {
            ChunkContent::InMemory {
                codes,
                scales,
                signs,
            } => {
                all.extend_from_slice(codes);
                factors.extend_from_slice(scales);
                words.clone_from(signs);
            }
            ChunkContent::InFile(saved) => {
                let first = (number * CHUNK_DOCUMENTS) as u32;
                for ordinal in (first..saved.len()).take(CHUNK_DOCUMENTS) {
                    // Damaged rows count as zeros here; loading the rest reports the damage and
                    // rebuilds the index.
                    let (codes, scale) = saved.row(ordinal).unwrap_or_default();
                    all.extend_from_slice(codes);
                    all.resize((factors.len() + 1) * dimensions, 0);
                    factors.push(scale);
                }
                let mut spare = Vec::new();
                words.extend_from_slice(saved.signs(number, &mut spare).unwrap_or_default());
                words.resize(signs::words_per_chunk(dimensions), 0);
            }
        }
        *chunk = Arc::new(Chunk {
            content: ChunkContent::InMemory {
                codes: all,
                scales: factors,
                signs: words,
            },
            present: chunk.present,
        });
    }
    Arc::make_mut(chunk)
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
