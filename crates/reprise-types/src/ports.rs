//! The ports: traits with at least two implementations each.

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::context::ContextBlock;
use crate::embedding::EmbeddingSpace;
use crate::error::{EmbedError, HelperError, MemoryError};
use crate::filter::MemoryFilter;
use crate::id::RecordId;
use crate::kind::Revision;
use crate::recall::{Recall, RecallRequest, RetrievedMemory, TaughtBy};
use crate::run::{RunBeginning, RunEnding};

/// The memory as a host sees it (M32). Best effort by contract: a host goes on without an answer.
#[async_trait]
pub trait MemoryProvider: Send + Sync {
    /// Answers within the recall budget, or returns an error.
    async fn recall_request(&self, request: RecallRequest) -> Result<Recall, MemoryError>;

    /// Begins a run that works with recalled records (M64). No effect where memory does not learn.
    async fn begin_run(&self, _run: RunBeginning) -> Result<(), MemoryError> {
        Ok(())
    }

    /// Adds a step to a run, with the records used for it.
    async fn step_run(
        &self,
        _run_id: String,
        _action: String,
        _used: Vec<RecordId>,
    ) -> Result<(), MemoryError> {
        Ok(())
    }

    /// Ends a run (M40). Credit goes to the records it names as used, which its recall must have
    /// returned.
    async fn end_run(&self, _run: RunEnding) -> Result<(), MemoryError> {
        Ok(())
    }

    /// Revises the quality of an ended run; `quality` is used by [`Revision::Scored`] only.
    async fn revise_run(
        &self,
        _run_id: String,
        _revision: Revision,
        _quality: Option<f32>,
    ) -> Result<(), MemoryError> {
        Ok(())
    }

    /// A recall with results only, in the form of the seed document.
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
        self.recall_request(request)
            .await
            .map(|recall| recall.results)
    }

    /// Memories for a prompt: at most `budget` tokens of text, grouped by session, with dates, ids
    /// and reasons. Empty where nothing was found or nothing fits.
    async fn context_block(&self, query: &str, budget: usize) -> Result<ContextBlock, MemoryError>;
}

/// Query expansion by the host (A12); Reprise has no model for it. Optional and best effort: where
/// it is late or fails, the query is used as it stands.
#[async_trait]
pub trait QueryExpander: Send + Sync {
    /// Wordings to search for beside the query itself, the most useful first.
    async fn expand(&self, query: &str) -> Result<Vec<String>, HelperError>;
}

/// Reranking by the host (A13). Optional and best effort, as [`QueryExpander`] is.
#[async_trait]
pub trait Reranker: Send + Sync {
    /// The probability, 0..1, that each of `texts` answers the query, in their order.
    async fn rerank(&self, query: &str, texts: &[String]) -> Result<Vec<f32>, HelperError>;
}

/// Text to unit vector (M73). Synchronous; one text a call where batches change int8 vectors.
pub trait Embedder: Send {
    /// The space of every vector this embedder makes.
    fn space(&self) -> &EmbeddingSpace;

    /// Tokens of a text that the model sees, special tokens included.
    fn token_limit(&self) -> usize;

    /// A finite vector of `space().dimensions` numbers and length 1. Empty text is valid.
    fn embed(&mut self, text: &str) -> Result<Vec<f32>, EmbedError>;

    /// The same of a question, which some models read otherwise than what answers it.
    fn embed_query(&mut self, text: &str) -> Result<Vec<f32>, EmbedError> {
        self.embed(text)
    }

    /// Whether it does: the vector of a question is not that of the same words kept.
    fn tells_questions(&self) -> bool {
        false
    }

    /// Most texts that are better embedded together: more than one where each call is a request.
    fn batch_max(&self) -> usize {
        1
    }

    /// As [`Self::embed`] of each, in their order.
    fn embed_all(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        texts.iter().map(|text| self.embed(text)).collect()
    }
}

/// Full-precision vectors, reached by ordinal and never copied into an index (M13, M19).
pub trait VectorStore: Send + Sync {
    fn dimensions(&self) -> usize;

    /// Copies the vector of record `ordinal` into `out`, whose length is `dimensions()`; `false`
    /// where the record has none or it cannot be read.
    fn vector(&self, ordinal: u32, out: &mut [f32]) -> bool;
}

impl<T: VectorStore + ?Sized> VectorStore for Arc<T> {
    fn dimensions(&self) -> usize {
        (**self).dimensions()
    }

    fn vector(&self, ordinal: u32, out: &mut [f32]) -> bool {
        (**self).vector(ordinal, out)
    }
}

/// Learned adjustments of scores (M4, M13). It may reorder results but add none; zero without
/// evidence.
pub trait LearningEngine: Send + Sync {
    /// What the runs that used each record add to its score for this query, in the records' order;
    /// 0.0 without evidence.
    fn evidence(&self, query_vector: Option<&[f32]>, records: &[RecordId]) -> Vec<f32>;

    /// The adapter's correction of the query (M61): its product with a record's vector is what the
    /// adapter adds to that record's score. `None` without evidence that it helps.
    fn correction(&self, _query_vector: &[f32]) -> Option<Vec<f32>> {
        None
    }

    /// The largest absolute adjustment in force now, 0..1.
    fn cap(&self) -> f32;

    /// Gates of the evidence learner and the adapter, 0..1 each.
    fn gates(&self) -> (f32, f32) {
        (0.0, 0.0)
    }

    fn taught_by(&self, query_vector: Option<&[f32]>, record: RecordId) -> Vec<TaughtBy>;
}

/// A learner without evidence: every adjustment is exactly zero.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unlearned;

impl LearningEngine for Unlearned {
    fn evidence(&self, _query_vector: Option<&[f32]>, records: &[RecordId]) -> Vec<f32> {
        vec![0.0; records.len()]
    }

    fn cap(&self) -> f32 {
        0.0
    }

    fn taught_by(&self, _query_vector: Option<&[f32]>, _record: RecordId) -> Vec<TaughtBy> {
        Vec::new()
    }
}

/// The source of time.
pub trait Clock: Send + Sync {
    /// The current instant. May go backwards; callers that need order enforce it.
    fn now(&self) -> DateTime<Utc>;
}
