//! What the page asks of memory. A process that serves the page lends it.

use std::fmt;
use std::pin::Pin;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use reprise_types::{
    Calendar, ContextBlock, Link, ListRequest, MemoryRecord, Page, Recall, RecallId, RecallRequest,
    RecallScope, RecordId, Related, Retention, UserId, Visibility, WayOut, Withheld,
};
use tokio_stream::Stream;

use crate::care::PageCare;
use crate::global::PageGlobal;
use crate::prompts::PagePrompts;
use crate::refusal::Refusal;
use crate::tending::PageTending;
use crate::workspace::PageWorkspaces;

/// A user's memory and the service behind it, in numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overview {
    /// Records that can be recalled.
    pub live: u32,
    pub forgotten: u32,
    /// Records replaced by a correction.
    pub superseded: u32,
    pub sessions: u32,
    /// Live records without a vector.
    pub unembedded: u32,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Bytes that a compaction would give back.
    pub reclaimable_bytes: u64,
    /// The embedding space, as `model/version`.
    pub space: Option<String>,
    /// When the newest record was kept.
    pub last_kept: Option<DateTime<Utc>>,
    /// Recalls answered since the daemon began, with their mean and their longest time in
    /// milliseconds.
    pub recalls: u64,
    /// See `recalls`.
    pub recall_mean_ms: f64,
    /// See `recalls`.
    pub recall_longest_ms: f64,
    /// What is not as it should be, in sentences.
    pub troubles: Vec<String>,
}

/// An answer, and what a host would have been given for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Recalled {
    pub recall: Recall,
    /// The text for a prompt.
    pub context: ContextBlock,
    /// How long the recall took, in milliseconds.
    pub elapsed_ms: f64,
}

/// A question that a program asked.
#[derive(Debug, Clone, PartialEq)]
pub struct PastRecall {
    pub at: DateTime<Utc>,
    /// Its beginning.
    pub query: String,
    pub results: usize,
    pub verdict: reprise_types::Verdict,
    /// How long it took, in milliseconds.
    pub elapsed_ms: f64,
}

/// What listeners were told of learnings.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    /// A fact was learned.
    Learned {
        at: DateTime<Utc>,
        record: Option<RecordId>,
        category: String,
        fact: String,
    },
    /// Somebody went to work with so many learnings.
    Loaded {
        at: DateTime<Utc>,
        all: u64,
        decisions: u64,
        failures: u64,
    },
}

impl Told {
    #[must_use]
    pub fn at(&self) -> DateTime<Utc> {
        match self {
            Self::Learned { at, .. } | Self::Loaded { at, .. } => *at,
        }
    }
}

/// A record with all that is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Story {
    pub record: MemoryRecord,
    /// The versions that it corrected, newest first.
    pub earlier: Vec<MemoryRecord>,
    /// The records linked with it, nearest first, each with the line that names it.
    pub related: Vec<(Related, String)>,
}

/// What a person can rewrite of a record: of a lesson its title and what was learned, of any other
/// its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wording {
    /// A lesson's title.
    pub title: Option<String>,
    pub text: String,
}

impl Wording {
    #[must_use]
    pub fn of(record: &MemoryRecord) -> Self {
        let details = record.details.as_ref();
        let part = |name| Some(details?.get(name)?.as_str()?.to_owned());
        let plain = Self {
            title: None,
            text: record.text.clone(),
        };
        if part("type").as_deref() != Some("lesson") {
            return plain;
        }
        let title = Some(part("title").unwrap_or_default());
        let text = part("content").unwrap_or_default();
        Self { title, text }
    }
}

/// How long a record stays, and how far it may travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// No clean-up takes it.
    pub is_pinned: bool,
    pub seen: Seen,
}

/// How far a record may travel, as its owner says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// By its owner, until he publishes it.
    Owner,
    /// By its owner; it cannot be published.
    Private,
    /// By whoever reads the project's workspace, too.
    Workspace,
}

impl Standing {
    #[must_use]
    pub fn of(record: &MemoryRecord) -> Self {
        let seen = if record.visibility == Visibility::Workspace {
            Seen::Workspace
        } else if record.may_leave(WayOut::Publication) == Err(Withheld::Private) {
            Seen::Private
        } else {
            Seen::Owner
        };
        let is_pinned = record.retention == Retention::Pinned;
        Self { is_pinned, seen }
    }
}

/// A finished run: its name, when it ended, how it went and how that was expected, 0..1, and what
/// it used.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    pub name: String,
    pub at: DateTime<Utc>,
    pub quality: f32,
    pub expected: f32,
    pub used: Vec<RecordId>,
}

/// Finished runs, the newest first, of so many.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Runs {
    pub all: usize,
    pub newest: Vec<Run>,
    /// Records that runs say most about: the line that names it, how many used it, and how much
    /// better they went than expected.
    pub moved: Vec<(RecordId, String, usize, f32)>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TagCounts {
    /// Each with how many live records have it, the most used first.
    pub counts: Vec<(String, usize)>,
    /// Pairs that may be one word.
    pub alike: Vec<Alike>,
}

/// Two tags that may be one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alike {
    pub tag: String,
    /// The one that it may be merged into.
    pub into: String,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Learning {
    pub on: bool,
    pub runs: u64,
    pub open_runs: usize,
    /// Records that some run has used.
    pub records: usize,
    /// The largest adjustment in force, 0..1.
    pub cap: f32,
    /// The two gates by name: how far each is believed (0..1), and its t value.
    pub gates: Vec<(String, f32, f64)>,
    /// Quality of each run and what was expected of it, 0..1, oldest first.
    pub curve: Vec<(f32, f32)>,
    /// The t values of both gates after each of these runs.
    pub gate_curve: Vec<(f64, f64)>,
    /// Groups of like runs: how many, their quality, and one of them.
    pub patterns: Vec<(u64, f32, String)>,
}

/// Records kept by day, oldest first: the day, and how many there were at its end.
pub type Growth = Vec<(chrono::NaiveDate, u64)>;

/// What a compaction made of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Erased {
    /// Bytes before.
    pub bytes_before: u64,
    /// Bytes after.
    pub bytes_after: u64,
    /// Forgotten records of which the file has only the stub.
    pub forgotten: u32,
}

/// A reader's word on one result.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The answer that it was in.
    pub recall: RecallId,
    pub query: String,
    pub record: RecordId,
    pub helped: bool,
}

/// One change of a user's memory: what happened, as a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change(pub String);

/// Changes from now on, until the daemon ends.
pub type Changes = Pin<Box<dyn Stream<Item = Change> + Send>>;

/// What a process that serves the page can do for it. Every call names the user whose memory it is
/// about.
#[async_trait]
pub trait PageMemory:
    PageCare + PageGlobal + PagePrompts + PageTending + PageWorkspaces + fmt::Debug + Send + Sync
{
    /// The days of whoever looks, as of now.
    fn calendar(&self) -> Calendar;
    fn now(&self) -> DateTime<Utc>;
    /// In numbers; `None` while the user has kept nothing.
    async fn overview(&self, user: &UserId) -> Result<Option<Overview>, Refusal>;
    async fn growth(&self, user: &UserId) -> Result<Growth, Refusal>;
    /// The records that were kept last, whenever they happened, newest first.
    async fn newest(&self, user: &UserId, most: usize) -> Result<Vec<MemoryRecord>, Refusal>;
    /// What programs asked lately, newest first, as far as the daemon holds it.
    fn recalls(&self, user: &UserId) -> Vec<PastRecall>;
    /// What listeners were told of learnings lately, newest first.
    fn told(&self, user: &UserId) -> Vec<Told>;
    /// A page of records, newest first.
    async fn list(&self, user: &UserId, request: ListRequest) -> Result<Page, Refusal>;
    /// Answers a question, and says what a prompt of `budget` tokens would have got.
    async fn recall(
        &self,
        user: &UserId,
        request: RecallRequest,
        scope: RecallScope,
        budget: usize,
    ) -> Result<Recalled, Refusal>;
    /// The record of this id or external id, with its versions and its neighbours.
    async fn story(&self, user: &UserId, name: &str) -> Result<Story, Refusal>;
    /// Every link of a record, also where several lead to one.
    async fn links(&self, user: &UserId, record: RecordId) -> Result<Vec<Link>, Refusal>;
    /// Writes a corrected version; answers its id, and a sentence on the secrets that were taken
    /// out of the wording, empty without any.
    async fn correct(
        &self,
        user: &UserId,
        record: RecordId,
        wording: Wording,
    ) -> Result<(RecordId, String), Refusal>;
    /// Writes a version that stays so long and may travel so far; answers its id.
    async fn stand(
        &self,
        user: &UserId,
        record: RecordId,
        standing: Standing,
    ) -> Result<RecordId, Refusal>;
    /// Writes a version of a record that says all that `old` said; answers its id.
    async fn restore(
        &self,
        user: &UserId,
        record: RecordId,
        old: &MemoryRecord,
    ) -> Result<RecordId, Refusal>;
    /// Gives a record these tags in place of its own.
    async fn tag(&self, user: &UserId, record: RecordId, tags: Vec<String>) -> Result<(), Refusal>;
    /// Links two records; answers whether the link is new.
    async fn link(
        &self,
        user: &UserId,
        from: RecordId,
        to: &str,
        relation: &str,
    ) -> Result<Option<RecordId>, Refusal>;
    async fn unlink(
        &self,
        user: &UserId,
        from: RecordId,
        to: RecordId,
        relation: &str,
    ) -> Result<(), Refusal>;
    /// Forgets a record with all its versions; answers their ids.
    async fn forget(
        &self,
        user: &UserId,
        record: RecordId,
        reason: &str,
    ) -> Result<Vec<RecordId>, Refusal>;
    /// Keeps again what was forgotten, under an id of its own.
    async fn keep_again(&self, user: &UserId, record: MemoryRecord) -> Result<RecordId, Refusal>;
    /// Compacts the file: what was forgotten is gone from it.
    async fn erase(&self, user: &UserId) -> Result<Erased, Refusal>;
    /// Learns that a result helped, or did not.
    async fn judge(&self, user: &UserId, verdict: Verdict) -> Result<(), Refusal>;
    async fn tags(&self, user: &UserId) -> Result<TagCounts, Refusal>;
    /// Gives every record with the first tag the second in its place; answers how many.
    async fn merge_tags(&self, user: &UserId, from: &str, into: &str) -> Result<usize, Refusal>;
    async fn learning(&self, user: &UserId) -> Result<Learning, Refusal>;
    /// Runs that used this record, or any.
    async fn runs(&self, user: &UserId, of: Option<RecordId>) -> Result<Runs, Refusal>;
    /// Switches adjustments on or off.
    async fn switch_learning(&self, user: &UserId, is_on: bool) -> Result<(), Refusal>;
    fn changes(&self, user: &UserId) -> Changes;
}
