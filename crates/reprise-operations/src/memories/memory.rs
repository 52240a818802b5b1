//! One user's memory, as one request may use it.

use reprise_agent::Intake;
use reprise_engine::{CheckpointOutcome, CompactionOutcome, EngineStats};
use reprise_types::Recall;

use super::PastRecall;
use crate::prelude::*;

/// How a request wants its records kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct WriteOptions {
    /// The request's own name: sent again with the same name, it changes nothing more.
    pub(super) key: Option<String>,
    /// How its records are taken in.
    pub(super) intake: Intake,
    /// Whether a record that is known by its external ids and says something else is replaced.
    pub(super) updates: bool,
    /// The records that the one record stands for: they are put behind it in the same commit.
    pub(super) stands_for: Vec<RecordId>,
}

/// What operations run over. Cheap to clone.
#[derive(Clone)]
pub struct Memory {
    pub(super) all: Memories,
    pub(super) user: UserId,
    pub(super) options: WriteOptions,
    is_on_machine: bool,
    pub(super) is_agent: bool,
    pub(super) asker: Option<String>,
    is_noted: bool,
}

reprise_types::show_fields!(Memory { user, options });

impl Memories {
    /// One user's memory, for a request from another machine.
    pub fn of(&self, user: &UserId) -> Memory {
        Memory::new(self.clone(), user.clone())
    }
}

impl Memory {
    pub(super) fn new(all: Memories, user: UserId) -> Self {
        Self {
            all,
            user,
            options: WriteOptions::default(),
            is_on_machine: false,
            is_agent: false,
            asker: None,
            is_noted: true,
        }
    }

    /// The same for a request of this name: sent again, it changes nothing more.
    #[must_use]
    pub fn keyed(mut self, key: Option<String>) -> Self {
        self.options.key = key.map(|key| Redactor::new().name_of(&key).into_owned());
        self
    }

    /// The same for a record that stands for these.
    #[must_use]
    pub(crate) fn standing_for(mut self, ids: Vec<RecordId>) -> Self {
        self.options.stands_for = ids;
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

    pub(super) fn is_on_machine(&self) -> bool {
        self.is_on_machine
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

    /// The same; what is known by its external ids and says something else is replaced.
    pub(crate) fn updating(mut self) -> Self {
        self.options.updates = true;
        self
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
        self.all.unix_ms()
    }

    pub(crate) fn calendar(&self) -> Calendar {
        self.all.calendar()
    }

    /// Whether anything was ever kept.
    pub(crate) fn exists(&self) -> bool {
        self.all.service.has_memory(&self.user)
    }

    /// Tells listeners what has changed, after it is on disk.
    pub(crate) fn tell(&self, what: &'static str, ids: Vec<RecordId>) {
        self.all.tell(&self.user, what, ids);
    }

    /// Makes each tag the one that is meant; answers what else each may be kept as, `(spelling,
    /// tag)`: an alias is no reason to lose what came before it.
    pub(crate) fn resolve_tags(&self, tags: &mut Vec<String>) -> Vec<(String, String)> {
        *tags = self.all.tag_rules.resolve(tags);
        self.all.tag_rules.aliases_of(tags)
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
        self.all.read(&self.user, read).await
    }

    /// Works on its engine, between commits.
    pub(crate) async fn with_engine<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Engine) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        self.all.with_engine(&self.user, work).await
    }

    /// Counts it beside its writer: a pass over all records.
    pub(crate) async fn stats(&self) -> Result<EngineStats, Problem> {
        self.refuse_missing()?;
        Ok(self.all.service.provider(&self.user).stats().await?)
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
                let id = self.all.recall_id();
                Ok(self.tier().await?.alone(&request, id).await?)
            }
        }
    }

    async fn recall_own(
        &self,
        request: RecallRequest,
        vector: Option<Embedding>,
    ) -> Result<Recall, Problem> {
        let query = request.query.clone();
        let asked = request.clone();
        let found = async {
            let recall = self.all.recall(&self.user, request, vector).await?;
            Ok(self.with_repositories(&asked, None, recall).await)
        };
        self.noted(&query, found).await
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

    pub(crate) async fn snapshot(&self) -> Result<Arc<Snapshot>, Problem> {
        self.all.snapshot(&self.user).await
    }

    /// A slip in a user's name makes no memory: only what is kept does.
    pub(crate) fn refuse_missing(&self) -> Result<(), Problem> {
        self.all.refuse_unknown(&self.user)
    }

    /// Saves what makes its next opening quick, beside its writer.
    pub(crate) async fn checkpoint(&self) -> Result<CheckpointOutcome, Problem> {
        self.refuse_missing()?;
        Ok(self.all.service.checkpoint(&self.user).await?)
    }

    /// Rewrites its file without what was forgotten.
    pub(crate) async fn compact(&self) -> Result<CompactionOutcome, Problem> {
        self.refuse_missing()?;
        Ok(self.all.service.compact(&self.user).await?)
    }

    /// Embeds some of what waits for the model in use; whether it is worth going on.
    pub(crate) async fn embed_waiting(&self) -> Result<bool, Problem> {
        self.refuse_missing()?;
        Ok(self.all.service.embed_waiting(&self.user).await?)
    }

    /// Closes its file, so that another program can have it; the next request opens it again.
    pub(crate) async fn release(&self) -> Result<(), Problem> {
        Ok(self.all.service.release(&self.user).await?)
    }
}
