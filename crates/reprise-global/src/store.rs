//! What every global store does: its trait, questions and answers, and what they may hold.

mod awaited;
mod page;

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use reprise_redact::clean_text;
use reprise_types::limits::{
    IDENTIFIER_BYTES_MAX, LIST_ITEMS_MAX, TEXT_BYTES_MAX, TOP_K_DEFAULT, TOP_K_MAX,
    USER_ID_BYTES_MAX,
};
use reprise_types::{DegradedPart, Embedding, RankExplanation, RecordId, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::audit::{AUDIT_MAX, AuditFilter, AuditLine};
use crate::caller::Caller;
use crate::error::{GlobalError, GlobalResult};
use crate::org::{OrgId, ProjectId};
use crate::published::Published;
use crate::quota::{HolderQuota, QuotaChange};
use crate::record::{
    AccessPolicy, CONTENT_BYTES_MAX, GlobalContentType, GlobalRecord, Publication,
    SUMMARY_BYTES_MAX, TITLE_BYTES_MAX, Version,
};
use crate::review::{
    DecisionReport, OrganisationSettings, OwnSubmission, Submission, SubmissionVerdict,
};
use crate::takedown::{Erased, Listed, PersonLine, TakeDown, TakeDownDone, TakenDown};

pub use awaited::AwaitedHandle;
use page::collect_all_pages;
pub use page::{ListPage, read_limit};

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
    /// before. The same bytes again change nothing and return what is published.
    async fn publish(&self, caller: &Caller, publication: Publication) -> GlobalResult<Published>;

    /// A published thing, in its newest version or in the one named.
    async fn get(
        &self,
        caller: &Caller,
        id: RecordId,
        version: Option<Version>,
    ) -> GlobalResult<GlobalRecord>;

    /// Its versions, newest first, without vectors: a page of them.
    async fn list_versions_page(
        &self,
        caller: &Caller,
        id: RecordId,
        page: ListPage,
    ) -> GlobalResult<Vec<GlobalRecord>>;

    /// All its versions, newest first, without vectors.
    async fn list_all_versions(
        &self,
        caller: &Caller,
        id: RecordId,
    ) -> GlobalResult<Vec<GlobalRecord>> {
        collect_all_pages(|page| self.list_versions_page(caller, id, page)).await
    }

    /// What resonates with a question, newest versions only, best first.
    async fn query(&self, caller: &Caller, query: &GlobalQuery) -> GlobalResult<GlobalAnswer>;

    /// What the caller has published, newest first: a page of it.
    async fn list_own_published_page(
        &self,
        caller: &Caller,
        page: ListPage,
    ) -> GlobalResult<Vec<GlobalRecord>>;

    /// All that the caller has published, newest first.
    async fn list_all_own_published(&self, caller: &Caller) -> GlobalResult<Vec<GlobalRecord>> {
        collect_all_pages(|page| self.list_own_published_page(caller, page)).await
    }

    /// Takes a thing back, in every version and every snapshot. From then on it is in no answer.
    async fn unpublish(&self, caller: &Caller, id: RecordId) -> GlobalResult<Unpublished>;

    /// What a reader gives it, 0..1; the last word of each reader counts.
    async fn rate(&self, caller: &Caller, id: RecordId, rating: f32) -> GlobalResult<()>;

    /// How runs went that used published things: one fate each, in their order.
    async fn report_usage(
        &self,
        caller: &Caller,
        reports: &[UsageReport],
    ) -> GlobalResult<Vec<Fate>>;

    /// Names this moment, so that a question can be asked of it later. What is taken back leaves
    /// snapshots too.
    async fn create_snapshot(&self, caller: &Caller, name: &str) -> GlobalResult<DateTime<Utc>>;

    /// Opens a branch of the catalogue: what is published on it the caller alone finds, in the
    /// place of what it is to replace, until it is merged or dropped.
    async fn open_branch(&self, caller: &Caller, name: &str) -> GlobalResult<Branch>;

    /// The caller's branches, by name.
    async fn list_branches(&self, caller: &Caller) -> GlobalResult<Vec<Branch>>;

    /// Publishes a thing on a branch of the caller's; the one of the same `origin` that stood there
    /// is replaced. Until the merge a new thing has an id of the branch.
    async fn publish_on_branch(
        &self,
        caller: &Caller,
        branch: &str,
        publication: Publication,
    ) -> GlobalResult<Published>;

    /// Publishes everything on a branch, all of it or nothing; the branch is over then.
    async fn merge_branch(&self, caller: &Caller, branch: &str) -> GlobalResult<Vec<Merged>>;

    /// Removes a branch with everything on it.
    async fn drop_branch(&self, caller: &Caller, branch: &str) -> GlobalResult<Branch>;

    /// Everything on the shelves open to the caller, newest first, for an operator: a page of it.
    async fn list_catalogue_page(&self, _: &Caller, _: ListPage) -> GlobalResult<Vec<Listed>> {
        Err(GlobalError::needs_database("lists for operators"))
    }

    /// Takes a thing of any author off a shelf that is open to the caller, an operator: in every
    /// version, snapshot and branch. Its origin is refused until it is put back.
    async fn take_down(&self, _: &Caller, _: RecordId, _: &TakeDown) -> GlobalResult<TakeDownDone> {
        Err(GlobalError::needs_database("take-downs"))
    }

    /// Takes that back: its newest version is published anew for its author where it was held.
    async fn put_back(&self, _: &Caller, _: RecordId) -> GlobalResult<DecisionReport> {
        Err(GlobalError::needs_database("take-downs"))
    }

    /// What operators took down of the caller's, newest first.
    async fn list_own_taken_down(&self, _: &Caller) -> GlobalResult<Vec<TakenDown>> {
        Ok(Vec::new())
    }

    /// Lists the projects of the caller's organisation whose member the caller is.
    async fn list_projects(&self, caller: &Caller) -> GlobalResult<Vec<ProjectId>> {
        Ok(caller.projects.clone())
    }

    /// Returns what the caller's organisation asks of those who publish for its members.
    async fn read_organisation(&self, _: &Caller) -> GlobalResult<OrganisationSettings> {
        Err(GlobalError::needs_database("reviews"))
    }

    /// Changes that, for everything that is published from now on.
    async fn change_organisation(
        &self,
        _: &Caller,
        _: OrganisationSettings,
    ) -> GlobalResult<OrganisationSettings> {
        Err(GlobalError::needs_database("reviews"))
    }

    /// Lists what the operator's organisation and these users have published, with their quotas.
    async fn list_quotas(&self, _: &Caller, _: &[UserId]) -> GlobalResult<Vec<HolderQuota>> {
        Err(GlobalError::needs_database("quotas"))
    }

    /// Limits what a user, or the operator's organisation, may have published. Whether the user is
    /// one of the operator's is for the caller of this to say.
    async fn set_quota(&self, _: &Caller, _: &QuotaChange) -> GlobalResult<HolderQuota> {
        Err(GlobalError::needs_database("quotas"))
    }

    /// What waits for a review before it is on a shelf that is open to the caller, oldest first: a
    /// page of it.
    async fn list_submissions_page(
        &self,
        _: &Caller,
        _: ListPage,
    ) -> GlobalResult<Vec<Submission>> {
        Err(GlobalError::needs_database("reviews"))
    }

    /// Approves or refuses what somebody else has submitted.
    async fn review_submission(
        &self,
        _: &Caller,
        _: RecordId,
        _: &SubmissionVerdict,
    ) -> GlobalResult<DecisionReport> {
        Err(GlobalError::needs_database("reviews"))
    }

    /// What of the caller's waits for a review, or was refused.
    async fn list_own_submissions(&self, _: &Caller) -> GlobalResult<Vec<OwnSubmission>> {
        Ok(Vec::new())
    }

    /// Lists everything that the store holds of the caller, on shelves, on branches and in the
    /// logs.
    async fn list_person_lines(&self, _: &Caller) -> GlobalResult<Vec<PersonLine>> {
        Err(GlobalError::needs_database("exports of a person"))
    }

    /// Deletes all of that; in the audit log a hash takes the place of the name.
    async fn erase_person(&self, _: &Caller) -> GlobalResult<Erased> {
        Err(GlobalError::needs_database("erasures of a person"))
    }

    /// Who published, took back and named what, newest first, at most `limit` lines.
    async fn list_audit_lines(&self, caller: &Caller, limit: usize)
    -> GlobalResult<Vec<AuditLine>>;

    /// Those lines that an operator of the caller's organisation is told, at most `limit`.
    async fn list_told_audit_lines(
        &self,
        caller: &Caller,
        limit: usize,
    ) -> GlobalResult<Vec<AuditLine>> {
        let mut told = self.list_audit_lines(caller, AUDIT_MAX).await?;
        let filter = AuditFilter::new(caller.org.as_ref());
        told.retain(|line| filter.admits(line));
        told.truncate(limit);
        Ok(told)
    }

    /// What monitoring is told of the store and of this process; nothing that takes long to find.
    async fn list_metrics(&self) -> GlobalResult<Vec<StoreMetric>> {
        Ok(Vec::new())
    }

    /// Checks that the store can be used at this moment. It costs less than any question.
    async fn check_ready(&self) -> GlobalResult<()>;
}

/// A figure for monitoring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreMetric {
    pub name: &'static str,
    /// What it counts, as a sentence.
    pub help: &'static str,
    pub value: u64,
}

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

/// From this cosine on two things say nearly the same.
pub const OVERLAP_FROM: f32 = 0.85;
/// Patterns that are compared with one, to know how many authors have it.
pub const PATTERNS_NEAR: usize = 64;
/// Others' patterns that one answer finds untold, at most: each costs a search of its own, and
/// further ones are not looked up.
pub(crate) const PATTERNS_LONE_MAX: usize = 32;
/// Most overlaps that are told.
pub const OVERLAPS_MAX: usize = 5;

/// A question to a global store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = insert_one_moment_rule)]
pub struct GlobalQuery {
    /// The new input, in the user's words; `query` is read too.
    #[serde(alias = "query")]
    #[schemars(length(max = 16 * TEXT_BYTES_MAX))]
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
    #[schemars(length(max = IDENTIFIER_BYTES_MAX), regex(pattern = A_NAME))]
    pub branch: Option<String>,
}

/// Schema transform: a query names a snapshot or a branch, not both.
fn insert_one_moment_rule(schema: &mut schemars::Schema) {
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
    pub fn is_retrieval(&self, caller: &Caller, hit: &GlobalHit) -> bool {
        let is_look = self.snapshot.is_some() || self.branch.is_some();
        !is_look && hit.record.author_id != caller.user
    }

    /// Refuses a question that no store can answer.
    pub fn check(&self) -> GlobalResult<()> {
        if self.snapshot.is_some() && self.branch.is_some() {
            return Err(GlobalError::invalid(
                "a snapshot and a branch are named; ask the store as it stood, or as it would be",
            ));
        }
        self.branch.as_deref().map_or(Ok(()), check_branch_name)
    }
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct GlobalAnswer {
    /// Best first, by `sona_score`.
    pub hits: Vec<GlobalHit>,
    #[serde(default)]
    pub degraded: Vec<DegradedPart>,
}

impl GlobalAnswer {
    #[must_use]
    pub fn anonymize_for_reader(mut self, reader: &UserId) -> Self {
        let hits = std::mem::take(&mut self.hits).into_iter();
        let told = hits.map(|hit| GlobalHit {
            record: hit.record.anonymize_for_reader(reader),
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
    pub why: RankExplanation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unpublished {
    pub id: RecordId,
    /// How many versions of it there were.
    pub versions: u32,
    /// The store was asked for it afterwards, by id and by its own words, and had nothing.
    pub verified: bool,
}

/// What goes up from a user's runs: these three and nothing else.
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
pub fn check_publication(publication: &Publication) -> GlobalResult<()> {
    let title = publication.title.trim();
    if title.is_empty() {
        return Err(GlobalError::invalid(
            "the title is empty; name what is published in a line",
        ));
    }
    if publication.project.is_some() && publication.access_policy != AccessPolicy::Org {
        return Err(GlobalError::invalid(
            "a project is named, and the policy is not `org`; a project's members are members of \
             the organisation: publish with policy `org`, or without the project",
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
        check_length(field, text, limit)?;
        let is_line = field != "summary";
        if text.contains('\0') || is_line && text.chars().any(char::is_control) {
            return Err(GlobalError::invalid(format!(
                "the {field} holds control characters; write it as one plain line"
            )));
        }
    }
    check_length("content", &publication.content, CONTENT_BYTES_MAX)?;
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
    // Programs other than ours publish too, so the wall is checked here once more.
    let content = ("content", &publication.content, CONTENT_BYTES_MAX);
    for (field, text, _) in texts.into_iter().chain(tags()).chain([content]) {
        if clean_text(text).0 != *text {
            return Err(GlobalError::invalid(format!(
                "the {field} holds what looks like a secret, or a `<private>` part; take it out"
            )));
        }
    }
    Ok(())
}

fn check_length(field: &str, text: &str, limit: usize) -> GlobalResult<()> {
    if text.len() <= limit {
        return Ok(());
    }
    let got = text.len();
    Err(GlobalError::invalid(format!(
        "the {field} has {got} bytes, the limit is {limit}; publish a part of it"
    )))
}

pub fn check_rating(rating: f32) -> GlobalResult<()> {
    if (0.0..=1.0).contains(&rating) {
        return Ok(());
    }
    Err(GlobalError::invalid(format!(
        "the rating is {rating}, it must be between 0 and 1"
    )))
}

pub fn check_reports(reports: &[UsageReport]) -> GlobalResult<()> {
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
pub fn check_branch_name(name: &str) -> GlobalResult<()> {
    check_name(name).map_err(|_| no_branch_error(name))
}

pub fn no_branch_error(name: &str) -> GlobalError {
    GlobalError::NoBranch {
        name: name.chars().take(64).collect(),
    }
}

/// Says that a branch is not what was to be merged.
pub fn branch_changed_error() -> GlobalError {
    GlobalError::busy("the branch has changed meanwhile")
}

/// Says that a name is in use.
pub fn name_taken_error(what: &str, name: &str) -> GlobalError {
    let message = format!("there is a {what} `{name}` already; choose another name");
    GlobalError::Conflict { message }
}

/// What [`check_name`] takes.
pub const A_NAME: &str = "^[A-Za-z0-9_@+-][A-Za-z0-9._@+-]{0,127}$";

/// A name for a snapshot or a branch: as a user is named.
pub fn check_name(name: &str) -> GlobalResult<()> {
    name.parse::<OrgId>().map(drop).map_err(|_| {
        let what = "letters, digits and . _ - @ +, the first of them no dot";
        let most = USER_ID_BYTES_MAX;
        GlobalError::invalid(format!("a name has 1 to {most} of these: {what}"))
    })
}
