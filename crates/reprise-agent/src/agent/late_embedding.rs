//! Late embedding: texts that were stored without a model, or with another one, get their vectors
//! once there is one.

use reprise_engine::{Engine, EngineError};
use reprise_types::{EmbeddingSpace, MemoryError, RecordId};

use crate::embedder::{EmbedPool, PoolError};
use crate::handle::MemoryHandle;

const BATCH: usize = 32;

/// Embeds one batch of the texts that have no vector; returns whether to continue.
pub(crate) async fn embed_waiting_batch(
    handle: &MemoryHandle,
    pool: &EmbedPool,
) -> Result<bool, MemoryError> {
    let mut position = handle.embedding_position().lock().await;
    let first = *position;
    let (waiting, places) = handle
        .run_on_engine(move |engine| {
            let waiting = engine.unembedded_records_from(first, BATCH);
            (waiting, engine.snapshot().ordinal_count())
        })
        .await?;
    let mut pending = Vec::with_capacity(waiting.len());
    for (ordinal, id, text) in &waiting {
        pending.push((*ordinal, *id, pool.queue_document(text).await));
    }
    let mut vectors: Vec<(RecordId, EmbeddingSpace, Vec<f32>)> = Vec::new();
    let (mut has_model, mut next) = (true, first);
    for (ordinal, id, vector) in pending {
        match vector.wait().await {
            Ok(embedded) => vectors.push((id, embedded.space, embedded.vector)),
            Err(PoolError::Failed(error)) => {
                tracing::warn!(%id, %error, "a text cannot be embedded; words still find it");
            }
            Err(PoolError::Unavailable(_) | PoolError::Full { .. } | PoolError::Closed) => {
                has_model = false;
            }
        }
        if has_model {
            next = ordinal + 1;
        }
    }
    if has_model && waiting.len() < BATCH {
        // No text before this position waits.
        next = places;
    }
    let count = vectors.len();
    if count > 0 {
        let stored = handle.run_on_engine(move |engine| store_late_vectors(engine, vectors));
        match stored.await? {
            Ok((kept, adopted)) => {
                tracing::info!(kept, count, user = %handle.user(), "texts embedded late");
                if adopted {
                    next = 0;
                }
            }
            Err(error) => {
                tracing::warn!(%error, "late vectors could not be kept");
                return Ok(false);
            }
        }
    }
    *position = next;
    Ok(has_model && !waiting.is_empty())
}

/// Stores vectors; returns how many, and whether older texts now need this model too.
fn store_late_vectors(
    engine: &mut Engine,
    vectors: Vec<(RecordId, EmbeddingSpace, Vec<f32>)>,
) -> Result<(usize, bool), EngineError> {
    let before = engine.snapshot();
    let stored = engine.insert_late_vectors(vectors)?;
    let adopted = before.space().is_some() && before.space() != engine.snapshot().space();
    Ok((stored, adopted))
}

#[cfg(test)]
mod tests;
