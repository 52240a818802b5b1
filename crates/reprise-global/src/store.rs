//! What every global store does.
//!
//! The seam, its questions and answers, what they may hold.

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use reprise_redact::cleaned;
use reprise_types::limits::{
    IDENTIFIER_BYTES_MAX, LIST_ITEMS_MAX, PAGE_MAX, TOP_K_DEFAULT, TOP_K_MAX, USER_ID_BYTES_MAX,
};
use reprise_types::{Degraded, Embedding, RecordId, UserId, Why, handed_over};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::caller::{Caller, OrgId};
use crate::error::{GlobalError, Result};
use crate::record::{
    CONTENT_BYTES_MAX, GlobalContentType, GlobalRecord, Publication, SUMMARY_BYTES_MAX,
    TITLE_BYTES_MAX, Version,
};
use crate::takedown::{Erased, Listed, PersonLine, PutBack, TakeDown, TakeDownDone, TakenDown};

/// Longest text that a thing is found by, in bytes.
pub(crate) const SEARCH_TEXT_BYTES_MAX: usize = TITLE_BYTES_MAX + "\n\n".len() + CONTENT_BYTES_MAX;
/// Most ids in one report.
pub const REPORTS_MAX: usize = 1_000;
/// Most uses that one report counts.
const COUNT_MAX: u32 = 10_000;

/// A text's unit vector with its space; `None` where there is no model. A store makes its own
/// vectors: none crosses the wall.
pub type TextVectors = Arc<dyn Fn(&str) -> Option<Embedding> + Send + Sync>;

/// A store of published knowledge. Every answer holds what its caller may see and nothing else.
#[async_trait]
pub trait GlobalStore: Send + Sync {
    /// Publishes a thing, or a new version of it where the caller has published its `origin`
    /// before. The same bytes again change nothing and answer what stands.
    async fn publish(&self, caller: &Caller, publication: Publication) -> Result<Published>;

    /// A published thing, in its newest version or in the one named.
    async fn get(
        &self,
        caller: &Caller,
        id: RecordId,
        version: Option<Version>,
    ) -> Result<GlobalRecord>;

    /// Its versions, newest first, without vectors: a page of them.
    async fn versions_page(
        &self,
        caller: &Caller,
        id: RecordId,
        page: ListPage,
    ) -> Result<Vec<GlobalRecord>>;

    /// All its versions, newest first, without vectors.
    async fn versions(&self, caller: &Caller, id: RecordId) -> Result<Vec<GlobalRecord>> {
        all_pages(|page| self.versions_page(caller, id, page)).await
    }

    /// What resonates with a question, newest versions only, best first.
    async fn query(&self, caller: &Caller, query: &GlobalQuery) -> Result<GlobalAnswer>;

    /// What the caller has published, newest first: a page of it.
    async fn published_page(&self, caller: &Caller, page: ListPage) -> Result<Vec<GlobalRecord>>;

    /// All that the caller has published, newest first.
    async fn published(&self, caller: &Caller) -> Result<Vec<GlobalRecord>> {
        all_pages(|page| self.published_page(caller, page)).await
    }

    /// Takes a thing back, in every version and every snapshot. From then on it is in no answer.
    async fn unpublish(&self, caller: &Caller, id: RecordId) -> Result<Unpublished>;

    /// What a reader gives it, 0..1; the last word of each reader counts.
    async fn rate(&self, caller: &Caller, id: RecordId, rating: f32) -> Result<()>;

    /// How runs went that used published things: one fate each, in their order.
    async fn report(&self, caller: &Caller, reports: &[UsageReport]) -> Result<Vec<Fate>>;

    /// Names this moment, so that a question can be asked of it later. What is taken back leaves
    /// snapshots too.
    async fn snapshot(&self, caller: &Caller, name: &str) -> Result<DateTime<Utc>>;

    /// Opens a branch of the catalogue: what is published on it the caller alone finds, in the
    /// place of what it is to replace, until it is merged or dropped.
    async fn branch(&self, caller: &Caller, name: &str) -> Result<Branch>;

    /// The caller's branches, by name.
    async fn branches(&self, caller: &Caller) -> Result<Vec<Branch>>;

    /// Publishes a thing on a branch of the caller's; the one of the same `origin` that stood there
    /// is replaced. Until the merge a new thing has an id of the branch.
    async fn draft(
        &self,
        caller: &Caller,
        branch: &str,
        publication: Publication,
    ) -> Result<Published>;

    /// Publishes everything that stands on a branch, all of it or nothing; the branch is over then.
    async fn merge(&self, caller: &Caller, branch: &str) -> Result<Vec<Merged>>;

    /// Takes back everything that stands on a branch, and the branch.
    async fn drop_branch(&self, caller: &Caller, branch: &str) -> Result<Branch>;

    /// Everything on the shelves open to the caller, newest first, for an operator: a page of it.
    async fn catalogue(&self, caller: &Caller, page: ListPage) -> Result<Vec<Listed>>;

    /// Takes a thing off a shelf that is open to the caller, an operator, whoever published it: in
    /// every version, snapshot and branch. What has its origin is refused until it is put back.
    async fn take_down(
        &self,
        operator: &Caller,
        id: RecordId,
        order: &TakeDown,
    ) -> Result<TakeDownDone>;

    /// Takes that back: its newest version is published anew for its author where it was held.
    async fn put_back(&self, operator: &Caller, id: RecordId) -> Result<PutBack>;

    /// What operators took down of the caller's, newest first.
    async fn taken_down(&self, caller: &Caller) -> Result<Vec<TakenDown>>;

    /// Everything of the caller's, whatever it stands on.
    async fn person(&self, caller: &Caller) -> Result<Vec<PersonLine>>;

    /// Deletes all of that; in the audit log a hash takes the place of the name.
    async fn erase_person(&self, caller: &Caller) -> Result<Erased>;

    /// Who published, took back and named what, newest first, at most `limit` lines.
    async fn audit(&self, caller: &Caller, limit: usize) -> Result<Vec<AuditLine>>;

    /// Whether it can be asked at this moment. It is nobody's question, and costs less than any.
    async fn answers(&self) -> Result<()>;
}

async fn all_pages<Page: Future<Output = Result<Vec<GlobalRecord>>>>(
    page_of: impl Fn(ListPage) -> Page,
) -> Result<Vec<GlobalRecord>> {
    let mut all = Vec::new();
    loop {
        let page = ListPage::after(all.len());
        let found = page_of(page).await?;
        let is_last = found.len() < page.limit;
        all.extend(found);
        if is_last {
            return Ok(all);
        }
    }
}

/// A part of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListPage {
    /// How many stand before it.
    pub offset: usize,
    /// Most of it, at most [`PAGE_MAX`].
    pub limit: usize,
}

impl ListPage {
    /// The largest page after so many.
    pub fn after(offset: usize) -> Self {
        let limit = PAGE_MAX;
        Self { offset, limit }
    }

    /// This part of a whole list.
    pub(crate) fn of<T>(self, all: Vec<T>) -> Vec<T> {
        all.into_iter().skip(self.offset).take(self.limit).collect()
    }
}

/// A line of the audit log: no text of anybody's stands in it, and no reader.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditLine {
    pub at: DateTime<Utc>,
    /// Who did it; empty where that is not known.
    pub who: String,
    /// `publish`, `unpublish`, `snapshot`, `branch`, `merge`, `drop`, `take_down`, `put_back` or
    /// `erase`; of a service also `grant`, `revoke` and what else is done with a token.
    pub what: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<RecordId>,
    /// The version published; of what was taken back, how many there were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// The shelf, or the name of a snapshot, branch or token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whose the token, or the thing that was taken down, is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<UserId>,
    /// Why an operator did it, and the SHA-256 of what it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
}

impl AuditLine {
    /// A line that says who did what, and nothing more yet.
    pub fn new(at: DateTime<Utc>, who: impl Into<String>, what: &str) -> Self {
        Self {
            at,
            who: who.into(),
            what: what.to_owned(),
            ..Self::default()
        }
    }
}

/// Most lines of the audit log that are told at once.
pub const AUDIT_MAX: usize = 10_000;

/// A branch of the catalogue: copy-on-write, so it holds what was published on it and nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Branch {
    pub name: String,
    /// When it was opened.
    pub at: DateTime<Utc>,
    /// How many things stand on it.
    pub things: usize,
}

/// Most branches that one author has open.
pub(crate) const BRANCHES_MAX: usize = 50;
/// Most things on one branch: they are merged as one, and so many of the longest fit one commit of
/// the embedded store (8 MiB).
pub(crate) const BRANCH_THINGS_MAX: usize = 50;

/// One thing of a branch that was merged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Merged {
    #[serde(flatten)]
    pub published: Published,
    /// SHA-256 of its bytes, in hex.
    pub checksum: String,
}

/// What became of a publication.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Published {
    /// Under which id it is found.
    pub id: RecordId,
    pub version: Version,
    /// Bytes that left.
    pub bytes: usize,
    /// The same bytes stood there already.
    pub unchanged: bool,
    /// Published things that say nearly the same, the nearest first.
    pub overlaps: Vec<Overlap>,
}

/// A published thing that is near to a new one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Overlap {
    pub id: RecordId,
    pub title: String,
    /// Cosine of the two, -1..1.
    pub similarity: f32,
}

/// From this cosine on two things say nearly the same.
pub(crate) const OVERLAP_FROM: f32 = 0.85;
/// Patterns that are compared with one, to know how many authors have it.
pub(crate) const PATTERNS_NEAR: usize = 64;
/// Others' patterns that one answer finds untold, at most: each costs a search of its own, and
/// further ones are not looked up.
pub(crate) const PATTERNS_LONE_MAX: usize = 32;
/// Most overlaps that are told.
pub(crate) const OVERLAPS_MAX: usize = 5;

/// A question to a global store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = one_moment)]
pub struct GlobalQuery {
    /// The new input, in the user's words; `query` is read too.
    #[serde(alias = "query")]
    pub text: String,
    /// Most results; `limit` is read too.
    #[serde(alias = "limit", default = "top_k_default")]
    #[schemars(range(max = TOP_K_MAX))]
    pub top_k: usize,
    /// Only these types; empty for all.
    #[serde(default)]
    pub content_types: Vec<GlobalContentType>,
    /// Ask the store as it stood at this snapshot.
    #[serde(default)]
    #[schemars(regex(pattern = A_NAME))]
    pub snapshot: Option<String>,
    /// Ask the store as it would be after the merge of this branch of the caller's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = A_NAME))]
    pub branch: Option<String>,
}

/// A question is to the store as it is, as it stood or as it would be.
fn one_moment(schema: &mut schemars::Schema) {
    let no = |name: &str| serde_json::json!({ "properties": { name: { "type": "null" } } });
    let ways = serde_json::json!([no("snapshot"), no("branch")]);
    schema.insert("anyOf".to_owned(), ways);
}

fn top_k_default() -> usize {
    TOP_K_DEFAULT
}

impl GlobalQuery {
    /// A question to the store as it is.
    pub fn new(text: impl Into<String>, top_k: usize) -> Self {
        Self {
            text: text.into(),
            top_k,
            content_types: Vec::new(),
            snapshot: None,
            branch: None,
        }
    }

    /// Whether giving this to the caller is a retrieval: not of his own, and not where he looks at
    /// what was or is tried out.
    pub(crate) fn counts(&self, caller: &Caller, hit: &GlobalHit) -> bool {
        let is_look = self.snapshot.is_some() || self.branch.is_some();
        !is_look && hit.record.author_id != caller.user
    }

    /// Refuses a question that no store can answer.
    pub(crate) fn check(&self) -> Result<()> {
        if self.snapshot.is_some() && self.branch.is_some() {
            return Err(GlobalError::invalid(
                "a snapshot and a branch are named; ask the store as it stood, or as it would be",
            ));
        }
        self.branch.as_deref().map_or(Ok(()), check_branch)
    }
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct GlobalAnswer {
    /// Best first, by `sona_score`.
    pub hits: Vec<GlobalHit>,
    #[serde(default)]
    pub degraded: Vec<Degraded>,
}

impl GlobalAnswer {
    pub(crate) fn for_reader(mut self, reader: &UserId) -> Self {
        let hits = std::mem::take(&mut self.hits).into_iter();
        let told = hits.map(|hit| GlobalHit {
            record: hit.record.for_reader(reader),
            ..hit
        });
        self.hits = told.collect();
        self
    }
}

/// One published thing with its scores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GlobalHit {
    /// The thing, without its vector.
    pub record: GlobalRecord,
    /// Relevance before learning, 0..1.
    pub score: f32,
    /// Relevance after what everybody's runs taught, 0..1.
    pub sona_score: f32,
    /// Where the score comes from.
    pub why: Why,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unpublished {
    pub id: RecordId,
    /// How many versions of it there were.
    pub versions: u32,
    /// The store was asked for it afterwards, by id and by its own words, and had nothing.
    pub verified: bool,
}

/// What goes up from a user's runs: these three and nothing else (M57, M59).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UsageReport {
    pub id: RecordId,
    /// How the runs that used it went on average, 0..1.
    #[schemars(range(min = 0, max = 1))]
    pub score: f32,
    /// How many runs those were.
    #[schemars(range(min = 1, max = COUNT_MAX))]
    pub count: u32,
}

/// What became of one report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    Counted,
    /// It is about the caller's own work, which others judge.
    OwnWork,
    /// There is no such thing for this caller.
    NotFound,
}

/// Refuses a publication that no store could keep, with what to change.
pub fn check_publication(publication: &Publication) -> Result<()> {
    let title = publication.title.trim();
    if title.is_empty() {
        return Err(GlobalError::invalid(
            "the title is empty; name what is published in a line",
        ));
    }
    if publication.content.trim().is_empty() {
        return Err(GlobalError::invalid(
            "the content is empty; publish what others can use",
        ));
    }
    let texts = [
        ("title", &publication.title, TITLE_BYTES_MAX),
        ("summary", &publication.summary, SUMMARY_BYTES_MAX),
        ("licence", &publication.licence, IDENTIFIER_BYTES_MAX),
        ("origin", &publication.origin, IDENTIFIER_BYTES_MAX),
    ];
    let tags = || {
        publication
            .tags
            .iter()
            .map(|tag| ("tag", tag, IDENTIFIER_BYTES_MAX))
    };
    for (field, text, limit) in texts.into_iter().chain(tags()) {
        within(field, text, limit)?;
        let is_line = field != "summary";
        if text.contains('\0') || is_line && text.chars().any(char::is_control) {
            return Err(GlobalError::invalid(format!(
                "the {field} holds control characters; write it as one plain line"
            )));
        }
    }
    within("content", &publication.content, CONTENT_BYTES_MAX)?;
    if publication.content.contains('\0') {
        return Err(GlobalError::invalid(
            "the content holds a zero byte; publish text",
        ));
    }
    if publication.origin.is_empty() {
        return Err(GlobalError::invalid(
            "the origin is empty; name it by a hash of where it comes from",
        ));
    }
    if publication.tags.len() > LIST_ITEMS_MAX {
        let got = publication.tags.len();
        return Err(GlobalError::invalid(format!(
            "there are {got} tags, the limit is {LIST_ITEMS_MAX}; keep the telling ones"
        )));
    }
    // Whoever publishes by another program than ours has the wall before him all the same.
    let content = ("content", &publication.content, CONTENT_BYTES_MAX);
    for (field, text, _) in texts.into_iter().chain(tags()).chain([content]) {
        if cleaned(text).0 != *text {
            return Err(GlobalError::invalid(format!(
                "the {field} holds what looks like a secret, or a `<private>` part; take it out"
            )));
        }
    }
    Ok(())
}

fn within(field: &str, text: &str, limit: usize) -> Result<()> {
    if text.len() <= limit {
        return Ok(());
    }
    let got = text.len();
    Err(GlobalError::invalid(format!(
        "the {field} has {got} bytes, the limit is {limit}; publish a part of it"
    )))
}

pub(crate) fn check_rating(rating: f32) -> Result<()> {
    if (0.0..=1.0).contains(&rating) {
        return Ok(());
    }
    Err(GlobalError::invalid(format!(
        "the rating is {rating}, it must be between 0 and 1"
    )))
}

pub(crate) fn check_reports(reports: &[UsageReport]) -> Result<()> {
    if reports.len() > REPORTS_MAX {
        let got = reports.len();
        return Err(GlobalError::invalid(format!(
            "there are {got} reports, the limit is {REPORTS_MAX}; send the rest in another"
        )));
    }
    for report in reports {
        let UsageReport { id, score, count } = report;
        if !(0.0..=1.0).contains(score) {
            return Err(GlobalError::invalid(format!(
                "the score of {id} is {score}, it must be between 0 and 1"
            )));
        }
        if !(1..=COUNT_MAX).contains(count) {
            return Err(GlobalError::invalid(format!(
                "the count of {id} is {count}, it must be between 1 and {COUNT_MAX}"
            )));
        }
    }
    Ok(())
}

/// Refuses what names no branch, before it gets near a statement.
pub(crate) fn check_branch(name: &str) -> Result<()> {
    check_name(name).map_err(|_| no_branch(name))
}

pub(crate) fn no_branch(name: &str) -> GlobalError {
    GlobalError::NoBranch {
        name: name.chars().take(64).collect(),
    }
}

/// Says that a branch is not what was to be merged.
pub(crate) fn branch_has_changed() -> GlobalError {
    GlobalError::busy("the branch has changed meanwhile")
}

/// Says that a name is in use.
pub(crate) fn name_is_taken(what: &str, name: &str) -> GlobalError {
    GlobalError::Conflict {
        message: format!("there is a {what} `{name}` already; choose another name"),
    }
}

/// What [`check_name`] takes.
pub const A_NAME: &str = "^[A-Za-z0-9_@+-][A-Za-z0-9._@+-]{0,127}$";

/// A name for a snapshot or a branch: as a user is named.
pub fn check_name(name: &str) -> Result<()> {
    name.parse::<OrgId>().map(drop).map_err(|_| {
        let what = "letters, digits and . _ - @ +, the first of them no dot";
        GlobalError::invalid(format!(
            "a name has 1 to {USER_ID_BYTES_MAX} of these: {what}"
        ))
    })
}

/// Runs work on a thread that tokio lends. Without one it is refused: what makes vectors waits for
/// the runtime, as no thread of its own may.
pub(crate) async fn lent<T, W>(work: W) -> Result<T>
where
    T: Send + 'static,
    W: FnOnce() -> T + Send + 'static,
{
    let (done, answer) = oneshot::channel();
    let work = move || {
        let _is_heard = done.send(work()).is_ok();
    };
    let lent = handed_over(work, |run| drop(tokio::task::spawn_blocking(run)));
    lent.map_err(|_| GlobalError::unavailable("the system gives no thread"))?;
    answer.await.map_err(|_| {
        tracing::error!("an operation of the global store panicked");
        GlobalError::unavailable("its last operation failed; see the log")
    })
}
