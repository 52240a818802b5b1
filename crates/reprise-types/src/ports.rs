//! The ports: traits with at least two implementations each.

use std::fmt::Debug;

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::context::ContextBlock;
use crate::embedding::{Embedding, EmbeddingSpace};
use crate::error::{EmbedError, HelperError, MemoryError};
use crate::filter::MemoryFilter;
use crate::id::RecordId;
use crate::kind::Revision;
use crate::recall::{ContributingRun, RecallRequest, RecallResponse, RetrievedMemory};
use crate::run::{EndedRun, RunBeginning, RunEnding, RunStep};

/// The memory as a host sees it. It is best effort by contract: a host goes on without a response.
#[async_trait]
pub trait MemoryProvider: Send + Sync {
    /// Returns a response within the recall budget, or an error.
    async fn execute_recall(&self, request: RecallRequest) -> Result<RecallResponse, MemoryError>;

    /// Begins a run that works with recalled records. Has no effect if the memory does not learn.
    async fn begin_run(&self, _run: RunBeginning) -> Result<(), MemoryError> {
        Ok(())
    }

    /// Adds a step to a run, with the records that were used for it, and the record that is its
    /// result.
    async fn add_run_step(&self, _step: RunStep) -> Result<(), MemoryError> {
        Ok(())
    }

    /// Ends a run. Credit goes to the records it names as used, which its recall must have
    /// returned.
    async fn end_run(&self, _run: RunEnding) -> Result<(), MemoryError> {
        Ok(())
    }

    /// Revises the quality of an ended run; only [`Revision::Scored`] uses `quality`.
    async fn revise_run(
        &self,
        _run_id: String,
        _revision: Revision,
        _quality: Option<f32>,
    ) -> Result<(), MemoryError> {
        Ok(())
    }

    /// Returns the results of a recall alone, by the signature of the seed document.
    async fn recall(
        &self,
        query: &str,
        top_k: usize,
        filter: Option<MemoryFilter>,
    ) -> Result<Vec<RetrievedMemory>, MemoryError> {
        let request = RecallRequest {
            top_k,
            filter: filter.unwrap_or_default(),
            ..RecallRequest::new(query)
        };
        self.execute_recall(request)
            .await
            .map(|recall| recall.results)
    }

    /// Builds the memories for a prompt: at most `budget` tokens of text, grouped by session, with
    /// dates, ids and reasons. The text is empty if nothing was found or nothing fits.
    async fn build_context_block(
        &self,
        query: &str,
        budget: usize,
    ) -> Result<ContextBlock, MemoryError>;
}

/// Query expansion by the host, for which Reprise has no model. It is optional and best effort: if
/// it is late or fails, the query is used unchanged.
#[async_trait]
pub trait QueryExpander: Send + Sync {
    /// Returns wordings to search for in addition to the query, the most useful first.
    async fn expand_query(&self, query: &str) -> Result<Vec<String>, HelperError>;
}

/// Reranking by the host. It is optional and best effort, as [`QueryExpander`] is.
#[async_trait]
pub trait Reranker: Send + Sync {
    /// Returns the probability, 0..1, that each of `texts` answers the query, in their order.
    async fn score_relevance(&self, query: &str, texts: &[String])
    -> Result<Vec<f32>, HelperError>;

    /// Most texts of one call. After each call the time is looked at, and whether the first place
    /// is certain; all texts come in one call unless this says less.
    fn texts_per_call(&self) -> usize {
        usize::MAX
    }
}

/// Converts text to unit vectors. It is synchronous, and takes one text a call if the vectors of
/// an int8 model would depend on the batch.
pub trait Embedder: Send {
    /// The space of every vector that this embedder returns.
    fn space(&self) -> &EmbeddingSpace;

    /// Most tokens of a text that the model reads, special tokens included.
    fn token_limit(&self) -> usize;

    /// Returns a finite vector of `space().dimensions` numbers and length 1. Empty text is valid.
    fn embed(&mut self, text: &str) -> Result<Vec<f32>, EmbedError>;

    /// Returns the vector of a question, which some models prefix otherwise than a stored text.
    fn embed_query(&mut self, text: &str) -> Result<Vec<f32>, EmbedError> {
        self.embed(text)
    }

    /// Whether the model embeds a question otherwise than a stored text of the same words.
    fn has_query_prompt(&self) -> bool {
        false
    }

    /// Most texts that are better embedded together: more than one if each call is a request.
    fn batch_size_max(&self) -> usize {
        1
    }

    /// Returns the vector of each text as by [`Self::embed`], in their order.
    fn embed_batch(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        texts.iter().map(|text| self.embed(text)).collect()
    }
}

/// Full-precision vectors of one memory, by the ordinals of its records. The log is one such store;
/// a second one is told of each commit once it is on disk, so that it can be made anew from the log
/// at any time.
pub trait VectorStore: Debug + Send + Sync {
    /// Name of the kind of store, which `stats` tells.
    fn name(&self) -> &'static str;

    fn dimensions(&self) -> usize;

    /// Copies the vector of record `ordinal` into `out`, whose length is `dimensions()`. Returns
    /// `false` if the record has no vector or it cannot be read.
    fn copy_vector(&self, ordinal: u32, out: &mut [f32]) -> bool;

    /// Keeps these vectors, each in place of an earlier one of its ordinal. They are found from now
    /// on; the store may write several batches together.
    fn ingest(&self, vectors: &[(u32, &[f32])]) -> Result<(), HelperError>;

    /// Returns the `k` ordinals that `admits` and whose vectors have the largest product with
    /// `vector`, each with that product, largest first.
    fn query(
        &self,
        vector: &[f32],
        k: usize,
        admits: &dyn Fn(u32) -> bool,
    ) -> Result<Vec<(u32, f32)>, HelperError>;

    /// Returns these vectors no more.
    fn delete(&self, ordinals: &[u32]) -> Result<(), HelperError>;

    /// Rewrites the store without what was deleted. Questions are answered meanwhile.
    fn compact(&self) -> Result<(), HelperError>;

    /// Makes the store hold what `read` returns of the ordinals below `count`, and nothing else; it
    /// is called when a memory is opened or read anew.
    fn adopt(&self, count: u32, read: &dyn Fn(u32, &mut [f32]) -> bool) -> Result<(), HelperError>;

    /// Writes what still waits for a larger batch.
    fn flush(&self) -> Result<(), HelperError>;
}

/// Learned adjustments of scores. They may reorder results but add none, and are zero without
/// evidence. A host's engine hears of each run once it is on disk, and keeps itself what it learns;
/// the memory's own learner is made from the log and needs none of these calls.
pub trait LearningEngine: Send + Sync {
    /// A run has begun, with its question if that is known.
    fn begin(&self, _run_id: &str, _query: Option<&Embedding>) {}

    /// A run has made a step.
    fn step(&self, _step: &RunStep) {}

    /// A run has ended, or is reported as a whole.
    fn end(&self, _run: &EndedRun) {}

    /// Consolidates what was learned. It is called off the writer's thread, when the memory's own
    /// learner is consolidated, too.
    fn consolidate(&self) {}

    /// Returns what the runs that used each record add to its score for this query, in the order of
    /// the records; 0.0 without evidence.
    fn adjust(&self, query_vector: Option<&[f32]>, records: &[RecordId]) -> Vec<f32>;

    /// Returns the adapter's correction of the query: its product with a record's vector is what
    /// the adapter adds to that record's score. `None` without evidence that it helps.
    fn query_correction(&self, _query_vector: &[f32]) -> Option<Vec<f32>> {
        None
    }

    /// Returns the adapter's step for the outcome record of a run with this quality, from the first
    /// run on; `cosine` is that of query and record.
    fn outcome_step(&self, _quality: f32, _cosine: f32) -> f32 {
        0.0
    }

    /// Renders how requests like this one were done and how often that worked, in one line. If none
    /// was asked in such words, it is about requests like those of `runs`, which the answer shows.
    fn describe_chain(&self, _query_vector: &[f32], _runs: &[&str]) -> Option<String> {
        None
    }

    /// The largest absolute adjustment that is in force now, 0..1.
    fn adjustment_cap(&self) -> f32;

    /// The gates of the evidence learner and of the adapter, 0..1 each.
    fn learner_gates(&self) -> (f32, f32) {
        (0.0, 0.0)
    }

    fn contributing_runs(
        &self,
        query_vector: Option<&[f32]>,
        record: RecordId,
    ) -> Vec<ContributingRun>;
}

/// A learner without evidence: every adjustment is exactly zero.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoLearning;

impl LearningEngine for NoLearning {
    fn adjust(&self, _query_vector: Option<&[f32]>, records: &[RecordId]) -> Vec<f32> {
        vec![0.0; records.len()]
    }

    fn adjustment_cap(&self) -> f32 {
        0.0
    }

    fn contributing_runs(
        &self,
        _query_vector: Option<&[f32]>,
        _record: RecordId,
    ) -> Vec<ContributingRun> {
        Vec::new()
    }
}

/// The source of time.
pub trait Clock: Send + Sync {
    /// The current instant. It may go backwards; callers that need order enforce it.
    fn now(&self) -> DateTime<Utc>;
}
