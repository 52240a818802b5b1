//! What the service does, each operation declared once: who may ask for it, where, with which
//! arguments, for which answer. The routes, their description and the requests of a client are
//! derived from this (ADR 0061).

use chrono::{DateTime, Utc};
use reprise_global::{
    AuditLine, Branch, DecisionReport, Erased, Fate, GlobalAnswer, GlobalError, GlobalQuery,
    GlobalRecord, HolderQuota, ListPage, Listed, Merged, OrganisationSettings, OwnSubmission,
    PersonLine, ProjectId, Publication, Published, QuotaChange, Submission, SubmissionVerdict,
    TakeDown, TakeDownDone, TakenDown, Unpublished,
};
use reprise_operations::{Callers, Method, Operation, OperationRoute, Right, Spec};
use reprise_types::RecordId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arguments::{AuditFields, ConfirmField, RatingBody, ReportsRequest, VersionField};
use super::context::ServiceContext;
use super::operate;
use super::service_route::ServiceRoute;
use crate::http::Refusal;
use crate::tokens::Member;

/// Where an invitation becomes a token.
pub(super) const JOIN: &str = "/v1/invitations";
/// Where questions are asked.
pub(super) const QUERY: &str = "/v1/query";

/// Declares operations, each with who may ask for it, what it does, and where; its name, its
/// arguments and its answer; the method of the store that does it, or what else. And all of them
/// as routes.
macro_rules! service_operations {
    ($(
        $right:ident, $summary:literal, $method:ident $path:expr;
        $name:ident($($argument:ident: $kind:ty),*) -> $answer:ty { $($how:tt)+ }
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
                    context: &ServiceContext,
                    ($($argument,)*): Self::Arguments,
                ) -> Result<$answer, Refusal> {
                    do_operation!(context; $($how)+).await.map_err(Refusal::from)
                }
            }
        )+

        /// Every route that takes a token; one that is not here is refused.
        pub(super) const ROUTES: &[ServiceRoute] = &[$(ServiceRoute::of::<$name>(),)+];
    };
}

macro_rules! do_operation {
    ($context:ident; |$named:ident| $done:expr) => {{
        let $named = $context;
        $done
    }};
    ($context:ident; $method:ident($($given:expr),*)) => {
        $context.state.store.get()?.$method(&$context.caller $(, $given)*)
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
    PublishThing(publication: Publication) -> Published {
        publish(publication)
    }

    Read, "What the caller has published, newest first, a page of it", Get "/v1/publications";
    ListOwnThings(page: ListPage) -> Vec<GlobalRecord> {
        list_own_published_page(page)
    }

    Read, "A thing, in its newest version or `?version=`", Get "/v1/publications/{id}";
    GetThing(id: RecordId, query: VersionField) -> GlobalRecord {
        get(id, query.version)
    }

    Write, "Take a thing back, from every answer", Delete "/v1/publications/{id}";
    UnpublishThing(id: RecordId) -> Unpublished {
        unpublish(id)
    }

    Read, "The versions of a thing, newest first, a page of them",
        Get "/v1/publications/{id}/versions";
    ListThingVersions(id: RecordId, page: ListPage) -> Vec<GlobalRecord> {
        list_versions_page(id, page)
    }

    Write, "What a reader gives it, 0..1", Put "/v1/publications/{id}/rating";
    RateThing(id: RecordId, given: RatingBody) -> EmptyResponse {
        |context| async {
            let rated = context.state.store.get()?.rate(&context.caller, id, given.rating);
            rated.await.map(|()| EmptyResponse {})
        }
    }

    Read, "What resonates with a question, best first", Post QUERY;
    QueryThings(query: GlobalQuery) -> GlobalAnswer {
        |context| operate::answer_query(context, query)
    }

    Write, "How runs went that used published things", Post "/v1/outcomes";
    ReportUsage(reports: ReportsRequest) -> FatesResponse {
        |context| async {
            let fates = context.state.store.get()?.report_usage(&context.caller, &reports.reports);
            fates.await.map(|fates| FatesResponse { fates })
        }
    }

    Operate, "Name this moment, to be asked of later", Put "/v1/snapshots/{name}";
    CreateSnapshot(name: String) -> NamedSnapshot {
        |context| async {
            let at = context.state.store.get()?.create_snapshot(&context.caller, &name).await?;
            Ok::<_, GlobalError>(NamedSnapshot { name, at })
        }
    }

    Read, "The caller's branches of the catalogue", Get "/v1/branches";
    ListBranches() -> Vec<Branch> {
        list_branches()
    }

    Write, "Open a branch, on which the caller alone finds what is published there",
        Put "/v1/branches/{name}";
    OpenBranch(name: String) -> Branch {
        open_branch(&name)
    }

    Write, "Drop a branch with everything on it", Delete "/v1/branches/{name}";
    DropBranch(name: String) -> Branch {
        drop_branch(&name)
    }

    Write, "Publish a thing on a branch", Post "/v1/branches/{name}/publications";
    PublishOnBranch(name: String, publication: Publication) -> Published {
        publish_on_branch(&name, publication)
    }

    Write, "Publish everything on a branch, or nothing", Post "/v1/branches/{name}/merge";
    MergeBranch(name: String) -> Vec<Merged> {
        merge_branch(&name)
    }

    Read, "What the caller's organisation asks of those who publish for its members",
        Get "/v1/organisation";
    ReadOrganisation() -> OrganisationSettings {
        read_organisation()
    }

    Operate, "Change that, for everything that is published from now on", Put "/v1/organisation";
    ChangeOrganisation(settings: OrganisationSettings) -> OrganisationSettings {
        change_organisation(settings)
    }

    Review, "What waits for a review in the caller's organisation, oldest first, a page of it",
        Get "/v1/reviews";
    ListSubmissions(page: ListPage) -> Vec<Submission> {
        list_submissions_page(page)
    }

    Review, "Approve or refuse what another member has submitted", Post "/v1/reviews/{id}";
    ReviewSubmission(id: RecordId, verdict: SubmissionVerdict) -> DecisionReport {
        review_submission(id, &verdict)
    }

    Read, "The projects of the caller's organisation whose member the caller is",
        Get "/v1/projects";
    ListProjects() -> Vec<ProjectId> {
        list_projects()
    }

    Read, "What of the caller's waits for a review, or was refused", Get "/v1/submissions";
    ListOwnSubmissions() -> Vec<OwnSubmission> {
        list_own_submissions()
    }

    Read, "What operators took down of the caller's", Get "/v1/takedowns";
    ListOwnTakenDown() -> Vec<TakenDown> {
        list_own_taken_down()
    }

    Read, "Everything of the caller's", Get "/v1/person";
    ListPersonLines() -> Vec<PersonLine> {
        list_person_lines()
    }

    Write, "Delete everything of the caller's, his tokens too, and prove it; `confirm` is his name",
        Delete "/v1/person";
    ErasePerson(query: ConfirmField) -> Erased {
        |context| operate::erase_person(context, query.confirm.as_deref())
    }

    Operate, "Every publish, withdrawal, snapshot and branch, grant and revocation, newest first",
        Get "/v1/audit";
    ListAudit(query: AuditFields) -> Vec<AuditLine> {
        |context| operate::list_audit(&context.state, &context.caller, query.limit)
    }

    Operate, "Everything on the shelves open to the operator, newest first, a page of it",
        Get "/v1/catalogue";
    ListCatalogue(page: ListPage) -> Vec<Listed> {
        list_catalogue_page(page)
    }

    Operate,
        "The people of the operator's organisation who have tokens or invitations, and those of \
         none",
        Get "/v1/members";
    ListMembers() -> Vec<Member> {
        |context| operate::list_members(&context.state, &context.caller)
    }

    Operate, "What the operator's organisation and its people have published, and may have",
        Get "/v1/quotas";
    ListQuotas() -> Vec<HolderQuota> {
        |context| operate::list_quotas(&context.state, &context.caller)
    }

    Operate, "Limit what one of them may have published, below the limits of the service",
        Put "/v1/quotas";
    SetQuota(change: QuotaChange) -> HolderQuota {
        |context| operate::set_quota(&context.state, &context.caller, &change)
    }

    Operate, "Take a thing of any author down, with a reason that its author reads",
        Post "/v1/publications/{id}/takedown";
    TakeThingDown(id: RecordId, order: TakeDown) -> TakeDownDone {
        take_down(id, &order)
    }

    Operate, "Take a take-down back", Delete "/v1/publications/{id}/takedown";
    PutThingBack(id: RecordId) -> DecisionReport {
        put_back(id)
    }

    Operate, "Requests by route and status, for Prometheus", Get "/metrics";
    ReadMetrics() -> String {
        |context| operate::render_metrics(&context.state)
    }
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
