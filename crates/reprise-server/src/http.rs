//! HTTP: one router, behind the Unix socket and behind TCP.
//!
//! What operations there are is the catalogue's; here are the routes that are none, the guard of
//! the doors, extraction and statuses.

mod answers;
mod catalogue;
mod door;
mod extract;
mod guard;
mod intake;
mod metrics;
mod oauth;
mod openapi;
mod service;
mod streams;

use std::sync::{Arc, OnceLock};

use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::HeaderValue;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, any_service, get, post};
use axum::{Router, middleware};

use reprise_operations::{Catalogue, Memories, Profile, Room};
use reprise_types::UserId;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use crate::daemon::Life;
use crate::mcp::McpFace;
use crate::oauth::Oauth;
use crate::tokens::TokenFile;

pub(crate) use answers::{Refusal, answer};
pub(crate) use door::{NewDoor, PageDoor};
use extract::named_user;
pub(crate) use extract::{asked_by, user_of};
pub(crate) use guard::{Door, OPENS_NOTHING, Rates, SEND, bearer};
pub(crate) use metrics::{Metrics, families, watch};
pub(crate) use openapi::generators;
pub(crate) use service::{no_method, no_route, wrong_method};
pub(crate) use streams::sharing;

/// Longest body that is read, in bytes.
const BODY_BYTES_MAX: usize = 32 * 1024 * 1024;

/// What every handler can reach. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct App {
    pub(crate) memories: Memories,
    pub(crate) catalogue: Catalogue,
    /// Whose memory it is where a request does not say.
    pub(crate) user: Option<UserId>,
    pub(crate) life: Arc<Life>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) tokens: Arc<TokenFile>,
    /// How programs sign in, where they may.
    pub(crate) oauth: Option<Arc<Oauth>>,
    pub(crate) rates: Arc<Rates>,
    pub(crate) page: Arc<PageDoor>,
    /// `/openapi.json`, made once: whoever asks for it needs no token.
    pub(crate) description: Arc<OnceLock<Bytes>>,
}

/// Every route, guarded for this door.
pub(crate) fn router(app: &App, door: &Door) -> Router {
    Router::new()
        .route("/health/live", get(service::live))
        .route("/health/ready", get(service::ready))
        .route("/metrics", get(service::metrics))
        .route("/openapi.json", get(openapi::serve))
        .route("/v1/status", get(service::status))
        .route("/v1/shutdown", post(service::shut_down))
        .route("/v1/page", post(door::open))
        .merge(catalogue::router(&app.catalogue))
        .merge(oauth::router())
        .nest("/v1/users/{user}", streams::router())
        .route("/v1/users/{user}/tools/{tool}", post(catalogue::tool))
        .route("/mcp", mcp(app, Profile::Default))
        .route("/mcp/workspace", mcp(app, Profile::Workspace))
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(middleware::from_fn(answer))
        .layer(middleware::from_fn_with_state(app.clone(), guard::admit))
        .layer(middleware::from_fn_with_state(app.clone(), intake::read))
        .layer(middleware::from_fn_with_state(
            (app.clone(), *door),
            guard::check,
        ))
        .layer(middleware::from_fn_with_state(
            Arc::clone(&app.metrics),
            watch,
        ))
        .with_state(app.clone())
}

/// MCP over HTTP. Host and Origin are checked before it is reached.
fn mcp(app: &App, profile: Profile) -> MethodRouter<App> {
    let room = app.catalogue.tools_room();
    let face = McpFace::here(app.memories.clone(), app.catalogue.clone(), None, profile);
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(Vec::<String>::new())
        .with_max_request_body_bytes(BODY_BYTES_MAX)
        .with_legacy_session_mode(false)
        .with_json_response(true);
    let sessions: Arc<LocalSessionManager> = Arc::default();
    let service = StreamableHttpService::new(move || Ok(face.clone()), sessions, config);
    let admit =
        move |state: State<App>, request: Request, next: Next| admitted(state, room, request, next);
    any_service(service).layer(middleware::from_fn_with_state(app.clone(), admit))
}

/// A message of MCP has room for the arguments of a tool. Who takes anything, or says nothing of
/// it, takes both of what MCP may answer.
async fn admitted(
    State(app): State<App>,
    room: Room,
    mut request: Request,
    next: Next,
) -> Response {
    let accepted = request.headers().get(ACCEPT);
    if accepted.is_none_or(|accepted| accepted == "*/*") {
        let both = HeaderValue::from_static("application/json, text/event-stream");
        request.headers_mut().insert(ACCEPT, both);
    }
    let (parts, body) = request.into_parts();
    let read = match named_user(&parts) {
        Ok(()) => extract::bytes(Request::from_parts(parts.clone(), body), &app, room).await,
        Err(problem) => Err(problem),
    };
    let body = match read {
        Ok(body) => Body::from(body),
        Err(problem) => return Refusal::from(problem).into_response(),
    };
    let mut response = next.run(Request::from_parts(parts, body)).await;
    // Of what it refuses MCP's library does not say what it writes.
    if response.status().is_client_error() {
        let text = HeaderValue::from_static("text/plain; charset=utf-8");
        response.headers_mut().entry(CONTENT_TYPE).or_insert(text);
    }
    response
}

#[cfg(test)]
mod tests;
