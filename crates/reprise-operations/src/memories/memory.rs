//! One user's memory, as one request may use it.

use reprise_agent::{IntakeOptions, MemoryService};
use reprise_engine::EngineStats;

use super::{ChangeKind, ChangeNotice, MemoryChange};
use crate::prelude::*;

/// Most sessions that a message names of those that begin alike.
const SESSIONS_NAMED: usize = 3;

/// What a request says, for comparison with one of the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequestContents {
    /// The hash of its operation and arguments, without their secrets.
    Arguments(String),
    /// Records, whose secrets are removed one by one; their hash is made when that is done.
    Records,
}

/// How a request wants its records kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct WriteOptions {
    /// The request's own name: sent again with the same name, it changes nothing more.
    pub(crate) key: Option<String>,
    /// What the request says, if its name may stand for nothing else.
    pub(crate) contents: Option<RequestContents>,
    /// How its records are taken in.
    pub(crate) intake: IntakeOptions,
    /// Whether a record that is known by its external ids and says something else is replaced.
    pub(crate) updates: bool,
    /// The records that the one record replaces: they are retired into it in the same commit.
    pub(crate) stands_for: Vec<RecordId>,
}

/// Longest name of an agent's program that is kept, in characters.
const AGENT_NAME_CHARS: usize = 64;

/// What operations run over. Cheap to clone.
#[derive(Clone)]
pub struct Memory {
    pub(crate) all: Memories,
    pub(crate) user: UserId,
    pub(crate) options: WriteOptions,
    pub(crate) is_on_machine: bool,
    pub(crate) is_agent: bool,
    /// The agent's program, as it names itself.
    pub(crate) agent: Option<String>,
    pub(crate) asker: Option<String>,
    pub(crate) is_noted: bool,
}

reprise_types::show_fields!(Memory { user, options });

impl Memories {
    /// One user's memory, for a request from another machine.
    pub fn user_memory(&self, user: &UserId) -> Memory {
        Memory {
            all: self.clone(),
            user: user.clone(),
            options: WriteOptions::default(),
            is_on_machine: false,
            is_agent: false,
            agent: None,
            asker: None,
            is_noted: true,
        }
    }
}

impl Memory {
    /// Sets the request's name: a request sent again with the same name changes nothing more.
    #[must_use]
    pub fn with_request_key(mut self, key: Option<String>) -> Self {
        self.options.contents = None;
        self.options.key = key.map(|key| Redactor::new().redacted_name(&key).into_owned());
        self
    }

    /// Marks the caller as a program of this machine.
    #[must_use]
    pub fn with_machine_caller(mut self) -> Self {
        self.is_on_machine = true;
        self
    }

    /// Sets who asks, as the caller knows it: a token, or the page.
    #[must_use]
    pub fn with_asker(mut self, asker: String) -> Self {
        self.asker = Some(asker);
        self
    }

    /// Leaves its recalls out of the list of recent ones, for questions that are still being typed.
    #[must_use]
    pub fn without_recall_notes(mut self) -> Self {
        self.is_noted = false;
        self
    }

    /// Marks the caller as an agent, not a person.
    pub(crate) fn with_agent_caller(mut self) -> Self {
        self.is_agent = true;
        self
    }

    /// Sets the name that the agent's program says of itself, on one line and without secrets; what
    /// it stores and changes keeps it.
    #[must_use]
    pub fn with_agent_name(mut self, name: &str) -> Self {
        let name = Redactor::new().redact_text(&to_one_line(name)).text;
        let name: String = name.trim().chars().take(AGENT_NAME_CHARS).collect();
        self.agent = Some(name).filter(|name| !name.is_empty());
        self
    }

    /// Whether an agent asks: what is sensitive it gets by its id alone.
    pub fn is_for_agent(&self) -> bool {
        self.is_agent
    }

    /// Keeps texts as they are, secrets included; only for programs of this machine.
    pub(crate) fn with_verbatim_texts(&self) -> Result<Self, Problem> {
        if !self.is_on_machine {
            return Err(Problem::new(
                ProblemKind::Forbidden,
                "secrets are removed before memories are stored; leave out `verbatim`",
            ));
        }
        let mut memory = self.clone();
        memory.options.intake.keeps_secrets = true;
        Ok(memory)
    }

    /// Refuses requests from another machine.
    pub(crate) fn refuse_remote_callers(&self) -> Result<(), Problem> {
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

    /// Whether a program of this machine asks.
    pub fn is_for_machine(&self) -> bool {
        self.is_on_machine
    }

    /// Who asks, as the caller knows it: a token, or the page.
    pub fn asker(&self) -> Option<&str> {
        self.asker.as_deref()
    }

    /// Every memory of this process.
    pub fn all_memories(&self) -> &Memories {
        &self.all
    }

    pub(crate) fn request_key(&self) -> Option<&str> {
        self.options.key.as_deref()
    }

    /// The request's own name for one thing that it does.
    pub(crate) fn name_within_request(&self, what: &str) -> Option<ExternalId> {
        let name = self.request_key().map(|key| format!("{key}/{what}"));
        name.map(|name| ExternalId::new(ExternalId::REQUEST, name))
    }

    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.all.clock.now()
    }

    pub(crate) fn unix_ms(&self) -> u64 {
        u64::try_from(self.now().timestamp_millis()).unwrap_or_default()
    }

    /// Returns the caller's calendar, which is this machine's.
    pub fn calendar(&self) -> Calendar {
        Calendar::in_machine_zone(self.now())
    }

    /// Whether anything was ever kept.
    pub(crate) fn exists(&self) -> bool {
        self.all.service.has_memory(&self.user)
    }

    /// Tells listeners what has changed, after it is on disk.
    pub(crate) fn announce_change(&self, what: &'static str, ids: Vec<RecordId>) {
        if what == "forgotten" {
            self.all.recalls.forget_user(&self.user);
            self.all.told.forget_user(&self.user);
            self.all.taken_back.forget_user(&self.user);
        }
        let kind = match what {
            "forgotten" => Some(ChangeKind::Forgotten),
            "updated" | "retagged" => Some(ChangeKind::Tagged),
            "linked" => Some(ChangeKind::Linked),
            "unlinked" => Some(ChangeKind::Unlinked),
            "consolidated" => Some(ChangeKind::Merged),
            _ => None,
        };
        if let Some(kind) = kind {
            self.note_change(kind, &ids);
        }
        self.send_change(what, ids, Map::new());
    }

    /// Tells listeners what a decision put away, which may be that two memories are the same.
    pub(crate) fn announce_decision(&self, ids: Vec<RecordId>, is_merge: bool) {
        let kind = if is_merge {
            ChangeKind::Merged
        } else {
            ChangeKind::Decided
        };
        self.note_change(kind, &ids);
        self.send_change("consolidated", ids, Map::new());
    }

    /// Notifies listeners of a change, with the further fields of its event.
    pub(crate) fn send_change(
        &self,
        what: &'static str,
        ids: Vec<RecordId>,
        event: Map<String, Value>,
    ) {
        let user = self.user.clone();
        let change = MemoryChange {
            user,
            what,
            ids,
            event,
        };
        if let Some(told) = ChangeNotice::of(&change, self.now()) {
            self.all.told.note(&self.user, told);
        }
        // Nobody may be listening.
        let _heard = self.all.changes.send(change).is_ok();
    }

    /// Makes each tag the one that is meant; answers what else each may be kept as, `(spelling,
    /// tag)`: an alias is no reason to lose what came before it.
    pub(crate) fn resolve_tags(&self, tags: &mut Vec<String>) -> Vec<(String, String)> {
        *tags = self.all.around.tags.resolve_tags(tags);
        self.all.around.tags.list_aliases_of(tags)
    }

    /// Makes each tag of a filter the one that is meant, with what else each may be kept as.
    pub(crate) fn resolve_filter_tags(&self, filter: &mut MemoryFilter) {
        for tags in [&mut filter.tags, &mut filter.any_tags]
            .into_iter()
            .flatten()
        {
            filter.tag_spellings.extend(self.resolve_tags(tags));
        }
    }

    /// Makes the beginning of a session's name its whole name; an error where several begin so.
    pub(crate) async fn resolve_session(&self, name: &mut String) -> Result<(), Problem> {
        if !self.exists() {
            return Ok(());
        }
        let wanted = name.clone();
        let find = self.run_on_snapshot(move |memory| memory.find_sessions(&wanted));
        let mut found = find.await?;
        if found.len() > 1 {
            let count = found.len();
            found.sort_unstable();
            found.truncate(SESSIONS_NAMED);
            return Err(Problem::invalid(format!(
                "{count} sessions begin with `{name}`, `{}` among them; write more of the name",
                found.join("`, `")
            )));
        }
        if let Some(whole) = found.pop() {
            *name = whole;
        }
        Ok(())
    }

    /// Makes tags and session of a filter those that are meant, for a caller in this process: of
    /// arguments the session is whole by then.
    pub(crate) async fn resolve_filter(&self, filter: &mut MemoryFilter) -> Result<(), Problem> {
        self.resolve_filter_tags(filter);
        match &mut filter.session_id {
            Some(session) => self.resolve_session(session).await,
            None => Ok(()),
        }
    }

    /// The tags that are meant, with all that each may be kept as.
    pub(crate) fn list_tag_spellings(&self, tags: &[String]) -> Vec<String> {
        let mut all = tags.to_vec();
        let aliases = self.resolve_tags(&mut all);
        all.extend(aliases.into_iter().map(|(alias, _)| alias));
        all
    }

    /// Reads it as of now, on a thread that may wait for the disk.
    pub(crate) async fn run_on_snapshot<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Snapshot) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let snapshot = self.snapshot().await?;
        Ok(run_blocking(move || read(&snapshot)).await?)
    }

    /// Works on its engine, between commits.
    pub(crate) async fn run_on_engine<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Engine) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        Ok(self
            .require_service()?
            .with_engine(&self.user, work)
            .await?)
    }

    /// Counts its records and bytes without blocking the writer; reads every record.
    pub(crate) async fn stats(&self) -> Result<EngineStats, Problem> {
        Ok(self.require_service()?.provider(&self.user).stats().await?)
    }

    /// Counts the damaged bytes of its file; reads all of it without blocking the writer.
    pub async fn damaged_bytes(&self) -> Result<u64, Problem> {
        Ok(self
            .run_on_snapshot(Snapshot::count_damaged_bytes)
            .await??)
    }

    /// The vector of a question that no recall asked; `None` where there is no model for it.
    pub(crate) async fn query_vector(&self, query: &str) -> Option<Embedding> {
        self.all.service.query_vector(Some(&self.user), query).await
    }

    /// Its present moment, opened where it sleeps.
    pub(crate) async fn snapshot(&self) -> Result<Arc<Snapshot>, Problem> {
        Ok(self.require_service()?.snapshot(&self.user).await?)
    }

    /// The service that runs it, where anything was ever kept.
    pub(crate) fn require_service(&self) -> Result<&MemoryService, Problem> {
        self.refuse_unknown_user()?;
        Ok(&self.all.service)
    }

    /// A slip in a user's name makes no memory: only what is kept does.
    pub(crate) fn refuse_unknown_user(&self) -> Result<(), Problem> {
        if self.exists() {
            return Ok(());
        }
        Err(Problem::not_found(describe_empty_memory(&self.user)))
    }
}

/// Says that nothing was ever kept for a user, and what to do.
#[must_use]
pub fn describe_empty_memory(user: &UserId) -> String {
    format!(
        "`{user}` has no memories yet; bring in your agents' sessions with `reprise setup`, add one \
         with `reprise learn`, or name another user with --user"
    )
}
