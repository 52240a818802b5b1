//! From a request to the memories that answer it: the user's own, those of trusted checkouts, and
//! what others published.

use reprise_engine::RecallCall;
use reprise_types::{MemoryProvider, RecallResponse};

use crate::memories::PastRecall;
use crate::prelude::*;

impl Memory {
    /// What a recall finds, with whole records; `vector` is the question's where the caller has it.
    pub(crate) async fn recall(
        &self,
        request: RecallRequest,
        vector: Option<Embedding>,
        scope: RecallScope,
    ) -> Result<RecallResponse, Problem> {
        // A recall holds much: on the heap, so that whatever waits for one need not.
        let local = |request| Box::pin(self.recall_with_repositories(request, vector));
        match scope {
            RecallScope::Local => local(request).await,
            RecallScope::LocalAndGlobal => {
                let tier = self.open_global_tier().await?;
                tier.recall_with_local(&request, local(request.clone()))
                    .await
            }
            RecallScope::Global => {
                let id = self.new_recall_id();
                Ok(self
                    .open_global_tier()
                    .await?
                    .recall_published_alone(&request, id)
                    .await?)
            }
        }
    }

    async fn recall_with_repositories(
        &self,
        request: RecallRequest,
        vector: Option<Embedding>,
    ) -> Result<RecallResponse, Problem> {
        let (at, began, asked) = (self.now(), Instant::now(), request.clone());
        let recall = self.recall_alone(request, vector, None).await?;
        let recall = self.add_repository_hits(&asked, None, recall).await;
        self.note_recall(&asked.query, &recall, at, began);
        Ok(recall)
    }

    /// Notes a recall for the page, if there is a memory that it could find something in.
    pub(crate) fn note_recall(
        &self,
        query: &str,
        recall: &RecallResponse,
        at: DateTime<Utc>,
        began: Instant,
    ) {
        if self.is_noted && self.exists() {
            let elapsed_ms = began.elapsed().as_secs_f64() * 1e3;
            let past = PastRecall::new(at, query, recall, elapsed_ms);
            self.all.recalls.note(&self.user, past);
        }
    }

    /// What a recall of this memory alone finds, which is nothing if the user has none. `vector` is
    /// the question's where the caller has it; within a `budget` a model that is late is done
    /// without.
    pub(crate) async fn recall_alone(
        &self,
        request: RecallRequest,
        vector: Option<Embedding>,
        budget: Option<Duration>,
    ) -> Result<RecallResponse, Problem> {
        if !self.exists() {
            return Ok(RecallResponse::empty(self.new_recall_id()));
        }
        let (span, service) = (
            operation_span("search_memory", &self.user),
            &self.all.service,
        );
        let recall = if let Some(vector) = vector {
            let id = self.new_recall_id();
            let found = self.run_on_snapshot(move |memory| {
                let call = RecallCall::new(&request, id, memory.learning_engine());
                memory.recall(&call.with_vectors(&[vector.space_and_vector()]))
            });
            found.instrument(span.clone()).await?
        } else {
            let provider = match budget {
                Some(budget) => service.provider(&self.user).with_recall_budget(budget),
                None => service.patient_provider(&self.user),
            };
            let found = provider.execute_recall(request);
            found.instrument(span.clone()).await?
        };
        let first = recall.results.first().map(|result| result.record.id);
        note_records_in_span(&span, recall.results.len(), first);
        Ok(recall)
    }

    fn new_recall_id(&self) -> RecallId {
        RecallId::from_parts(self.unix_ms(), system_entropy() >> 48)
    }
}
