//! Vectors as one signed byte per number, and as one bit per number made from these.
//!
//! Must never live here: f32 vectors (they stay in the store), filters, any other signal.

mod closest;
mod kernels;
mod query;
mod saved;
mod signs;

use std::sync::Arc;

use reprise_types::VectorStore;

pub use query::{QueryCodes, Sample, VectorScratch};
use saved::Rows;
pub use saved::{LeftPart, ReadPart};
pub(crate) use saved::{read, write};

use crate::cow::CowVec;
use crate::error::IndexError;
use crate::graph::{Graph, Metric};
use crate::view::View;

/// Candidates that are scored in full precision for each result wanted. Measured: recall@10 against
/// the exact answer is 1.0 on clustered and on text-like data at 100K (`benches/search.rs`).
pub const OVERSAMPLE_DEFAULT: usize = 5;
/// Documents per shared chunk of codes; small, because an append copies one chunk.
pub(crate) const CHUNK_DOCUMENTS: usize = 256;

/// The codes of one chunk: our own, or still in the part they were saved in.
#[derive(Debug, Clone)]
enum Codes {
    Own(Vec<i8>),
    Left(Arc<Rows>),
}

/// The documents of one chunk.
#[derive(Debug, Clone)]
struct Chunk {
    codes: Codes,
    signs: Vec<u64>,
    /// One bit for each document that has a vector.
    present: [u64; CHUNK_DOCUMENTS / 64],
}

impl Chunk {
    fn new(dimensions: usize) -> Self {
        Self {
            codes: Codes::Own(Vec::with_capacity(CHUNK_DOCUMENTS * dimensions)),
            signs: vec![0; signs::chunk_words(dimensions)],
            present: [0; CHUNK_DOCUMENTS / 64],
        }
    }

    fn signs(&self) -> &[u64] {
        &self.signs
    }

    /// Codes `vector` (none: zeros) as document `place`; answers its scale.
    fn put(&mut self, place: usize, dimensions: usize, vector: Option<&[f32]>) -> f32 {
        let Codes::Own(codes) = &mut self.codes else {
            return 0.0;
        };
        let range = place * dimensions..(place + 1) * dimensions;
        if codes.len() < range.end {
            codes.resize(range.end, 0);
        }
        let Some(codes) = codes.get_mut(range) else {
            return 0.0;
        };
        codes.fill(0);
        let scale = vector.map_or(0.0, |vector| quantise(vector, codes));
        signs::put(&mut self.signs, place, codes);
        let bit = 1 << (place % 64);
        self.present[place / 64] &= !bit;
        if scale != 0.0 {
            self.present[place / 64] |= bit;
        }
        scale
    }
}

/// Codes, signs and scales of every document; a scale of 0 marks a document without a vector.
#[derive(Debug, Clone)]
pub(crate) struct Vectors {
    dimensions: usize,
    chunks: Vec<Arc<Chunk>>,
    scales: CowVec<f32>,
    /// What was left in the file when the index was opened.
    left: Option<Arc<Rows>>,
}

impl Vectors {
    pub(crate) fn new(dimensions: usize) -> Self {
        Self {
            dimensions,
            chunks: Vec::new(),
            scales: CowVec::default(),
            left: None,
        }
    }

    pub(crate) fn dimensions(&self) -> usize {
        self.dimensions
    }

    pub(crate) fn len(&self) -> usize {
        self.scales.len()
    }

    /// Whether a vector can be coded: right length, finite, not all zero.
    fn is_usable(&self, vector: &[f32]) -> bool {
        vector.len() == self.dimensions
            && vector.iter().all(|x| x.is_finite())
            && vector.iter().any(|x| *x != 0.0)
    }

    /// Adds a document. A vector that cannot be coded counts as none.
    pub(crate) fn push(&mut self, vector: Option<&[f32]>) {
        let place = self.len() % CHUNK_DOCUMENTS;
        if place == 0 {
            self.chunks.push(Arc::new(Chunk::new(self.dimensions)));
        }
        let vector = vector.filter(|vector| self.is_usable(vector));
        let number = self.len() / CHUNK_DOCUMENTS;
        if let Some(chunk) = self.chunks.last_mut() {
            let scale = own(chunk, number, self.dimensions).put(place, self.dimensions, vector);
            self.scales.push(scale);
        }
    }

    /// Replaces a document's vector; `None`, or one that cannot be coded, takes it away.
    pub(crate) fn set(&mut self, ordinal: u32, vector: Option<&[f32]>) {
        let index = ordinal as usize;
        let vector = vector.filter(|vector| self.is_usable(vector));
        if let (Some(chunk), Some(scale)) = (
            self.chunks.get_mut(index / CHUNK_DOCUMENTS),
            self.scales.get_mut(index),
        ) {
            let (number, place) = (index / CHUNK_DOCUMENTS, index % CHUNK_DOCUMENTS);
            *scale = own(chunk, number, self.dimensions).put(place, self.dimensions, vector);
        }
    }

    pub(crate) fn has(&self, ordinal: u32) -> bool {
        self.scales.get(ordinal as usize).is_some_and(|s| *s != 0.0)
    }

    /// The `k` documents of `view` nearest to `query`, best first, ties by newer: the best
    /// `k * oversample` by code are scored in full precision.
    pub(crate) fn nearest(
        &self,
        query: &[f32],
        k: usize,
        view: &View,
        graph: &Graph,
        store: &dyn VectorStore,
        oversample: usize,
    ) -> Vec<(u32, f32)> {
        let Some(codes) = self.encode(query) else {
            return Vec::new();
        };
        if k == 0 || store.dimensions() != self.dimensions {
            return Vec::new();
        }
        let rescored = k.saturating_mul(oversample.max(1)).min(self.len());
        let mut scratch = VectorScratch::default();
        let candidates = self.candidates(&codes, rescored, view, graph, &mut scratch);
        let mut vector = vec![0.0; self.dimensions];
        let mut exact: Vec<(u32, f32)> = candidates
            .iter()
            .filter_map(|(ordinal, _)| {
                let known = store.vector(*ordinal, &mut vector);
                known.then(|| (*ordinal, dot(query, &vector)))
            })
            .collect();
        exact.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
        exact.truncate(k);
        exact
    }

    /// The codes of one document, read into `spare` where they are still in a file; `None` where
    /// they are damaged there. Of a document without a vector they mean nothing.
    fn codes<'a>(&'a self, ordinal: u32, spare: &'a mut Vec<i8>) -> Option<&'a [i8]> {
        let index = ordinal as usize;
        match &self.chunks.get(index / CHUNK_DOCUMENTS)?.codes {
            Codes::Own(codes) => {
                let from = index % CHUNK_DOCUMENTS * self.dimensions;
                codes.get(from..from + self.dimensions)
            }
            Codes::Left(rows) => rows.get(ordinal, spare),
        }
    }

    /// Whether some codes are still in a file.
    pub(crate) fn is_left(&self) -> bool {
        self.left.as_ref().is_some_and(|rows| !rows.is_loaded())
    }

    /// Reads the codes that are still in a file, for every snapshot that shares them.
    pub(crate) fn load(&self) -> Result<(), IndexError> {
        self.left.as_ref().map_or(Ok(()), |rows| rows.load())
    }

    pub(crate) fn scales(&self) -> impl Iterator<Item = f32> {
        self.scales.iter().copied()
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let codes = self.chunks.len() * CHUNK_DOCUMENTS * self.dimensions;
        // With the signs, an eighth of the codes.
        codes + codes / 8 + self.scales.memory_bytes()
    }
}

impl Metric for Vectors {
    /// The approximate cosine; 0 where either has no vector.
    fn similarity(&self, a: u32, b: u32) -> f32 {
        let scale = |ordinal: u32| self.scales.get(ordinal as usize).copied().unwrap_or(0.0);
        let (mut left, mut right) = (Vec::new(), Vec::new());
        match (self.codes(a, &mut left), self.codes(b, &mut right)) {
            (Some(left), Some(right)) => kernels::dot(left, right) as f32 * (scale(a) * scale(b)),
            _ => 0.0,
        }
    }
}

/// Chunk `number`, to be changed: unshared, its codes our own, with room for all of them.
fn own(chunk: &mut Arc<Chunk>, number: usize, dimensions: usize) -> &mut Chunk {
    let is_own = Arc::get_mut(chunk).is_some_and(|chunk| matches!(chunk.codes, Codes::Own(_)));
    if !is_own {
        let mut codes = Vec::with_capacity(CHUNK_DOCUMENTS * dimensions);
        match &chunk.codes {
            Codes::Own(own) => codes.extend_from_slice(own),
            Codes::Left(rows) => {
                let mut spare = Vec::new();
                let first = (number * CHUNK_DOCUMENTS) as u32;
                for ordinal in (first..rows.len()).take(CHUNK_DOCUMENTS) {
                    match rows.get(ordinal, &mut spare) {
                        Some(row) => codes.extend_from_slice(row),
                        // Whoever loads the rest will find the damage and build the index anew.
                        None => codes.resize(codes.len() + dimensions, 0),
                    }
                }
            }
        }
        *chunk = Arc::new(Chunk {
            codes: Codes::Own(codes),
            signs: chunk.signs.clone(),
            present: chunk.present,
        });
    }
    Arc::make_mut(chunk)
}

/// Writes `round(x / scale)`, half to even, with `scale = max |x| / 127`; answers the scale.
fn quantise(vector: &[f32], codes: &mut [i8]) -> f32 {
    let largest = vector.iter().fold(0.0_f32, |m, x| m.max(x.abs()));
    let scale = largest / 127.0;
    if scale == 0.0 {
        // Subnormal: too small to divide by, so small that it points nowhere.
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

/// Inner product in sixteen fixed lanes: fast, and the same on every machine.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 16;
    let mut sums = [0.0_f32; LANES];
    let (a_lanes, a_rest) = a.as_chunks::<LANES>();
    let (b_lanes, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a_lanes.iter().zip(b_lanes) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests;
