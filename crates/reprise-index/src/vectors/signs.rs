//! The signs of vectors, one bit per number, and the documents whose signs agree best.
//!
//! The angle between two vectors shows in the share of their numbers that differ in sign (Charikar
//! 2002). Too coarse to rank by, cheap enough to leave most documents out.
//! Must never live here: codes, scales, anything that is saved.

use simsimd::BinarySimilarity;

/// Signs of one or more vectors, eight to a byte, each vector from a byte of its own.
#[derive(Debug)]
pub(super) struct Signs {
    bytes: Vec<u8>,
    /// Bytes of one vector.
    width: usize,
}

impl Signs {
    /// The signs of all vectors in `codes`, each `dimensions` long.
    pub(super) fn of(codes: &[i8], dimensions: usize) -> Self {
        let dimensions = dimensions.max(1);
        let width = dimensions.div_ceil(8);
        let mut bytes = Vec::with_capacity(codes.len() / dimensions * width);
        for vector in codes.chunks_exact(dimensions) {
            let (eights, rest) = vector.as_chunks::<8>();
            bytes.extend(eights.iter().copied().map(eight_signs));
            if !rest.is_empty() {
                let mut last = [0; 8];
                last[..rest.len()].copy_from_slice(rest);
                bytes.push(eight_signs(last));
            }
        }
        Self { bytes, width }
    }

    /// Each vector's bytes.
    pub(super) fn documents(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.chunks_exact(self.width)
    }

    /// Numbers of the (one) vector here that differ in sign from `other`'s.
    pub(super) fn distance(&self, other: &[u8]) -> u16 {
        u8::hamming(&self.bytes, other).map_or(u16::MAX, |bits| bits as u16)
    }
}

/// The eight sign bits, side by side: each is moved to its place in the highest byte by one of the
/// multiplier's bits.
fn eight_signs(codes: [i8; 8]) -> u8 {
    let word = u64::from_le_bytes(codes.map(i8::cast_unsigned));
    let signs = (word >> 7) & 0x0101_0101_0101_0101;
    (signs.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

/// Collects distances and finds the lowest by counting.
#[derive(Debug)]
pub(super) struct Distances {
    all: Vec<(u32, u16)>,
    counts: Vec<u32>,
}

impl Distances {
    /// For up to `documents` distances of up to `dimensions` each.
    pub(super) fn new(documents: usize, dimensions: usize) -> Self {
        Self {
            all: Vec::with_capacity(documents),
            counts: vec![0; dimensions + 1],
        }
    }

    pub(super) fn add(&mut self, ordinal: u32, distance: u16) {
        if let Some(count) = self.counts.get_mut(usize::from(distance)) {
            *count += 1;
        }
        self.all.push((ordinal, distance));
    }

    /// The documents at the lowest distances, whole distances at a time until there are `wanted`.
    pub(super) fn closest(&self, wanted: usize) -> Vec<u32> {
        let mut found = 0;
        let enough = self.counts.iter().position(|count| {
            found += *count as usize;
            found >= wanted
        });
        let limit = enough.unwrap_or(usize::from(u16::MAX));
        let close = self.all.iter().filter(|(_, d)| usize::from(*d) <= limit);
        close.map(|(ordinal, _)| *ordinal).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_packed_in_order() {
        let codes = [-1, 0, 5, -7, 127, -127, 3, -2, -9, 1];
        let signs = Signs::of(&codes, 10);
        assert_eq!(signs.bytes, [0b1010_1001, 0b0000_0001]);
        let two = Signs::of(&codes, 5);
        assert_eq!(two.bytes, [0b0_1001, 0b0_1101]);
        assert_eq!(two.documents().count(), 2);
    }

    #[test]
    fn distance_counts_differing_signs() {
        let a = Signs::of(&[1, -1, 1, -1], 4);
        let b = Signs::of(&[1, 1, 1, 1], 4);
        assert_eq!(
            b.documents().map(|d| a.distance(d)).collect::<Vec<_>>(),
            [2]
        );
    }

    #[test]
    fn the_closest_come_by_whole_distances() {
        let mut distances = Distances::new(5, 10);
        for (ordinal, distance) in [(0, 4), (1, 2), (2, 4), (3, 9), (4, 0)] {
            distances.add(ordinal, distance);
        }
        assert_eq!(distances.closest(1), [4]);
        assert_eq!(distances.closest(3), [0, 1, 2, 4]);
        assert_eq!(distances.closest(99), [0, 1, 2, 3, 4]);
    }
}
