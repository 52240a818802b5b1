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
use reprise_global::{Caller, GlobalAnswer, GlobalQuery, GlobalStore, Publication, TakeDown};
use reprise_operations::Problem;
use reprise_types::limits::{QUERY_BYTES_MAX, TOP_K_MAX};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;

use super::access::{self, AccessLog, Minutes};
use super::bodies::{Call, Fates, Moment, Nothing, Outcomes, Rating, Which, body};
use super::people::People;
use super::{openapi, operate};
use crate::http::{Metrics, Rates, Refusal, answer as aside, no_method, no_route, watch};
use crate::tokens::{Right, ServiceTokens};

/// Where an invitation becomes a token.
pub(super) const JOIN: &str = "/v1/invitations";

/// What every handler can reach.
#[derive(Clone)]
pub(super) struct Desk {
    pub(super) store: Arc<dyn GlobalStore>,
    pub(super) tokens: ServiceTokens,
    pub(super) people: Option<People>,
    pub(super) minutes: Arc<Minutes>,
    pub(super) access: Option<AccessLog>,
    pub(super) rates: Arc<Rates>,
    pub(super) places: Arc<Semaphore>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) ready: Arc<operate::Readiness>,
}

reprise_types::show_fields!(Desk {});

pub(super) fn router(desk: &Desk) -> Router {
    let open: Router<Desk> = Router::new()
        .route("/health/live", get(async || "alive\n"))
        .route("/health/ready", get(operate::ready))
        .route("/openapi.json", get(async || Json(&*openapi::DESCRIPTION)))
        .route(JOIN, post(operate::join));
    // Each by its method: a refused one hears in `allow` which others there are.
    let serving =
        |router: Router<Desk>, route: &Route| match MethodFilter::try_from(route.method.clone()) {
            Ok(method) => router.route(route.path, on(method, serve)),
            Err(_) => router,
        };
    let all = ROUTES.iter().fold(open, serving);
    all.fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .layer(middleware::from_fn(aside))
        .layer(middleware::from_fn_with_state(desk.clone(), access::admit))
        .layer(middleware::from_fn_with_state(
            Arc::clone(&desk.metrics),
            watch,
        ))
        .layer(middleware::from_fn_with_state(
            desk.access.clone(),
            access::log,
        ))
        .with_state(desk.clone())
}

/// Serves a request by the route that it was admitted to.
async fn serve(
    State(desk): State<Desk>,
    Extension(caller): Extension<Caller>,
    Extension(route): Extension<&'static Route>,
    named: Option<Path<String>>,
    request: Request,
) -> Result<Response, Refusal> {
    let call = Call {
        desk,
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
type Done = Pin<Box<dyn Future<Output = Result<Response, Refusal>> + Send>>;

/// What a route does, of what, and with which answer.
pub(super) struct Action {
    /// The parameters that its query may have.
    pub(super) takes: &'static [&'static str],
    pub(super) body: Option<Describe>,
    pub(super) answer: Describe,
    serve: Box<dyn Fn(Call, Request) -> Done + Send + Sync>,
}

impl Action {
    fn taking(mut self, parameters: &'static [&'static str]) -> Self {
        self.takes = parameters;
        self
    }
}

/// Answers what the address asks for.
fn says<Answer, Told>(tell: impl Fn(Call) -> Told + Send + Sync + 'static) -> Action
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

/// The same where there is a body.
fn reads<Given, Answer, Told>(
    tell: impl Fn(Call, Given) -> Told + Copy + Send + Sync + 'static,
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
                let given = body(request).await?;
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
    let questions = of_things().into_iter().chain(of_questions_and_branches());
    questions.chain(of_operators()).collect()
});

const PAGE: &[&str] = &["offset", "limit"];

fn of_things() -> [Route; 6] {
    [
        route(
            "/v1/publications",
            (Method::POST, Right::Write),
            "Publish a thing, or its next version",
            reads(|call, publication: Publication| async move {
                Ok(call.store().publish(&call.caller, publication).await?)
            }),
        ),
        route(
            "/v1/publications",
            (Method::GET, Right::Read),
            "What the caller has published, newest first, a page of it",
            says(|call| async move {
                let page = call.page()?;
                Ok(call.store().published_page(&call.caller, page).await?)
            })
            .taking(PAGE),
        ),
        route(
            "/v1/publications/{id}",
            (Method::GET, Right::Read),
            "A thing, in its newest version or `?version=`",
            says(|call| async move {
                let Which { version } = call.parameters()?;
                Ok(call.store().get(&call.caller, call.id()?, version).await?)
            })
            .taking(&["version"]),
        ),
        route(
            "/v1/publications/{id}",
            (Method::DELETE, Right::Write),
            "Take a thing back, from every answer",
            says(|call| async move { Ok(call.store().unpublish(&call.caller, call.id()?).await?) }),
        ),
        route(
            "/v1/publications/{id}/versions",
            (Method::GET, Right::Read),
            "The versions of a thing, newest first, a page of them",
            says(|call| async move {
                let (id, page) = (call.id()?, call.page()?);
                Ok(call.store().versions_page(&call.caller, id, page).await?)
            })
            .taking(PAGE),
        ),
        route(
            "/v1/publications/{id}/rating",
            (Method::PUT, Right::Write),
            "What a reader gives it, 0..1",
            reads(|call, Rating { rating }| async move {
                call.store().rate(&call.caller, call.id()?, rating).await?;
                Ok(Nothing {})
            }),
        ),
    ]
}

fn of_questions_and_branches() -> [Route; 8] {
    [
        route(
            "/v1/query",
            (Method::POST, Right::Read),
            "What resonates with a question, best first",
            reads(query),
        ),
        route(
            "/v1/outcomes",
            (Method::POST, Right::Write),
            "How runs went that used published things",
            reads(|call, Outcomes { reports }| async move {
                let fates = call.store().report(&call.caller, &reports).await?;
                Ok(Fates { fates })
            }),
        ),
        route(
            "/v1/snapshots/{name}",
            (Method::PUT, Right::Operate),
            "Name this moment, to be asked of later",
            says(|call| async move {
                let at = call.store().snapshot(&call.caller, &call.named).await?;
                let name = call.named;
                Ok(Moment { name, at })
            }),
        ),
        route(
            "/v1/branches",
            (Method::GET, Right::Read),
            "The caller's branches of the catalogue",
            says(|call| async move { Ok(call.store().branches(&call.caller).await?) }),
        ),
        route(
            "/v1/branches/{name}",
            (Method::PUT, Right::Write),
            "Open a branch, on which the caller alone finds what is published there",
            says(|call| async move { Ok(call.store().branch(&call.caller, &call.named).await?) }),
        ),
        route(
            "/v1/branches/{name}",
            (Method::DELETE, Right::Write),
            "Drop a branch with all that stands on it",
            says(|call| async move {
                let dropped = call.store().drop_branch(&call.caller, &call.named);
                Ok(dropped.await?)
            }),
        ),
        route(
            "/v1/branches/{name}/publications",
            (Method::POST, Right::Write),
            "Publish a thing on a branch",
            reads(|call, publication: Publication| async move {
                let drafted = call.store().draft(&call.caller, &call.named, publication);
                Ok(drafted.await?)
            }),
        ),
        route(
            "/v1/branches/{name}/merge",
            (Method::POST, Right::Write),
            "Publish all that stands on a branch, or nothing",
            says(|call| async move { Ok(call.store().merge(&call.caller, &call.named).await?) }),
        ),
    ]
}

fn of_operators() -> [Route; 8] {
    [
        route(
            "/v1/audit",
            (Method::GET, Right::Operate),
            "Every publish, withdrawal, snapshot and branch, grant and revocation, newest first",
            says(operate::audit).taking(&["limit"]),
        ),
        route(
            "/v1/catalogue",
            (Method::GET, Right::Operate),
            "Everything on the shelves open to the operator, newest first, a page of it",
            says(|call| async move {
                let page = call.page()?;
                Ok(call.store().catalogue(&call.caller, page).await?)
            })
            .taking(PAGE),
        ),
        route(
            "/v1/publications/{id}/takedown",
            (Method::POST, Right::Operate),
            "Take a thing down, whoever published it, with a reason that its author reads",
            reads(|call, order: TakeDown| async move {
                let id = call.id()?;
                Ok(call.store().take_down(&call.caller, id, &order).await?)
            }),
        ),
        route(
            "/v1/publications/{id}/takedown",
            (Method::DELETE, Right::Operate),
            "Take a take-down back",
            says(|call| async move { Ok(call.store().put_back(&call.caller, call.id()?).await?) }),
        ),
        route(
            "/v1/takedowns",
            (Method::GET, Right::Read),
            "What operators took down of the caller's",
            says(|call| async move { Ok(call.store().taken_down(&call.caller).await?) }),
        ),
        route(
            "/v1/person",
            (Method::GET, Right::Read),
            "Everything of the caller's",
            says(|call| async move { Ok(call.store().person(&call.caller).await?) }),
        ),
        route(
            "/v1/person",
            (Method::DELETE, Right::Write),
            "Delete everything of the caller's, his tokens too, and prove it; `confirm` is his \
             name",
            says(operate::erase_person).taking(&["confirm"]),
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
                    Box::pin(async move { Ok(operate::metrics(&call.desk).await) })
                }),
            },
        ),
    ]
}

async fn query(call: Call, mut query: GlobalQuery) -> Result<GlobalAnswer, Refusal> {
    if query.top_k > TOP_K_MAX {
        let got = query.top_k;
        let said = format!("top_k is {got}, the limit is {TOP_K_MAX}; ask for fewer");
        return Err(Problem::invalid(said).into());
    }
    let end = query.text.floor_char_boundary(QUERY_BYTES_MAX);
    query.text.truncate(end);
    Ok(call.store().query(&call.caller, &query).await?)
}
