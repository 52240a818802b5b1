//! The global store next to a user's memory: searched at the same time, waited for within a
//! deadline and no longer than its answers lately took, and not at all once it was late or failed.
//! An answer that comes late is kept for the next question of the same words.
//!
//! One answer of two tiers, what runs used of the published, and which newer versions there are.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use reprise_engine::decide_shown;
use reprise_types::{
    DegradedPart, MemoryFilter, MemorySource, PublicationOrigin, RecallId, RecallRequest,
    RecallResponse, RecordBody, RecordId, RetrievedMemory, RunEnding, Visibility, lock,
    normalize_tags,
};
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::caller::Caller;
use crate::error::{GlobalError, GlobalResult};
use crate::merge::{Scores, Thresholds, merge_answers};
use crate::prepared_publication::origin_name;
use crate::record::GlobalRecord;
use crate::store::{Fate, GlobalAnswer, GlobalHit, GlobalQuery, GlobalStore, UsageReport};

/// What a store that was late gets beyond the user's own answer.
const GRACE: Duration = Duration::from_millis(2);
/// A store is waited for so many times as long as its answers lately took, half of the deadline at
/// least.
const PATIENCE: u32 = 4;
/// What the newest answer counts for in how long they take, of so many parts.
const NEWEST: u32 = 4;
/// Late answers that are kept, and for how long.
const KEPT_MAX: usize = 16;
const KEPT: Duration = Duration::from_mins(1);
/// How long a question may take where the user's own memory is not asked.
const ALONE: Duration = Duration::from_secs(10);
/// Questions to the global store that may be under way.
const ASKED_MAX: usize = 16;
/// Published things whose use is still recognised.
const SEEN_MAX: usize = 4_096;
/// Runs under way whose uses are remembered.
const RUNS_MAX: usize = 1_024;
/// A question that is narrowed asks for so many times as much.
const NARROWED: usize = 4;
/// The score of a run that completed and that nobody judged.
pub(crate) const COMPLETED: f32 = 0.8;

/// How a global store is searched together with a memory.
#[derive(Debug, Clone, Copy)]
pub struct TierOptions {
    /// How long a recall waits for it at most.
    pub deadline: Duration,
    /// Where the buckets of the merge end.
    pub thresholds: Thresholds,
}

impl Default for TierOptions {
    fn default() -> Self {
        Self {
            deadline: Duration::from_millis(400),
            thresholds: Thresholds::default(),
        }
    }
}

/// A global store as one user reaches it. Cheap to clone; clones share what they know of it.
#[derive(Clone)]
pub struct GlobalTier {
    store: Arc<dyn GlobalStore>,
    caller: Caller,
    options: TierOptions,
    /// What every recall says of the store.
    note: Option<String>,
    shared: Arc<TierState>,
}

#[derive(Debug)]
struct TierState {
    /// The last question was not answered in time.
    is_late: AtomicBool,
    /// How long its answers lately took.
    took: Mutex<Option<Duration>>,
    /// Answers that nobody waited for, newest last.
    kept: Mutex<VecDeque<Late>>,
    /// Why the last question was refused, where that was for want of a token.
    refused: Mutex<Option<String>>,
    asked: Arc<Semaphore>,
    uses: Mutex<Uses>,
}

/// An answer that came too late for its question.
#[derive(Debug)]
struct Late {
    query: GlobalQuery,
    came: Instant,
    answer: GlobalAnswer,
}

impl TierState {
    /// Notes how long an answer took.
    fn note_duration(&self, took: Duration) {
        let mut lately = lock(&self.took);
        let before = lately.unwrap_or(took);
        *lately = Some((before * (NEWEST - 1) + took) / NEWEST);
    }

    /// How long the next question is waited for.
    fn wait_limit(&self, deadline: Duration) -> Duration {
        if self.is_late.load(Ordering::Relaxed) {
            return GRACE.min(deadline);
        }
        let lately = *lock(&self.took);
        let patience = lately.map_or(deadline, |took| (took * PATIENCE).max(deadline / 2));
        patience.min(deadline)
    }

    fn keep_late_answer(&self, query: GlobalQuery, answer: GlobalAnswer) {
        let mut kept = lock(&self.kept);
        kept.retain(|late| late.query != query);
        if kept.len() == KEPT_MAX {
            kept.pop_front();
        }
        let came = Instant::now();
        kept.push_back(Late {
            query,
            came,
            answer,
        });
    }

    /// The answer that came too late when the same was asked before.
    fn find_late_answer(&self, query: &GlobalQuery) -> Option<GlobalAnswer> {
        let mut kept = lock(&self.kept);
        kept.retain(|late| late.came.elapsed() < KEPT);
        let found = kept.iter().find(|late| late.query == *query);
        found.map(|late| late.answer.clone())
    }
}

/// Which published things were given out, and which of them runs have used.
#[derive(Debug, Default)]
struct Uses {
    order: VecDeque<RecordId>,
    /// With the newest version that was given out.
    seen: HashMap<RecordId, u32>,
    runs: HashMap<String, HashSet<RecordId>>,
    /// With the newest version that a run has used.
    used: HashMap<RecordId, u32>,
}

reprise_types::show_fields!(GlobalTier { caller, options });

impl GlobalTier {
    pub fn new(store: Arc<dyn GlobalStore>, caller: Caller, options: TierOptions) -> Self {
        Self {
            store,
            caller,
            options,
            note: None,
            shared: Arc::new(TierState {
                is_late: AtomicBool::new(false),
                took: Mutex::default(),
                kept: Mutex::default(),
                refused: Mutex::default(),
                asked: Arc::new(Semaphore::new(ASKED_MAX)),
                uses: Mutex::default(),
            }),
        }
    }

    /// Sets what every recall says of the store.
    #[must_use]
    pub fn with_note(self, note: Option<String>) -> Self {
        Self { note, ..self }
    }

    pub fn store(&self) -> &dyn GlobalStore {
        &*self.store
    }

    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Starts the question to the store; nobody need wait for the answer.
    fn spawn_query(&self, query: GlobalQuery) -> Option<JoinHandle<GlobalResult<GlobalAnswer>>> {
        let permit = Arc::clone(&self.shared.asked).try_acquire_owned().ok()?;
        let (store, caller) = (Arc::clone(&self.store), self.caller.clone());
        let (shared, deadline) = (Arc::clone(&self.shared), self.options.deadline);
        Some(tokio::spawn(async move {
            let began = Instant::now();
            let answer = store.query(&caller, &query).await;
            let took = began.elapsed();
            let is_late = took > deadline || answer.is_err();
            shared.note_duration(took);
            shared.is_late.store(is_late, Ordering::Relaxed);
            *lock(&shared.refused) = match &answer {
                Err(error @ GlobalError::Token { .. }) => Some(error.to_string()),
                Ok(_) | Err(_) => None,
            };
            drop(permit);
            answer
        }))
    }

    /// Merges what `local` returns with what others published, which is searched meanwhile.
    pub async fn recall_with_local<E>(
        &self,
        request: &RecallRequest,
        local: impl Future<Output = GlobalResult<RecallResponse, E>>,
    ) -> GlobalResult<RecallResponse, E> {
        let began = Instant::now();
        let patience = self.shared.wait_limit(self.options.deadline);
        let query = build_query(request);
        let kept = self.shared.find_late_answer(&query);
        // Asked again all the same: what is kept was true a moment ago.
        let asked = self.spawn_query(query.clone());
        let mut recall = local.await?;
        let left = match &kept {
            Some(_) => GRACE,
            None if patience <= GRACE => patience,
            None => patience.saturating_sub(began.elapsed()),
        };
        if let Some(answer) = self.await_answer(left, asked, query, kept).await {
            let own = std::mem::take(&mut recall.results);
            let mut hits = answer.hits;
            hits.retain(|hit| !own.iter().any(|own| self.is_copy(&hit.record, own)));
            let global = self.admit_hits(hits, request, &mut recall.notes);
            recall.considered = recall.considered.saturating_add(global.len() as u32);
            let thresholds = self.options.thresholds;
            recall.results = merge_answers(
                attach_scores(own),
                attach_scores(global),
                request.top_k,
                thresholds,
            );
            for part in answer.degraded {
                if !recall.degraded.contains(&part) {
                    recall.degraded.push(part);
                }
            }
            decide_shown(&mut recall);
        } else {
            recall.degraded.push(DegradedPart::NoGlobal);
            recall.notes.extend(lock(&self.shared.refused).clone());
        }
        recall.notes.extend(self.note.clone());
        Ok(recall)
    }

    /// Waits for an answer for some time, else returns the one that is kept of the same question;
    /// an answer that comes later is kept.
    async fn await_answer(
        &self,
        left: Duration,
        asked: Option<JoinHandle<GlobalResult<GlobalAnswer>>>,
        query: GlobalQuery,
        kept: Option<GlobalAnswer>,
    ) -> Option<GlobalAnswer> {
        let Some(mut asked) = asked else {
            return kept;
        };
        if let Ok(answer) = timeout(left, &mut asked).await {
            let failed = |error: &GlobalError| tracing::debug!(%error, "the global store failed");
            return answer.ok()?.inspect_err(failed).ok();
        }
        self.shared.is_late.store(true, Ordering::Relaxed);
        let shared = Arc::clone(&self.shared);
        tokio::spawn(async move {
            if let Ok(Ok(answer)) = asked.await {
                shared.keep_late_answer(query, answer);
            }
        });
        kept
    }

    /// What others published that would help, most likely first, for a moment that waits no longer
    /// than `deadline`: nothing of the caller's own, and nothing from a store that does not answer.
    pub async fn recall_within_deadline(
        &self,
        request: &RecallRequest,
        deadline: Duration,
    ) -> Vec<RetrievedMemory> {
        let query = build_query(request);
        let kept = self.shared.find_late_answer(&query);
        let patience = match &kept {
            Some(_) => GRACE,
            None => self.shared.wait_limit(deadline),
        };
        let asked = self.spawn_query(query.clone());
        let Some(mut answer) = self.await_answer(patience, asked, query, kept).await else {
            return Vec::new();
        };
        let own = &self.caller.user;
        answer.hits.retain(|hit| hit.record.author_id != *own);
        let mut recall = RecallResponse::empty(RecallId::from_u128(0));
        recall.results = self.admit_hits(answer.hits, request, &mut recall.notes);
        decide_shown(&mut recall);
        let hits = recall.results.into_iter();
        hits.filter(|hit| hit.shown).collect()
    }

    /// Recalls what others published, without the user's own memory.
    pub async fn recall_published_alone(
        &self,
        request: &RecallRequest,
        id: RecallId,
    ) -> GlobalResult<RecallResponse> {
        let query = build_query(request);
        let asked = timeout(ALONE, self.store.query(&self.caller, &query)).await;
        let answer = asked.map_err(|_| {
            GlobalError::unavailable(format!("it was asked for {} s", ALONE.as_secs()))
        })??;
        let mut recall = RecallResponse::empty(id);
        recall.results = self.admit_hits(answer.hits, request, &mut recall.notes);
        recall.results.truncate(request.top_k);
        recall.considered = recall.results.len() as u32;
        recall.degraded = answer.degraded;
        recall.notes.extend(self.note.clone());
        decide_shown(&mut recall);
        Ok(recall)
    }

    /// Whether a thing is what the caller published of this record, or of an earlier version.
    fn is_copy(&self, thing: &GlobalRecord, own: &RetrievedMemory) -> bool {
        let (author, publication) = (&thing.author_id, &thing.publication);
        let mut ids = own.why.supersedes.iter().chain([&own.record.id]);
        let mut is_of = || ids.any(|id| origin_name(author, *id) == publication.origin);
        *author == self.caller.user && (own.record.text == publication.content || is_of())
    }

    /// The hits that the request admits, as memories; their use is recognised from now on. A newer
    /// version of something that was used is told of in `notes`.
    fn admit_hits(
        &self,
        hits: Vec<GlobalHit>,
        request: &RecallRequest,
        notes: &mut Vec<String>,
    ) -> Vec<RetrievedMemory> {
        let hits = hits.into_iter().filter(|hit| matches_request(request, hit));
        let hits: Vec<GlobalHit> = hits.collect();
        let mut uses = lock(&self.shared.uses);
        for hit in &hits {
            let (id, version) = (hit.record.id, hit.record.version.0);
            if uses.seen.insert(id, version).is_none() {
                uses.order.push_back(id);
            }
            if let Some(used) = uses.used.get(&id).filter(|used| **used < version) {
                let author = &hit.record.author_id;
                notes.push(format!(
                    "{id} by {author} is at version {version}: you have used version {used}"
                ));
            }
        }
        while uses.order.len() > SEEN_MAX {
            if let Some(oldest) = uses.order.pop_front() {
                uses.seen.remove(&oldest);
            }
        }
        drop(uses);
        hits.into_iter().map(RetrievedMemory::from).collect()
    }

    /// Says which version of a thing was used before.
    pub fn remember_use(&self, id: RecordId, version: u32) {
        self.mark_used_if_new(id, version);
    }

    /// Splits what a run used: returns the user's own, and remembers the published with the run.
    pub fn split_uses(&self, run_id: &str, used: Vec<RecordId>) -> Vec<RecordId> {
        let mut uses = lock(&self.shared.uses);
        let (published, own): (Vec<_>, Vec<_>) =
            used.into_iter().partition(|id| uses.seen.contains_key(id));
        if !published.is_empty() && (uses.runs.len() < RUNS_MAX || uses.runs.contains_key(run_id)) {
            let run = uses.runs.entry(run_id.to_owned()).or_default();
            run.extend(published);
        }
        own
    }

    /// Takes out the published things that a run used, when it is over.
    pub fn take_run_uses(&self, run_id: &str) -> Vec<RecordId> {
        let run = lock(&self.shared.uses).runs.remove(run_id);
        run.into_iter().flatten().collect()
    }

    /// Reports how a run went that used these; answers what became of each, and its version where
    /// none so new was used before.
    pub async fn report_usage(
        &self,
        used: &[RecordId],
        score: f32,
    ) -> GlobalResult<Vec<(RecordId, Fate, Option<u32>)>> {
        let report = |id: &RecordId| UsageReport {
            id: *id,
            score,
            count: 1,
        };
        let reports: Vec<UsageReport> = used.iter().map(report).collect();
        let fates = self.store.report_usage(&self.caller, &reports).await?;
        let mut told = Vec::with_capacity(used.len());
        for (id, fate) in used.iter().zip(fates) {
            let newer = match fate {
                Fate::Counted => self
                    .find_version(*id)
                    .await
                    .filter(|one| self.mark_used_if_new(*id, *one)),
                Fate::OwnWork | Fate::NotFound => None,
            };
            told.push((*id, fate, newer));
        }
        Ok(told)
    }

    /// Returns the first of these ids that nothing published has. Where the store does not answer,
    /// that is not known.
    pub async fn find_unknown(&self, used: &[RecordId]) -> Option<RecordId> {
        for id in used {
            if lock(&self.shared.uses).seen.contains_key(id) {
                continue;
            }
            let found = self.store.get(&self.caller, *id, None).await;
            if let Err(GlobalError::NotFound { .. }) = found {
                return Some(*id);
            }
        }
        None
    }

    /// Returns the version that was given out, else the one that is published now.
    async fn find_version(&self, id: RecordId) -> Option<u32> {
        let seen = lock(&self.shared.uses).seen.get(&id).copied();
        if seen.is_some() {
            return seen;
        }
        let found = self.store.get(&self.caller, id, None).await;
        found.ok().map(|record| record.version.0)
    }

    /// Whether no version so new was used before; from now on it was.
    fn mark_used_if_new(&self, id: RecordId, version: u32) -> bool {
        let mut uses = lock(&self.shared.uses);
        let used = uses.used.entry(id).or_default();
        let is_new = *used < version;
        *used = version.max(*used);
        is_new
    }
}

/// Returns how a run scores what it used, 0..1; nothing if something outside the run ended it.
pub fn score_run(run: &RunEnding) -> Option<f32> {
    match (run.quality, run.fail_kind) {
        (_, Some(fail)) if fail.is_exogenous() => None,
        (Some(quality), _) => Some(quality),
        (None, Some(_)) => Some(0.0),
        (None, None) => Some(COMPLETED),
    }
}

/// Builds the question to the store: words and a number, without what narrows them.
fn build_query(request: &RecallRequest) -> GlobalQuery {
    let narrowed = !request.filter.is_empty() || request.as_of.is_some();
    let top_k = if narrowed {
        request
            .top_k
            .saturating_mul(NARROWED)
            .min(reprise_types::limits::TOP_K_MAX)
    } else {
        request.top_k
    };
    GlobalQuery::new(request.query.as_str(), top_k)
}

/// Whether a hit may answer a request. What others published is in no session, and in a project
/// only where it is tagged so.
fn matches_request(request: &RecallRequest, hit: &GlobalHit) -> bool {
    let (filter, record): (&MemoryFilter, _) = (&request.filter, &hit.record);
    let publication = &record.publication;
    let tags = normalize_tags(&publication.tags);
    let has = |tag: &String| {
        let mut others = filter.tag_spellings.iter().filter(|(_, of)| of == tag);
        tags.contains(tag) || others.any(|(other, _)| tags.contains(other))
    };
    let tagged = |wanted: &[String]| normalize_tags(wanted).iter().all(has);
    let tagged_any =
        |wanted: &[String]| wanted.is_empty() || normalize_tags(wanted).iter().any(has);
    let kind = publication.content_type.kind();
    let author = filter.author.as_deref();
    filter.matches_record(kind, SOURCE, record.published_at, "")
        && filter.tags.as_deref().is_none_or(tagged)
        && filter.any_tags.as_deref().is_none_or(tagged_any)
        && filter
            .project
            .as_ref()
            .is_none_or(|project| tagged(&[format!("project:{project}")]))
        && author.is_none_or(|author| author == record.author_id.as_str())
        && request.as_of.is_none_or(|at| record.published_at <= at)
}

/// The source of what others published.
const SOURCE: MemorySource = MemorySource::WriterRevision;

/// An answer with what a merge needs to know of each result. What is newer counts for no less than
/// what it contradicts, so that no bucket puts it below that.
fn attach_scores(answer: Vec<RetrievedMemory>) -> Vec<(Scores, RetrievedMemory)> {
    let mut least: HashMap<RecordId, f32> = HashMap::new();
    for older in &answer {
        if let Some(newer) = older.why.contradicted_by {
            let score = least.entry(newer).or_default();
            *score = score.max(older.score);
        }
    }
    let scored = answer.into_iter().map(|found| {
        let least = least.get(&found.record.id);
        let scores = Scores {
            score: least.copied().unwrap_or_default().max(found.score),
            sona_score: found.sona_score,
            quality: found.published.as_ref().map(|by| by.quality),
        };
        (scores, found)
    });
    scored.collect()
}

impl From<GlobalHit> for RetrievedMemory {
    fn from(hit: GlobalHit) -> Self {
        let record = hit.record;
        let publication = &record.publication;
        let mut metadata = serde_json::Map::new();
        metadata.insert("title".to_owned(), json!(publication.title));
        metadata.insert("content_type".to_owned(), json!(publication.content_type));
        metadata.insert("access_policy".to_owned(), json!(publication.access_policy));
        if let Some(project) = &publication.project {
            metadata.insert("project".to_owned(), json!(project));
        }
        metadata.insert("licence".to_owned(), json!(publication.licence));
        metadata.insert("checksum".to_owned(), json!(record.checksum));
        let kind = publication.content_type.kind();
        let mut body = RecordBody::new(publication.search_text(), SOURCE, kind);
        body.quality_score = Some(record.quality_metrics.avg_trajectory_score);
        body.metadata = metadata;
        body.tags.clone_from(&publication.tags);
        body.visibility = Visibility::Published;
        Self {
            score: hit.score,
            sona_score: hit.sona_score,
            why: hit.why,
            shown: false,
            published: Some(PublicationOrigin {
                author: record.author_id.clone(),
                version: record.version.to_string(),
                quality: record.quality_metrics.quality(),
            }),
            record: body.into_record(record.id, record.published_at),
        }
    }
}

#[cfg(test)]
impl GlobalTier {
    pub(crate) fn answered_in(&self, took: Duration) {
        self.shared.note_duration(took);
    }

    pub(crate) fn wait_limit(&self) -> Duration {
        self.shared.wait_limit(self.options.deadline)
    }
}
