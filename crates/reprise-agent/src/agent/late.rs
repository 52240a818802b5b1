//! Texts that were kept while there was no model, embedded once there is one.
//!
//! One background task at a time per memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use reprise_engine::{Engine, EngineError};
use reprise_types::{EmbeddingSpace, MemoryError, RecordId};

use super::single::SingleFlight;
use crate::embedder::{EmbedPool, PoolError};
use crate::handle::AgentHandle;

/// Texts embedded between two commits.
const BATCH: usize = 32;

/// The late embedding of one memory.
#[derive(Debug)]
pub(super) struct LateEmbedding {
    pool: EmbedPool,
    shared: Arc<Shared>,
    single: SingleFlight,
}

#[derive(Debug)]
struct Shared {
    handle: AgentHandle,
    /// Every text before this place was tried, once in the life of an agent: those that still have
    /// no vector are such that the model cannot take.
    next: AtomicU32,
}

impl LateEmbedding {
    pub(super) fn new(pool: EmbedPool, handle: AgentHandle) -> Self {
        let next = AtomicU32::new(0);
        Self {
            pool,
            shared: Arc::new(Shared { handle, next }),
            single: SingleFlight::default(),
        }
    }

    /// Starts the task, unless it runs.
    pub(super) fn start_if_due(&self) {
        let (pool, shared) = (self.pool.clone(), Arc::clone(&self.shared));
        self.single
            .start(|| async move { while let Ok(true) = shared.embed_some(&pool).await {} });
    }
}

impl Shared {
    /// Embeds one batch; whether it is worth going on.
    async fn embed_some(&self, pool: &EmbedPool) -> Result<bool, MemoryError> {
        let first = self.next.load(Ordering::Acquire);
        let waiting = self
            .handle
            .run(move |engine| engine.unembedded_from(first, BATCH))
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
        let made = vectors.len();
        if made > 0 {
            let taken = self.handle.run(move |engine| take(engine, vectors));
            match taken.await? {
                Ok((kept, adopted)) => {
                    tracing::info!(kept, made, user = %self.handle.user(), "texts embedded late");
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
        self.next.store(next, Ordering::Release);
        Ok(model && !waiting.is_empty())
    }
}

/// Keeps vectors; answers how many, and whether older texts wait for this model now.
fn take(
    engine: &mut Engine,
    vectors: Vec<(RecordId, EmbeddingSpace, Vec<f32>)>,
) -> Result<(usize, bool), EngineError> {
    let before = engine.snapshot();
    let kept = engine.embed_late(vectors)?;
    let adopted = before.space().is_some() && before.space() != engine.snapshot().space();
    Ok((kept, adopted))
}
