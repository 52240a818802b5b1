//! One answer from two tiers, behind the port that every host knows: the user's own
//! memory and what others published, asked at once.
//!
//! What runs say of published things goes up as (id, score, count).

use std::sync::Arc;

use async_trait::async_trait;
use reprise_engine::{build_context_block, context_candidate_count};
use reprise_types::{
    Clock, ContextBlock, ErrorKind, MemoryError, MemoryProvider, RecallId, RecallRequest,
    RecallResponse, RecallScope, Revision, RunBeginning, RunEnding, RunStep, system_entropy,
};

use crate::tier::{GlobalTier, score_run};

/// A user's memory together with the global store. Cheap to clone.
#[derive(Clone)]
pub struct TwoTierMemory {
    local: Arc<dyn MemoryProvider>,
    global: GlobalTier,
    clock: Arc<dyn Clock>,
    scope: RecallScope,
}

reprise_types::show_fields!(TwoTierMemory { global, scope });

impl TwoTierMemory {
    /// Combines a user's memory with a global store.
    pub fn new(local: Arc<dyn MemoryProvider>, global: GlobalTier, clock: Arc<dyn Clock>) -> Self {
        Self {
            local,
            global,
            clock,
            scope: RecallScope::LocalAndGlobal,
        }
    }

    /// Returns this memory with another scope for its recalls.
    #[must_use]
    pub fn with_scope(self, scope: RecallScope) -> Self {
        Self { scope, ..self }
    }

    async fn recall_published_alone(
        &self,
        request: &RecallRequest,
    ) -> Result<RecallResponse, MemoryError> {
        request.validate()?;
        let now = u64::try_from(self.clock.now().timestamp_millis()).unwrap_or_default();
        let id = RecallId::from_parts(now, system_entropy());
        let answer = self.global.recall_published_alone(request, id).await;
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
    async fn execute_recall(&self, request: RecallRequest) -> Result<RecallResponse, MemoryError> {
        match self.scope {
            RecallScope::Local => self.local.execute_recall(request).await,
            RecallScope::LocalAndGlobal => {
                let local = self.local.execute_recall(request.clone());
                self.global.recall_with_local(&request, local).await
            }
            RecallScope::Global => self.recall_published_alone(&request).await,
        }
    }

    async fn begin_run(&self, run: RunBeginning) -> Result<(), MemoryError> {
        self.local.begin_run(run).await
    }

    async fn add_run_step(&self, mut step: RunStep) -> Result<(), MemoryError> {
        step.used = self.global.split_uses(&step.run_id, step.used);
        self.local.add_run_step(step).await
    }

    async fn end_run(&self, mut run: RunEnding) -> Result<(), MemoryError> {
        run.used = self.global.split_uses(&run.run_id, run.used);
        let published = self.global.take_run_uses(&run.run_id);
        let voice = score_run(&run);
        let ended = self.local.end_run(run).await;
        if let Some(score) = voice.filter(|_| !published.is_empty()) {
            let global = self.global.clone();
            // Nobody waits for it; what is lost is one voice.
            tokio::spawn(async move {
                if let Err(error) = global.report_usage(&published, score).await {
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

    async fn build_context_block(
        &self,
        query: &str,
        budget: usize,
    ) -> Result<ContextBlock, MemoryError> {
        let request = RecallRequest {
            top_k: context_candidate_count(budget),
            ..RecallRequest::new(query)
        };
        let recall = self.execute_recall(request).await?;
        Ok(build_context_block(&recall, budget, system_entropy()))
    }
}

#[cfg(test)]
mod tests;
