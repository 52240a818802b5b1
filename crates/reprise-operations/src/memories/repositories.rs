//! Lessons that arrive with checkouts the user trusts: each repository's stand in a memory of their
//! own beside the user's, made anew as its files change, and answer with it as what others said.

use std::path::Path;

use reprise_engine::{ForgetSelector, decide};
use reprise_knowledge::{
    Shared, SharedState, Trusted, read_shared, shared_state, trusted_file, trusted_in,
};
use reprise_types::{PublishedBy, Recall};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use crate::prelude::*;

/// Most checkouts that answer for one user.
const CHECKOUTS_MAX: usize = 16;
/// How long a recall waits for files of all checkouts that changed, and then for what they say;
/// what is late is there for the next.
const PATIENCE: [Duration; 2] = [Duration::from_millis(1_500), Duration::from_millis(400)];
/// The same of a hook.
const PATIENCE_OF_A_HOOK: [Duration; 2] = [Duration::from_millis(30), Duration::from_millis(40)];

/// The checkouts that are trusted, as a file of the data directory lists them.
#[derive(Debug, Clone, Default)]
pub struct Repositories {
    file: Option<PathBuf>,
    /// What was read of each.
    seen: Arc<Mutex<BTreeMap<PathBuf, SharedState>>>,
}

impl Repositories {
    /// Those that are listed in a data directory, in the file that [`trusted_file`] names.
    #[must_use]
    pub fn of_data(data: &Path) -> Self {
        Self {
            file: Some(trusted_file(data)),
            seen: Arc::default(),
        }
    }

    /// Whoever is trusted; nobody where the file cannot be read.
    pub fn trusted(&self) -> Vec<Trusted> {
        let read = self.file.as_ref().map(|file| trusted_in(file));
        read.and_then(Result::ok).unwrap_or_default()
    }
}

/// What a repository shares, without secrets.
pub fn shared_by(root: &Path, project: &str) -> Result<Shared, String> {
    read_shared(root, project, &without_secrets).map_err(|error| error.to_string())
}

/// A text without its secrets, and the rule that found each.
pub fn without_secrets(text: &str) -> (String, Vec<String>) {
    let redacted = Redactor::new().redact_text(text);
    let rules = redacted.removed.into_iter().map(|removed| removed.rule);
    (redacted.text, rules.collect())
}

impl Memory {
    /// What a recall found, and what the checkouts share that this user trusts; for a hook those of
    /// its project alone, and soon.
    pub(super) async fn with_repositories(
        &self,
        request: &RecallRequest,
        project: Option<&str>,
        mut recall: Recall,
    ) -> Recall {
        if request.as_of.is_some() || request.top_k == 0 {
            return recall;
        }
        let [to_read, to_answer] = project.map_or(PATIENCE, |_| PATIENCE_OF_A_HOOK);
        let read_by = Instant::now() + to_read;
        let answer_by = read_by + to_answer;
        let mut found = Vec::new();
        for (checkout, memory) in self.checkouts(project) {
            let fresh = self.refreshed(checkout, memory.clone());
            if timeout_at(read_by, fresh).await.is_err() {
                tracing::debug!(%memory, "lessons of a checkout are still being read");
            }
            let left = answer_by.saturating_duration_since(Instant::now());
            let memory = self.all.of(&memory);
            match memory.recall_within(request.clone(), left).await {
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
            one.published = by_file(&one.record);
            let results = &mut recall.results;
            let place = results
                .iter()
                .position(|own| own.sona_score < one.sona_score);
            results.insert(place.unwrap_or(results.len()), one);
        }
        recall.results.truncate(request.top_k);
        decide(&mut recall);
        recall
    }

    /// A lesson of a checkout, by its id.
    pub(crate) async fn of_repositories(&self, name: &str) -> Option<MemoryRecord> {
        for (_, memory) in self.checkouts(None) {
            if !self.all.service.has_memory(&memory) {
                continue;
            }
            if let Ok(record) = self.all.of(&memory).record(name).await {
                return Some(record);
            }
        }
        None
    }

    fn checkouts(&self, project: Option<&str>) -> Vec<(Trusted, UserId)> {
        if self.user.is_of_repository() {
            return Vec::new();
        }
        let trusted = self.all.around.repositories.trusted().into_iter();
        let own = trusted
            .filter(|one| one.user == self.user)
            .filter(|one| project.is_none_or(|project| one.project == project))
            .take(CHECKOUTS_MAX);
        own.filter_map(|one| Some((one.clone(), one.memory()?)))
            .collect()
    }

    /// Brings the memory of a checkout up to what its files say, where they have changed. Goes on
    /// to its end whoever waits.
    async fn refreshed(&self, checkout: Trusted, memory: UserId) {
        let all = self.all.clone();
        let task = tokio::spawn(async move {
            let seen = Arc::clone(&all.around.repositories.seen);
            let mut seen = seen.lock().await;
            let root = checkout.root.clone();
            let looked = lent(move || shared_state(&root)).await;
            let state = match looked {
                Ok(Ok(state)) => state,
                _ => SharedState::new(),
            };
            if seen.get(&checkout.root) == Some(&state) {
                return;
            }
            match all.taken_from(&checkout, &memory).await {
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
    async fn taken_from(&self, checkout: &Trusted, memory: &UserId) -> Result<(), Problem> {
        let of = checkout.clone();
        let read = lent(move || {
            let project = reprise_knowledge::Project::of(&of.root);
            // Another repository stands at its place by now, or none.
            let is_it = project.is_some_and(|project| project.name() == of.project);
            is_it.then(|| shared_by(&of.root, &of.project))
        });
        // What leads elsewhere by now, or cannot be read, says nothing.
        let shared = match read.await.map_err(Problem::invalid)? {
            Some(Ok(shared)) => shared,
            Some(Err(why)) => Shared {
                problems: vec![why],
                ..Shared::default()
            },
            None => Shared::default(),
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
            let left = move |engine: &mut Engine| to_bring(engine, wanted, now);
            let left = self.of(memory).with_engine(left).await?;
            left.map_err(|error| Problem::invalid(error.to_string()))?
        } else {
            wanted
        };
        let new: Vec<_> = new.into_values().map(Ok).collect();
        if !new.is_empty() {
            self.of(memory).observe_read(new).await?;
        }
        Ok(())
    }
}

/// Forgets what no file says any more. Answers what is still to be kept, by its name: under another
/// one where it was forgotten before, as when a branch is left and come back to.
fn to_bring(
    engine: &mut Engine,
    mut wanted: BTreeMap<ExternalId, NewRecord>,
    now: DateTime<Utc>,
) -> Result<BTreeMap<ExternalId, NewRecord>, EngineError> {
    let held = engine.snapshot();
    let held: Vec<MemoryRecord> = held.records().filter_map(Result::ok).collect();
    for record in held {
        let mut names = record.external_ids.iter().map(first_name);
        if !names.any(|name| wanted.remove(&name).is_some()) {
            let gone = ForgetSelector::Id(record.id);
            engine.forget(&gone, "no file of its repository says it", now)?;
        }
    }
    for name in wanted.values_mut().flat_map(|new| &mut new.external_ids) {
        let first = name.id.clone();
        let mut times = 0_u32;
        while engine.duplicate_of(name).is_some() {
            times += 1;
            name.id = format!("{first}/{times}");
        }
    }
    Ok(wanted)
}

/// The name that a lesson has by its file, whichever time it is kept.
fn first_name(name: &ExternalId) -> ExternalId {
    let first = name.id.split('/').next().unwrap_or_default();
    ExternalId::new(name.namespace.clone(), first)
}

/// Where a lesson of a checkout comes from.
fn by_file(record: &MemoryRecord) -> Option<PublishedBy> {
    Some(PublishedBy {
        author: PublishedBy::REPOSITORY.parse().ok()?,
        version: record.provenance.source_refs.first()?.clone(),
        quality: 0.5,
    })
}
