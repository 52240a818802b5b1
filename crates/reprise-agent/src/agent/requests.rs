//! The recalls and writes of one memory, each on a task of its own.
//!
//! A recall runs within its time budget on the newest snapshot; a write goes to the writer.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use reprise_engine::{
    Engine, RunTurn, Snapshot, WriteBatch, Written, judged, subject, with_wordings,
};
use reprise_types::{
    Calendar, Degraded, Embedding, EmbeddingSpace, MemoryError, NewRecord, Recall, RecallId,
    RecallRequest, Receipt, RecordId, WriteOutcome, system_entropy,
};
use tokio::time::{timeout, timeout_at};

use crate::admission::Permit;
use crate::config::MemoryConfig;
use crate::embedder::{EmbedPool, PoolError};
use crate::handle::AgentHandle;
use crate::job::{Coming, Job};
use crate::second;
use crate::service::Stages;
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

/// The vectors of a question: in the space in use, and in those that records still have their
/// vectors in.
#[derive(Default)]
struct Asked {
    own: Option<Arc<Embedding>>,
    /// Whether it has none because the embedder was late.
    is_late: bool,
    others: Vec<Arc<Embedding>>,
}

impl Asked {
    fn parts(&self) -> Vec<(&EmbeddingSpace, &[f32])> {
        let all = self.own.iter().chain(&self.others);
        all.map(|one| one.parts()).collect()
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

    /// Stores records; answers once they are on disk and findable.
    pub(crate) async fn ingest(
        self,
        records: Vec<NewRecord>,
        permit: Permit,
    ) -> Result<Vec<WriteOutcome>, MemoryError> {
        let batch = WriteBatch {
            records,
            ..WriteBatch::default()
        };
        Ok(self.write(batch, Some(permit)).await?.outcomes)
    }

    /// Writes a batch, its texts embedded where there is a model.
    pub(crate) async fn write(
        self,
        mut batch: WriteBatch,
        permit: Option<Permit>,
    ) -> Result<Written, MemoryError> {
        self.embed(&mut batch).await;
        let (job, written) = Job::write(batch);
        self.send(job).await;
        let written = self.written(written).await;
        if let Some(permit) = permit {
            self.stages.write.record(permit.since.elapsed());
        }
        written
    }

    /// Queues a job for the writer, or where it closed meanwhile for its successor.
    pub(crate) async fn send(&self, job: Job) {
        if let Err(undone) = self.handle.send(job).await {
            self.directory.work(self.handle.user(), undone).await;
        }
    }

    /// What comes of a batch, once what runs left in it is embedded. That does not wait for the
    /// next late embedding: a digest taken in between would differ from the one after it.
    pub(crate) async fn written(&self, coming: Coming<Written>) -> Result<Written, MemoryError> {
        let written = coming.await;
        let written = written.unwrap_or_else(|_| Err(self.handle.unavailable()))?;
        let own = written.outcomes.iter().filter_map(WriteOutcome::new_id);
        let own: Vec<RecordId> = own.collect();
        let left = written.waiting.iter().filter(|id| !own.contains(id));
        let Ok(memory) = self.handle.snapshot() else {
            return Ok(written);
        };
        let mut vectors = Vec::new();
        for id in left {
            if let Some(Ok(record)) = memory.get(*id)
                && let Ok(made) = self.pool.document(&record.text).await.vector().await
            {
                vectors.push((*id, made.space, made.vector));
            }
        }
        if !vectors.is_empty() {
            let kept = self.handle.run(move |engine| engine.embed_late(vectors));
            if let Ok(Err(error)) = kept.await {
                tracing::warn!(%error, "the vector of an outcome record was not stored");
            }
        }
        Ok(written)
    }

    /// Sets the vectors of a batch's records and the questions of runs that begin with one of
    /// them; what is known already, or has no model, goes on without.
    async fn embed(&self, batch: &mut WriteBatch) {
        let named = batch
            .records
            .iter()
            .any(|record| !record.external_ids.is_empty());
        let known = if named {
            let records = batch.records.clone();
            let known = move |engine: &mut Engine| {
                let known = records.iter().map(|record| engine.is_known(record));
                known.collect()
            };
            self.handle.run(known).await.unwrap_or_default()
        } else {
            Vec::new()
        };
        let mut coming = Vec::new();
        for (place, record) in batch.records.iter().enumerate() {
            let known = known.get(place).copied().unwrap_or_default();
            if record.embedding.is_none() && !known && !record.text.trim().is_empty() {
                coming.push((place, self.pool.document(&record.text).await));
            }
        }
        for (place, vector) in coming {
            match vector.vector().await {
                Ok(made) => batch.records[place].embedding = Some(made),
                Err(PoolError::Failed(error)) => {
                    tracing::warn!(%error, "a text could not be embedded; words still find it");
                }
                Err(PoolError::Unavailable(_) | PoolError::Full { .. } | PoolError::Closed) => {}
            }
        }
        for said in &mut batch.learning {
            let place = said.overheard.as_ref().and_then(|heard| heard.question);
            let asks = place.and_then(|place| batch.records.get(place));
            if let (RunTurn::Begin(run), Some(asks)) = (&mut said.turn, asks) {
                run.query = self.question(asks).await;
            }
        }
    }

    /// The vector of the question in a record: the one that a recall with the same words has.
    async fn question(&self, record: &NewRecord) -> Option<Embedding> {
        let own = record.embedding.as_ref()?;
        if let Cow::Borrowed(_) = subject(&record.text) {
            return Some(own.clone());
        }
        let asked = self.pool.query(&record.text).await.ok()?;
        Some(Arc::unwrap_or_clone(asked))
    }

    /// The vector in the space in use, and whether there is none because the embedder was late.
    async fn query_vector(
        &self,
        query: &str,
        patience: Duration,
    ) -> (Option<Arc<Embedding>>, bool) {
        let began = Instant::now();
        let vector = timeout(patience, self.pool.query(query)).await;
        self.stages.embed.record(began.elapsed());
        match vector {
            Ok(Ok(embedded)) => (Some(embedded), false),
            Ok(Err(PoolError::Full { .. })) | Err(_) => (None, true),
            Ok(Err(PoolError::Unavailable(_) | PoolError::Failed(_) | PoolError::Closed)) => {
                (None, false)
            }
        }
    }

    /// The vectors of a question in the spaces that there are at this moment.
    async fn asked(&self, query: &str, patience: Duration) -> Asked {
        if query.trim().is_empty() {
            return Asked::default();
        }
        let ((own, is_late), others) = tokio::join!(
            self.query_vector(query, patience),
            self.other_vectors(query, patience),
        );
        Asked {
            own,
            is_late,
            others,
        }
    }

    async fn other_vectors(&self, query: &str, patience: Duration) -> Vec<Arc<Embedding>> {
        let deadline = Instant::now() + patience;
        let mut vectors = Vec::new();
        if let (Some(models), Some(memory)) = (&self.config.others, self.handle.newest()) {
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
        let searched = self.handle.lent("a search", move || {
            // The permit is held until the work ends, even where the caller has gone.
            let _permit = permit;
            let began = Instant::now();
            let recall = search(&settings, &snapshot, &request, &vector, others);
            stages.search.record(began.elapsed());
            (recall, vector)
        });
        let (mut recall, vector) = searched.await?;
        if !expanded {
            recall.degraded.push(Degraded::NotExpanded);
        }
        let patience = left() * EMBED_SHARE.0 / EMBED_SHARE.1;
        let judgements = second::judgements(config, &query, &recall, patience).await;
        if !judgements.is_some_and(|all| judged(&mut recall, &all, top_k)) {
            recall.degraded.push(Degraded::NotReranked);
            recall.results.truncate(top_k);
        }
        self.handle.remember(receipt_of(
            &recall,
            vector.own.as_deref(),
            config.clock.now(),
        ));
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
    let learning = snapshot.learning();
    let id = RecallId::from_parts(
        u64::try_from(config.clock.now().timestamp_millis()).unwrap_or_default(),
        system_entropy() >> 48,
    );
    let ask = |request: &RecallRequest, vector: &Asked| {
        let mut recall = snapshot.recall_in(request, &vector.parts(), id, learning);
        if vector.is_late {
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
