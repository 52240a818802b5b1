//! The port to one user's memory, for hosts.
//!
//! Lives here: admission, the time box, the way of a question. Must never live here: ranking.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use reprise_engine::{
    Engine, EngineError, Snapshot, TokenCounter, context_block, context_candidates, judged,
    with_wordings,
};
use reprise_types::{
    Calendar, ContextBlock, Degraded, EmbeddingSpace, LearningEngine, MemoryError, MemoryProvider,
    Recall, RecallId, RecallRequest, Receipt, RecordId, Revision, RunBeginning, RunEnding, UserId,
    system_entropy,
};
use tokio::time::timeout;

use crate::embedder::{Embedded, PoolError};
use crate::handle::storage;
use crate::second;
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

impl QueryVector {
    fn of(&self) -> Option<(&EmbeddingSpace, &[f32])> {
        match self {
            Self::Here(embedded) => Some((&embedded.space, embedded.vector.as_slice())),
            Self::None | Self::Late => None,
        }
    }
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
        if query.trim().is_empty() {
            return QueryVector::None;
        }
        let began = Instant::now();
        let vector = timeout(patience, self.shared.pool.query(query)).await;
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
        let config = &self.shared.config;
        let left = || deadline.saturating_duration_since(Instant::now());
        let patience = left() * EMBED_SHARE.0 / EMBED_SHARE.1;
        let (vector, wordings) = tokio::join!(
            self.query_vector(&request.query, patience),
            second::wordings(config, &request.query, patience),
        );
        let expanded = wordings.is_some();
        let mut others = Vec::new();
        for wording in wordings.unwrap_or_default() {
            let patience = left() * EMBED_SHARE.0 / EMBED_SHARE.1;
            let vector = self.query_vector(&wording, patience).await;
            others.push((wording, vector));
        }
        let (query, top_k) = (request.query.clone(), request.top_k);
        let request = RecallRequest {
            top_k: second::candidates(config, top_k),
            ..request
        };
        // Taken last: what was kept while the question was embedded is in it.
        let snapshot = agent.snapshot()?;
        let shared = Arc::clone(&self.shared);
        let searched = tokio::task::spawn_blocking(move || {
            // The permit is held until the work ends, even where nobody waits for it any more.
            let _permit = permit;
            let began = Instant::now();
            let recall = search(&shared, &snapshot, &request, &vector, others);
            shared.stages.search.record(began.elapsed());
            (recall, vector)
        });
        let (mut recall, vector) = searched.await.map_err(|error| {
            tracing::error!(%error, "a search failed");
            agent.unavailable()
        })?;
        if !expanded {
            recall.degraded.push(Degraded::NotExpanded);
        }
        let patience = left() * EMBED_SHARE.0 / EMBED_SHARE.1;
        let judgements = second::judgements(config, &query, &recall, patience).await;
        if !judgements.is_some_and(|all| judged(&mut recall, &all, top_k)) {
            recall.degraded.push(Degraded::NotReranked);
            recall.results.truncate(top_k);
        }
        agent.remember(receipt_of(&recall, vector.of(), config.clock.now()));
        Ok(recall)
    }
}

/// Searches for a question and for other wordings of it.
fn search(
    shared: &Shared,
    snapshot: &Snapshot,
    request: &RecallRequest,
    vector: &QueryVector,
    others: Vec<(String, QueryVector)>,
) -> Recall {
    let learning: &dyn LearningEngine = match &shared.config.learning {
        Some(learning) => learning.as_ref(),
        None => snapshot.learner().as_ref(),
    };
    let id = RecallId::from_parts(
        u64::try_from(shared.config.clock.now().timestamp_millis()).unwrap_or_default(),
        system_entropy() >> 48,
    );
    let ask = |request: &RecallRequest, vector: &QueryVector| {
        let mut recall = snapshot.recall(request, vector.of(), id, learning);
        if matches!(vector, QueryVector::Late) {
            for part in &mut recall.degraded {
                if *part == Degraded::NoQueryVector {
                    *part = Degraded::EmbedderLate;
                }
            }
        }
        recall
    };
    let recall = ask(request, vector);
    let others = others.into_iter().map(|(wording, vector)| {
        let request = RecallRequest {
            query: wording.clone(),
            ..request.clone()
        };
        (wording, ask(&request, &vector))
    });
    let others: Vec<(String, Recall)> = others.collect();
    if others.is_empty() {
        return recall;
    }
    with_wordings(recall, others, request.top_k)
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
