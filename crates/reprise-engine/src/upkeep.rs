//! What a memory needs from time to time: checks, checkpoints, compaction, and vectors that come
//! after their records.

pub(crate) mod check;
pub(crate) mod checkpoint;
pub(crate) mod compact;
pub(crate) mod late_vectors;
