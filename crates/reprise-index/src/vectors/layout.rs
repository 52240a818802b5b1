//! The layout of codes in memory and in the saved part.

/// Documents per shared chunk of codes; small, because an append copies one chunk.
pub(crate) const CHUNK_DOCUMENTS: usize = 256;
