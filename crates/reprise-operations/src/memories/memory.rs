//! One user's memory, as one request may use it.

use reprise_agent::{Intake, MemoryService};
use reprise_engine::EngineStats;
use reprise_types::Recall;

use super::{Change, PastRecall, Told};
use crate::prelude::*;

/// How a request wants its records kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct WriteOptions {
    /// The request's own name: sent again with the same name, it changes nothing more.
    pub(crate) key: Option<String>,
    /// How its records are taken in.
    pub(crate) intake: Intake,
    /// Whether a record that is known by its external ids and says something else is replaced.
    pub(crate) updates: bool,
    /// The records that the one record stands for: they are put behind it in the same commit.
    pub(crate) stands_for: Vec<RecordId>,
}

/// What operations run over. Cheap to clone.
#[derive(Clone)]
pub struct Memory {
    pub(super) all: Memories,
    pub(super) user: UserId,
    pub(crate) options: WriteOptions,
    pub(super) is_on_machine: bool,
    pub(super) is_agent: bool,
    pub(super) asker: Option<String>,
    is_noted: bool,
}

reprise_types::show_fields!(Memory { user, options });

impl Memories {
    /// One user's memory, for a request from another machine.
    pub fn of(&self, user: &UserId) -> Memory {
        Memory {
            all: self.clone(),
            user: user.clone(),
            options: WriteOptions::default(),
            is_on_machine: false,
            is_agent: false,
            asker: None,
            is_noted: true,
        }
    }
}

impl Memory {
    /// The same for a request of this name: sent again, it changes nothing more.
    #[must_use]
    pub fn keyed(mut self, key: Option<String>) -> Self {
        self.options.key = key.map(|key| Redactor::new().name_of(&key).into_owned());
        self
    }

    /// The same for a program of this machine.
    #[must_use]
    pub fn on_machine(mut self) -> Self {
        self.is_on_machine = true;
        self
    }

    /// The same for whoever the caller knows by this: which token, the page.
    #[must_use]
    pub fn asked_by(mut self, asker: String) -> Self {
        self.asker = Some(asker);
        self
    }

    /// The same for whoever asks while somebody types: its recalls are not noted.
    #[must_use]
    pub fn unnoted(mut self) -> Self {
        self.is_noted = false;
        self
    }

    /// The same for an agent, who is no person.
    pub(crate) fn for_agent(mut self) -> Self {
        self.is_agent = true;
        self
    }

    /// Whether an agent asks: what is sensitive it gets by its id alone.
    pub(crate) fn is_for_agent(&self) -> bool {
        self.is_agent
    }

    /// The same, keeping texts as they are, secrets and all.
    pub(crate) fn verbatim(&self) -> Result<Self, Problem> {
        if !self.is_on_machine {
            return Err(Problem::new(
                ProblemKind::Forbidden,
                "records are redacted before they are kept; leave `verbatim` out",
            ));
        }
        let mut memory = self.clone();
        memory.options.intake.verbatim = true;
        Ok(memory)
    }

    /// Refuses requests from another machine.
    pub(crate) fn refuse_strangers(&self) -> Result<(), Problem> {
        if self.is_on_machine {
            return Ok(());
        }
        Err(Problem::new(
            ProblemKind::Forbidden,
            "whole files are merged and replaced on the daemon's own machine; run `reprise` there",
        ))
    }

    pub fn user(&self) -> &UserId {
        &self.user
    }

    /// Every memory of this process.
    pub fn all(&self) -> &Memories {
        &self.all
    }

    pub(crate) fn key(&self) -> Option<&str> {
        self.options.key.as_deref()
    }

    /// The request's own name for one thing that it does.
    pub(crate) fn request_name(&self, what: &str) -> Option<ExternalId> {
        let name = self.key().map(|key| format!("{key}/{what}"));
        name.map(|name| ExternalId::new(ExternalId::REQUEST, name))
    }

    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.all.clock.now()
    }

    pub(crate) fn unix_ms(&self) -> u64 {
        u64::try_from(self.now().timestamp_millis()).unwrap_or_default()
    }

    /// The days of whoever asks: those of this machine.
    pub(crate) fn calendar(&self) -> Calendar {
        Calendar::of_machine(self.now())
    }

    /// Whether anything was ever kept.
    pub(crate) fn exists(&self) -> bool {
        self.all.service.has_memory(&self.user)
    }

    /// Tells listeners what has changed, after it is on disk.
    pub(crate) fn tell(&self, what: &'static str, ids: Vec<RecordId>) {
        if what == "forgotten" {
            self.all.recalls.forget(&self.user);
            self.all.told.forget(&self.user);
            self.all.taken_back.forget(&self.user);
        }
        self.send(what, ids, Map::new());
    }

    /// The same, with what an event says beside.
    pub(super) fn send(&self, what: &'static str, ids: Vec<RecordId>, event: Map<String, Value>) {
        let user = self.user.clone();
        let change = Change {
            user,
            what,
            ids,
            event,
        };
        if let Some(told) = Told::of(&change, self.now()) {
            self.all.told.note(&self.user, told);
        }
        // Nobody may be listening.
        let _heard = self.all.changes.send(change).is_ok();
    }

    /// Makes each tag the one that is meant; answers what else each may be kept as, `(spelling,
    /// tag)`: an alias is no reason to lose what came before it.
    pub(crate) fn resolve_tags(&self, tags: &mut Vec<String>) -> Vec<(String, String)> {
        *tags = self.all.around.tags.resolve(tags);
        self.all.around.tags.aliases_of(tags)
    }

    /// The tags that are meant, with all that each may be kept as.
    pub(crate) fn spellings(&self, tags: &[String]) -> Vec<String> {
        let mut all = tags.to_vec();
        let aliases = self.resolve_tags(&mut all);
        all.extend(aliases.into_iter().map(|(alias, _)| alias));
        all
    }

    /// Reads it as of now, on a thread that may wait for the disk.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Snapshot) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let snapshot = self.snapshot().await?;
        let done = lent(move || read(&snapshot)).await;
        done.map_err(|error| {
            let why = format!("the records could not be read ({error}); run `reprise check`");
            Problem::new(ProblemKind::Internal, why)
        })
    }

    /// Works on its engine, between commits.
    pub(crate) async fn with_engine<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Engine) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        Ok(self.service()?.with_engine(&self.user, work).await?)
    }

    /// Counts it beside its writer: a pass over all records.
    pub(crate) async fn stats(&self) -> Result<EngineStats, Problem> {
        Ok(self.service()?.provider(&self.user).stats().await?)
    }

    /// Bytes of its file that do not hold what they should; reads all of it, beside its writer.
    pub async fn damaged_bytes(&self) -> Result<u64, Problem> {
        Ok(self.read(Snapshot::damaged_bytes).await??)
    }

    /// What a recall finds, with whole records; `vector` is the question's where the caller has it.
    pub(crate) async fn recall(
        &self,
        request: RecallRequest,
        vector: Option<Embedding>,
        scope: RecallScope,
    ) -> Result<Recall, Problem> {
        // A recall holds much: on the heap, so that whatever waits for one need not.
        let local = |request| Box::pin(self.recall_own(request, vector));
        match scope {
            RecallScope::Local => local(request).await,
            RecallScope::LocalAndGlobal => {
                let tier = self.tier().await?;
                tier.beside(&request, local(request.clone())).await
            }
            RecallScope::Global => {
                let id = self.recall_id();
                Ok(self.tier().await?.alone(&request, id).await?)
            }
        }
    }

    async fn recall_own(
        &self,
        request: RecallRequest,
        vector: Option<Embedding>,
    ) -> Result<Recall, Problem> {
        let asked = request.clone();
        let found = async {
            let recall = self.recall_alone(request, vector).await?;
            Ok(self.with_repositories(&asked, None, recall).await)
        };
        self.noted(&asked.query, found).await
    }

    /// What a recall finds, once it is noted.
    pub(super) async fn noted(
        &self,
        query: &str,
        found: impl Future<Output = Result<Recall, Problem>>,
    ) -> Result<Recall, Problem> {
        let (at, began) = (self.now(), Instant::now());
        let recall = found.await?;
        if self.is_noted && self.exists() {
            let elapsed_ms = began.elapsed().as_secs_f64() * 1e3;
            let past = PastRecall::new(at, query, &recall, elapsed_ms);
            self.all.recalls.note(&self.user, past);
        }
        Ok(recall)
    }

    /// The vector of a question that no recall asked; `None` where there is no model for it.
    pub(crate) async fn query_vector(&self, query: &str) -> Option<Embedding> {
        self.all.service.query_vector(Some(&self.user), query).await
    }

    /// Its present moment, opened where it sleeps.
    pub(crate) async fn snapshot(&self) -> Result<Arc<Snapshot>, Problem> {
        Ok(self.service()?.snapshot(&self.user).await?)
    }

    /// The service that runs it, where anything was ever kept.
    pub(crate) fn service(&self) -> Result<&MemoryService, Problem> {
        self.refuse_missing()?;
        Ok(&self.all.service)
    }

    /// A slip in a user's name makes no memory: only what is kept does.
    pub(crate) fn refuse_missing(&self) -> Result<(), Problem> {
        if self.exists() {
            return Ok(());
        }
        Err(Problem::not_found(format!(
            "user `{}` has no memory yet; keep a record first, or name another user",
            self.user
        )))
    }
}
