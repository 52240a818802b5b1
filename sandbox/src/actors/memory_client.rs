//! The host's client of memory: calls have a time budget, and memory is never required.
//!
//! Whatever memory does (no answer, a late one, invalid data, a panic), the caller gets an answer
//! that it can use. Also formats memory for a prompt.

use std::future::Future;

use reprise_types::{
    MemoryFilter, MemoryKind, QuotedMemory, Recall, RecallRequest, RetrievedMemory, system_entropy,
};
use tokio::time::timeout;

use crate::prelude::*;

/// Longest text of one memory in a prompt, in characters.
const LINE_CHARACTERS_MAX: usize = 240;

/// The memory port with a time budget. Cheap to clone.
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
    /// It answered, possibly with nothing.
    Answered,
    /// It did not answer within the budget.
    Late,
    /// It failed, with this message.
    Failed(String),
}

/// A sanitised answer of memory.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryAnswer {
    pub asked: RecallStatus,
    /// The answer: at most as many results as requested, scores finite.
    pub recall: Option<Recall>,
    pub took: Duration,
    /// Random, per answer; names the frame of its block in a prompt.
    pub nonce: u128,
}

impl MemoryClient {
    /// A client with this time budget per call; `None` for a host without memory.
    pub fn new(provider: Option<Arc<dyn MemoryProvider>>, budget: Duration) -> Self {
        Self { provider, budget }
    }

    /// Runs a recall; empty `kinds` means all.
    pub async fn ask(&self, query: &str, top_k: usize, kinds: &[MemoryKind]) -> MemoryAnswer {
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
            .boxed(|memory| async move { memory.recall_request(request).await })
            .await;
        let (asked, recall) = match answer {
            Ok(recall) => (RecallStatus::Answered, Some(made_safe(recall, top_k))),
            Err(asked) => (asked, None),
        };
        MemoryAnswer {
            asked,
            recall,
            took: began.elapsed(),
            nonce: system_entropy(),
        }
    }

    /// Reports an event of a run to memory. Failures are only logged.
    pub async fn tell<F, Fut>(&self, what: F)
    where
        F: FnOnce(Arc<dyn MemoryProvider>) -> Fut,
        Fut: Future<Output = Result<(), MemoryError>> + Send + 'static,
    {
        match self.boxed(what).await {
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
    async fn boxed<T, F, Fut>(&self, call: F) -> Result<T, RecallStatus>
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
    /// The results, best first; empty where memory did not answer.
    pub fn results(&self) -> &[RetrievedMemory] {
        self.recall.as_ref().map_or(&[], |recall| &recall.results)
    }

    pub fn records(&self) -> Vec<RecordId> {
        let results = self.results().iter();
        results.map(|found| found.record.id).collect()
    }

    /// The results under `head`, in the frame for quoted memory; `None` where there are none.
    pub fn block(&self, head: &str) -> Option<String> {
        let mut memory = QuotedMemory::new(self.nonce);
        for found in self.results() {
            let record = &found.record;
            let words: Vec<&str> = record.text.split_whitespace().collect();
            let text: String = words.join(" ").chars().take(LINE_CHARACTERS_MAX).collect();
            let (date, kind) = (record.timestamp.format("%Y-%m-%d"), record.kind);
            let (score, id) = (found.sona_score, record.id);
            let by = found.published.as_ref();
            let by = by.map(|by| format!(" published by {}, version {}", by.author, by.version));
            let by = by.unwrap_or_default();
            memory.line(&format!("- [{date} {kind} {score:.2} {id}{by}] "), &text);
        }
        let quoted = memory.into_text();
        (!quoted.is_empty()).then(|| format!("{head}\n{quoted}"))
    }
}

/// Drops surplus results and replaces scores that are not finite.
fn made_safe(mut recall: Recall, top_k: usize) -> Recall {
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
