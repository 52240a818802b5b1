//! HTTP: one router for the Unix socket and for TCP.
//!
//! The operations come from the catalogue; here are the other routes, authentication, extraction
//! and statuses.

mod answers;
mod catalogue;
mod extract;
mod guard;
mod metrics;
mod oauth;
mod openapi;
mod page_listener;
mod server_card;
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

use reprise_operations::{AddedProfile, Catalogue, Memories, Profile, Room};
use reprise_types::UserId;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use crate::daemon::DaemonState;
use crate::mcp::McpServer;
use crate::oauth::Oauth;
use crate::tokens::TokenFile;

pub(crate) use answers::{Refusal, serve_on_worker_thread};
use extract::check_query_user;
pub(crate) use extract::{apply_caller_rights, requested_user};
pub(crate) use guard::{EntryPoint, OPENS_NOTHING, OpenRates, Rates, SEND, bearer};
pub(crate) use metrics::{MetricFamily, Metrics, watch, write_families};
pub(crate) use openapi::generators;
pub(crate) use page_listener::PageLauncher;
pub(crate) use service::{no_method, no_route, wrong_method_problem};
pub(crate) use streams::stream_with_slot;

/// Longest body that is read, in bytes.
const BODY_BYTES_MAX: usize = 32 * 1024 * 1024;

/// State that every handler can use; it is cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct App {
    pub(crate) memories: Memories,
    pub(crate) catalogue: Catalogue,
    /// User of a request that names none.
    pub(crate) user: Option<UserId>,
    pub(crate) daemon: Arc<DaemonState>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) tokens: Arc<TokenFile>,
    /// OAuth, if programs may sign in by it.
    pub(crate) oauth: Option<Arc<Oauth>>,
    pub(crate) rates: Arc<Rates>,
    pub(crate) open_rates: Arc<OpenRates>,
    pub(crate) page: Arc<PageLauncher>,
    /// Text of `/openapi.json`, built once, since it can be read without a token.
    pub(crate) description: Arc<OnceLock<Bytes>>,
}

/// Where MCP is served with the tools that most agents need.
const MCP_PATH: &str = "/mcp";

/// Returns where MCP is served with the tools of an added profile.
fn added_mcp_path(profile: AddedProfile) -> String {
    format!("{MCP_PATH}/{}", profile.name)
}

/// Builds the routes of MCP over HTTP: one for each profile that is served, with and without a
/// slash at its end.
fn mcp_routes(app: &App) -> Router<App> {
    let added = app.catalogue.list_added_profiles().into_iter();
    let added = added.map(|profile| (added_mcp_path(profile), Profile::Added(profile)));
    let served = std::iter::once((MCP_PATH.to_owned(), Profile::Default)).chain(added);
    served.fold(Router::new(), |router, (path, profile)| {
        let with_slash = format!("{path}/");
        let route = || mcp_route(app, profile);
        router.route(&path, route()).route(&with_slash, route())
    })
}

/// Builds the router of every route, with the authentication of this entry point.
pub(crate) fn router(app: &App, entry: &EntryPoint) -> Router {
    Router::new()
        .route("/health/live", get(service::report_liveness))
        .route("/health/ready", get(service::report_readiness))
        .route("/metrics", get(service::serve_metrics))
        .route("/openapi.json", get(openapi::serve_document))
        .route("/v1/status", get(service::report_status))
        .route("/v1/shutdown", post(service::shut_down))
        .route("/v1/page", post(page_listener::create_page_link))
        .merge(catalogue::router(&app.catalogue))
        .merge(oauth::router())
        .nest("/v1/users/{user}", streams::router())
        .route("/v1/users/{user}/tools/{tool}", post(catalogue::run_tool))
        .merge(mcp_routes(app))
        .route(server_card::PATH, get(server_card::serve))
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(middleware::from_fn(serve_on_worker_thread))
        .layer(middleware::from_fn_with_state(
            app.clone(),
            guard::serve_with_request_slot,
        ))
        .layer(middleware::from_fn_with_state(
            app.clone(),
            guard::buffer_body_and_serve,
        ))
        .layer(middleware::from_fn_with_state(
            (app.clone(), *entry),
            guard::authenticate,
        ))
        .layer(middleware::from_fn_with_state(
            Arc::clone(&app.metrics),
            watch,
        ))
        .with_state(app.clone())
}

/// Builds the route of MCP over HTTP; Host and Origin are checked before it is reached.
fn mcp_route(app: &App, profile: Profile) -> MethodRouter<App> {
    let room = app.catalogue.largest_tool_room();
    let server = McpServer::in_process(app.memories.clone(), app.catalogue.clone(), None, profile);
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(Vec::<String>::new())
        .with_max_request_body_bytes(BODY_BYTES_MAX)
        .with_legacy_session_mode(false)
        .with_json_response(true);
    let sessions: Arc<LocalSessionManager> = Arc::default();
    let service = StreamableHttpService::new(move || Ok(server.clone()), sessions, config);
    let admit = move |state: State<App>, request: Request, next: Next| {
        prepare_mcp_request(state, room, request, next)
    };
    any_service(service).layer(middleware::from_fn_with_state(app.clone(), admit))
}

/// Limits a message of MCP to the room of a tool's arguments. A client without an `Accept` header,
/// or that accepts JSON, the one format that is sent, is taken to accept both of MCP.
async fn prepare_mcp_request(
    State(app): State<App>,
    room: Room,
    mut request: Request,
    next: Next,
) -> Response {
    let accepted = request.headers().get(ACCEPT);
    let takes_json = |accepted: &HeaderValue| {
        let accepted = accepted.to_str().unwrap_or_default();
        ["*/*", "application/*", "application/json"]
            .iter()
            .any(|format| accepted.contains(format))
    };
    if accepted.is_none_or(takes_json) {
        let both = HeaderValue::from_static("application/json, text/event-stream");
        request.headers_mut().insert(ACCEPT, both);
    }
    let (parts, body) = request.into_parts();
    let read = match check_query_user(&parts) {
        Ok(()) => extract::read_body(Request::from_parts(parts.clone(), body), &app, room).await,
        Err(problem) => Err(problem),
    };
    let body = match read {
        Ok(body) => Body::from(body),
        Err(problem) => return Refusal::from(problem).into_response(),
    };
    let mut response = next.run(Request::from_parts(parts, body)).await;
    // MCP's library sets no content type when it refuses a request.
    if response.status().is_client_error() {
        let text = HeaderValue::from_static("text/plain; charset=utf-8");
        response.headers_mut().entry(CONTENT_TYPE).or_insert(text);
    }
    response
}

#[cfg(test)]
mod tests;
