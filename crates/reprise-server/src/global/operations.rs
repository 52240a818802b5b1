//! What the service does, each operation declared once: who may ask for it, where, with which
//! arguments, for which answer. The routes, their description and the requests of a client are
//! derived from this (ADR 0061).

use chrono::{DateTime, Utc};
use reprise_global::{
    A_NAME, AUDIT_MAX, AuditLine, Branch, Erased, Fate, GlobalAnswer, GlobalQuery, GlobalRecord,
    HolderQuota, ListPage, Listed, Merged, OrganisationSettings, OwnSubmission, PersonLine,
    ProjectId, Publication, Published, PutBack, QuotaChange, REPORTS_MAX, ReviewDone, Submission,
    SubmissionVerdict, TakeDown, TakeDownDone, TakenDown, Unpublished, UsageReport, Version,
};
use reprise_operations::{Callers, Method, Operation, OperationRoute, Right, Spec};
use reprise_types::RecordId;
use reprise_types::limits::PAGE_MAX;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::arguments::{BodyContent, JsonBody, QueryFields, plain_bodies};
use super::context::ServiceContext;
use super::operate;
use super::service_route::ServiceRoute;
use crate::http::Refusal;
use crate::tokens::Member;

/// Where questions are asked.
pub(super) const QUERY: &str = "/v1/query";
/// Lines of the audit log that are told where nobody says how many.
const LINES_DEFAULT: usize = 100;

/// Declares operations, each with who may ask for it, what it does, and where; its name, its
/// arguments and its answer; how it is done. And all of them as routes.
macro_rules! service_operations {
    ($(
        $right:ident, $summary:literal, $method:ident $path:expr;
        $name:ident($context:tt $(, $argument:ident: $kind:ty)*) -> $answer:ty $run:block
    )+) => {
        $(
            #[derive(Debug)]
            pub struct $name;

            impl Operation<ServiceContext> for $name {
                const SPEC: Spec = describe_service_operation(
                    stringify!($name),
                    $summary,
                    Right::$right,
                    &[(Method::$method, $path)],
                );
                type Arguments = ($($kind,)*);
                type Answer = $answer;

                async fn run(
                    $context: &ServiceContext,
                    ($($argument,)*): Self::Arguments,
                ) -> Result<$answer, Refusal> {
                    let done = async { $run };
                    done.await.map_err(Refusal::from)
                }
            }
        )+

        /// Every route that takes a token; one that is not here is refused.
        pub(super) const ROUTES: &[ServiceRoute] = &[$(ServiceRoute::of::<$name>(),)+];
    };
}

const fn describe_service_operation(
    name: &'static str,
    summary: &'static str,
    right: Right,
    routes: &'static [OperationRoute],
) -> Spec {
    let spec = match right {
        Right::Read => Spec::for_reading(name, summary),
        _ => Spec::for_adding(name, summary),
    };
    spec.with_callers(Callers::Holders(right))
        .with_routes(routes)
}

service_operations! {
    Write, "Publish a thing, or its next version", Post "/v1/publications";
    PublishThing(context, publication: JsonBody<Publication>) -> Published {
        context.store().publish(&context.caller, publication.0).await
    }

    Read, "What the caller has published, newest first, a page of it", Get "/v1/publications";
    ListOwnThings(context, page: QueryFields<PageFields>) -> Vec<GlobalRecord> {
        context.store().list_own_published_page(&context.caller, page.0.into()).await
    }

    Read, "A thing, in its newest version or `?version=`", Get "/v1/publications/{id}";
    GetThing(context, id: RecordId, query: QueryFields<VersionField>) -> GlobalRecord {
        context.store().get(&context.caller, id, query.0.version).await
    }

    Write, "Take a thing back, from every answer", Delete "/v1/publications/{id}";
    UnpublishThing(context, id: RecordId) -> Unpublished {
        context.store().unpublish(&context.caller, id).await
    }

    Read, "The versions of a thing, newest first, a page of them",
        Get "/v1/publications/{id}/versions";
    ListThingVersions(context, id: RecordId, page: QueryFields<PageFields>) -> Vec<GlobalRecord> {
        context.store().list_versions_page(&context.caller, id, page.0.into()).await
    }

    Write, "What a reader gives it, 0..1", Put "/v1/publications/{id}/rating";
    RateThing(context, id: RecordId, given: JsonBody<RatingBody>) -> EmptyResponse {
        let rated = context.store().rate(&context.caller, id, given.0.rating).await;
        rated.map(|()| EmptyResponse {})
    }

    Read, "What resonates with a question, best first", Post QUERY;
    QueryThings(context, query: JsonBody<GlobalQuery>) -> GlobalAnswer {
        operate::answer_query(context, query.0).await
    }

    Write, "How runs went that used published things", Post "/v1/outcomes";
    ReportUsage(context, reports: JsonBody<ReportsRequest>) -> FatesResponse {
        let fates = context.store().report_usage(&context.caller, &reports.0.reports).await;
        fates.map(|fates| FatesResponse { fates })
    }

    Operate, "Name this moment, to be asked of later", Put "/v1/snapshots/{name}";
    CreateSnapshot(context, name: String) -> NamedSnapshot {
        let at = context.store().create_snapshot(&context.caller, &name).await;
        at.map(|at| NamedSnapshot { name, at })
    }

    Read, "The caller's branches of the catalogue", Get "/v1/branches";
    ListBranches(context) -> Vec<Branch> {
        context.store().list_branches(&context.caller).await
    }

    Write, "Open a branch, on which the caller alone finds what is published there",
        Put "/v1/branches/{name}";
    OpenBranch(context, name: String) -> Branch {
        context.store().open_branch(&context.caller, &name).await
    }

    Write, "Drop a branch with everything on it", Delete "/v1/branches/{name}";
    DropBranch(context, name: String) -> Branch {
        context.store().drop_branch(&context.caller, &name).await
    }

    Write, "Publish a thing on a branch", Post "/v1/branches/{name}/publications";
    PublishOnBranch(context, name: String, publication: JsonBody<Publication>) -> Published {
        context.store().publish_on_branch(&context.caller, &name, publication.0).await
    }

    Write, "Publish everything on a branch, or nothing", Post "/v1/branches/{name}/merge";
    MergeBranch(context, name: String) -> Vec<Merged> {
        context.store().merge_branch(&context.caller, &name).await
    }

    Read, "What the caller's organisation asks of those who publish for its members",
        Get "/v1/organisation";
    ReadOrganisation(context) -> OrganisationSettings {
        context.store().read_organisation(&context.caller).await
    }

    Operate, "Change that, for everything that is published from now on", Put "/v1/organisation";
    ChangeOrganisation(context, settings: JsonBody<OrganisationSettings>) -> OrganisationSettings {
        context.store().change_organisation(&context.caller, settings.0).await
    }

    Review, "What waits for a review in the caller's organisation, oldest first, a page of it",
        Get "/v1/reviews";
    ListSubmissions(context, page: QueryFields<PageFields>) -> Vec<Submission> {
        context.store().list_submissions_page(&context.caller, page.0.into()).await
    }

    Review, "Approve or refuse what another member has submitted", Post "/v1/reviews/{id}";
    ReviewSubmission(context, id: RecordId, verdict: JsonBody<SubmissionVerdict>) -> ReviewDone {
        context.store().review_submission(&context.caller, id, &verdict.0).await
    }

    Read, "The projects of the caller's organisation whose member the caller is",
        Get "/v1/projects";
    ListProjects(context) -> Vec<ProjectId> {
        context.store().list_projects(&context.caller).await
    }

    Read, "What of the caller's waits for a review, or was refused", Get "/v1/submissions";
    ListOwnSubmissions(context) -> Vec<OwnSubmission> {
        context.store().list_own_submissions(&context.caller).await
    }

    Read, "What operators took down of the caller's", Get "/v1/takedowns";
    ListOwnTakenDown(context) -> Vec<TakenDown> {
        context.store().list_own_taken_down(&context.caller).await
    }

    Read, "Everything of the caller's", Get "/v1/person";
    ListPersonLines(context) -> Vec<PersonLine> {
        context.store().list_person_lines(&context.caller).await
    }

    Write, "Delete everything of the caller's, his tokens too, and prove it; `confirm` is his name",
        Delete "/v1/person";
    ErasePerson(context, query: QueryFields<ConfirmField>) -> Erased {
        operate::erase_person(context, query.0.confirm.as_deref()).await
    }

    Operate, "Every publish, withdrawal, snapshot and branch, grant and revocation, newest first",
        Get "/v1/audit";
    ListAudit(context, query: QueryFields<AuditFields>) -> Vec<AuditLine> {
        operate::list_audit(&context.state, &context.caller, query.0.limit).await
    }

    Operate, "Everything on the shelves open to the operator, newest first, a page of it",
        Get "/v1/catalogue";
    ListCatalogue(context, page: QueryFields<PageFields>) -> Vec<Listed> {
        context.store().list_catalogue_page(&context.caller, page.0.into()).await
    }

    Operate,
        "The people of the operator's organisation who have tokens or invitations, and those of \
         none",
        Get "/v1/members";
    ListMembers(context) -> Vec<Member> {
        operate::list_members(&context.state, &context.caller).await
    }

    Operate, "What the operator's organisation and its people have published, and may have",
        Get "/v1/quotas";
    ListQuotas(context) -> Vec<HolderQuota> {
        operate::list_quotas(&context.state, &context.caller).await
    }

    Operate, "Limit what one of them may have published, below the limits of the service",
        Put "/v1/quotas";
    SetQuota(context, change: JsonBody<QuotaChange>) -> HolderQuota {
        operate::set_quota(&context.state, &context.caller, &change.0).await
    }

    Operate, "Take a thing of any author down, with a reason that its author reads",
        Post "/v1/publications/{id}/takedown";
    TakeThingDown(context, id: RecordId, order: JsonBody<TakeDown>) -> TakeDownDone {
        context.store().take_down(&context.caller, id, &order.0).await
    }

    Operate, "Take a take-down back", Delete "/v1/publications/{id}/takedown";
    PutThingBack(context, id: RecordId) -> PutBack {
        context.store().put_back(&context.caller, id).await
    }

    Operate, "Requests by route and status, for Prometheus", Get "/metrics";
    ReadMetrics(context) -> String {
        operate::render_metrics(&context.state).await
    }
}

/// A part of a list.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageFields {
    #[serde(default)]
    offset: usize,
    #[serde(default = "page_max", deserialize_with = "read_limit::<PAGE_MAX, _>")]
    #[schemars(range(max = PAGE_MAX))]
    limit: usize,
}

fn page_max() -> usize {
    PAGE_MAX
}

/// Reads how much is asked for at once.
fn read_limit<'de, const MAX: usize, D: Deserializer<'de>>(from: D) -> Result<usize, D::Error> {
    let limit = usize::deserialize(from)?;
    if limit > MAX {
        let said = format!("limit is {limit}, at most {MAX} are told at once; ask for fewer");
        return Err(serde::de::Error::custom(said));
    }
    Ok(limit)
}

impl From<ListPage> for PageFields {
    fn from(ListPage { offset, limit }: ListPage) -> Self {
        Self { offset, limit }
    }
}

impl From<PageFields> for ListPage {
    fn from(PageFields { offset, limit }: PageFields) -> Self {
        Self { offset, limit }
    }
}

/// Which version, if not the newest.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VersionField {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", regex(pattern = "^[1-9][0-9]{0,8}$"))]
    pub version: Option<Version>,
}

/// How many lines.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditFields {
    #[serde(
        default = "lines_default",
        deserialize_with = "read_limit::<AUDIT_MAX, _>"
    )]
    #[schemars(range(max = AUDIT_MAX))]
    pub limit: usize,
}

fn lines_default() -> usize {
    LINES_DEFAULT
}

/// Whose everything is to be deleted. It does not come back, so the request names who is meant.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfirmField {
    #[schemars(with = "String", regex(pattern = A_NAME))]
    pub confirm: Option<String>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Rating")]
pub struct RatingBody {
    /// What a reader gives it: 0 is useless, 1 is just what was needed.
    #[schemars(range(min = 0, max = 1))]
    pub rating: f32,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportsRequest {
    #[schemars(length(max = REPORTS_MAX))]
    pub reports: Vec<UsageReport>,
}

plain_bodies! {
    RatingBody = "the rating";
    ReportsRequest = "the report";
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct FatesResponse {
    /// What became of each report, in their order.
    pub fates: Vec<Fate>,
}

/// A moment that has a name now.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct NamedSnapshot {
    pub name: String,
    pub at: DateTime<Utc>,
}

/// It is done, and there is no more to say.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct EmptyResponse {}
