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
        let asked = request.clone();
        let found = async {
            let recall = self.recall_alone(request, vector).await?;
            Ok(self.add_repository_hits(&asked, None, recall).await)
        };
        self.run_noted_recall(&asked.query, found).await
    }

    /// What a recall finds, once it is noted.
    pub(crate) async fn run_noted_recall(
        &self,
        query: &str,
        found: impl Future<Output = Result<RecallResponse, Problem>>,
    ) -> Result<RecallResponse, Problem> {
        let (at, began) = (self.now(), Instant::now());
        let recall = found.await?;
        if self.is_noted && self.exists() {
            let elapsed_ms = began.elapsed().as_secs_f64() * 1e3;
            let past = PastRecall::new(at, query, &recall, elapsed_ms);
            self.all.recalls.note(&self.user, past);
        }
        Ok(recall)
    }

    /// What a recall of this memory alone finds; `vector` is the question's where the caller has
    /// it.
    pub(crate) async fn recall_alone(
        &self,
        request: RecallRequest,
        vector: Option<Embedding>,
    ) -> Result<RecallResponse, Problem> {
        let found = async {
            let Some(vector) = vector else {
                let provider = self.all.service.patient_provider(&self.user);
                return Ok(provider.execute_recall(request).await?);
            };
            let id = self.new_recall_id();
            self.run_on_snapshot(move |memory| {
                let call = RecallCall::new(&request, id, memory.learning_engine());
                memory.recall(&call.with_vectors(&[vector.space_and_vector()]))
            })
            .await
        };
        self.recall_in_span(found).await
    }

    /// Recalls within a time box, in which a model that is late is done without.
    pub(crate) async fn recall_within(
        &self,
        request: RecallRequest,
        budget: Duration,
    ) -> Result<RecallResponse, Problem> {
        let provider = self
            .all
            .service
            .provider(&self.user)
            .with_recall_budget(budget);
        let found = async { Ok(provider.execute_recall(request).await?) };
        self.recall_in_span(found).await
    }

    /// Recalls within a tracing span; finds nothing if the user has no memory.
    async fn recall_in_span(
        &self,
        found: impl Future<Output = Result<RecallResponse, Problem>>,
    ) -> Result<RecallResponse, Problem> {
        if !self.exists() {
            return Ok(RecallResponse::empty(self.new_recall_id()));
        }
        let span = operation_span("search_memory", &self.user);
        let recall = found.instrument(span.clone()).await?;
        let first = recall.results.first().map(|result| result.record.id);
        note_records_in_span(&span, recall.results.len(), first);
        Ok(recall)
    }

    fn new_recall_id(&self) -> RecallId {
        RecallId::from_parts(self.unix_ms(), system_entropy() >> 48)
    }
}
