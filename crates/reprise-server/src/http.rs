//! HTTP: one router, behind the Unix socket and behind TCP.
//!
//! What operations there are is the catalogue's; here are the routes that are none, the guard of
//! the doors, extraction and statuses.

mod answers;
mod catalogue;
mod extract;
mod guard;
mod intake;
mod metrics;
mod openapi;
mod page;
mod rate;
mod service;
mod streams;
mod tools;

use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use axum::{Router, middleware};

use reprise_operations::{Catalogue, Memories, Profile};
use reprise_types::UserId;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use crate::daemon::Life;
use crate::mcp::McpFace;
use crate::tokens::TokenFile;

pub(crate) use extract::user_of;
pub(crate) use guard::Door;
pub(crate) use metrics::Metrics;
pub(crate) use page::{NewDoor, PageDoor};
pub(crate) use rate::Rates;

/// Longest body that is read, in bytes.
pub(crate) const BODY_BYTES_MAX: usize = 32 * 1024 * 1024;

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
    pub(crate) rates: Arc<Rates>,
    pub(crate) page: Arc<PageDoor>,
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
        .route("/v1/page", post(page::open))
        .merge(catalogue::router(&app.catalogue))
        .nest("/v1/users/{user}", streams::router())
        .route("/v1/users/{user}/tools/{tool}", post(tools::call))
        .route_service("/mcp", mcp(app))
        .fallback(service::no_route)
        .method_not_allowed_fallback(service::no_method)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(middleware::from_fn_with_state(app.clone(), guard::admit))
        .layer(middleware::from_fn_with_state(app.clone(), intake::read))
        .layer(middleware::from_fn_with_state(
            (app.clone(), *door),
            guard::check,
        ))
        .layer(middleware::from_fn_with_state(app.clone(), metrics::watch))
        .with_state(app.clone())
}

/// MCP over HTTP. Host and Origin are checked before it is reached.
fn mcp(app: &App) -> StreamableHttpService<McpFace, LocalSessionManager> {
    let face = McpFace::here(
        app.memories.clone(),
        app.catalogue.clone(),
        None,
        Profile::Default,
    );
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(Vec::<String>::new())
        .with_max_request_body_bytes(BODY_BYTES_MAX)
        .with_legacy_session_mode(false)
        .with_json_response(true);
    StreamableHttpService::new(move || Ok(face.clone()), Arc::default(), config)
}

#[cfg(test)]
mod tests;
