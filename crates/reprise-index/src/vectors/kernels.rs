//! The two loops that every vector query runs through, compiled for several processors and chosen
//! when first called: AVX-512 with VPOPCNTDQ and VNNI, AVX2, else the baseline (NEON on ARM).
//!
//! Written for auto-vectorisation: integers only, so every version gives the same result, and
//! wrapping arithmetic, as overflow checks would keep it scalar; no sum can come near overflow.

use multiversion::multiversion;

/// Number of documents that are interleaved word by word.
pub(super) const LANES: usize = 8;
/// Bits per number of the query in the pass over the signs.
pub(super) const PLANES: usize = 4;

/// Computes for each group of [`LANES`] documents the sum over planes of `2^plane` times the number
/// of bits in which the document's signs differ from that plane of the query. A group has as many
/// rows as `query`; row `w` has word `w` of each of its documents.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+avx512dq+avx512vpopcntdq+bmi2+popcnt",
    "x86_64+avx2+bmi2+popcnt"
))]
pub(super) fn compute_distances(
    query: &[[u64; PLANES]],
    groups: &[[u64; LANES]],
    out: &mut [[u32; LANES]],
) {
    for (group, out) in groups.chunks_exact(query.len().max(1)).zip(out) {
        let mut sums = [[0_u64; LANES]; PLANES];
        for (row, planes) in group.iter().zip(query) {
            for plane in 0..PLANES {
                for lane in 0..LANES {
                    let differ = u64::from((row[lane] ^ planes[plane]).count_ones());
                    sums[plane][lane] = sums[plane][lane].wrapping_add(differ);
                }
            }
        }
        for lane in 0..LANES {
            let mut sum = 0_u64;
            for (plane, sums) in sums.iter().enumerate() {
                sum = sum.wrapping_add(sums[lane] << plane);
            }
            out[lane] = sum as u32;
        }
    }
}

/// Sets one bit for each distance that is at most `threshold`, 64 distances per word.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+avx512dq+bmi2+popcnt",
    "x86_64+avx2+bmi2+popcnt"
))]
pub(super) fn mark_within(distances: &[u32], threshold: u32, out: &mut [u64]) {
    for (distances, word) in distances.chunks(64).zip(out) {
        *word = 0;
        for (bit, distance) in distances.iter().enumerate() {
            *word |= u64::from(*distance <= threshold) << bit;
        }
    }
}

/// Returns the inner product of two rows of codes of the same length.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+avx512dq+avx512vnni+bmi2+popcnt",
    "x86_64+avx2+bmi2+popcnt"
))]
pub(super) fn dot(a: &[i8], b: &[i8]) -> i32 {
    let products = a
        .iter()
        .zip(b)
        .map(|(a, b)| i32::from(*a).wrapping_mul(i32::from(*b)));
    products.fold(0, i32::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_weigh_each_plane() {
        // Two words a document; document 3 differs from plane 0 in one bit, from plane 3 in three.
        let query = [[0b1, 0, 0, 0b111], [0, 0, 0, 0]];
        let mut group = [[0_u64; LANES]; 2];
        group[0][5] = 0b111;
        group[1][6] = u64::MAX;
        let mut out = [[9; LANES]];
        compute_distances(&query, &group, &mut out);
        let zero = 1 + 8 * 3;
        let all = 64 * 15;
        assert_eq!(
            out[0],
            [
                zero,
                zero,
                zero,
                zero,
                zero,
                2 + 2 * 3 + 4 * 3,
                zero + all,
                zero
            ]
        );
    }

    #[test]
    fn products_and_bars() {
        let a: Vec<i8> = (0..100).map(|x| (x * 7 % 255 - 127) as i8).collect();
        let b: Vec<i8> = (0..100).map(|x| (x * 11 % 255 - 127) as i8).collect();
        let plain: i32 = a
            .iter()
            .zip(&b)
            .map(|(a, b)| i32::from(*a) * i32::from(*b))
            .sum();
        assert_eq!(dot(&a, &b), plain);
        assert_eq!(dot(&[-128; 4], &[-128; 4]), 4 * 16_384);
        let mut words = [7; 2];
        mark_within(&[3; 70], 2, &mut words);
        assert_eq!(words, [0, 0]);
        mark_within(&[3; 70], 3, &mut words);
        assert_eq!(words, [u64::MAX, 0b11_1111]);
    }
}
