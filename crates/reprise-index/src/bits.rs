//! Iterates over the bits of bitmaps.

/// Returns the positions of the bits that are set in a bitmap, ascending.
pub(crate) fn iter_set_bits(words: &[u64]) -> impl Iterator<Item = u32> {
    let numbered = (0_u32..).zip(words);
    numbered.flat_map(|(number, word)| iter_bits(*word).map(move |bit| number * 64 + bit))
}

/// Returns the positions of the bits that are set in one word, ascending.
pub(crate) fn iter_bits(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros())?;
        word &= word - 1;
        Some(bit)
    })
}
