//! `MemoryProvider` for one user's memory, over messages to its agent.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reprise_engine::{EngineStats, ForgetSelector, Forgotten, context_block, context_candidates};
use reprise_redact::Redactor;
use reprise_types::{
    ContextBlock, MemoryError, MemoryProvider, NewRecord, Recall, RecallRequest, RecordId,
    Revision, RunBeginning, RunEnding, UserId, WriteOutcome, system_entropy,
};
use tokio::time::timeout;

use crate::admission::{Admission, Permit};
use crate::job::Reply;
use crate::protocol::MemoryAgentMsg;
use crate::supervisor::Directory;

/// One user's memory, over the messages of its agent. Cheap to clone. Each request finds the
/// current agent, also after passivation or a restart.
#[derive(Debug, Clone)]
pub struct ActorMemoryProvider {
    pub(crate) directory: Arc<Directory>,
    pub(crate) admission: Admission,
    /// Time budget of a recall.
    pub(crate) budget: Duration,
    pub(crate) user: UserId,
}

impl ActorMemoryProvider {
    /// The same with another time budget for recalls.
    #[must_use]
    pub fn within(self, budget: Duration) -> Self {
        let budget = budget.min(self.budget);
        Self { budget, ..self }
    }

    pub fn user(&self) -> &UserId {
        &self.user
    }

    /// Stores records (see [`MemoryAgentMsg::Ingest`]).
    pub async fn observe(&self, records: Vec<NewRecord>) -> Result<Vec<WriteOutcome>, MemoryError> {
        let permit = self.admission.write(&self.user, &records)?;
        self.ask(|reply| MemoryAgentMsg::Ingest {
            records,
            permit,
            reply,
        })
        .await
    }

    /// Forgets records; returns which.
    pub async fn forget(
        &self,
        selector: ForgetSelector,
        reason: String,
    ) -> Result<Vec<Forgotten>, MemoryError> {
        let reason = Redactor::new().redact_text(&reason).text;
        self.call(|permit, reply| MemoryAgentMsg::Forget {
            selector,
            reason,
            permit,
            reply,
        })
        .await
    }

    pub async fn stats(&self) -> Result<EngineStats, MemoryError> {
        self.call(|permit, reply| MemoryAgentMsg::Stats { permit, reply })
            .await
    }

    /// A request that is neither a recall nor a write.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        message: impl FnOnce(Permit, Reply<T>) -> MemoryAgentMsg,
    ) -> Result<T, MemoryError> {
        let permit = self.admission.call(&self.user)?;
        self.ask(|reply| message(permit, reply)).await
    }

    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        message: impl FnOnce(Reply<T>) -> MemoryAgentMsg,
    ) -> Result<T, MemoryError> {
        self.directory.ask(&self.user, message).await
    }
}

#[async_trait]
impl MemoryProvider for ActorMemoryProvider {
    #[tracing::instrument(level = "debug", skip_all, fields(user = %self.user))]
    async fn recall_request(&self, request: RecallRequest) -> Result<Recall, MemoryError> {
        let mut permit = self.admission.recall(&self.user)?;
        permit.budget = Some(self.budget);
        let asked = self.ask(|reply| MemoryAgentMsg::Recall {
            request,
            permit,
            reply,
        });
        // The agent keeps to the budget; this covers one that is still starting.
        let budget_ms = self.budget.as_millis() as u64;
        let answer = timeout(self.budget, asked).await;
        answer.unwrap_or(Err(MemoryError::TimedOut { budget_ms }))
    }

    async fn begin_run(&self, mut run: RunBeginning) -> Result<(), MemoryError> {
        run.run_id = as_kept(&run.run_id);
        self.call(|permit, reply| MemoryAgentMsg::BeginTrajectory { run, permit, reply })
            .await
    }

    async fn step_run(
        &self,
        run_id: String,
        action: String,
        used: Vec<RecordId>,
    ) -> Result<(), MemoryError> {
        let (run_id, action) = (as_kept(&run_id), Redactor::new().redact_text(&action).text);
        self.call(|permit, reply| MemoryAgentMsg::AddTrajectoryStep {
            run_id,
            action,
            used,
            permit,
            reply,
        })
        .await
    }

    async fn end_run(&self, mut run: RunEnding) -> Result<(), MemoryError> {
        run.run_id = as_kept(&run.run_id);
        self.call(|permit, reply| MemoryAgentMsg::EndTrajectory { run, permit, reply })
            .await
    }

    async fn revise_run(
        &self,
        run_id: String,
        revision: Revision,
        quality: Option<f32>,
    ) -> Result<(), MemoryError> {
        let run_id = as_kept(&run_id);
        self.call(|permit, reply| MemoryAgentMsg::Revise {
            run_id,
            revision,
            quality,
            permit,
            reply,
        })
        .await
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

/// The name under which a run is kept.
fn as_kept(run_id: &str) -> String {
    Redactor::new().name_of(run_id).into_owned()
}

#[cfg(test)]
mod tests;
