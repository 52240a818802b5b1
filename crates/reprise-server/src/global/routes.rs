//! Every route of the service: what it needs, and the one operation of the store behind it.
//!
//! Who asks is what the token says; no body and no header can say otherwise.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, MatchedPath, Path, Query, Request, State};
use axum::http::Method;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use axum::{Json, Router};
use http_body_util::BodyExt;
use reprise_global::{
    AUDIT_MAX, Caller, GlobalError, GlobalQuery, GlobalStore, ListPage, Publication, Shelf, Version,
};
use reprise_operations::{Bounds, Problem, ProblemKind, from_json, hinted};
use reprise_types::RecordId;
use reprise_types::limits::{PAGE_MAX, QUERY_BYTES_MAX, TOP_K_MAX};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::access::{self, AccessLog, Asked, Minutes};
use super::bodies::{Fates, LINES_DEFAULT, Moment, Nothing, Outcomes, Rating};
use super::people::People;
use super::ready::Readiness;
use super::table::{ROUTES, Route};
use super::{openapi, operate};
use crate::http::{Metrics, Rates, Refusal, answer as aside, bearer, watch};
use crate::issuer::Issuer;
use crate::tokens::{Right, Scope, ServiceTokens};

/// Longest body, in bytes: a publication with every byte escaped.
const BODY_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Where an invitation becomes a token.
const JOIN: &str = "/v1/invitations";
/// Seconds after which what was over a quota may be tried again.
const QUOTA_AFTER: u64 = 3_600;
/// A body has this long to come.
const BODY_TIME: Duration = Duration::from_secs(10);

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
    pub(super) ready: Arc<Readiness>,
}

reprise_types::show_fields!(Desk {});

pub(super) fn router(desk: &Desk) -> Router {
    Router::new()
        .route("/health/live", get(async || "alive\n"))
        .route("/health/ready", get(ready))
        .route("/openapi.json", get(async || Json(&*openapi::DESCRIPTION)))
        .route("/metrics", get(metrics))
        .route("/v1/publications", post(publish).get(published))
        .route("/v1/publications/{id}", get(thing).delete(unpublish))
        .route("/v1/publications/{id}/versions", get(versions))
        .route("/v1/publications/{id}/rating", put(rate))
        .route("/v1/query", post(query))
        .route("/v1/outcomes", post(outcomes))
        .route("/v1/snapshots/{name}", put(snapshot))
        .route("/v1/branches", get(branches))
        .route("/v1/branches/{name}", put(branch).delete(drop_branch))
        .route("/v1/branches/{name}/publications", post(draft))
        .route("/v1/branches/{name}/merge", post(merge))
        .route("/v1/audit", get(audit))
        .route("/v1/catalogue", get(operate::catalogue))
        .route(
            "/v1/publications/{id}/takedown",
            post(operate::take_down).delete(operate::put_back),
        )
        .route("/v1/takedowns", get(operate::taken_down))
        .route(
            "/v1/person",
            get(operate::person).delete(operate::erase_person),
        )
        .route(JOIN, post(operate::join))
        .fallback(async || {
            Refusal::from(Problem::not_found(
                "there is no such route; see /openapi.json",
            ))
        })
        .method_not_allowed_fallback(async || Refusal::from(no_method()))
        .layer(middleware::from_fn(aside))
        .layer(middleware::from_fn_with_state(desk.clone(), admit))
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

fn no_method() -> Problem {
    let said = "the route does not take this method; see /openapi.json";
    Problem::new(ProblemKind::Method, said)
}

/// Token, rate, right and a place, in this order.
async fn admit(State(desk): State<Desk>, mut request: Request, next: Next) -> Response {
    let path = request.uri().path();
    if path.starts_with("/health/") || path == "/openapi.json" {
        return next.run(request).await;
    }
    let full = || {
        let said = "the service answers as many requests as it can; try again in a moment";
        Refusal::from(Problem::new(ProblemKind::Overloaded, said)).into_response()
    };
    if path == JOIN && request.method() == Method::POST {
        // What is shown here is an invitation, and no token yet.
        let Ok(_place) = desk.places.try_acquire() else {
            return full();
        };
        return next.run(request).await;
    }
    // The token is looked for where the store is: not by more than are served at once.
    let Ok(_place) = desk.places.try_acquire() else {
        return full();
    };
    // A body is nobody's to wait beside.
    let token = bearer(request.headers()).map(str::to_owned);
    let known = known(&desk, token.as_deref()).await;
    let asked = match known.and_then(|known| admitted(&desk, known, &request)) {
        Ok(asked) => asked,
        Err(problem) => {
            tracing::warn!(%problem, "a request was refused");
            return Refusal::from(problem).into_response();
        }
    };
    if let Err(refused) = desk.minutes.take(&asked.caller) {
        let mut response = refused.into_response();
        response.extensions_mut().insert(asked);
        return response;
    }
    request.extensions_mut().insert(asked.caller.clone());
    let mut response = next.run(request).await;
    response.extensions_mut().insert(asked);
    response
}

/// What a token opens at this moment.
pub(super) struct Known {
    pub(super) name: String,
    pub(super) caller: Caller,
    pub(super) may: Vec<Right>,
}

async fn known(desk: &Desk, token: Option<&str>) -> Result<Known, Problem> {
    let none = || {
        Problem::new(
            ProblemKind::Unauthorized,
            "send `Authorization: Bearer TOKEN`; `reprise global token add NAME` makes a token",
        )
    };
    let token = token.ok_or_else(none)?;
    if let Some(people) = desk.people.as_ref().filter(|_| Issuer::is_jwt(token)) {
        return people.known(token).await;
    }
    let entry = desk.tokens.recognise(token).await?.ok_or_else(none)?;
    let (Scope::User(user), Some(grant)) = (entry.scope, entry.grant) else {
        return Err(Problem::new(
            ProblemKind::Forbidden,
            "this token is no user's; make one with `reprise global token add NAME --user USER`",
        ));
    };
    let org = grant.org.map(|org| org.parse()).transpose();
    Ok(Known {
        name: entry.name,
        caller: Caller {
            user,
            org: org.map_err(Problem::invalid)?,
            paid: grant.paid,
        },
        may: grant.may,
    })
}

fn admitted(desk: &Desk, known: Known, request: &Request) -> Result<Asked, Problem> {
    desk.rates.take(&known.name)?;
    let matched = request.extensions().get::<MatchedPath>();
    let matched = matched.map(MatchedPath::as_str);
    let is_it = |route: &&Route| route.method == *request.method() && Some(route.path) == matched;
    let route = ROUTES.iter().find(is_it);
    if matched.is_some() && route.is_none() {
        // Not even where somebody has written a handler for it and no row.
        return Err(no_method());
    }
    if route.is_some_and(|route| !known.may.contains(&route.right)) {
        return Err(Problem::new(
            ProblemKind::Forbidden,
            "this token does not open this operation; `reprise global token list` says what it may",
        ));
    }
    let asks = request.uri().query().is_some_and(|query| !query.is_empty());
    if asks && route.is_some_and(|route| route.takes.is_empty()) {
        let said = "the route takes no parameters in its address; see /openapi.json";
        return Err(Problem::invalid(said));
    }
    Ok(Asked {
        token: known.name,
        caller: known.caller,
    })
}

/// A store's refusal on the wire; programs find it whole in `error`.
fn refusal(error: &GlobalError) -> Refusal {
    let problem = Problem::from(error.clone());
    // What only an operator can mend stays in the log.
    let told = match problem.kind {
        ProblemKind::Internal => GlobalError::Storage {
            message: problem.detail.clone(),
        },
        _ => error.clone(),
    };
    let refused = Refusal::with(problem, json!(told));
    match error {
        // More fits once something was taken back: not in a moment.
        GlobalError::Quota { .. } => refused.after(QUOTA_AFTER),
        _ => refused,
    }
}

type Answer<T> = Result<Json<T>, Refusal>;

pub(super) fn answer<T>(done: Result<T, GlobalError>) -> Answer<T> {
    done.map(Json).map_err(|error| refusal(&error))
}

/// The body as JSON, with a sentence about what is wrong with it.
pub(super) async fn body<T: DeserializeOwned + JsonSchema + 'static>(
    request: Request,
) -> Result<T, Refusal> {
    let Ok(read) = timeout(BODY_TIME, whole(request.into_body())).await else {
        let said = "the body did not come in time; send it again";
        return Err(Problem::new(ProblemKind::BodyLate, said).into());
    };
    let (bytes, bounds) = (read?, Bounds::of::<T>());
    bounds.room().admit(&bytes)?;
    let value = from_json(&bytes).and_then(|value: Value| {
        bounds.check(&value)?;
        T::deserialize(bounds.settled(value)).map_err(|error| hinted(error.to_string()))
    });
    value.map_err(|said| {
        Problem::invalid(format!("the body is not what this route takes: {said}")).into()
    })
}

/// The bytes within the limit. What is beyond it is read to its end all the same, and dropped: else
/// whoever is still sending would not hear why it is refused.
async fn whole(mut body: Body) -> Result<Vec<u8>, Problem> {
    let (mut bytes, mut length) = (Vec::new(), 0_usize);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            Problem::invalid(format!("the body broke off ({error}); send it again"))
        })?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        length = length.saturating_add(data.len());
        if length <= BODY_BYTES_MAX {
            bytes.extend_from_slice(&data);
        }
    }
    if length > BODY_BYTES_MAX {
        let limit = format!("the limit is {BODY_BYTES_MAX}; publish a part of it");
        let said = format!("the body has {length} bytes, {limit}");
        return Err(Problem::new(ProblemKind::TooLarge, said));
    }
    Ok(bytes)
}

pub(super) fn id(text: &str) -> Result<RecordId, Refusal> {
    text.parse().map_err(|error| Problem::invalid(error).into())
}

async fn ready(State(desk): State<Desk>) -> Result<&'static str, Refusal> {
    let answers = desk.ready.look(&*desk.store).await;
    answers.map(|()| "ready\n").map_err(|error| refusal(&error))
}

async fn metrics(State(desk): State<Desk>) -> Response {
    let mut text = String::new();
    let mut written = desk.metrics.requests(&mut text);
    let is_ready = desk.ready.look(&*desk.store).await.is_ok();
    for (name, help, value) in [
        ("ready", "Whether the store answers.", u64::from(is_ready)),
        (
            "requests_free",
            "Requests that could begin now.",
            desk.places.available_permits() as u64,
        ),
    ] {
        written = written.and_then(|()| {
            writeln!(
                text,
                "# HELP reprise_global_{name} {help}\n# TYPE reprise_global_{name} gauge\n\
                 reprise_global_{name} {value}"
            )
        });
    }
    if let Err(error) = written {
        tracing::error!(%error, "the metrics are not whole");
    }
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}

async fn publish(
    State(desk): State<Desk>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Response {
    let publication: Publication = match body(request).await {
        Ok(publication) => publication,
        Err(refused) => return refused.into_response(),
    };
    answer(desk.store.publish(&caller, publication).await).into_response()
}

/// A part of a list, as the address says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Part {
    #[serde(default)]
    offset: usize,
    #[serde(default = "page_max")]
    limit: usize,
}

fn page_max() -> usize {
    PAGE_MAX
}

pub(super) fn page(part: Result<Query<Part>, QueryRejection>) -> Result<ListPage, Problem> {
    let Query(Part { offset, limit }) =
        part.map_err(|error| Problem::invalid(error.body_text()))?;
    if limit > PAGE_MAX {
        let said = format!("limit is {limit}, at most {PAGE_MAX} are told at once; ask for fewer");
        return Err(Problem::invalid(said));
    }
    Ok(ListPage { offset, limit })
}

async fn published(
    State(desk): State<Desk>,
    Extension(caller): Extension<Caller>,
    part: Result<Query<Part>, QueryRejection>,
) -> Result<Response, Refusal> {
    let page = page(part)?;
    Ok(answer(desk.store.published_page(&caller, page).await).into_response())
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Which {
    version: Option<Version>,
}

async fn thing(
    State(desk): State<Desk>,
    Extension(caller): Extension<Caller>,
    Path(named): Path<String>,
    which: Result<Query<Which>, QueryRejection>,
) -> Result<Response, Refusal> {
    let Query(which) = which.map_err(|error| Problem::invalid(error.body_text()))?;
    let found = desk.store.get(&caller, id(&named)?, which.version).await;
    Ok(answer(found).into_response())
}

async fn versions(
    State(desk): State<Desk>,
    Extension(caller): Extension<Caller>,
    Path(named): Path<String>,
    part: Result<Query<Part>, QueryRejection>,
) -> Result<Response, Refusal> {
    let (id, page) = (id(&named)?, page(part)?);
    Ok(answer(desk.store.versions_page(&caller, id, page).await).into_response())
}

async fn unpublish(
    State(desk): State<Desk>,
    Extension(caller): Extension<Caller>,
    Path(named): Path<String>,
) -> Result<Response, Refusal> {
    Ok(answer(desk.store.unpublish(&caller, id(&named)?).await).into_response())
}

async fn rate(
    State(desk): State<Desk>,
    Extension(caller): Extension<Caller>,
    Path(named): Path<String>,
    request: Request,
) -> Result<Response, Refusal> {
    let Rating { rating } = body(request).await?;
    let done = desk.store.rate(&caller, id(&named)?, rating).await;
    Ok(answer(done.map(|()| Nothing {})).into_response())
}

async fn query(
    State(desk): State<Desk>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, Refusal> {
    let mut query: GlobalQuery = body(request).await?;
    if query.top_k > TOP_K_MAX {
        let got = query.top_k;
        let said = format!("top_k is {got}, the limit is {TOP_K_MAX}; ask for fewer");
        return Err(Problem::invalid(said).into());
    }
    let end = query.text.floor_char_boundary(QUERY_BYTES_MAX);
    query.text.truncate(end);
    Ok(answer(desk.store.query(&caller, &query).await).into_response())
}

async fn outcomes(
    State(desk): State<Desk>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, Refusal> {
    let Outcomes { reports } = body(request).await?;
    let fates = desk.store.report(&caller, &reports).await;
    Ok(answer(fates.map(|fates| Fates { fates })).into_response())
}

async fn snapshot(
    State(desk): State<Desk>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Response {
    let made = desk.store.snapshot(&caller, &name).await;
    answer(made.map(|at| Moment { name, at })).into_response()
}

async fn branches(State(desk): State<Desk>, Extension(caller): Extension<Caller>) -> Response {
    answer(desk.store.branches(&caller).await).into_response()
}

async fn branch(
    State(desk): State<Desk>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Response {
    answer(desk.store.branch(&caller, &name).await).into_response()
}

async fn draft(
    State(desk): State<Desk>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Response, Refusal> {
    let publication: Publication = body(request).await?;
    let drafted = desk.store.draft(&caller, &name, publication).await;
    Ok(answer(drafted).into_response())
}

async fn merge(
    State(desk): State<Desk>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Response {
    answer(desk.store.merge(&caller, &name).await).into_response()
}

async fn drop_branch(
    State(desk): State<Desk>,
    Extension(caller): Extension<Caller>,
    Path(name): Path<String>,
) -> Response {
    answer(desk.store.drop_branch(&caller, &name).await).into_response()
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lines {
    #[serde(default = "lines_by_default")]
    limit: usize,
}

fn lines_by_default() -> usize {
    LINES_DEFAULT
}

/// What the store says of authors, and the token file of who may come in. A line that names another
/// organisation's shelf is not told.
async fn audit(
    State(desk): State<Desk>,
    Extension(caller): Extension<Caller>,
    lines: Result<Query<Lines>, QueryRejection>,
) -> Result<Response, Refusal> {
    let Query(Lines { limit }) = lines.map_err(|error| Problem::invalid(error.body_text()))?;
    if limit > AUDIT_MAX {
        let said = format!("limit is {limit}, at most {AUDIT_MAX} lines are told; ask for fewer");
        return Err(Problem::invalid(said).into());
    }
    let told = desk.store.audit(&caller, AUDIT_MAX).await;
    let mut told = told.map_err(|error| refusal(&error))?;
    let own = caller.org.map(|org| Shelf::Org(org).to_string());
    told.retain(|line| {
        let of_org = line.name.as_ref().filter(|name| name.starts_with("org:"));
        of_org.is_none() || of_org == own.as_ref()
    });
    told.truncate(limit);
    let tokens = desk.tokens.clone();
    match tokio::task::spawn_blocking(move || tokens.file().audited(told, limit)).await {
        Ok(Ok(told)) => Ok(Json(told).into_response()),
        Ok(Err(error)) => Err(Problem::failed(ProblemKind::Internal, &error).into()),
        Err(error) => Err(Problem::failed(ProblemKind::Internal, &error).into()),
    }
}
