//! The set of documents that a purge turns into holes.

use std::ops::Range;

/// Documents that a purge turns into holes.
#[derive(Debug)]
pub(crate) struct PurgeSet {
    /// Ascending.
    pub(crate) ordinals: Vec<u32>,
    /// One bit for each document up to the last ordinal.
    words: Vec<u64>,
}

impl PurgeSet {
    /// Creates the set of ordinals that ascend.
    pub(crate) fn from_ascending(ordinals: Vec<u32>) -> Self {
        let last = ordinals.last().map_or(0, |last| *last as usize);
        let mut words = vec![0_u64; last / 64 + 1];
        for ordinal in &ordinals {
            words[*ordinal as usize / 64] |= 1 << (ordinal % 64);
        }
        Self { ordinals, words }
    }

    pub(crate) fn contains(&self, ordinal: u32) -> bool {
        let word = self.words.get(ordinal as usize / 64);
        word.is_some_and(|word| word >> (ordinal % 64) & 1 == 1)
    }

    pub(crate) fn has_any_in(&self, range: Range<u32>) -> bool {
        let from = self.ordinals.partition_point(|gone| *gone < range.start);
        self.ordinals
            .get(from)
            .is_some_and(|gone| *gone < range.end)
    }
}
