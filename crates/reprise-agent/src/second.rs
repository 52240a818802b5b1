//! The host's optional query expansion and reranking. Each has a time limit; where it misses it,
//! the recall goes on without and reports it in `degraded`.

use std::sync::Arc;
use std::time::Duration;

use reprise_types::{HelperError, Recall};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::config::MemoryConfig;

/// Expansions of a query; `None` where the expander failed or was late.
pub(crate) async fn wordings(
    config: &MemoryConfig,
    query: &str,
    left: Duration,
) -> Option<Vec<String>> {
    let Some(expander) = config
        .expander
        .as_ref()
        .filter(|_| !query.trim().is_empty())
    else {
        return Some(Vec::new());
    };
    let (expander, asked) = (Arc::clone(expander), query.to_owned());
    let wait = config.limits.expansion_wait.min(left);
    let mut wordings = within(wait, async move { expander.expand(&asked).await }).await?;
    wordings.retain(|wording| !wording.trim().is_empty() && wording != query);
    wordings.truncate(config.limits.wordings_max);
    Some(wordings)
}

/// How many results to search for, so that the reranker has a choice.
pub(crate) fn candidates(config: &MemoryConfig, top_k: usize) -> usize {
    match &config.reranker {
        Some(_) if top_k > 0 => top_k.max(config.limits.reranked_max),
        Some(_) | None => top_k,
    }
}

/// The reranker's scores of the first results; `None` where it failed or was late.
pub(crate) async fn judgements(
    config: &MemoryConfig,
    query: &str,
    recall: &Recall,
    left: Duration,
) -> Option<Vec<f32>> {
    let first = recall.results.iter().take(config.limits.reranked_max);
    let texts: Vec<String> = first.map(|found| found.record.text.clone()).collect();
    let Some(reranker) = config.reranker.as_ref().filter(|_| !texts.is_empty()) else {
        return Some(Vec::new());
    };
    let (reranker, asked, count) = (Arc::clone(reranker), query.to_owned(), texts.len());
    let wait = config.limits.rerank_wait.min(left);
    let work = async move { reranker.rerank(&asked, &texts).await };
    within(wait, work)
        .await
        .filter(|judged| judged.len() == count)
}

/// Runs foreign code on a task of its own, which isolates panics and blocking.
async fn within<T: Send + 'static>(
    wait: Duration,
    work: impl Future<Output = Result<T, HelperError>> + Send + 'static,
) -> Option<T> {
    let mut task = JoinSet::new();
    task.spawn(work);
    match timeout(wait, task.join_next()).await {
        Ok(Some(Ok(Ok(opinion)))) => Some(opinion),
        Ok(Some(Ok(Err(error)))) => {
            tracing::warn!(%error, "query expansion or reranking failed");
            None
        }
        Ok(Some(Err(error))) => {
            tracing::warn!(%error, "query expansion or reranking panicked");
            None
        }
        Ok(None) | Err(_) => {
            tracing::debug!(?wait, "query expansion or reranking was late");
            None
        }
    }
}
