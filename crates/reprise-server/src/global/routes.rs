//! Every route of the service, told once: what it needs, how it is described, and the one operation
//! of the store behind it.
//!
//! Who asks is what the token says; no body and no header can say otherwise.

use std::pin::Pin;
use std::sync::{Arc, LazyLock};

use axum::extract::{Extension, Path, Request, State};
use axum::http::Method;
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, get, on, post};
use axum::{Json, Router};
use reprise_global::{
    Caller, GlobalAnswer, GlobalQuery, GlobalStore, OrganisationSettings, Publication, QuotaChange,
    SubmissionVerdict, TakeDown,
};
use reprise_operations::Problem;
use reprise_types::limits::{QUERY_BYTES_MAX, TOP_K_MAX};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;

use super::access::{self, AccessLog, MinuteQuotas};
use super::bodies::{
    EmptyResponse, FatesResponse, NamedSnapshot, Rating, ReportsRequest, RouteCall,
    VersionParameter, parse_body,
};
use super::limit::QuestionLimit;
use super::people::People;
use super::{admin, openapi, operate};
use crate::http::{
    Metrics, Rates, Refusal, no_method, no_route, serve_on_worker_thread as on_worker_thread, watch,
};
use crate::tokens::{Right, ServiceTokens};

/// Where an invitation becomes a token.
pub(super) const JOIN: &str = "/v1/invitations";

/// Where questions are asked.
pub(super) const QUERY: &str = "/v1/query";

/// What every handler can reach.
#[derive(Clone)]
pub(super) struct ServiceState {
    pub(super) store: Arc<dyn GlobalStore>,
    pub(super) tokens: ServiceTokens,
    pub(super) people: Option<People>,
    pub(super) minutes: Arc<MinuteQuotas>,
    pub(super) access: Option<AccessLog>,
    pub(super) rates: Arc<Rates>,
    pub(super) places: Arc<Semaphore>,
    pub(super) questions: QuestionLimit,
    pub(super) metrics: Arc<Metrics>,
    pub(super) ready: Arc<operate::Readiness>,
}

reprise_types::show_fields!(ServiceState {});

pub(super) fn router(state: &ServiceState) -> Router {
    let open: Router<ServiceState> = Router::new()
        .route("/health/live", get(async || "alive\n"))
        .route("/health/ready", get(operate::serve_ready))
        .route("/openapi.json", get(async || Json(&*openapi::DESCRIPTION)))
        .route(JOIN, post(operate::join));
    // Each by its method: a refused one hears in `allow` which others there are.
    let serving = |router: Router<ServiceState>, route: &Route| match MethodFilter::try_from(
        route.method.clone(),
    ) {
        Ok(method) => router.route(route.path, on(method, serve)),
        Err(_) => router,
    };
    let all = ROUTES.iter().fold(open, serving);
    all.merge(admin::router())
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .layer(middleware::from_fn(access::serve_unless_abandoned))
        .layer(middleware::from_fn(on_worker_thread))
        .layer(middleware::from_fn_with_state(state.clone(), access::admit))
        .layer(middleware::from_fn_with_state(
            Arc::clone(&state.metrics),
            watch,
        ))
        .layer(middleware::from_fn_with_state(
            state.access.clone(),
            access::serve_and_log,
        ))
        .with_state(state.clone())
}

/// Serves a request by the route that it was admitted to.
async fn serve(
    State(state): State<ServiceState>,
    Extension(caller): Extension<Caller>,
    Extension(route): Extension<&'static Route>,
    named: Option<Path<String>>,
    request: Request,
) -> Result<Response, Refusal> {
    let call = RouteCall {
        state,
        caller,
        named: named.map(|Path(named)| named).unwrap_or_default(),
        uri: request.uri().clone(),
    };
    (route.action.serve)(call, request).await
}

/// A route that takes a token.
pub(super) struct Route {
    pub(super) path: &'static str,
    pub(super) method: Method,
    pub(super) right: Right,
    pub(super) summary: &'static str,
    pub(super) action: Action,
}

/// Describes a type.
type Describe = fn(&mut SchemaGenerator) -> Schema;
type ResponseFuture = Pin<Box<dyn Future<Output = Result<Response, Refusal>> + Send>>;

/// What a route does, of what, and with which answer.
pub(super) struct Action {
    /// The parameters that its query may have.
    pub(super) takes: &'static [&'static str],
    pub(super) body: Option<Describe>,
    pub(super) answer: Describe,
    serve: Box<dyn Fn(RouteCall, Request) -> ResponseFuture + Send + Sync>,
}

impl Action {
    fn with_parameters(mut self, parameters: &'static [&'static str]) -> Self {
        self.takes = parameters;
        self
    }
}

/// Answers what the address asks for.
fn action<Answer, Told>(tell: impl Fn(RouteCall) -> Told + Send + Sync + 'static) -> Action
where
    Answer: Serialize + JsonSchema,
    Told: Future<Output = Result<Answer, Refusal>> + Send + 'static,
{
    Action {
        takes: &[],
        body: None,
        answer: SchemaGenerator::subschema_for::<Answer>,
        serve: Box::new(move |call, _| {
            let told = tell(call);
            Box::pin(async move { Ok(Json(told.await?).into_response()) })
        }),
    }
}

/// Answers a request with a body.
fn new_action_with_body<Given, Answer, Told>(
    tell: impl Fn(RouteCall, Given) -> Told + Copy + Send + Sync + 'static,
) -> Action
where
    Given: DeserializeOwned + JsonSchema + Send + 'static,
    Answer: Serialize + JsonSchema,
    Told: Future<Output = Result<Answer, Refusal>> + Send + 'static,
{
    Action {
        takes: &[],
        body: Some(SchemaGenerator::subschema_for::<Given>),
        answer: SchemaGenerator::subschema_for::<Answer>,
        serve: Box::new(move |call, request| {
            Box::pin(async move {
                let given = parse_body(request).await?;
                Ok(Json(tell(call, given).await?).into_response())
            })
        }),
    }
}

fn route(
    path: &'static str,
    (method, right): (Method, Right),
    summary: &'static str,
    action: Action,
) -> Route {
    Route {
        path,
        method,
        right,
        summary,
        action,
    }
}

/// Every route that takes a token; one that is not here is refused.
pub(super) static ROUTES: LazyLock<Vec<Route>> = LazyLock::new(|| {
    let questions = publication_routes()
        .into_iter()
        .chain(query_and_branch_routes());
    let questions = questions.chain(organisation_routes());
    let questions = questions.chain(person_routes());
    questions.chain(operator_routes()).collect()
});

const PAGE: &[&str] = &["offset", "limit"];

fn publication_routes() -> [Route; 6] {
    [
        route(
            "/v1/publications",
            (Method::POST, Right::Write),
            "Publish a thing, or its next version",
            new_action_with_body(|call, publication: Publication| async move {
                Ok(call.store().publish(&call.caller, publication).await?)
            }),
        ),
        route(
            "/v1/publications",
            (Method::GET, Right::Read),
            "What the caller has published, newest first, a page of it",
            action(|call| async move {
                let page = call.page()?;
                Ok(call
                    .store()
                    .list_own_published_page(&call.caller, page)
                    .await?)
            })
            .with_parameters(PAGE),
        ),
        route(
            "/v1/publications/{id}",
            (Method::GET, Right::Read),
            "A thing, in its newest version or `?version=`",
            action(|call| async move {
                let VersionParameter { version } = call.parameters()?;
                Ok(call.store().get(&call.caller, call.id()?, version).await?)
            })
            .with_parameters(&["version"]),
        ),
        route(
            "/v1/publications/{id}",
            (Method::DELETE, Right::Write),
            "Take a thing back, from every answer",
            action(
                |call| async move { Ok(call.store().unpublish(&call.caller, call.id()?).await?) },
            ),
        ),
        route(
            "/v1/publications/{id}/versions",
            (Method::GET, Right::Read),
            "The versions of a thing, newest first, a page of them",
            action(|call| async move {
                let (id, page) = (call.id()?, call.page()?);
                Ok(call
                    .store()
                    .list_versions_page(&call.caller, id, page)
                    .await?)
            })
            .with_parameters(PAGE),
        ),
        route(
            "/v1/publications/{id}/rating",
            (Method::PUT, Right::Write),
            "What a reader gives it, 0..1",
            new_action_with_body(|call, Rating { rating }| async move {
                call.store().rate(&call.caller, call.id()?, rating).await?;
                Ok(EmptyResponse {})
            }),
        ),
    ]
}

fn query_and_branch_routes() -> [Route; 8] {
    [
        route(
            QUERY,
            (Method::POST, Right::Read),
            "What resonates with a question, best first",
            new_action_with_body(query),
        ),
        route(
            "/v1/outcomes",
            (Method::POST, Right::Write),
            "How runs went that used published things",
            new_action_with_body(|call, ReportsRequest { reports }| async move {
                let fates = call.store().report_usage(&call.caller, &reports).await?;
                Ok(FatesResponse { fates })
            }),
        ),
        route(
            "/v1/snapshots/{name}",
            (Method::PUT, Right::Operate),
            "Name this moment, to be asked of later",
            action(|call| async move {
                let at = call
                    .store()
                    .create_snapshot(&call.caller, &call.named)
                    .await?;
                let name = call.named;
                Ok(NamedSnapshot { name, at })
            }),
        ),
        route(
            "/v1/branches",
            (Method::GET, Right::Read),
            "The caller's branches of the catalogue",
            action(|call| async move { Ok(call.store().list_branches(&call.caller).await?) }),
        ),
        route(
            "/v1/branches/{name}",
            (Method::PUT, Right::Write),
            "Open a branch, on which the caller alone finds what is published there",
            action(
                |call| async move { Ok(call.store().open_branch(&call.caller, &call.named).await?) },
            ),
        ),
        route(
            "/v1/branches/{name}",
            (Method::DELETE, Right::Write),
            "Drop a branch with everything on it",
            action(|call| async move {
                let dropped = call.store().drop_branch(&call.caller, &call.named);
                Ok(dropped.await?)
            }),
        ),
        route(
            "/v1/branches/{name}/publications",
            (Method::POST, Right::Write),
            "Publish a thing on a branch",
            new_action_with_body(|call, publication: Publication| async move {
                let drafted =
                    call.store()
                        .publish_on_branch(&call.caller, &call.named, publication);
                Ok(drafted.await?)
            }),
        ),
        route(
            "/v1/branches/{name}/merge",
            (Method::POST, Right::Write),
            "Publish everything on a branch, or nothing",
            action(|call| async move {
                Ok(call.store().merge_branch(&call.caller, &call.named).await?)
            }),
        ),
    ]
}

fn organisation_routes() -> [Route; 6] {
    [
        route(
            "/v1/organisation",
            (Method::GET, Right::Read),
            "What the caller's organisation asks of those who publish for its members",
            action(|call| async move { Ok(call.store().read_organisation(&call.caller).await?) }),
        ),
        route(
            "/v1/organisation",
            (Method::PUT, Right::Operate),
            "Change that, for everything that is published from now on",
            new_action_with_body(|call, settings: OrganisationSettings| async move {
                let changed = call.store().change_organisation(&call.caller, settings);
                Ok(changed.await?)
            }),
        ),
        route(
            "/v1/reviews",
            (Method::GET, Right::Review),
            "What waits for a review in the caller's organisation, oldest first, a page of it",
            action(|call| async move {
                let page = call.page()?;
                let waiting = call.store().list_submissions_page(&call.caller, page);
                Ok(waiting.await?)
            })
            .with_parameters(PAGE),
        ),
        route(
            "/v1/reviews/{id}",
            (Method::POST, Right::Review),
            "Approve or refuse what another member has submitted",
            new_action_with_body(|call, verdict: SubmissionVerdict| async move {
                let id = call.id()?;
                let done = call.store().review_submission(&call.caller, id, &verdict);
                Ok(done.await?)
            }),
        ),
        route(
            "/v1/projects",
            (Method::GET, Right::Read),
            "The projects of the caller's organisation whose member the caller is",
            action(|call| async move { Ok(call.store().list_projects(&call.caller).await?) }),
        ),
        route(
            "/v1/submissions",
            (Method::GET, Right::Read),
            "What of the caller's waits for a review, or was refused",
            action(
                |call| async move { Ok(call.store().list_own_submissions(&call.caller).await?) },
            ),
        ),
    ]
}

fn person_routes() -> [Route; 3] {
    [
        route(
            "/v1/takedowns",
            (Method::GET, Right::Read),
            "What operators took down of the caller's",
            action(|call| async move { Ok(call.store().list_own_taken_down(&call.caller).await?) }),
        ),
        route(
            "/v1/person",
            (Method::GET, Right::Read),
            "Everything of the caller's",
            action(|call| async move { Ok(call.store().list_person_lines(&call.caller).await?) }),
        ),
        route(
            "/v1/person",
            (Method::DELETE, Right::Write),
            "Delete everything of the caller's, his tokens too, and prove it; `confirm` is his \
             name",
            action(operate::erase_person).with_parameters(&["confirm"]),
        ),
    ]
}

fn operator_routes() -> [Route; 8] {
    [
        route(
            "/v1/audit",
            (Method::GET, Right::Operate),
            "Every publish, withdrawal, snapshot and branch, grant and revocation, newest first",
            action(operate::audit).with_parameters(&["limit"]),
        ),
        route(
            "/v1/catalogue",
            (Method::GET, Right::Operate),
            "Everything on the shelves open to the operator, newest first, a page of it",
            action(|call| async move {
                let page = call.page()?;
                Ok(call.store().list_catalogue_page(&call.caller, page).await?)
            })
            .with_parameters(PAGE),
        ),
        route(
            "/v1/members",
            (Method::GET, Right::Operate),
            "The people of the operator's organisation who have tokens or invitations, and those \
             of none",
            action(operate::members),
        ),
        route(
            "/v1/quotas",
            (Method::GET, Right::Operate),
            "What the operator's organisation and its people have published, and may have",
            action(operate::quotas),
        ),
        route(
            "/v1/quotas",
            (Method::PUT, Right::Operate),
            "Limit what one of them may have published, below the limits of the service",
            new_action_with_body(|call, change: QuotaChange| async move {
                Ok(operate::set_quota(&call.state, &call.caller, &change).await?)
            }),
        ),
        route(
            "/v1/publications/{id}/takedown",
            (Method::POST, Right::Operate),
            "Take a thing of any author down, with a reason that its author reads",
            new_action_with_body(|call, order: TakeDown| async move {
                let id = call.id()?;
                Ok(call.store().take_down(&call.caller, id, &order).await?)
            }),
        ),
        route(
            "/v1/publications/{id}/takedown",
            (Method::DELETE, Right::Operate),
            "Take a take-down back",
            action(
                |call| async move { Ok(call.store().put_back(&call.caller, call.id()?).await?) },
            ),
        ),
        route(
            "/metrics",
            (Method::GET, Right::Operate),
            "Requests by route and status, for Prometheus",
            Action {
                takes: &[],
                body: None,
                answer: SchemaGenerator::subschema_for::<String>,
                serve: Box::new(|call, _| {
                    Box::pin(async move { Ok(operate::render_metrics(&call.state).await) })
                }),
            },
        ),
    ]
}

async fn query(call: RouteCall, mut query: GlobalQuery) -> Result<GlobalAnswer, Refusal> {
    if query.top_k > TOP_K_MAX {
        let got = query.top_k;
        let said = format!("top_k is {got}, the limit is {TOP_K_MAX}; ask for fewer");
        return Err(Problem::invalid(said).into());
    }
    let end = query.text.floor_char_boundary(QUERY_BYTES_MAX);
    query.text.truncate(end);
    Ok(call.store().query(&call.caller, &query).await?)
}
