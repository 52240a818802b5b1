//! Texts that were kept while there was no model, embedded once there is one.
//!
//! Lives here: one background task at a time per memory. Must never live here: the decision whether
//! a record may be kept without a vector (it always may).

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

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
    /// Texts that the model cannot take: tried once in the life of an agent.
    hopeless: Mutex<BTreeSet<RecordId>>,
}

impl LateEmbedding {
    pub(super) fn new(pool: EmbedPool, handle: AgentHandle) -> Self {
        let shared = Shared {
            handle,
            hopeless: Mutex::new(BTreeSet::new()),
        };
        Self {
            pool,
            shared: Arc::new(shared),
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
        let hopeless = self
            .hopeless
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let limit = BATCH + hopeless.len();
        let mut waiting = self
            .handle
            .housekeeping(move |engine| engine.unembedded(limit))
            .await?;
        waiting.retain(|(id, _)| !hopeless.contains(id));
        let mut pending = Vec::with_capacity(waiting.len());
        for (id, text) in &waiting {
            pending.push((*id, pool.document(text).await));
        }
        let mut vectors: Vec<(RecordId, EmbeddingSpace, Vec<f32>)> = Vec::new();
        let mut model = true;
        for (id, vector) in pending {
            match vector.vector().await {
                Ok(embedded) => vectors.push((id, embedded.space, embedded.vector)),
                Err(PoolError::Failed(error)) => {
                    tracing::warn!(%id, %error, "a text cannot be embedded; words still find it");
                    self.hopeless
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .insert(id);
                }
                Err(PoolError::Unavailable(_) | PoolError::Full { .. } | PoolError::Closed) => {
                    model = false;
                }
            }
        }
        if vectors.is_empty() {
            return Ok(model && !waiting.is_empty());
        }
        let made = vectors.len();
        let kept = self
            .handle
            .housekeeping(move |engine| engine.embed_late(vectors))
            .await?;
        match kept {
            Ok(kept) => {
                tracing::info!(kept, made, user = %self.handle.user(), "texts embedded late");
                // Vectors of another space are passed over for ever.
                Ok(model && kept > 0)
            }
            Err(error) => {
                tracing::warn!(%error, "late vectors could not be kept");
                Ok(false)
            }
        }
    }
}
