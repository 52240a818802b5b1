//! The host's optional query expansion and reranking. Each has a time limit; if one is late, the
//! recall continues without it and reports that in `degraded`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reprise_engine::{is_first_settled, texts_to_judge};
use reprise_types::{HelperError, RecallResponse};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::config::MemoryConfig;

/// Expands a query to further wordings; `None` if the expander failed or was late.
pub(crate) async fn expand_query(
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
    let mut wordings =
        run_with_limit(wait, async move { expander.expand_query(&asked).await }).await?;
    wordings.retain(|wording| !wording.trim().is_empty() && wording != query);
    wordings.truncate(config.limits.wordings_max);
    Some(wordings)
}

/// Returns how many results to search for, so that a reranker has a choice.
pub(crate) fn candidate_count(config: &MemoryConfig, top_k: usize) -> usize {
    match &config.reranker {
        Some(_) if top_k > 0 => top_k.max(config.limits.reranked_max),
        Some(_) | None => top_k,
    }
}

/// The judgements of the first results, best first.
#[derive(Default)]
pub(crate) struct Judgements {
    pub(crate) values: Vec<f32>,
    /// Whether the reranker failed or was late before it had judged all that it should.
    pub(crate) is_cut_short: bool,
}

/// Has the reranker judge the first results until its time is over or the first place is certain.
pub(crate) async fn judge_results(
    config: &MemoryConfig,
    query: &str,
    recall: &RecallResponse,
    wait: Duration,
) -> Judgements {
    let mut judged = Judgements::default();
    let Some(reranker) = &config.reranker else {
        return judged;
    };
    let deadline = Instant::now() + wait;
    let texts = texts_to_judge(query, recall, config.limits.reranked_max);
    for texts in texts.chunks(reranker.texts_per_call().max(1)) {
        if is_first_settled(recall, &judged.values) {
            break;
        }
        let (reranker, asked) = (Arc::clone(reranker), query.to_owned());
        let (texts, count) = (texts.to_vec(), texts.len());
        let work = async move { reranker.score_relevance(&asked, &texts).await };
        let left = deadline.saturating_duration_since(Instant::now());
        match run_with_limit(left, work).await {
            Some(values) if values.len() == count => judged.values.extend(values),
            Some(_) | None => {
                judged.is_cut_short = true;
                break;
            }
        }
    }
    judged
}

/// Runs the host's code within a time limit, on a task of its own, which isolates panics and
/// blocking.
async fn run_with_limit<T: Send + 'static>(
    wait: Duration,
    work: impl Future<Output = Result<T, HelperError>> + Send + 'static,
) -> Option<T> {
    let mut task = JoinSet::new();
    task.spawn(work);
    match timeout(wait, task.join_next()).await {
        Ok(Some(Ok(Ok(value)))) => Some(value),
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
