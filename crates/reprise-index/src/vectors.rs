//! Vectors as one signed byte per number: scanned whole, then the best are scored in full precision.
//!
//! Must never live here: f32 vectors (they stay in the store), filters, any other signal.

use std::sync::Arc;

use reprise_types::VectorStore;
use simsimd::SpatialSimilarity;

use crate::codec::SharedBytes;
use crate::cow::CowVec;
use crate::view::View;

/// Candidates that are scored in full precision for each result wanted. Measured: recall@10 against
/// the exact answer is 1.0 on clustered and on text-like data at 100K (`benches/search.rs`).
pub const OVERSAMPLE_DEFAULT: usize = 8;
/// Documents per shared chunk of codes; small, because an append copies one chunk.
pub(crate) const CHUNK_DOCUMENTS: usize = 256;

/// The codes of one chunk: our own, or still in the part they were loaded from.
#[derive(Debug, Clone)]
enum Codes {
    Own(Vec<i8>),
    Saved(SharedBytes),
}

impl Codes {
    fn as_slice(&self) -> &[i8] {
        match self {
            Self::Own(codes) => codes,
            Self::Saved(bytes) => bytemuck::cast_slice(bytes),
        }
    }
}

/// Codes and scales of every document; a scale of 0 marks a document without a vector.
#[derive(Debug, Clone)]
pub(crate) struct Vectors {
    dimensions: usize,
    chunks: Vec<Arc<Codes>>,
    scales: CowVec<f32>,
}

impl Vectors {
    pub(crate) fn new(dimensions: usize) -> Self {
        Self {
            dimensions,
            chunks: Vec::new(),
            scales: CowVec::default(),
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
        if self.len().is_multiple_of(CHUNK_DOCUMENTS) {
            let room = Vec::with_capacity(CHUNK_DOCUMENTS * self.dimensions);
            self.chunks.push(Arc::new(Codes::Own(room)));
        }
        let dimensions = self.dimensions;
        let vector = vector.filter(|vector| self.is_usable(vector));
        let Some(chunk) = self.chunks.last_mut() else {
            return;
        };
        let Some(codes) = own(chunk, CHUNK_DOCUMENTS * dimensions) else {
            return;
        };
        let from = codes.len();
        codes.resize(from + dimensions, 0);
        let scale = vector.map_or(0.0, |vector| quantise(vector, &mut codes[from..]));
        self.scales.push(scale);
    }

    /// Replaces a document's vector; `None`, or one that cannot be coded, takes it away.
    pub(crate) fn set(&mut self, ordinal: u32, vector: Option<&[f32]>) {
        let index = ordinal as usize;
        let vector = vector.filter(|vector| self.is_usable(vector));
        let (Some(chunk), Some(scale)) = (
            self.chunks.get_mut(index / CHUNK_DOCUMENTS),
            self.scales.get_mut(index),
        ) else {
            return;
        };
        let from = index % CHUNK_DOCUMENTS * self.dimensions;
        let codes = own(chunk, CHUNK_DOCUMENTS * self.dimensions);
        let place = from..from + self.dimensions;
        let Some(codes) = codes.and_then(|codes| codes.get_mut(place)) else {
            return;
        };
        codes.fill(0);
        *scale = vector.map_or(0.0, |vector| quantise(vector, codes));
    }

    pub(crate) fn has(&self, ordinal: u32) -> bool {
        self.scales.get(ordinal as usize).is_some_and(|s| *s != 0.0)
    }

    /// The approximate inner product with every document, 0 for one without a vector. A query that
    /// is not usable scores 0 everywhere.
    pub(crate) fn scan(&self, query: &[f32], out: &mut Vec<f32>) {
        out.clear();
        if !self.is_usable(query) {
            out.resize(self.len(), 0.0);
            return;
        }
        let mut codes = vec![0; self.dimensions];
        let query_scale = quantise(query, &mut codes);
        out.resize(self.len(), 0.0);
        let mut places = out.iter_mut().zip(self.scales.iter());
        for chunk in &self.chunks {
            let documents = chunk.as_slice().chunks_exact(self.dimensions);
            for (document, (score, scale)) in documents.zip(&mut places) {
                // Both have `dimensions` codes, the one case in which there is no answer. The sum
                // is a whole number, the same on every machine.
                let dot = i8::dot(&codes, document).unwrap_or(0.0);
                *score = dot as f32 * (query_scale * scale);
            }
        }
    }

    /// The `k` documents of `view` nearest to `query`, best first, ties by newer: scan, keep the
    /// best `k * oversample`, score those in full precision.
    pub(crate) fn nearest(
        &self,
        query: &[f32],
        k: usize,
        view: &View,
        store: &dyn VectorStore,
        oversample: usize,
    ) -> Vec<(u32, f32)> {
        if k == 0 || !self.is_usable(query) || store.dimensions() != self.dimensions {
            return Vec::new();
        }
        let mut scores = Vec::new();
        self.scan(query, &mut scores);
        let wanted = k.saturating_mul(oversample.max(1)).min(self.len());
        let candidates = best(&scores, wanted, |ordinal| {
            view.admits(ordinal) && self.has(ordinal)
        });
        let mut vector = vec![0.0; self.dimensions];
        let mut exact: Vec<(u32, f32)> = candidates
            .into_iter()
            .filter_map(|ordinal| {
                let known = store.vector(ordinal, &mut vector);
                known.then(|| (ordinal, dot(query, &vector)))
            })
            .collect();
        exact.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
        exact.truncate(k);
        exact
    }

    pub(crate) fn scales(&self) -> impl Iterator<Item = f32> {
        self.scales.iter().copied()
    }

    /// Every document's codes, chunk by chunk.
    pub(crate) fn code_chunks(&self) -> impl Iterator<Item = &[i8]> {
        self.chunks.iter().map(|chunk| chunk.as_slice())
    }

    /// The inverse of [`Self::code_chunks`] and [`Self::scales`], lengths already checked.
    pub(crate) fn from_saved(dimensions: usize, codes: &SharedBytes, scales: CowVec<f32>) -> Self {
        let chunk_bytes = CHUNK_DOCUMENTS * dimensions;
        let chunks = (0..codes.len().div_ceil(chunk_bytes.max(1)))
            .map(|chunk| codes.piece(chunk * chunk_bytes, (chunk + 1) * chunk_bytes))
            .map(|bytes| Arc::new(Codes::Saved(bytes)))
            .collect();
        Self {
            dimensions,
            chunks,
            scales,
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.chunks.len() * CHUNK_DOCUMENTS * self.dimensions + self.scales.memory_bytes()
    }
}

/// The codes of the chunk, unshared; a copy gets room for `capacity` codes at once.
fn own(chunk: &mut Arc<Codes>, capacity: usize) -> Option<&mut Vec<i8>> {
    if !matches!(Arc::get_mut(chunk), Some(Codes::Own(_))) {
        let mut copy = Vec::with_capacity(capacity);
        copy.extend_from_slice(chunk.as_slice());
        *chunk = Arc::new(Codes::Own(copy));
    }
    match Arc::make_mut(chunk) {
        Codes::Own(codes) => Some(codes),
        Codes::Saved(_) => None,
    }
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

/// The ordinals of the `wanted` highest scores that `admit` lets pass, ties by newer; unordered.
fn best(scores: &[f32], wanted: usize, admit: impl Fn(u32) -> bool) -> Vec<u32> {
    // Twice the room: candidates pile up above a bar that rises each time they are thinned out.
    let mut kept: Vec<(u32, f32)> = Vec::with_capacity(2 * wanted);
    let mut bar = f32::NEG_INFINITY;
    for (ordinal, &score) in (0_u32..).zip(scores) {
        if score >= bar && admit(ordinal) {
            kept.push((ordinal, score));
            if kept.len() == 2 * wanted {
                bar = thin_out(&mut kept, wanted);
            }
        }
    }
    if kept.len() > wanted {
        thin_out(&mut kept, wanted);
    }
    kept.into_iter().map(|(ordinal, _)| ordinal).collect()
}

/// Keeps the `wanted` best; answers the lowest score among them.
fn thin_out(kept: &mut Vec<(u32, f32)>, wanted: usize) -> f32 {
    let order = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0));
    let (_, &mut (_, bar), _) = kept.select_nth_unstable_by(wanted - 1, order);
    kept.truncate(wanted);
    bar
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
