//! Compaction (signatures first; the bodies follow).

use crate::error::StoreError;

/// A compaction that was prepared.
#[derive(Debug)]
pub struct Compaction {}

impl Compaction {
    /// Writes the new file beside the old one; on any thread.
    pub fn run(self) -> Result<Compacted, StoreError> {
        unimplemented!()
    }
}

/// A compaction that was run, to be handed to `Log::finish_compaction`.
#[derive(Debug)]
pub struct Compacted {}
