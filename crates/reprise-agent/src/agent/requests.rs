//! The recalls and writes of one memory, each on a task of its own.
//!
//! A recall runs within its time budget on the newest snapshot; a write goes to the writer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use reprise_engine::{Snapshot, judged, with_wordings};
use reprise_types::{
    Calendar, Degraded, Embedding, EmbeddingSpace, LearningEngine, MemoryError, NewRecord, Recall,
    RecallId, RecallRequest, Receipt, WriteOutcome, system_entropy,
};
use tokio::sync::oneshot;
use tokio::time::{timeout, timeout_at};

use crate::admission::Permit;
use crate::config::MemoryConfig;
use crate::embedder::{EmbedPool, PoolError};
use crate::handle::AgentHandle;
use crate::ingest::{collect, copies, submit};
use crate::job::{Job, Observe};
use crate::second;
use crate::stages::Stages;
use crate::supervisor::Directory;

/// Share of the recall budget for the embedder; the search needs the rest.
const EMBED_SHARE: (u32, u32) = (4, 5);

/// The context of recalls and writes. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Requests {
    pub(crate) config: Arc<MemoryConfig>,
    pub(crate) pool: EmbedPool,
    pub(crate) stages: Arc<Stages>,
    pub(crate) handle: AgentHandle,
    pub(crate) directory: Arc<Directory>,
}

/// The vector of a query, or why it has none.
enum Question {
    Here(Arc<Embedding>),
    None,
    Late,
}

impl Question {
    fn of(&self) -> Option<&Embedding> {
        match self {
            Self::Here(embedding) => Some(embedding),
            Self::None | Self::Late => None,
        }
    }
}

/// A question in the space in use, and in those that records still have their vectors in.
struct Asked {
    own: Question,
    others: Vec<Arc<Embedding>>,
}

impl Asked {
    fn parts(&self) -> Vec<(&EmbeddingSpace, &[f32])> {
        let others = self.others.iter().map(AsRef::as_ref);
        let all = self.own.of().into_iter().chain(others);
        all.map(Embedding::parts).collect()
    }
}

impl Requests {
    /// Answers within the budget, which begins when the request is admitted.
    pub(crate) async fn recall(
        self,
        request: RecallRequest,
        permit: Permit,
    ) -> Result<Recall, MemoryError> {
        let budget = permit.budget.unwrap_or(self.config.limits.recall_budget);
        let began = permit.since;
        let deadline = began + budget;
        let answer = timeout_at(deadline.into(), self.answer(request, permit, deadline)).await;
        self.stages.recall.record(began.elapsed());
        let budget_ms = budget.as_millis() as u64;
        answer.unwrap_or(Err(MemoryError::TimedOut { budget_ms }))
    }

    /// Stores records, embedded where there is a model; answers once they are on disk and findable.
    pub(crate) async fn ingest(
        self,
        mut records: Vec<NewRecord>,
        permit: Permit,
    ) -> Result<Vec<WriteOutcome>, MemoryError> {
        let known = match copies(&records) {
            Some(copies) => self.handle.run(copies).await.unwrap_or_default(),
            None => Vec::new(),
        };
        let vectors = submit(&self.pool, &records, &known).await;
        collect(vectors, &mut records).await;
        let (reply, answer) = oneshot::channel();
        let job = Job::Observe(Observe::new(records, reply.into()));
        if let Err(undone) = self.handle.send(job).await {
            // Closed meanwhile: the records go to the successor.
            self.directory.work(self.handle.user(), undone).await;
        }
        let outcomes = answer.await;
        self.stages.write.record(permit.since.elapsed());
        outcomes.unwrap_or_else(|_| Err(self.handle.unavailable()))
    }

    async fn query_vector(&self, query: &str, patience: Duration) -> Question {
        if query.trim().is_empty() {
            return Question::None;
        }
        let began = Instant::now();
        let vector = timeout(patience, self.pool.query(query)).await;
        self.stages.embed.record(began.elapsed());
        match vector {
            Ok(Ok(embedded)) => Question::Here(embedded),
            Ok(Err(PoolError::Full { .. })) | Err(_) => Question::Late,
            Ok(Err(PoolError::Unavailable(_) | PoolError::Failed(_) | PoolError::Closed)) => {
                Question::None
            }
        }
    }

    /// The vectors of a question in the spaces that there are at this moment.
    async fn asked(&self, query: &str, patience: Duration) -> Asked {
        let (own, others) = tokio::join!(
            self.query_vector(query, patience),
            self.other_vectors(query, patience),
        );
        Asked { own, others }
    }

    async fn other_vectors(&self, query: &str, patience: Duration) -> Vec<Arc<Embedding>> {
        let deadline = Instant::now() + patience;
        let mut vectors = Vec::new();
        if let (Some(models), Some(memory)) = (&self.config.others, self.handle.newest())
            && !query.trim().is_empty()
        {
            for space in memory.other_spaces() {
                let made = timeout_at(deadline.into(), models.query(space, query)).await;
                vectors.extend(made.ok().flatten());
            }
        }
        vectors
    }

    async fn answer(
        &self,
        request: RecallRequest,
        permit: Permit,
        deadline: Instant,
    ) -> Result<Recall, MemoryError> {
        let request = match request.now {
            Some(_) => request,
            None => request.heard(&Calendar::of_machine(self.config.clock.now())),
        };
        let config = &self.config;
        let left = || deadline.saturating_duration_since(Instant::now());
        let patience = left() * EMBED_SHARE.0 / EMBED_SHARE.1;
        let (vector, wordings) = tokio::join!(
            self.asked(&request.query, patience),
            second::wordings(config, &request.query, patience),
        );
        let expanded = wordings.is_some();
        let mut others = Vec::new();
        for wording in wordings.unwrap_or_default() {
            let patience = left() * EMBED_SHARE.0 / EMBED_SHARE.1;
            let vector = self.asked(&wording, patience).await;
            others.push((wording, vector));
        }
        let (query, top_k) = (request.query.clone(), request.top_k);
        let request = RecallRequest {
            top_k: second::candidates(config, top_k),
            ..request
        };
        // Taken last, so that it has what was stored while the query was embedded.
        let snapshot = self.handle.snapshot()?;
        let (settings, stages) = (Arc::clone(config), Arc::clone(&self.stages));
        let searched = tokio::task::spawn_blocking(move || {
            // The permit is held until the work ends, even where the caller has gone.
            let _permit = permit;
            let began = Instant::now();
            let recall = search(&settings, &snapshot, &request, &vector, others);
            stages.search.record(began.elapsed());
            (recall, vector)
        });
        let (mut recall, vector) = searched.await.map_err(|error| {
            tracing::error!(%error, "a search failed");
            self.handle.unavailable()
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
        self.handle
            .remember(receipt_of(&recall, vector.own.of(), config.clock.now()));
        Ok(recall)
    }
}

/// Searches for a query and its expansions.
fn search(
    config: &MemoryConfig,
    snapshot: &Snapshot,
    request: &RecallRequest,
    vector: &Asked,
    others: Vec<(String, Asked)>,
) -> Recall {
    let learning: &dyn LearningEngine = match &config.learning {
        Some(learning) => learning.as_ref(),
        None => snapshot.learner().as_ref(),
    };
    let id = RecallId::from_parts(
        u64::try_from(config.clock.now().timestamp_millis()).unwrap_or_default(),
        system_entropy() >> 48,
    );
    let ask = |request: &RecallRequest, vector: &Asked| {
        let mut recall = snapshot.recall_in(request, &vector.parts(), id, learning);
        if matches!(vector.own, Question::Late) {
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

/// The receipt, by which a later outcome can give credit.
fn receipt_of(recall: &Recall, query: Option<&Embedding>, at: DateTime<Utc>) -> Receipt {
    Receipt {
        recall_id: recall.recall_id,
        at,
        query: query.cloned(),
        records: recall.results.iter().map(|found| found.record.id).collect(),
    }
}
