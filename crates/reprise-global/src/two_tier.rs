//! One answer from two tiers (M51, M52), behind the port that every host knows: the user's own
//! memory and what others published, asked at once.
//!
//! What runs say of published things goes up as (id, score, count).

use std::sync::Arc;

use async_trait::async_trait;
use reprise_engine::{context_block, context_candidates};
use reprise_types::{
    Clock, ContextBlock, ErrorKind, MemoryError, MemoryProvider, Recall, RecallId, RecallRequest,
    RecallScope, RecordId, Revision, RunBeginning, RunEnding, system_entropy,
};

use crate::tier::{GlobalTier, voice_of};

/// A user's memory with the global store beside it. Cheap to clone.
#[derive(Clone)]
pub struct TwoTierMemory {
    local: Arc<dyn MemoryProvider>,
    global: GlobalTier,
    clock: Arc<dyn Clock>,
    scope: RecallScope,
}

reprise_types::show_fields!(TwoTierMemory { global, scope });

impl TwoTierMemory {
    /// Puts a global store beside a user's memory.
    pub fn new(local: Arc<dyn MemoryProvider>, global: GlobalTier, clock: Arc<dyn Clock>) -> Self {
        Self {
            local,
            global,
            clock,
            scope: RecallScope::LocalAndGlobal,
        }
    }

    /// The same memory asked in another scope.
    #[must_use]
    pub fn scoped(self, scope: RecallScope) -> Self {
        Self { scope, ..self }
    }

    async fn global_alone(&self, request: &RecallRequest) -> Result<Recall, MemoryError> {
        request.check()?;
        let now = u64::try_from(self.clock.now().timestamp_millis()).unwrap_or_default();
        let id = RecallId::from_parts(now, system_entropy());
        let answer = self.global.alone(request, id).await;
        answer.map_err(|error| {
            let message = error.to_string();
            match error.kind() {
                ErrorKind::Caller => MemoryError::Invalid { message },
                _ => MemoryError::Storage { message },
            }
        })
    }
}

#[async_trait]
impl MemoryProvider for TwoTierMemory {
    async fn recall_request(&self, request: RecallRequest) -> Result<Recall, MemoryError> {
        match self.scope {
            RecallScope::Local => self.local.recall_request(request).await,
            RecallScope::LocalAndGlobal => {
                let local = self.local.recall_request(request.clone());
                self.global.beside(&request, local).await
            }
            RecallScope::Global => self.global_alone(&request).await,
        }
    }

    async fn begin_run(&self, run: RunBeginning) -> Result<(), MemoryError> {
        self.local.begin_run(run).await
    }

    async fn step_run(
        &self,
        run_id: String,
        action: String,
        used: Vec<RecordId>,
    ) -> Result<(), MemoryError> {
        let used = self.global.own_of(&run_id, used);
        self.local.step_run(run_id, action, used).await
    }

    async fn end_run(&self, mut run: RunEnding) -> Result<(), MemoryError> {
        run.used = self.global.own_of(&run.run_id, run.used);
        let published = self.global.used_by(&run.run_id);
        let voice = voice_of(&run);
        let ended = self.local.end_run(run).await;
        if let Some(score) = voice.filter(|_| !published.is_empty()) {
            let global = self.global.clone();
            // Nobody waits for it; what is lost is one voice.
            tokio::spawn(async move {
                if let Err(error) = global.report(&published, score).await {
                    tracing::debug!(%error, "a report to the global store was lost");
                }
            });
        }
        ended
    }

    async fn revise_run(
        &self,
        run_id: String,
        revision: Revision,
        quality: Option<f32>,
    ) -> Result<(), MemoryError> {
        self.local.revise_run(run_id, revision, quality).await
    }

    async fn context_block(&self, query: &str, budget: usize) -> Result<ContextBlock, MemoryError> {
        let request = RecallRequest {
            top_k: context_candidates(budget),
            ..RecallRequest::new(query)
        };
        let recall = self.recall_request(request).await?;
        Ok(context_block(&recall, budget, system_entropy()))
    }
}

#[cfg(test)]
mod tests;
