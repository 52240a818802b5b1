//! Embedding of new records, shared by the relay and by direct writes.
//!
//! Duplicates are skipped; without a model records go on without vectors.

use reprise_engine::Engine;
use reprise_types::NewRecord;

use crate::embedder::{EmbedPool, Pending, PoolError};

/// Pending vectors, with the indices of their records.
pub(crate) type Vectors = Vec<(usize, Pending)>;

/// Queues the text of every record that is not `known`; waits only for a free slot.
pub(crate) async fn submit(pool: &EmbedPool, records: &[NewRecord], known: &[bool]) -> Vectors {
    let mut vectors = Vec::new();
    for (index, record) in records.iter().enumerate() {
        let known = known.get(index).copied().unwrap_or_default();
        if record.embedding.is_none() && !known && !record.text.trim().is_empty() {
            vectors.push((index, pool.document(&record.text).await));
        }
    }
    vectors
}

/// Waits for the vectors and sets them in their records; returns how many are missing.
pub(crate) async fn collect(vectors: Vectors, records: &mut [NewRecord]) -> u64 {
    let mut missing = 0;
    for (index, vector) in vectors {
        match vector.vector().await {
            Ok(embedding) => {
                if let Some(record) = records.get_mut(index) {
                    record.embedding = Some(embedding);
                }
            }
            Err(PoolError::Failed(error)) => {
                tracing::warn!(%error, "a text could not be embedded; words still find it");
                missing += 1;
            }
            Err(PoolError::Unavailable(_) | PoolError::Full { .. } | PoolError::Closed) => {
                missing += 1;
            }
        }
    }
    missing
}

/// The engine query, before embedding, for records that are duplicates of stored ones and need no
/// vector. `None` where none can be. A record is embedded when in doubt: the store decides.
pub(crate) fn copies(
    records: &[NewRecord],
) -> Option<impl FnOnce(&mut Engine) -> Vec<bool> + Send + 'static> {
    let any = records.iter().any(|record| !record.external_ids.is_empty());
    let records = any.then(|| records.to_vec())?;
    Some(move |engine: &mut Engine| {
        let known = records.iter().map(|record| engine.is_known(record));
        known.collect()
    })
}
