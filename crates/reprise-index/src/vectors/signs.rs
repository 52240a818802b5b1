//! The signs of a chunk of vectors, one bit per number, and a query cut to four bits per number.
//!
//! The inner product of a vector's signs with the query approximates the cosine well enough to
//! discard most documents (Gao and Long 2024, "`RaBitQ`", without the rotation), and reads an
//! eighth of the bytes of the codes.

use super::CHUNK_DOCUMENTS;
use super::kernels::{LANES, PLANES, compute_distances};

pub(super) const GROUPS: usize = CHUNK_DOCUMENTS / LANES;

/// Returns the number of 64-bit words that the signs of one vector take.
pub(super) fn words_per_vector(dimensions: usize) -> usize {
    dimensions.div_ceil(64)
}

/// Returns the number of words that the signs of one chunk take, full or not.
pub(super) fn words_per_chunk(dimensions: usize) -> usize {
    words_per_vector(dimensions) * CHUNK_DOCUMENTS
}

/// Writes the signs of the vector in `codes` as the chunk's document `place`. Word `w` of document
/// `8 g + l` is at `(g * words + w) * 8 + l`; a bit is 1 for a number of 0 or more.
pub(super) fn store_signs(signs: &mut [u64], place: usize, codes: &[i8]) {
    let words = words_per_vector(codes.len());
    let first = place / LANES * words * LANES + place % LANES;
    for (word, codes) in codes.chunks(64).enumerate() {
        let bits = codes
            .iter()
            .enumerate()
            .fold(0, |bits, (bit, code)| bits | u64::from(*code >= 0) << bit);
        if let Some(word) = signs.get_mut(first + word * LANES) {
            *word = bits;
        }
    }
}

/// A query in four bits per number: `level = round((q / (2 max) + 1/2) * 15)`, so that 0 falls
/// between two levels as it falls between two signs. One row per word of signs, one word per plane.
#[derive(Debug)]
pub(super) struct QueryPlanes(Vec<[u64; PLANES]>);

impl QueryPlanes {
    /// Builds the planes from the codes of a query, whose largest absolute value is 127.
    pub(super) fn from_codes(codes: &[i8]) -> Self {
        let level = |code: i8| ((i32::from(code) + 127) * 15 + 127) / 254;
        let row = |codes: &[i8]| {
            let mut row = [0; PLANES];
            for (bit, code) in codes.iter().enumerate() {
                let level = level(*code) as u64;
                for (plane, word) in row.iter_mut().enumerate() {
                    *word |= (level >> plane & 1) << bit;
                }
            }
            row
        };
        Self(codes.chunks(64).map(row).collect())
    }

    /// Returns the greatest possible distance.
    pub(super) fn distance_max(&self) -> u32 {
        (self.0.len() * 64 * ((1 << PLANES) - 1)) as u32
    }

    /// Computes the distance of each document in some groups by its signs; lower means a higher
    /// cosine.
    pub(super) fn compute_distances(&self, signs: &[u64], out: &mut [[u32; LANES]]) {
        compute_distances(&self.0, signs.as_chunks().0, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearer_the_lower() {
        let dimensions = 70;
        let mut signs = vec![0; words_per_chunk(dimensions)];
        let query: Vec<i8> = (0..70)
            .map(|x| if x % 3 == 0 { 127 } else { -40 })
            .collect();
        let opposite: Vec<i8> = query.iter().map(|x| -x).collect();
        let mut nearly = query.clone();
        nearly[1] = 40;
        let mut less = query.clone();
        less[0] = -127;
        for (place, codes) in [(0, &query), (9, &nearly), (77, &less), (255, &opposite)] {
            store_signs(&mut signs, place, codes);
        }
        let mut out = [[0; LANES]; GROUPS];
        QueryPlanes::from_codes(&query).compute_distances(&signs, &mut out);
        let out = out.as_flattened();
        let agree = out[0];
        // Levels 15 and 5: each number of a differing sign costs `2 level - 15`.
        assert_eq!((out[9] - agree, out[77] - agree), (5, 15));
        assert_eq!(out[255] - agree, 24 * 15 + 46 * 5);
    }
}
