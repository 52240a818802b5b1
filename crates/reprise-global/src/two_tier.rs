//! One answer from two tiers (M51, M52): the user's own memory and what others published, asked at
//! once, behind the port that every host knows.
//!
//! The user's own answer never waits for a store that was late or failed the last time. What runs
//! say of published things goes up as (id, score, count).

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use reprise_engine::{TokenCounter, context_block, context_candidates};
use reprise_types::{
    Clock, ContentHash, ContextBlock, Degraded, MemoryError, MemoryProvider, MemoryRecord,
    MemorySource, Provenance, PublishedBy, Recall, RecallId, RecallRequest, RecallScope, RecordId,
    Retention, RetrievedMemory, Revision, RunBeginning, RunEnding, Verdict, Visibility,
    limits::RECALL_BUDGET_MS, system_entropy,
};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::caller::Caller;
use crate::error::GlobalError;
use crate::merge::{Scores, Thresholds, merged};
use crate::store::{GlobalAnswer, GlobalHit, GlobalQuery, GlobalStore, UsageReport};

/// What a store that was late gets beyond the user's own answer.
const GRACE: Duration = Duration::from_millis(2);
/// Questions to the global store that may be under way.
const ASKED_MAX: usize = 16;
/// Published things whose use is still recognised.
const SEEN_MAX: usize = 4_096;
/// Runs under way whose uses are remembered.
const RUNS_MAX: usize = 1_024;
/// What a run counts for that completed and nobody judged, and one that failed (M65).
const COMPLETED: f32 = 0.8;

/// How two tiers are asked.
#[derive(Debug, Clone, Copy)]
pub struct TwoTierOptions {
    pub scope: RecallScope,
    /// How long the global store may take.
    pub deadline: Duration,
    /// Where the buckets of the merge end.
    pub thresholds: Thresholds,
}

impl Default for TwoTierOptions {
    fn default() -> Self {
        Self {
            scope: RecallScope::LocalAndGlobal,
            deadline: Duration::from_millis(50),
            thresholds: Thresholds::default(),
        }
    }
}

/// A user's memory with the global store beside it. Cheap to clone.
#[derive(Clone)]
pub struct TwoTierMemory {
    local: Arc<dyn MemoryProvider>,
    global: Arc<dyn GlobalStore>,
    caller: Caller,
    clock: Arc<dyn Clock>,
    options: TwoTierOptions,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// The last question was not answered in time.
    is_late: AtomicBool,
    asked: Arc<Semaphore>,
    uses: Mutex<Uses>,
}

/// Which published things were given out, and which of them runs have used.
#[derive(Debug, Default)]
struct Uses {
    order: VecDeque<RecordId>,
    seen: HashSet<RecordId>,
    runs: HashMap<String, HashSet<RecordId>>,
}

impl fmt::Debug for TwoTierMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TwoTierMemory")
            .field("caller", &self.caller)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl TwoTierMemory {
    /// Puts a global store beside a user's memory.
    #[must_use]
    pub fn new(
        local: Arc<dyn MemoryProvider>,
        global: Arc<dyn GlobalStore>,
        caller: Caller,
        clock: Arc<dyn Clock>,
        options: TwoTierOptions,
    ) -> Self {
        Self {
            local,
            global,
            caller,
            clock,
            options,
            shared: Arc::new(Shared {
                is_late: AtomicBool::new(false),
                asked: Arc::new(Semaphore::new(ASKED_MAX)),
                uses: Mutex::default(),
            }),
        }
    }

    /// The same memory asked in another scope.
    #[must_use]
    pub fn scoped(&self, scope: RecallScope) -> Self {
        let mut other = self.clone();
        other.options.scope = scope;
        other
    }

    /// Puts the question to the global store; nobody need wait for the answer.
    fn ask(
        &self,
        request: &RecallRequest,
    ) -> Option<tokio::task::JoinHandle<Result<GlobalAnswer, GlobalError>>> {
        let permit = Arc::clone(&self.shared.asked).try_acquire_owned().ok()?;
        let (store, caller) = (Arc::clone(&self.global), self.caller.clone());
        let query = GlobalQuery::new(request.query.as_str(), request.top_k);
        let (shared, deadline) = (Arc::clone(&self.shared), self.options.deadline);
        Some(tokio::spawn(async move {
            let began = Instant::now();
            let answer = store.query(&caller, &query).await;
            let is_late = began.elapsed() > deadline || answer.is_err();
            shared.is_late.store(is_late, Ordering::Relaxed);
            drop(permit);
            answer
        }))
    }

    async fn both(&self, request: RecallRequest) -> Result<Recall, MemoryError> {
        let began = Instant::now();
        let was_late = self.shared.is_late.load(Ordering::Relaxed);
        let (top_k, asked) = (request.top_k, self.ask(&request));
        let mut recall = self.local.recall_request(request).await?;
        let left = if was_late {
            GRACE
        } else {
            self.options.deadline.saturating_sub(began.elapsed())
        };
        let answer = match asked {
            Some(asked) => timeout(left, asked).await.ok(),
            None => None,
        };
        if let Some(Ok(Ok(answer))) = answer {
            let global = self.seen(answer.hits);
            let results = std::mem::take(&mut recall.results);
            recall.results = merged(results, global, top_k, self.options.thresholds, scores);
            add_missing(&mut recall.degraded, &answer.degraded);
            judge(&mut recall);
        } else {
            self.shared.is_late.store(true, Ordering::Relaxed);
            recall.degraded.push(Degraded::NoGlobal);
        }
        Ok(recall)
    }

    async fn global_alone(&self, request: &RecallRequest) -> Result<Recall, MemoryError> {
        request.check()?;
        let budget = Duration::from_millis(RECALL_BUDGET_MS);
        let query = GlobalQuery::new(request.query.as_str(), request.top_k);
        let asked = timeout(budget, self.global.query(&self.caller, &query)).await;
        let answer = asked.map_err(|_| MemoryError::TimedOut {
            budget_ms: RECALL_BUDGET_MS,
        })?;
        let answer = answer.map_err(|error| match error.kind() {
            reprise_types::ErrorKind::Caller => MemoryError::Invalid {
                message: error.to_string(),
            },
            _ => MemoryError::Storage {
                message: error.to_string(),
            },
        })?;
        let now = u64::try_from(self.clock.now().timestamp_millis()).unwrap_or_default();
        let mut recall = Recall::nothing(RecallId::from_parts(now, system_entropy()));
        recall.results = self.seen(answer.hits);
        recall.considered = recall.results.len() as u32;
        recall.degraded = answer.degraded;
        judge(&mut recall);
        Ok(recall)
    }

    /// Hits as memories; their use is recognised from now on.
    fn seen(&self, hits: Vec<GlobalHit>) -> Vec<RetrievedMemory> {
        let mut uses = self.uses();
        for hit in &hits {
            if uses.seen.insert(hit.record.id) {
                uses.order.push_back(hit.record.id);
            }
        }
        while uses.order.len() > SEEN_MAX {
            if let Some(oldest) = uses.order.pop_front() {
                uses.seen.remove(&oldest);
            }
        }
        hits.into_iter().map(RetrievedMemory::from).collect()
    }

    fn uses(&self) -> std::sync::MutexGuard<'_, Uses> {
        self.shared
            .uses
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Splits what a run used: the user's own stays, the published is remembered with the run.
    fn own_of(&self, run_id: &str, used: Vec<RecordId>) -> Vec<RecordId> {
        let mut uses = self.uses();
        let (published, own): (Vec<_>, Vec<_>) =
            used.into_iter().partition(|id| uses.seen.contains(id));
        if !published.is_empty() && (uses.runs.len() < RUNS_MAX || uses.runs.contains_key(run_id)) {
            let run = uses.runs.entry(run_id.to_owned()).or_default();
            run.extend(published);
        }
        own
    }
}

/// What a run says of what it used; nothing where its end lay outside it.
fn quality_of(run: &RunEnding) -> Option<f32> {
    match (run.quality, run.fail) {
        (_, Some(fail)) if fail.is_exogenous() => None,
        (Some(quality), _) => Some(quality),
        (None, Some(_)) => Some(0.0),
        (None, None) => Some(COMPLETED),
    }
}

fn scores(found: &RetrievedMemory) -> Scores {
    Scores {
        score: found.score,
        sona_score: found.sona_score,
        quality: found.published.as_ref().map(|by| by.quality),
    }
}

fn add_missing(degraded: &mut Vec<Degraded>, others: &[Degraded]) {
    for part in others {
        if !degraded.contains(part) {
            degraded.push(*part);
        }
    }
}

/// The verdict follows the best score, wherever from.
fn judge(recall: &mut Recall) {
    let best = recall.results.iter().map(|found| found.score);
    recall.verdict = Verdict::of(best.reduce(f32::max)).max(recall.verdict);
    recall.nothing_relevant = recall.verdict == Verdict::Nothing;
}

impl From<GlobalHit> for RetrievedMemory {
    fn from(hit: GlobalHit) -> Self {
        let record = hit.record;
        let publication = &record.publication;
        let mut metadata = serde_json::Map::new();
        metadata.insert("title".to_owned(), json!(publication.title));
        metadata.insert("content_type".to_owned(), json!(publication.content_type));
        metadata.insert("access_policy".to_owned(), json!(publication.access_policy));
        metadata.insert("licence".to_owned(), json!(publication.licence));
        metadata.insert("checksum".to_owned(), json!(record.checksum));
        Self {
            score: hit.score,
            sona_score: hit.sona_score,
            why: hit.why,
            published: Some(PublishedBy {
                author: record.author_id.clone(),
                version: record.version.to_string(),
                quality: record.quality_metrics.quality(),
            }),
            record: MemoryRecord {
                id: record.id,
                text: publication.search_text(),
                source: MemorySource::WriterRevision,
                kind: publication.content_type.kind(),
                quality_score: Some(record.quality_metrics.avg_trajectory_score),
                session_id: String::new(),
                timestamp: record.published_at,
                known_at: record.published_at,
                metadata,
                embedding: Vec::new(),
                embedding_space: None,
                external_ids: Vec::new(),
                content_hash: ContentHash::default(),
                tags: record.publication.tags,
                confidence: None,
                evidence: None,
                visibility: Visibility::Published,
                retention: Retention::Normal,
                supersedes: None,
                provenance: Provenance::default(),
                details: None,
            },
        }
    }
}

#[async_trait]
impl MemoryProvider for TwoTierMemory {
    async fn recall_request(&self, request: RecallRequest) -> Result<Recall, MemoryError> {
        match self.options.scope {
            RecallScope::Local => self.local.recall_request(request).await,
            RecallScope::LocalAndGlobal => self.both(request).await,
            RecallScope::Global => self.global_alone(&request).await,
        }
    }

    async fn begin_run(&self, run: RunBeginning) -> Result<(), MemoryError> {
        self.local.begin_run(run).await
    }

    async fn step_run(
        &self,
        run_id: String,
        action: String,
        used: Vec<RecordId>,
    ) -> Result<(), MemoryError> {
        let used = self.own_of(&run_id, used);
        self.local.step_run(run_id, action, used).await
    }

    async fn end_run(&self, mut run: RunEnding) -> Result<(), MemoryError> {
        run.used = self.own_of(&run.run_id, run.used);
        let published = self.uses().runs.remove(&run.run_id);
        let quality = quality_of(&run);
        let ended = self.local.end_run(run).await;
        if let (Some(published), Some(score)) = (published, quality) {
            let report = |id| UsageReport {
                id,
                score,
                count: 1,
            };
            let reports: Vec<UsageReport> = published.into_iter().map(report).collect();
            let (store, caller) = (Arc::clone(&self.global), self.caller.clone());
            // Nobody waits for it; what is lost is one voice.
            tokio::spawn(async move {
                if let Err(error) = store.report(&caller, &reports).await {
                    tracing::debug!(%error, "a report to the global store was lost");
                }
            });
        }
        ended
    }

    async fn revise_run(
        &self,
        run_id: String,
        revision: Revision,
        quality: Option<f32>,
    ) -> Result<(), MemoryError> {
        self.local.revise_run(run_id, revision, quality).await
    }

    async fn context_block(&self, query: &str, budget: usize) -> Result<ContextBlock, MemoryError> {
        let request = RecallRequest {
            top_k: context_candidates(budget),
            ..RecallRequest::new(query)
        };
        let recall = self.recall_request(request).await?;
        let counter = TokenCounter::BytesOverFour;
        Ok(context_block(&recall, budget, counter, system_entropy()))
    }
}

#[cfg(test)]
mod tests;
