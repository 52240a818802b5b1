//! Texts that were kept while there was no model, or another, embedded once there is one.

use reprise_engine::{Engine, EngineError};
use reprise_types::{EmbeddingSpace, MemoryError, RecordId};

use crate::embedder::{EmbedPool, PoolError};
use crate::handle::AgentHandle;

const BATCH: usize = 32;

/// Embeds one batch; returns whether to go on.
pub(crate) async fn embed_some(
    handle: &AgentHandle,
    pool: &EmbedPool,
) -> Result<bool, MemoryError> {
    let mut place = handle.embedding().lock().await;
    let first = *place;
    let (waiting, places) = handle
        .run(move |engine| {
            let waiting = engine.unembedded_from(first, BATCH);
            (waiting, engine.snapshot().places())
        })
        .await?;
    let mut pending = Vec::with_capacity(waiting.len());
    for (ordinal, id, text) in &waiting {
        pending.push((*ordinal, *id, pool.document(text).await));
    }
    let mut vectors: Vec<(RecordId, EmbeddingSpace, Vec<f32>)> = Vec::new();
    let (mut model, mut next) = (true, first);
    for (ordinal, id, vector) in pending {
        match vector.vector().await {
            Ok(embedded) => vectors.push((id, embedded.space, embedded.vector)),
            Err(PoolError::Failed(error)) => {
                tracing::warn!(%id, %error, "a text cannot be embedded; words still find it");
            }
            Err(PoolError::Unavailable(_) | PoolError::Full { .. } | PoolError::Closed) => {
                model = false;
            }
        }
        if model {
            next = ordinal + 1;
        }
    }
    if model && waiting.len() < BATCH {
        // Nothing before this waits.
        next = places;
    }
    let made = vectors.len();
    if made > 0 {
        let taken = handle.run(move |engine| take(engine, vectors));
        match taken.await? {
            Ok((kept, adopted)) => {
                tracing::info!(kept, made, user = %handle.user(), "texts embedded late");
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
    *place = next;
    Ok(model && !waiting.is_empty())
}

/// Stores vectors; returns how many, and whether older texts need this model now.
fn take(
    engine: &mut Engine,
    vectors: Vec<(RecordId, EmbeddingSpace, Vec<f32>)>,
) -> Result<(usize, bool), EngineError> {
    let before = engine.snapshot();
    let kept = engine.embed_late(vectors)?;
    let adopted = before.space().is_some() && before.space() != engine.snapshot().space();
    Ok((kept, adopted))
}

#[cfg(test)]
mod tests;
