//! Vectors as one signed byte per number, and as one bit per number made from these.
//!
//! Must never live here: f32 vectors (they stay in the store), filters, any other signal.

mod query;
mod signs;

use std::sync::{Arc, OnceLock};

use reprise_types::VectorStore;
use signs::{Distances, Signs};
use simsimd::SpatialSimilarity;

pub use query::{QueryCodes, Sample, VectorScratch};

use crate::codec::SharedBytes;
use crate::cow::CowVec;
use crate::view::View;

/// Candidates that are scored in full precision for each result wanted. Measured: recall@10 against
/// the exact answer is 1.0 on clustered and on text-like data at 100K (`benches/search.rs`).
pub const OVERSAMPLE_DEFAULT: usize = 8;
/// Documents whose codes are looked at after the pass over the signs: one in so many, ...
const SIGN_SHARE: usize = 48;
/// ... but at least so many, ...
const SIGN_CANDIDATES_MIN: usize = 1024;
/// ... and so many for each that is scored in full precision.
const SIGN_OVERSAMPLE: usize = 16;
/// Documents per shared chunk of codes; small, because an append copies one chunk.
pub(crate) const CHUNK_DOCUMENTS: usize = 256;

/// The codes of one chunk: our own, or still in the part they were loaded from.
#[derive(Debug)]
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

/// The documents of one chunk.
#[derive(Debug)]
struct Chunk {
    codes: Codes,
    /// Made from the codes by the first query that wants them.
    signs: OnceLock<Signs>,
}

impl Chunk {
    fn new(codes: Codes) -> Arc<Self> {
        Arc::new(Self {
            codes,
            signs: OnceLock::new(),
        })
    }
}

/// Codes and scales of every document; a scale of 0 marks a document without a vector.
#[derive(Debug, Clone)]
pub(crate) struct Vectors {
    dimensions: usize,
    chunks: Vec<Arc<Chunk>>,
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
            self.chunks.push(Chunk::new(Codes::Own(room)));
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
            let documents = chunk.codes.as_slice().chunks_exact(self.dimensions);
            for (document, (score, scale)) in documents.zip(&mut places) {
                // Both have `dimensions` codes, the one case in which there is no answer. The sum
                // is a whole number, the same on every machine.
                let dot = i8::dot(&codes, document).unwrap_or(0.0);
                *score = dot as f32 * (query_scale * scale);
            }
        }
    }

    /// The `k` documents of `view` nearest to `query`, best first, ties by newer. Three passes,
    /// each over fewer documents and with more precision: the signs of all, the codes of those
    /// that agree best, the full vectors of the best `k * oversample` of these.
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
        let rescored = k.saturating_mul(oversample.max(1)).min(self.len());
        let mut codes = vec![0; self.dimensions];
        quantise(query, &mut codes);
        let wanted = (self.len() / SIGN_SHARE)
            .max(SIGN_CANDIDATES_MIN)
            .max(rescored.saturating_mul(SIGN_OVERSAMPLE));
        let scored = self
            .closest_by_signs(&codes, wanted, view.bits())
            .into_iter()
            .map(|ordinal| (ordinal, self.approximate(&codes, ordinal)));
        let candidates = best(scored, rescored);
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

    /// The documents marked in `admitted` that have a vector: all of them where they are no more
    /// than `wanted`, else at least so many, those whose signs agree best with the query's.
    fn closest_by_signs(&self, query: &[i8], wanted: usize, admitted: &[u64]) -> Vec<u32> {
        let admit = |ordinal: usize, scale: f32| {
            let word = admitted.get(ordinal / 64).copied().unwrap_or(0);
            scale != 0.0 && word >> (ordinal % 64) & 1 == 1
        };
        let marked: u64 = admitted.iter().map(|w| u64::from(w.count_ones())).sum();
        if marked <= wanted as u64 {
            let all = (0..self.len()).zip(self.scales());
            return all
                .filter(|(ordinal, scale)| admit(*ordinal, *scale))
                .map(|(ordinal, _)| ordinal as u32)
                .collect();
        }
        let query = Signs::of(query, self.dimensions);
        let mut distances = Distances::new(self.len(), self.dimensions);
        let mut scales = self.scales().enumerate();
        for chunk in &self.chunks {
            let signs = || Signs::of(chunk.codes.as_slice(), self.dimensions);
            for document in chunk.signs.get_or_init(signs).documents() {
                let Some((ordinal, scale)) = scales.next() else {
                    break;
                };
                if admit(ordinal, scale) {
                    distances.add(ordinal as u32, query.distance(document));
                }
            }
        }
        distances.closest(wanted)
    }

    /// The inner product of the codes times the document's scale: in the order of the approximate
    /// cosine.
    fn approximate(&self, query: &[i8], ordinal: u32) -> f32 {
        let index = ordinal as usize;
        let from = index % CHUNK_DOCUMENTS * self.dimensions;
        let chunk = self.chunks.get(index / CHUNK_DOCUMENTS);
        let codes = chunk.and_then(|c| c.codes.as_slice().get(from..from + self.dimensions));
        let dot = codes.and_then(|codes| i8::dot(query, codes)).unwrap_or(0.0);
        dot as f32 * self.scales.get(index).copied().unwrap_or(0.0)
    }

    pub(crate) fn scales(&self) -> impl Iterator<Item = f32> {
        self.scales.iter().copied()
    }

    /// Every document's codes, chunk by chunk.
    pub(crate) fn code_chunks(&self) -> impl Iterator<Item = &[i8]> {
        self.chunks.iter().map(|chunk| chunk.codes.as_slice())
    }

    /// The inverse of [`Self::code_chunks`] and [`Self::scales`], lengths already checked.
    pub(crate) fn from_saved(dimensions: usize, codes: &SharedBytes, scales: CowVec<f32>) -> Self {
        let chunk_bytes = CHUNK_DOCUMENTS * dimensions;
        let chunks = (0..codes.len().div_ceil(chunk_bytes.max(1)))
            .map(|chunk| codes.piece(chunk * chunk_bytes, (chunk + 1) * chunk_bytes))
            .map(|bytes| Chunk::new(Codes::Saved(bytes)))
            .collect();
        Self {
            dimensions,
            chunks,
            scales,
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let codes = self.chunks.len() * CHUNK_DOCUMENTS * self.dimensions;
        // With the signs, an eighth of the codes.
        codes + codes / 8 + self.scales.memory_bytes()
    }
}

/// The codes of the chunk, to be changed: unshared, and without signs that would no longer be true.
/// A copy gets room for `capacity` codes at once.
fn own(chunk: &mut Arc<Chunk>, capacity: usize) -> Option<&mut Vec<i8>> {
    let is_own = Arc::get_mut(chunk).is_some_and(|chunk| matches!(chunk.codes, Codes::Own(_)));
    if !is_own {
        let mut copy = Vec::with_capacity(capacity);
        copy.extend_from_slice(chunk.codes.as_slice());
        *chunk = Chunk::new(Codes::Own(copy));
    }
    let chunk = Arc::get_mut(chunk)?;
    chunk.signs = OnceLock::new();
    match &mut chunk.codes {
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

/// The ordinals of the `wanted` highest scores, ties by newer; unordered.
fn best(scored: impl Iterator<Item = (u32, f32)>, wanted: usize) -> Vec<u32> {
    // Twice the room: candidates pile up above a bar that rises each time they are thinned out.
    let mut kept: Vec<(u32, f32)> = Vec::with_capacity(2 * wanted);
    let mut bar = f32::NEG_INFINITY;
    for (ordinal, score) in scored {
        if score >= bar {
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
