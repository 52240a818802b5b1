//! The way of new records to their vectors, shared by the relay and by direct writes.
//!
//! Skipping copies, embedding the rest, going on without a model.

use reprise_engine::Engine;
use reprise_types::NewRecord;

use crate::embedder::{EmbedPool, Pending, PoolError};

/// Vectors under way, with the places of their records.
pub(crate) type Vectors = Vec<(usize, Pending)>;

/// Hands the text of every record that is not `known` to the pool; waits only for room there.
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

/// Waits for the vectors and puts them into their records; answers how many did not come.
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

/// What to ask an engine before embedding: which of the records are copies of kept ones and need no
/// vector. `None` where none can be one. When in doubt none is: the store itself decides.
pub(crate) fn copies(
    records: &[NewRecord],
) -> Option<impl FnOnce(&mut Engine) -> Vec<bool> + Send + 'static> {
    let ids: Vec<_> = records
        .iter()
        .map(|record| record.external_ids.clone())
        .collect();
    let any = ids.iter().any(|ids| !ids.is_empty());
    any.then_some(move |engine: &mut Engine| {
        let copy = |ids: &Vec<_>| ids.iter().any(|id| engine.duplicate_of(id).is_some());
        ids.iter().map(copy).collect()
    })
}
