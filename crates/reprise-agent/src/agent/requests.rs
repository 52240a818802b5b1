//! The recalls and writes of one memory, each on a task of its own.
//!
//! A recall runs within its time budget on the newest snapshot; a write goes to the writer.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use reprise_engine::{
    AskedParts, RecallCall, RunAction, Snapshot, WriteBatch, WriteBatchReport, apply_judgements,
    merge_question_answers, merge_thing_answers, merge_wordings, question_subject, split_prompt,
};
use reprise_types::{
    Calendar, DegradedPart, Embedding, EmbeddingSpace, MemoryError, NewRecord, RecallId,
    RecallReceipt, RecallRequest, RecallResponse, RecordId, WriteOutcome, system_entropy,
};
use tokio::time::{timeout, timeout_at};

use crate::admission::Permit;
use crate::config::MemoryConfig;
use crate::embedder::{EmbedPool, PoolError};
use crate::expand_and_rerank::{self, Judgements};
use crate::handle::MemoryHandle;
use crate::job::{PendingReply, WriterJob};
use crate::stage_timers::StageTimers;
use crate::supervisor::AgentDirectory;
use crate::threads::run_blocking;

/// Fraction of the recall budget that the embedder may use; the search needs the rest.
const EMBED_FRACTION: (u32, u32) = (4, 5);

/// What recalls and writes of one memory need. Cheap to clone.
#[derive(Clone)]
pub(crate) struct RequestContext {
    pub(crate) config: Arc<MemoryConfig>,
    pub(crate) pool: EmbedPool,
    pub(crate) stages: Arc<StageTimers>,
    pub(crate) handle: MemoryHandle,
    pub(crate) directory: Arc<AgentDirectory>,
}

/// The vectors of a query: one in the space in use, and one in each space in which records still
/// have their vectors.
#[derive(Default)]
struct QueryVectors {
    current: Option<Arc<Embedding>>,
    /// Whether `current` is missing because the embedder was late.
    is_late: bool,
    /// That of the part of the query of which memory knows the words, where that is half or less.
    known_part: Option<Arc<Embedding>>,
    others: Vec<Arc<Embedding>>,
}

impl QueryVectors {
    fn as_slices(&self) -> Vec<(&EmbeddingSpace, &[f32])> {
        let all = self.current.iter().chain(&self.others);
        all.map(|one| one.space_and_vector()).collect()
    }
}

impl RequestContext {
    /// Recalls within the time budget, which begins when the request is admitted; `vector` is the
    /// question's where the caller has it.
    pub(crate) async fn recall(
        self,
        request: RecallRequest,
        vector: Option<Embedding>,
        permit: Permit,
    ) -> Result<RecallResponse, MemoryError> {
        let budget = permit.budget.unwrap_or(self.config.limits.recall_budget);
        let began = permit.admitted_at;
        let deadline = began + budget;
        let answer = timeout_at(
            deadline.into(),
            self.run_recall(request, vector, permit, deadline),
        )
        .await;
        self.stages.recall.record(began.elapsed());
        let budget_ms = budget.as_millis() as u64;
        answer.unwrap_or(Err(MemoryError::TimedOut { budget_ms }))
    }

    /// Stores records; returns once they are on disk and findable.
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

    /// Embeds a batch's texts if there is a model, and writes the batch.
    pub(crate) async fn write(
        self,
        mut batch: WriteBatch,
        permit: Option<Permit>,
    ) -> Result<WriteBatchReport, MemoryError> {
        self.embed_batch(&mut batch).await?;
        let (job, written) = WriterJob::from_batch(batch);
        self.send_job(job).await;
        let written = self.await_write(written).await;
        if let Some(permit) = permit {
            self.stages.write.record(permit.admitted_at.elapsed());
        }
        written
    }

    /// Queues a job for the writer, or for its successor if it closed meanwhile.
    pub(crate) async fn send_job(&self, job: WriterJob) {
        if let Err(returned) = self.handle.send_job(job).await {
            self.directory
                .deliver_job(self.handle.user(), returned)
                .await;
        }
    }

    /// Waits for the result of a batch, then embeds the outcome records that its runs produced.
    /// They do not wait for the next late embedding, because a digest taken before it would differ
    /// from one taken after it.
    pub(crate) async fn await_write(
        &self,
        pending: PendingReply<WriteBatchReport>,
    ) -> Result<WriteBatchReport, MemoryError> {
        let written = pending.await;
        let written = written.unwrap_or_else(|_| Err(self.handle.unavailable_error()))?;
        let new_ids = written
            .outcomes
            .iter()
            .filter_map(WriteOutcome::inserted_id);
        let own: Vec<RecordId> = new_ids.collect();
        let unvectored = written.unembedded.iter().filter(|id| !own.contains(id));
        let Ok(memory) = self.handle.snapshot() else {
            return Ok(written);
        };
        let mut vectors = Vec::new();
        for id in unvectored {
            if let Some(Ok(record)) = memory.get(*id)
                && let Ok(embedding) = self.pool.queue_document(&record.text).await.wait().await
            {
                vectors.push((*id, embedding.space, embedding.vector));
            }
        }
        if !vectors.is_empty() {
            let stored = self
                .handle
                .run_on_engine(move |engine| engine.insert_late_vectors(vectors));
            if let Ok(Err(error)) = stored.await {
                tracing::warn!(%error, "the vector of an outcome record was not stored");
            }
        }
        Ok(written)
    }

    /// Sets the vectors of a batch's records, and of the questions with which its runs begin.
    /// Records that are stored already get none, and without a model nothing does.
    async fn embed_batch(&self, batch: &mut WriteBatch) -> Result<(), MemoryError> {
        let has_external_ids = batch
            .records
            .iter()
            .any(|record| !record.external_ids.is_empty());
        let memory = self.handle.newest_snapshot().filter(|_| has_external_ids);
        let are_stored = match memory {
            Some(memory) => {
                let records = std::mem::take(&mut batch.records);
                let check = run_blocking(move || {
                    let are_stored: Vec<bool> = records
                        .iter()
                        .map(|record| memory.is_known(record))
                        .collect();
                    (are_stored, records)
                });
                let (are_stored, records) = check.await?;
                batch.records = records;
                are_stored
            }
            None => Vec::new(),
        };
        let mut pending = Vec::new();
        for (position, record) in batch.records.iter().enumerate() {
            let is_stored = are_stored.get(position).copied().unwrap_or_default();
            if record.embedding.is_none() && !is_stored && !record.text.trim().is_empty() {
                pending.push((position, self.pool.queue_document(&record.text).await));
            }
        }
        for (position, vector) in pending {
            match vector.wait().await {
                Ok(embedding) => batch.records[position].embedding = Some(embedding),
                Err(PoolError::Failed(error)) => {
                    tracing::warn!(%error, "a text could not be embedded; words still find it");
                }
                Err(PoolError::Unavailable(_) | PoolError::Full { .. } | PoolError::Closed) => {}
            }
        }
        for run_event in &mut batch.learning {
            let position = run_event
                .inferred_use
                .as_ref()
                .and_then(|inferred| inferred.question);
            let question = position.and_then(|position| batch.records.get(position));
            if let (RunAction::Begin(run), Some(asks)) = (&mut run_event.action, question) {
                run.query = self.question_vector(asks).await;
            }
        }
        Ok(())
    }

    /// Returns the vector of the question in a record, as a recall with the same words would have
    /// it.
    async fn question_vector(&self, record: &NewRecord) -> Option<Embedding> {
        let document = record.embedding.as_ref()?;
        let question = split_prompt(&record.text).question;
        if let Cow::Borrowed(_) = question_subject(&question)
            && question == record.text
        {
            return Some(document.clone());
        }
        let embedding = self.pool.embed_query(&question).await.ok()?;
        Some(Arc::unwrap_or_clone(embedding))
    }

    /// Returns a query's vector in the space in use, and whether it is missing because the embedder
    /// was late.
    async fn query_vector(&self, query: &str, wait: Duration) -> (Option<Arc<Embedding>>, bool) {
        let began = Instant::now();
        let vector = timeout(wait, self.pool.embed_query(query)).await;
        self.stages.embed.record(began.elapsed());
        match vector {
            Ok(Ok(embedded)) => (Some(embedded), false),
            Ok(Err(PoolError::Full { .. })) | Err(_) => (None, true),
            Ok(Err(PoolError::Unavailable(_) | PoolError::Failed(_) | PoolError::Closed)) => {
                (None, false)
            }
        }
    }

    /// Returns a query's vectors in every space that the memory has at this moment; only the one
    /// that the caller has given, if there is one.
    async fn query_vectors(
        &self,
        query: &str,
        given: Option<Embedding>,
        wait: Duration,
    ) -> QueryVectors {
        if given.is_some() || query.trim().is_empty() {
            return QueryVectors {
                current: given.map(Arc::new),
                ..QueryVectors::default()
            };
        }
        let memory = self.handle.newest_snapshot();
        let known = memory.and_then(|memory| memory.find_known_part(query));
        let known_part = async {
            let part = known.as_deref()?;
            self.query_vector(part, wait).await.0
        };
        let ((own, is_late), known_part, others) = tokio::join!(
            self.query_vector(query, wait),
            known_part,
            self.query_vectors_in_other_spaces(query, wait),
        );
        QueryVectors {
            current: own,
            is_late,
            known_part,
            others,
        }
    }

    async fn query_vectors_in_other_spaces(
        &self,
        query: &str,
        wait: Duration,
    ) -> Vec<Arc<Embedding>> {
        let deadline = Instant::now() + wait;
        let mut vectors = Vec::new();
        if let (Some(models), Some(memory)) = (&self.config.others, self.handle.newest_snapshot()) {
            for space in memory.other_spaces() {
                let embedding = timeout_at(deadline.into(), models.embed_query(space, query)).await;
                vectors.extend(embedding.ok().flatten());
            }
        }
        vectors
    }

    /// Embeds texts one after another, each within its part of what is left until the deadline.
    async fn embed_each(
        &self,
        texts: Vec<String>,
        deadline: Instant,
    ) -> Vec<(String, QueryVectors)> {
        let mut embedded = Vec::with_capacity(texts.len());
        for text in texts {
            let left = deadline.saturating_duration_since(Instant::now());
            let wait = left * EMBED_FRACTION.0 / EMBED_FRACTION.1;
            let vector = self.query_vectors(&text, None, wait).await;
            embedded.push((text, vector));
        }
        embedded
    }

    async fn run_recall(
        &self,
        request: RecallRequest,
        vector: Option<Embedding>,
        permit: Permit,
        deadline: Instant,
    ) -> Result<RecallResponse, MemoryError> {
        let request = match request.now {
            Some(_) => request,
            None => {
                request.with_times_from_query(&Calendar::in_machine_zone(self.config.clock.now()))
            }
        };
        let asked = match vector {
            // The vector is of the question as it is.
            Some(_) => AskedParts {
                question: request.query.clone(),
                ..AskedParts::default()
            },
            None => split_prompt(&request.query),
        };
        let request = request.for_part(&asked.question);
        let config = &self.config;
        let budget = permit.budget.unwrap_or(config.limits.recall_budget);
        let remaining = || deadline.saturating_duration_since(Instant::now());
        let wait = remaining() * EMBED_FRACTION.0 / EMBED_FRACTION.1;
        let (vector, wordings) = tokio::join!(
            self.query_vectors(&request.query, vector, wait),
            expand_and_rerank::expand_query(config, &request.query, wait),
        );
        let expanded = wordings.is_some();
        let expansions = self
            .embed_each(wordings.unwrap_or_default(), deadline)
            .await;
        let questions = self.embed_each(asked.questions.clone(), deadline).await;
        let (query, top_k) = (request.query.clone(), request.top_k);
        let request = RecallRequest {
            top_k: expand_and_rerank::candidate_count(config, top_k),
            ..request
        };
        // The snapshot is taken last, so that it has what was stored while the query was embedded.
        let snapshot = self.handle.snapshot()?;
        let (settings, stages) = (Arc::clone(config), Arc::clone(&self.stages));
        // The permit is held until the work ends, even if the caller is gone.
        let permit = Arc::new(permit);
        let held = Arc::clone(&permit);
        let searched = (Arc::clone(&snapshot), request.clone());
        let search = run_blocking(move || {
            let _permit = held;
            let (snapshot, request) = searched;
            let began = Instant::now();
            let recall = search_with_expansions(
                &settings, &snapshot, &request, &vector, expansions, questions,
            );
            stages.search.record(began.elapsed());
            (recall, vector)
        });
        let (mut recall, vector) = search.await?;
        let open = asked.list_open_things(&recall);
        if top_k > 0 && !open.is_empty() {
            let wait = remaining() * EMBED_FRACTION.0 / EMBED_FRACTION.1;
            recall = self
                .search_for_each_thing(recall, open, (snapshot, request, permit), wait)
                .await?;
        }
        recall.notes.extend(asked.note);
        if !expanded {
            recall.degraded.push(DegradedPart::NotExpanded);
        }
        let wait = remaining() * EMBED_FRACTION.0 / EMBED_FRACTION.1;
        let wait = wait.min(config.limits.rerank_wait_within(budget));
        let judged = if config.limits.is_worth_reranking(&recall, budget) {
            expand_and_rerank::judge_results(config, &query, &recall, wait).await
        } else {
            Judgements::default()
        };
        let is_usable = apply_judgements(&mut recall, &judged.values, top_k);
        if judged.is_cut_short || !is_usable {
            recall.degraded.push(DegradedPart::NotReranked);
            recall.results.truncate(top_k);
        }
        self.handle.queue_receipt(build_receipt(
            &recall,
            vector.current.as_deref(),
            config.clock.now(),
        ));
        Ok(recall)
    }
}

impl RequestContext {
    /// Searches for each thing that a question connects and that its answer leaves open.
    async fn search_for_each_thing(
        &self,
        recall: RecallResponse,
        open: Vec<String>,
        (snapshot, request, permit): (Arc<Snapshot>, RecallRequest, Arc<Permit>),
        wait: Duration,
    ) -> Result<RecallResponse, MemoryError> {
        let until = Instant::now() + wait;
        let mut things = Vec::new();
        for thing in open {
            let left = until.saturating_duration_since(Instant::now());
            let vectors = self.query_vectors(&thing, None, left).await;
            things.push((thing, vectors));
        }
        let stages = Arc::clone(&self.stages);
        let search = run_blocking(move || {
            let _permit = permit;
            let began = Instant::now();
            let answers = search_for_each_text(&snapshot, &request, things, recall.recall_id);
            let recall = merge_thing_answers(recall, answers, request.top_k);
            stages.search.record(began.elapsed());
            recall
        });
        search.await
    }
}

/// Searches for a query, its expansions and its questions, and merges the results.
fn search_with_expansions(
    config: &MemoryConfig,
    snapshot: &Snapshot,
    request: &RecallRequest,
    vector: &QueryVectors,
    expansions: Vec<(String, QueryVectors)>,
    questions: Vec<(String, QueryVectors)>,
) -> RecallResponse {
    let id = RecallId::from_parts(
        u64::try_from(config.clock.now().timestamp_millis()).unwrap_or_default(),
        system_entropy() >> 48,
    );
    let mut recall = search_once(snapshot, request, vector, id);
    if !expansions.is_empty() {
        let others = search_for_each_text(snapshot, request, expansions, id);
        recall = merge_wordings(recall, others, request.top_k);
    }
    if !questions.is_empty() {
        let answers = questions.into_iter().map(|(question, vector)| {
            let request = request.clone().for_part(&question);
            (question, search_once(snapshot, &request, &vector, id))
        });
        let answers = answers.collect();
        recall = merge_question_answers(recall, answers, request.top_k);
    }
    recall
}

/// Searches for each of several texts in place of a query.
fn search_for_each_text(
    snapshot: &Snapshot,
    request: &RecallRequest,
    texts: Vec<(String, QueryVectors)>,
    id: RecallId,
) -> Vec<(String, RecallResponse)> {
    let found = texts.into_iter().map(|(text, vector)| {
        let request = RecallRequest {
            query: text.clone(),
            ..request.clone()
        };
        (text, search_once(snapshot, &request, &vector, id))
    });
    found.collect()
}

fn search_once(
    snapshot: &Snapshot,
    request: &RecallRequest,
    vector: &QueryVectors,
    id: RecallId,
) -> RecallResponse {
    let learning = snapshot.learning_engine();
    let call = RecallCall::new(request, id, learning);
    let vectors = vector.as_slices();
    let known_part = vector
        .known_part
        .as_deref()
        .map(Embedding::space_and_vector);
    let call = call.with_vectors(&vectors).with_known_part(known_part);
    let mut recall = snapshot.recall(&call);
    if vector.is_late {
        for part in &mut recall.degraded {
            if *part == DegradedPart::NoQueryVector {
                *part = DegradedPart::EmbedderLate;
            }
        }
    }
    recall
}

/// Builds the receipt of a recall, by which a later outcome can give credit to its records.
fn build_receipt(
    recall: &RecallResponse,
    query: Option<&Embedding>,
    at: DateTime<Utc>,
) -> RecallReceipt {
    RecallReceipt {
        recall_id: recall.recall_id,
        at,
        query: query.cloned(),
        records: recall.results.iter().map(|found| found.record.id).collect(),
    }
}
