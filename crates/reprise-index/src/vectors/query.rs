//! Questions that the codes alone answer: the best candidates, single cosines, their spread.
//!
//! Must never live here: full vectors, storage, any other signal.

use simsimd::SpatialSimilarity;

use super::{CHUNK_DOCUMENTS, SIGN_CANDIDATES_MIN, SIGN_OVERSAMPLE, SIGN_SHARE, Vectors, quantise};
use crate::view::View;
use crate::world::World;

/// A query as the codes see it: one signed byte per number.
#[derive(Debug)]
pub struct QueryCodes {
    pub(super) codes: Vec<i8>,
    pub(super) scale: f32,
}

/// Buffers of the vector questions, to be lent again and again.
#[derive(Debug, Default)]
pub struct VectorScratch {
    best: Vec<(u32, f32)>,
}

/// How the cosines of a query spread over a store.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sample {
    /// Their mean; 0 where there are none.
    pub mean: f32,
    /// Their standard deviation (over the sample, not corrected); 0 where there are none.
    pub deviation: f32,
    /// How many were looked at.
    pub count: u32,
}

impl Vectors {
    pub(crate) fn encode(&self, query: &[f32]) -> Option<QueryCodes> {
        if !self.is_usable(query) {
            return None;
        }
        let mut codes = vec![0; self.dimensions];
        let scale = quantise(query, &mut codes);
        (scale > 0.0).then_some(QueryCodes { codes, scale })
    }

    pub(crate) fn candidates<'s>(
        &self,
        query: &QueryCodes,
        k: usize,
        view: &View,
        scratch: &'s mut VectorScratch,
    ) -> &'s [(u32, f32)] {
        let best = &mut scratch.best;
        best.clear();
        let k = k.min(self.len());
        if k == 0 {
            return best;
        }
        let wanted = (self.len() / SIGN_SHARE)
            .max(SIGN_CANDIDATES_MIN)
            .max(k.saturating_mul(SIGN_OVERSAMPLE));
        let close = self.closest_by_signs(&query.codes, wanted, view.bits());
        best.extend(
            close
                .into_iter()
                .filter_map(|ordinal| Some((ordinal, self.cosine(query, ordinal)?))),
        );
        let order = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0));
        if best.len() > k {
            best.select_nth_unstable_by(k - 1, order);
            best.truncate(k);
        }
        best.sort_unstable_by(order);
        best
    }

    pub(crate) fn cosine(&self, query: &QueryCodes, ordinal: u32) -> Option<f32> {
        let index = ordinal as usize;
        let scale = self.scales.get(index).filter(|scale| **scale != 0.0)?;
        let from = index % CHUNK_DOCUMENTS * self.dimensions;
        let chunk = self.chunks.get(index / CHUNK_DOCUMENTS)?;
        let codes = chunk.codes.as_slice().get(from..from + self.dimensions)?;
        let dot = i8::dot(&query.codes, codes)?;
        Some(dot as f32 * (query.scale * scale))
    }

    /// Looks at evenly spread places first; where too few of them hold anything, walks over all.
    pub(crate) fn sample(&self, query: &QueryCodes, n: usize, world: &World) -> Sample {
        let len = self.len();
        let live = world.live_count() as usize;
        let has = |at: &usize| world.is_live(*at as u32) && self.has(*at as u32);
        let cosine = |at: usize| self.cosine(query, at as u32);
        let probes = (n.saturating_mul(len) / live.max(1)).min(len);
        if probes < len {
            // Multiples of the golden ratio: evenly spread, and in step with nothing, where a plain
            // stride would meet only one side of every dialogue.
            const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
            let place = |turn: u64| (u128::from(turn.wrapping_mul(GOLDEN)) * len as u128) >> 64;
            let probed = (0..probes as u64).map(|turn| place(turn) as usize);
            let sample = Sample::of(probed.filter(has).filter_map(cosine));
            if sample.count as usize >= n / 2 {
                return sample;
            }
        }
        let known = (0..len).filter(has).count();
        let stride = known.div_ceil(n.max(1)).max(1);
        Sample::of((0..len).filter(has).step_by(stride).filter_map(cosine))
    }
}

impl Sample {
    fn of(cosines: impl Iterator<Item = f32>) -> Self {
        let (mut sum, mut squares, mut count) = (0.0_f64, 0.0_f64, 0_u32);
        for cosine in cosines.map(f64::from) {
            sum += cosine;
            squares += cosine * cosine;
            count += 1;
        }
        if count == 0 {
            return Self::default();
        }
        let mean = sum / f64::from(count);
        let variance = (squares / f64::from(count) - mean * mean).max(0.0);
        Self {
            mean: mean as f32,
            deviation: variance.sqrt() as f32,
            count,
        }
    }
}

#[cfg(test)]
mod tests;
