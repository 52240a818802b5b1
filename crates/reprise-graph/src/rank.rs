//! The order of results, and the layer of a node.

/// A similarity and an ordinal packed into one number that sorts by rank: higher similarity, then
/// newer.
pub fn key(similarity: f32, ordinal: u32) -> u64 {
    let bits = similarity.to_bits();
    let sign = 1_u32 << 31;
    let ordered = if bits & sign == 0 { bits | sign } else { !bits };
    u64::from(ordered) << 32 | u64::from(ordinal)
}

/// The inverse of [`key`].
pub fn key_parts(key: u64) -> (u32, f32) {
    let ordered = (key >> 32) as u32;
    let sign = 1_u32 << 31;
    let bits = if ordered & sign == 0 {
        !ordered
    } else {
        ordered & !sign
    };
    (key as u32, f32::from_bits(bits))
}

/// The layer of a document: `floor(-ln(r) / ln(M))` for `r = hash / 2^64`, which with M = 16 is a
/// quarter of the hash's leading zeros. The hash (`SplitMix64`) is of the ordinal alone.
pub(crate) fn level_of(ordinal: u32) -> usize {
    let state = u64::from(ordinal).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)).leading_zeros() as usize / 4
}
