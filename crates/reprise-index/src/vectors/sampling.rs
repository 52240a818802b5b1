//! Evenly spaced samples of the documents.

/// Returns indices below `len` in an order of which every prefix is evenly spaced (multiples of the
/// golden ratio). Some indices occur twice and some never.
pub(super) fn evenly_spaced(len: usize) -> impl Iterator<Item = usize> {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let place = move |turn: u64| (u128::from(turn.wrapping_mul(GOLDEN)) * len as u128) >> 64;
    (0..).map(move |turn| place(turn) as usize)
}

/// Returns evenly spaced ordinals below `len`, about `n` of which are among the `held`.
pub(super) fn sample_ordinals(len: usize, n: usize, held: usize) -> impl Iterator<Item = u32> {
    let probes = (n.saturating_mul(len) / held.max(1)).min(len);
    evenly_spaced(len).take(probes).map(|place| place as u32)
}
