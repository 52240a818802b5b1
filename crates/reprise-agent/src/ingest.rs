//! The way of new records to their vectors, shared by the relay and by direct writes.
//!
//! Lives here: skipping copies, embedding the rest, going on without a model. Must never live here:
//! writing.

use std::sync::Arc;

use reprise_types::{NewRecord, UserId};

use crate::embedder::{EmbedPool, Pending, PoolError};
use crate::supervisor::Directory;

/// Vectors under way, with the places of their records.
pub(crate) type Vectors = Vec<(usize, Pending)>;

/// Gives every record that is not known yet its vector, where there is a model; answers how many
/// are left without.
pub(crate) async fn embed(
    pool: &EmbedPool,
    memory: (&Directory, &UserId),
    records: &mut [NewRecord],
) -> u64 {
    let vectors = submit(pool, memory, records).await;
    collect(vectors, records).await
}

/// Hands the text of every record that is not known yet to the pool; waits only for room there.
pub(crate) async fn submit(
    pool: &EmbedPool,
    (directory, user): (&Directory, &UserId),
    records: &[NewRecord],
) -> Vectors {
    if records.is_empty() {
        return Vectors::new();
    }
    let known = known(directory, user, records).await;
    let mut vectors = Vec::with_capacity(records.len());
    for (index, (record, known)) in records.iter().zip(known).enumerate() {
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
            Ok(embedded) => {
                if let Some(record) = records.get_mut(index) {
                    record.embedding = Some((embedded.space, embedded.vector));
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

/// Which of the records are copies of kept ones and need no vector. When in doubt none is: the
/// store itself decides.
async fn known(directory: &Directory, user: &UserId, records: &[NewRecord]) -> Vec<bool> {
    let ids = records.iter().map(|record| record.external_ids.clone());
    let ids: Arc<Vec<_>> = Arc::new(ids.collect());
    let asked = Arc::clone(&ids);
    let answer = directory.with_engine(user, move |engine| {
        let copy = |ids: &Vec<_>| ids.iter().any(|id| engine.duplicate_of(id).is_some());
        asked.iter().map(copy).collect()
    });
    answer.await.unwrap_or_else(|_| vec![false; ids.len()])
}
