//! What a store holds, in numbers, for people and for tests.

use chrono::{DateTime, Utc};
use reprise_store::LogStats;
use serde::Serialize;

use crate::engine::Engine;

/// One store in numbers.
#[derive(Debug, Clone, Serialize)]
pub struct EngineStats {
    /// Records that can be recalled.
    pub live: u32,
    /// Records that were forgotten.
    pub forgotten: u32,
    /// Records replaced by a correction.
    pub superseded: u32,
    /// Live records still without a vector.
    pub unembedded: u32,
    /// Distinct sessions.
    pub sessions: u32,
    /// Distinct external ids.
    pub external_ids: usize,
    /// When the newest record was kept; `None` means never.
    pub last_ingest: Option<DateTime<Utc>>,
    /// The embedding space, as `model/version`.
    pub space: Option<String>,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Bytes of the file that a compaction would give back.
    pub reclaimable_bytes: u64,
    /// Commits since the file was made.
    pub commits: u64,
    /// Bytes of memory that the index holds.
    pub index_bytes: usize,
}

impl Engine {
    /// Counts; one pass over the documents.
    #[must_use]
    pub fn stats(&self) -> EngineStats {
        let index = &self.snapshot.index;
        let LogStats {
            file_bytes,
            bytes_reclaimable,
            commits,
            ..
        } = self.log.stats();
        let docs = || (0..index.len() as u32).filter_map(|ordinal| index.doc(ordinal));
        let live = docs().filter(reprise_index::Doc::is_live).count() as u32;
        EngineStats {
            live,
            forgotten: docs().filter(|doc| doc.forgotten_at.is_some()).count() as u32,
            superseded: docs().filter(|doc| doc.superseded_at.is_some()).count() as u32,
            unembedded: index.unembedded(usize::MAX).len() as u32,
            sessions: index.sessions(),
            external_ids: self.state.keys.len(),
            last_ingest: docs().filter(|doc| !doc.hole).map(|doc| doc.known_at).max(),
            space: self
                .state
                .space
                .as_ref()
                .map(|s| format!("{}/{}", s.model, s.version)),
            file_bytes,
            reclaimable_bytes: bytes_reclaimable,
            commits,
            index_bytes: index.memory_bytes(),
        }
    }
}
