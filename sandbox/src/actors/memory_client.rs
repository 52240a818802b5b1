//! The host's client of memory: its calls have a time budget, and memory is never required.
//!
//! Even if memory does not reply, is late, returns invalid data or panics, the caller gets an
//! answer that it can use. The client also renders memories for a prompt.

use std::future::Future;

use reprise_types::{
    HitStyle, HitView, MemoryFilter, MemoryKind, MemorySource, PublicationOrigin, QuotedMemory,
    RecallRequest, RecallResponse, RetrievedMemory, system_entropy,
};
use tokio::time::timeout;

use crate::prelude::*;

/// Longest text of one memory in a prompt, in characters.
const LINE_CHARACTERS_MAX: usize = 240;
/// What the record of a run says of a turn for which memory is there and did not answer.
pub(super) const WITHOUT_MEMORY: &str = "ran without memory, which did not answer";
/// Longest text of a run's outcome in a prompt, in characters, because its steps tell how it went.
const RUN_CHARACTERS_MAX: usize = 800;

/// A client of the memory port, with a time budget. Cheap to clone.
#[derive(Clone)]
pub struct MemoryClient {
    provider: Option<Arc<dyn MemoryProvider>>,
    budget: Duration,
}

reprise_types::show_fields!(MemoryClient { budget });

/// The outcome of a recall.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state", content = "why")]
pub enum RecallStatus {
    Off,
    /// Memory replied, possibly with no results.
    Answered,
    /// Memory did not reply within the budget.
    Late,
    /// Memory failed, with this message.
    Failed(String),
}

impl RecallStatus {
    /// Whether memory is there and did not answer, so that the turn went on without it.
    pub fn is_missed(&self) -> bool {
        matches!(self, Self::Late | Self::Failed(_))
    }
}

/// A sanitised answer of memory.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryAnswer {
    pub status: RecallStatus,
    /// The recall, with at most as many results as requested, and finite scores.
    pub recall: Option<RecallResponse>,
    pub duration: Duration,
    /// A random number of this answer, which names the frame of its block in a prompt.
    pub nonce: u128,
}

impl MemoryClient {
    /// Creates a client with a time budget per call; `None` for a host without memory.
    pub fn new(provider: Option<Arc<dyn MemoryProvider>>, budget: Duration) -> Self {
        Self { provider, budget }
    }

    /// Runs a recall; empty `kinds` means all.
    pub async fn recall(&self, query: &str, top_k: usize, kinds: &[MemoryKind]) -> MemoryAnswer {
        let request = RecallRequest {
            top_k,
            filter: MemoryFilter {
                kinds: (!kinds.is_empty()).then(|| kinds.to_vec()),
                ..MemoryFilter::default()
            },
            ..RecallRequest::new(query)
        };
        let began = Instant::now();
        let answer = self
            .call_with_budget(|memory| async move { memory.execute_recall(request).await })
            .await;
        let (status, recall) = match answer {
            Ok(recall) => (RecallStatus::Answered, Some(sanitize_recall(recall, top_k))),
            Err(status) => (status, None),
        };
        MemoryAnswer {
            status,
            recall,
            duration: began.elapsed(),
            nonce: system_entropy(),
        }
    }

    /// Reports an event of a run to memory. Failures are only logged.
    pub async fn report<F, Fut>(&self, what: F)
    where
        F: FnOnce(Arc<dyn MemoryProvider>) -> Fut,
        Fut: Future<Output = Result<(), MemoryError>> + Send + 'static,
    {
        match self.call_with_budget(what).await {
            Ok(()) | Err(RecallStatus::Off | RecallStatus::Answered) => {}
            Err(RecallStatus::Late) => {
                tracing::warn!("memory did not acknowledge an event of a run");
            }
            Err(RecallStatus::Failed(why)) => {
                tracing::warn!(why, "memory refused an event of a run");
            }
        }
    }

    /// Runs a call on a task of its own, which isolates the host from delays and panics.
    async fn call_with_budget<T, F, Fut>(&self, call: F) -> Result<T, RecallStatus>
    where
        T: Send + 'static,
        F: FnOnce(Arc<dyn MemoryProvider>) -> Fut,
        Fut: Future<Output = Result<T, MemoryError>> + Send + 'static,
    {
        let Some(provider) = &self.provider else {
            return Err(RecallStatus::Off);
        };
        let mut task = tokio::spawn(call(Arc::clone(provider)));
        match timeout(self.budget, &mut task).await {
            Ok(Ok(Ok(answer))) => Ok(answer),
            Ok(Ok(Err(MemoryError::TimedOut { .. }))) => Err(RecallStatus::Late),
            Ok(Ok(Err(error))) => Err(RecallStatus::Failed(error.to_string())),
            Ok(Err(error)) => Err(RecallStatus::Failed(error.to_string())),
            Err(_) => {
                task.abort();
                Err(RecallStatus::Late)
            }
        }
    }
}

impl MemoryAnswer {
    /// Returns the results, best first; empty if memory did not reply.
    pub fn results(&self) -> &[RetrievedMemory] {
        self.recall.as_ref().map_or(&[], |recall| &recall.results)
    }

    pub fn record_ids(&self) -> Vec<RecordId> {
        let results = self.results().iter();
        results.map(|found| found.record.id).collect()
    }

    /// Renders the results under `head`, in the frame for quoted memory; `None` without results.
    pub fn render_block(&self, head: &str) -> Option<String> {
        let mut memory = QuotedMemory::new(self.nonce);
        for found in self.results() {
            let record = &found.record;
            let words: Vec<&str> = record.text.split_whitespace().collect();
            let most = match record.source {
                MemorySource::TrajectoryOutcome => RUN_CHARACTERS_MAX,
                _ => LINE_CHARACTERS_MAX,
            };
            let text: String = words.join(" ").chars().take(most).collect();
            let by = found.published.as_ref();
            let view = HitView {
                score: found.sona_score,
                published: by.map(PublicationOrigin::describe).unwrap_or_default(),
                ..HitView::new(record.id, record.timestamp, record.kind.to_string(), text)
            };
            memory.add_hit(&view, HitStyle::ToolLine);
        }
        if let Some(note) = self.recall.as_ref().and_then(RecallResponse::chain_note) {
            memory.add_line("- ", note);
        }
        let quoted = memory.into_text();
        (!quoted.is_empty()).then(|| format!("{head}\n{quoted}"))
    }
}

/// Drops surplus results and replaces scores that are not finite.
fn sanitize_recall(mut recall: RecallResponse, top_k: usize) -> RecallResponse {
    recall.results.truncate(top_k);
    for found in &mut recall.results {
        for score in [&mut found.score, &mut found.sona_score] {
            *score = if score.is_finite() {
                score.clamp(0.0, 1.0)
            } else {
                0.0
            };
        }
    }
    recall
}

#[cfg(test)]
mod tests;
