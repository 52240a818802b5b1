//! The way of new records to their vectors, shared by the relay and by direct writes.
//!
//! Lives here: skipping copies, embedding the rest, going on without a model. Must never live here:
//! writing.

use std::sync::Arc;

use reprise_types::NewRecord;

use crate::embedder::{EmbedPool, PoolError};
use crate::handle::AgentHandle;

/// Gives every record that is not known yet its vector, where there is a model; answers how many
/// are left without.
pub(crate) async fn embed(
    pool: &EmbedPool,
    agent: Option<AgentHandle>,
    records: &mut [NewRecord],
) -> u64 {
    let known = match agent {
        Some(agent) if !records.is_empty() => known(&agent, records).await,
        _ => vec![false; records.len()],
    };
    let mut pending = Vec::with_capacity(records.len());
    for (index, record) in records.iter().enumerate() {
        if record.embedding.is_none() && !known[index] && !record.text.trim().is_empty() {
            pending.push((index, pool.document(&record.text).await));
        }
    }
    let mut waiting = 0;
    for (index, vector) in pending {
        match vector.vector().await {
            Ok(embedded) => {
                records[index].embedding = Some((embedded.space, embedded.vector));
            }
            Err(PoolError::Failed(error)) => {
                tracing::warn!(%error, "a text could not be embedded; words still find it");
                waiting += 1;
            }
            Err(_) => waiting += 1,
        }
    }
    waiting
}

/// Which of the records are copies of kept ones and need no vector. When in doubt none is: the
/// store itself decides.
async fn known(agent: &AgentHandle, records: &[NewRecord]) -> Vec<bool> {
    let ids: Arc<Vec<_>> = Arc::new(
        records
            .iter()
            .map(|record| record.external_ids.clone())
            .collect(),
    );
    let asked = Arc::clone(&ids);
    agent
        .with_engine(move |engine| {
            let copy = |ids: &Vec<_>| ids.iter().any(|id| engine.duplicate_of(id).is_some());
            asked.iter().map(copy).collect()
        })
        .await
        .unwrap_or_else(|_| vec![false; ids.len()])
}
