//! Lessons that arrive with checkouts the user trusts: those of each repository are kept in a
//! memory of their own, which is updated as its files change and recalled as other people's words.

use std::path::Path;

use reprise_engine::{ForgetSelector, decide_shown};
use reprise_knowledge::{
    SharedLessons, SharedState, TrustedCheckout, read_shared_lessons, read_shared_state,
    read_trusted_checkouts, trusted_list_path,
};
use reprise_types::{PublicationOrigin, RecallResponse};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use crate::operations::recall::PromptReader;
use crate::prelude::*;

/// Most checkouts that answer for one user.
const CHECKOUTS_MAX: usize = 16;
/// How long a recall that was asked for on purpose waits for files of all checkouts that changed,
/// and then for what they say; what is late is there for the next.
const READ_WITHIN: Duration = Duration::from_secs(5);
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// Shares of a hook's deadline for the same two: 30 ms and 40 ms of 250 ms.
const READ_SHARE: (u32, u32) = (3, 25);
const ANSWER_SHARE: (u32, u32) = (4, 25);

/// The checkouts that are trusted, as a file of the data directory lists them.
#[derive(Debug, Clone, Default)]
pub struct Repositories {
    file: Option<PathBuf>,
    /// What was read of each.
    seen: Arc<Mutex<BTreeMap<PathBuf, SharedState>>>,
}

impl Repositories {
    /// Those that are listed in a data directory, in the file that [`trusted_list_path`] names.
    #[must_use]
    pub fn in_data_dir(data: &Path) -> Self {
        Self {
            file: Some(trusted_list_path(data)),
            seen: Arc::default(),
        }
    }

    /// Lists the trusted checkouts; none if the file cannot be read.
    pub fn list_trusted(&self) -> Vec<TrustedCheckout> {
        let read = self.file.as_ref().map(|file| read_trusted_checkouts(file));
        read.and_then(Result::ok).unwrap_or_default()
    }
}

/// What a repository shares, without secrets.
pub fn read_redacted_lessons(root: &Path, project: &str) -> Result<SharedLessons, String> {
    read_shared_lessons(root, project, &redact_and_list_rules).map_err(|error| error.to_string())
}

/// A text without its secrets, and the rule that found each.
pub fn redact_and_list_rules(text: &str) -> (String, Vec<String>) {
    let redacted = Redactor::new().redact_text(text);
    let rules = redacted.removed.into_iter().map(|removed| removed.rule);
    (redacted.text, rules.collect())
}

impl Memory {
    /// What a recall found, and what the checkouts share that this user trusts; for a hook those of
    /// its project alone, and soon.
    pub(in crate::operations) async fn add_repository_hits(
        &self,
        request: &RecallRequest,
        hook: Option<&PromptReader>,
        mut recall: RecallResponse,
    ) -> RecallResponse {
        if request.as_of.is_some() || request.top_k == 0 {
            return recall;
        }
        let project = hook.map(|hook| hook.project.as_str());
        let (to_read, to_answer) = hook.map_or((READ_WITHIN, ANSWER_WITHIN), |hook| {
            let part = |share: (u32, u32)| hook.deadline * share.0 / share.1;
            (part(READ_SHARE), part(ANSWER_SHARE))
        });
        let read_by = Instant::now() + to_read;
        let answer_by = read_by + to_answer;
        let mut found = Vec::new();
        for (checkout, memory) in self.list_checkouts(project) {
            let fresh = self.refresh_checkout(checkout, memory.clone());
            if timeout_at(read_by, fresh).await.is_err() {
                tracing::debug!(%memory, "lessons of a checkout are still being read");
            }
            let left = answer_by.saturating_duration_since(Instant::now());
            let memory = self.all.user_memory(&memory);
            let shared = memory.rank_own(request.clone(), None, Some(left));
            match shared.await {
                Ok(shared) => {
                    recall.considered += shared.considered;
                    found.extend(shared.results);
                }
                Err(problem) => tracing::warn!(%problem, "a checkout's lessons do not answer"),
            }
        }
        if found.is_empty() {
            return recall;
        }
        for mut one in found {
            one.published = checkout_origin(&one.record);
            let results = &mut recall.results;
            let place = results
                .iter()
                .position(|own| own.sona_score < one.sona_score);
            results.insert(place.unwrap_or(results.len()), one);
        }
        recall.results.truncate(request.top_k);
        decide_shown(&mut recall);
        recall
    }

    /// A lesson of a checkout, by its id.
    pub(crate) async fn find_repository_lesson(&self, name: &str) -> Option<MemoryRecord> {
        for (_, memory) in self.list_checkouts(None) {
            if !self.all.service.has_memory(&memory) {
                continue;
            }
            if let Ok(record) = self.all.user_memory(&memory).get_record(name).await {
                return Some(record);
            }
        }
        None
    }

    fn list_checkouts(&self, project: Option<&str>) -> Vec<(TrustedCheckout, UserId)> {
        if self.user.is_repository_memory() {
            return Vec::new();
        }
        let trusted = self.all.around.repositories.list_trusted().into_iter();
        let own = trusted
            .filter(|one| one.user == self.user)
            .filter(|one| project.is_none_or(|project| one.project == project))
            .take(CHECKOUTS_MAX);
        own.filter_map(|one| Some((one.clone(), one.memory_id()?)))
            .collect()
    }

    /// Updates the memory of a checkout if its files have changed. Runs to its end even if nobody
    /// waits for it any more.
    async fn refresh_checkout(&self, checkout: TrustedCheckout, memory: UserId) {
        let all = self.all.clone();
        let task = tokio::spawn(async move {
            let seen = Arc::clone(&all.around.repositories.seen);
            let mut seen = seen.lock().await;
            let root = checkout.root.clone();
            let looked = run_blocking(move || read_shared_state(&root)).await;
            let state = match looked {
                Ok(Ok(state)) => state,
                _ => SharedState::new(),
            };
            if seen.get(&checkout.root) == Some(&state) {
                return;
            }
            match all.import_checkout(&checkout, &memory).await {
                Ok(()) => drop(seen.insert(checkout.root, state)),
                Err(problem) => tracing::warn!(%problem, "lessons of a checkout were not read"),
            }
        });
        // A task that panicked is logged by the runtime.
        drop(task.await);
    }
}

impl Memories {
    /// Has a checkout's memory say what its files say now.
    async fn import_checkout(
        &self,
        checkout: &TrustedCheckout,
        memory: &UserId,
    ) -> Result<(), Problem> {
        let of = checkout.clone();
        let read = run_blocking(move || {
            let project = reprise_knowledge::Project::of(&of.root);
            // Another repository is at its path by now, or none.
            let is_it = project.is_some_and(|project| project.name() == of.project);
            is_it.then(|| read_redacted_lessons(&of.root, &of.project))
        });
        // What leads elsewhere by now, or cannot be read, says nothing.
        let shared = match read.await? {
            Some(Ok(shared)) => shared,
            Some(Err(why)) => SharedLessons {
                problems: vec![why],
                ..SharedLessons::default()
            },
            None => SharedLessons::default(),
        };
        for problem in &shared.problems {
            tracing::warn!(root = %checkout.root.display(), %problem, "a shared file");
        }
        let wanted: BTreeMap<ExternalId, NewRecord> = shared
            .lessons
            .into_iter()
            .filter_map(|lesson| Some((lesson.external_ids.first()?.clone(), lesson)))
            .collect();
        let new = if self.service.has_memory(memory) {
            let now = self.clock.now();
            let left = move |engine: &mut Engine| forget_removed_lessons(engine, wanted, now);
            let left = self.user_memory(memory).run_on_engine(left).await?;
            left.map_err(|error| Problem::invalid(error.to_string()))?
        } else {
            wanted
        };
        let new: Vec<_> = new.into_values().map(Ok).collect();
        if !new.is_empty() {
            self.user_memory(memory).store_parsed_records(new).await?;
        }
        Ok(())
    }
}

/// Forgets what no file says any more. Answers what is still to be kept, by its name: under another
/// one where it was forgotten before, as when a branch is left and come back to.
fn forget_removed_lessons(
    engine: &mut Engine,
    mut wanted: BTreeMap<ExternalId, NewRecord>,
    now: DateTime<Utc>,
) -> Result<BTreeMap<ExternalId, NewRecord>, EngineError> {
    let held = engine.snapshot();
    let held: Vec<MemoryRecord> = held.records().filter_map(Result::ok).collect();
    for record in held {
        let mut names = record.external_ids.iter().map(name_without_suffix);
        if !names.any(|name| wanted.remove(&name).is_some()) {
            let gone = ForgetSelector::Id(record.id);
            engine.forget(&gone, "no file of its repository says it", now)?;
        }
    }
    let memory = engine.snapshot();
    for name in wanted.values_mut().flat_map(|new| &mut new.external_ids) {
        let first = name.id.clone();
        let mut times = 0_u32;
        while memory.find_by_external_id(name).is_some() {
            times += 1;
            name.id = format!("{first}/{times}");
        }
    }
    Ok(wanted)
}

/// The name that a lesson has by its file, whichever time it is kept.
fn name_without_suffix(name: &ExternalId) -> ExternalId {
    let first = name.id.split('/').next().unwrap_or_default();
    ExternalId::new(name.namespace.clone(), first)
}

/// Where a lesson of a checkout comes from.
fn checkout_origin(record: &MemoryRecord) -> Option<PublicationOrigin> {
    Some(PublicationOrigin {
        author: PublicationOrigin::REPOSITORY.parse().ok()?,
        version: record.provenance.source_refs.first()?.clone(),
        quality: 0.5,
    })
}
