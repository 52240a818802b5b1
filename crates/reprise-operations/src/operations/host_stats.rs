//! A memory in numbers, under the names of ChoirOS's third design beside our own.

use chrono::{DateTime, Utc};
use reprise_engine::EngineStats;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::stats::{Arguments, Stats};
use crate::catalogue::{Operation, Spec, get};
use crate::memories::Memory;
use crate::problem::Problem;

/// A memory in numbers.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Numbers {
    /// Live records that have a vector.
    pub total_vectors: u32,
    /// Bytes of the file.
    pub rvf_file_size_bytes: u64,
    /// When the newest record was kept; null means never.
    pub last_ingest_at: Option<DateTime<Utc>>,
    /// All of it.
    #[serde(flatten)]
    pub stats: EngineStats,
}

#[derive(Debug)]
pub struct HostStats;

impl Operation for HostStats {
    const SPEC: Spec = Spec::reads("host_stats", "ChoirOS: the memory in numbers.")
        .at(&[get("/api/memory/stats")]);
    type Arguments = Arguments;
    type Answer = Numbers;

    async fn run(memory: &Memory, arguments: Arguments) -> Result<Numbers, Problem> {
        let stats = Stats::run(memory, arguments).await?;
        Ok(Numbers {
            total_vectors: stats.live - stats.unembedded.min(stats.live),
            rvf_file_size_bytes: stats.file_bytes,
            last_ingest_at: stats.last_ingest,
            stats,
        })
    }
}
