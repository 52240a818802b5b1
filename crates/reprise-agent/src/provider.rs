//! The port to one user's memory, for hosts.
//!
//! Lives here: admission, the time box, the way of a question. Must never live here: ranking.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use reprise_engine::{
    Engine, EngineError, TokenCounter, context_block, context_candidates, subject,
};
use reprise_types::{
    Calendar, ContextBlock, Degraded, EmbeddingSpace, LearningEngine, MemoryError, MemoryProvider,
    Recall, RecallId, RecallRequest, Receipt, RecordId, Revision, RunBeginning, RunEnding, UserId,
    system_entropy,
};
use tokio::time::timeout;

use crate::embedder::{Embedded, PoolError};
use crate::handle::storage;
use crate::service::Shared;

/// Of the recall budget, the embedder may use four fifths: the search needs the rest.
const EMBED_SHARE: (u32, u32) = (4, 5);

/// Answers one user's questions. Cheap to clone.
#[derive(Clone)]
pub struct ActorMemoryProvider {
    shared: Arc<Shared>,
    user: UserId,
}

impl fmt::Debug for ActorMemoryProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActorMemoryProvider")
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// The vector of a question, or what the answer has to do without.
enum QueryVector {
    Here(Arc<Embedded>),
    None,
    Late,
}

impl ActorMemoryProvider {
    pub(crate) fn new(shared: Arc<Shared>, user: UserId) -> Self {
        Self { shared, user }
    }

    /// Whose memory.
    #[must_use]
    pub fn user(&self) -> &UserId {
        &self.user
    }

    async fn query_vector(&self, query: &str, patience: Duration) -> QueryVector {
        let query = subject(query);
        if query.trim().is_empty() {
            return QueryVector::None;
        }
        let began = Instant::now();
        let vector = timeout(patience, self.shared.pool.query(&query)).await;
        self.shared.stages.embed.record(began.elapsed());
        match vector {
            Ok(Ok(embedded)) => QueryVector::Here(embedded),
            Ok(Err(PoolError::Full { .. })) | Err(_) => QueryVector::Late,
            Ok(Err(PoolError::Unavailable(_) | PoolError::Failed(_) | PoolError::Closed)) => {
                QueryVector::None
            }
        }
    }

    async fn answer(
        &self,
        request: RecallRequest,
        deadline: Instant,
    ) -> Result<Recall, MemoryError> {
        let request = match request.when {
            Some(_) => request,
            None => request.heard(&Calendar::of_machine(self.shared.config.clock.now())),
        };
        let permit = self.shared.admit_recall(&self.user)?;
        let agent = self.shared.directory.agent(&self.user).await?;
        let left = deadline.saturating_duration_since(Instant::now());
        let patience = left * EMBED_SHARE.0 / EMBED_SHARE.1;
        let vector = self.query_vector(&request.query, patience).await;
        // Taken last: what was kept while the question was embedded is in it.
        let snapshot = agent.snapshot()?;
        let learning = self.shared.config.learning.clone();
        let asked = agent.clone();
        let shared = Arc::clone(&self.shared);
        let searched = tokio::task::spawn_blocking(move || {
            // The permit is held until the work ends, even where nobody waits for it any more.
            let _permit = permit;
            let began = Instant::now();
            let with = match &vector {
                QueryVector::Here(embedded) => Some((&embedded.space, embedded.vector.as_slice())),
                QueryVector::None | QueryVector::Late => None,
            };
            let id = RecallId::from_parts(
                u64::try_from(shared.config.clock.now().timestamp_millis()).unwrap_or_default(),
                system_entropy() >> 48,
            );
            let learning: &dyn LearningEngine = match &learning {
                Some(learning) => learning.as_ref(),
                None => snapshot.learner().as_ref(),
            };
            let mut recall = snapshot.recall(&request, with, id, learning);
            asked.remember(receipt_of(&recall, with, shared.config.clock.now()));
            if matches!(vector, QueryVector::Late) {
                for part in &mut recall.degraded {
                    if *part == Degraded::NoQueryVector {
                        *part = Degraded::EmbedderLate;
                    }
                }
            }
            shared.stages.search.record(began.elapsed());
            recall
        });
        searched.await.map_err(|error| {
            tracing::error!(%error, "a search failed");
            agent.unavailable()
        })
    }
}

/// What a later outcome may give credit to.
fn receipt_of(
    recall: &Recall,
    query: Option<(&EmbeddingSpace, &[f32])>,
    at: DateTime<Utc>,
) -> Receipt {
    Receipt {
        recall_id: recall.recall_id,
        at,
        query: query.map(|(space, vector)| reprise_types::QueryVector {
            space: space.clone(),
            vector: vector.to_vec(),
        }),
        records: recall.results.iter().map(|found| found.record.id).collect(),
    }
}

impl ActorMemoryProvider {
    /// Says something of a run to the writer; a refusal is the caller's to hear.
    async fn say(
        &self,
        what: impl FnOnce(&mut Engine, DateTime<Utc>) -> Result<(), EngineError> + Send + 'static,
    ) -> Result<(), MemoryError> {
        let now = self.shared.config.clock.now();
        let directory = &self.shared.directory;
        let done = directory
            .with_engine(&self.user, move |engine| what(engine, now))
            .await?;
        done.map_err(|error| match error {
            EngineError::Learn(refused) => MemoryError::Invalid {
                message: refused.to_string(),
            },
            error => storage(&error),
        })
    }
}

#[async_trait]
impl MemoryProvider for ActorMemoryProvider {
    #[tracing::instrument(level = "debug", skip_all, fields(user = %self.user))]
    async fn recall_request(&self, request: RecallRequest) -> Result<Recall, MemoryError> {
        let budget = self.shared.config.limits.recall_budget;
        let began = Instant::now();
        let answer = timeout(budget, self.answer(request, began + budget)).await;
        self.shared.stages.recall.record(began.elapsed());
        let budget_ms = budget.as_millis() as u64;
        answer.unwrap_or(Err(MemoryError::TimedOut { budget_ms }))
    }

    async fn begin_run(&self, run: RunBeginning) -> Result<(), MemoryError> {
        self.say(move |engine, now| engine.begin_run(&run, now))
            .await
    }

    async fn step_run(
        &self,
        run_id: String,
        action: String,
        used: Vec<RecordId>,
    ) -> Result<(), MemoryError> {
        self.say(move |engine, now| engine.step_run(&run_id, &action, &used, now))
            .await
    }

    async fn end_run(&self, run: RunEnding) -> Result<(), MemoryError> {
        self.say(move |engine, now| engine.end_run(&run, now)).await
    }

    async fn revise_run(
        &self,
        run_id: String,
        revision: Revision,
        quality: Option<f32>,
    ) -> Result<(), MemoryError> {
        self.say(move |engine, now| engine.revise_run(&run_id, revision, quality, now))
            .await
    }

    /// The pool's tokenisers are busy embedding, so four bytes count as a token here.
    async fn context_block(&self, query: &str, budget: usize) -> Result<ContextBlock, MemoryError> {
        let request = RecallRequest {
            top_k: context_candidates(budget),
            ..RecallRequest::new(query)
        };
        let recall = self.recall_request(request).await?;
        let nonce = system_entropy();
        Ok(context_block(
            &recall,
            budget,
            TokenCounter::BytesOverFour,
            nonce,
        ))
    }
}

#[cfg(test)]
mod tests;
