//! Texts that were kept while there was no model, or another, embedded once there is one.
//!
//! One background task at a time per memory.

use reprise_engine::{Engine, EngineError};
use reprise_types::{EmbeddingSpace, MemoryError, RecordId};

use super::single::SingleFlight;
use crate::embedder::{EmbedPool, PoolError};
use crate::handle::AgentHandle;

const BATCH: usize = 32;

#[derive(Debug)]
pub(super) struct LateEmbedding {
    pool: EmbedPool,
    handle: AgentHandle,
    single: SingleFlight,
}

impl LateEmbedding {
    pub(super) fn new(pool: EmbedPool, handle: AgentHandle) -> Self {
        Self {
            pool,
            handle,
            single: SingleFlight::default(),
        }
    }

    /// Whether vectors are being made: then the memory stays open.
    pub(super) fn is_running(&self) -> bool {
        self.single.is_running()
    }

    /// Starts the task, unless it runs.
    pub(super) fn start_if_due(&self) {
        let (pool, handle) = (self.pool.clone(), self.handle.clone());
        self.single
            .start(|| async move { while let Ok(true) = embed_some(&handle, &pool).await {} });
    }
}

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
