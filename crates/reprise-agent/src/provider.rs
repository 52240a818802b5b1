//! The implementation of `MemoryProvider` for one user's memory: a recall runs on its newest
//! snapshot, everything else goes to its agent by messages.

use std::time::Duration;

use async_trait::async_trait;
use reprise_engine::{
    EngineStats, ForgetSelector, ForgottenRecord, build_context_block, context_candidate_count,
};
use reprise_redact::Redactor;
use reprise_types::{
    ContextBlock, Embedding, MemoryError, MemoryProvider, NewRecord, RecallRequest, RecallResponse,
    Revision, RunBeginning, RunEnding, RunStep, UserId, WriteOutcome, system_entropy,
};
use tokio::time::timeout;

use crate::admission::{Admission, Permit};
use crate::job::ReplyPort;
use crate::protocol::MemoryAgentMsg;
use crate::supervisor::MemorySupervisorArguments;

/// One user's memory. Cheap to clone. Each request finds the current agent, even after passivation
/// or a restart.
#[derive(Debug, Clone)]
pub struct ActorMemoryProvider {
    pub(crate) shared: MemorySupervisorArguments,
    pub(crate) admission: Admission,
    /// Time budget of a recall.
    pub(crate) budget: Duration,
    pub(crate) user: UserId,
}

impl ActorMemoryProvider {
    /// Returns this provider with a time budget of at most `budget` for recalls.
    #[must_use]
    pub fn with_recall_budget(self, budget: Duration) -> Self {
        let budget = budget.min(self.budget);
        Self { budget, ..self }
    }

    /// Stores records (see [`MemoryAgentMsg::Ingest`]).
    pub async fn observe(&self, records: Vec<NewRecord>) -> Result<Vec<WriteOutcome>, MemoryError> {
        let permit = self.admission.admit_write(&self.user, &records)?;
        let ingest = |reply| MemoryAgentMsg::Ingest {
            records,
            permit,
            reply,
        };
        self.shared.directory.send_request(&self.user, ingest).await
    }

    /// Forgets the selected records; returns which they were.
    pub async fn forget(
        &self,
        selector: ForgetSelector,
        reason: String,
    ) -> Result<Vec<ForgottenRecord>, MemoryError> {
        let reason = Redactor::new().redact_text(&reason).text;
        self.send_call(|permit, reply| MemoryAgentMsg::Forget {
            selector,
            reason,
            permit,
            reply,
        })
        .await
    }

    pub async fn stats(&self) -> Result<EngineStats, MemoryError> {
        self.send_call(|permit, reply| MemoryAgentMsg::Stats { permit, reply })
            .await
    }

    /// Sends a request that is neither a recall nor a write, and waits for the reply.
    pub(crate) async fn send_call<T: Send + 'static>(
        &self,
        message: impl FnOnce(Permit, ReplyPort<T>) -> MemoryAgentMsg,
    ) -> Result<T, MemoryError> {
        let permit = self.admission.admit_call(&self.user)?;
        let message = |reply| message(permit, reply);
        self.shared
            .directory
            .send_request(&self.user, message)
            .await
    }

    /// Runs a recall within the time budget; `vector` is the question's where the caller has it.
    #[tracing::instrument(level = "debug", skip_all, fields(user = %self.user))]
    pub async fn recall_with_vector(
        &self,
        request: RecallRequest,
        vector: Option<Embedding>,
    ) -> Result<RecallResponse, MemoryError> {
        let mut permit = self.admission.admit_recall(&self.user)?;
        permit.budget = Some(self.budget);
        let answer = async {
            let memory = self.shared.directory.open_agent(&self.user).await?;
            memory.touch();
            let requests = self.shared.requests_of(memory);
            requests.recall(request, vector, permit).await
        };
        // A memory that is still being opened has no more time than one that is open.
        let budget_ms = self.budget.as_millis() as u64;
        let answer = timeout(self.budget, answer).await;
        answer.unwrap_or(Err(MemoryError::TimedOut { budget_ms }))
    }
}

#[async_trait]
impl MemoryProvider for ActorMemoryProvider {
    async fn execute_recall(&self, request: RecallRequest) -> Result<RecallResponse, MemoryError> {
        self.recall_with_vector(request, None).await
    }

    async fn begin_run(&self, mut run: RunBeginning) -> Result<(), MemoryError> {
        run.run_id = redact_run_id(&run.run_id);
        self.send_call(|permit, reply| MemoryAgentMsg::BeginTrajectory { run, permit, reply })
            .await
    }

    async fn add_run_step(&self, mut step: RunStep) -> Result<(), MemoryError> {
        step.run_id = redact_run_id(&step.run_id);
        step.action = Redactor::new().redact_text(&step.action).text;
        self.send_call(|permit, reply| MemoryAgentMsg::AddTrajectoryStep {
            step,
            permit,
            reply,
        })
        .await
    }

    async fn end_run(&self, mut run: RunEnding) -> Result<(), MemoryError> {
        run.run_id = redact_run_id(&run.run_id);
        self.send_call(|permit, reply| MemoryAgentMsg::EndTrajectory { run, permit, reply })
            .await
    }

    async fn revise_run(
        &self,
        run_id: String,
        revision: Revision,
        quality: Option<f32>,
    ) -> Result<(), MemoryError> {
        let run_id = redact_run_id(&run_id);
        self.send_call(|permit, reply| MemoryAgentMsg::Revise {
            run_id,
            revision,
            quality,
            permit,
            reply,
        })
        .await
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
        let recall = self.recall_with_vector(request, None).await?;
        Ok(build_context_block(&recall, budget, system_entropy()))
    }
}

/// Returns the id under which a run is stored.
fn redact_run_id(run_id: &str) -> String {
    Redactor::new().redacted_name(run_id).into_owned()
}

#[cfg(test)]
mod tests;
