//! How codes are laid out in memory and in their part.

/// Documents per shared chunk of codes; small, because an append copies one chunk.
pub(crate) const CHUNK_DOCUMENTS: usize = 256;
