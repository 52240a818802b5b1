//! The server card (SEP-2127): what a client may read about MCP here before it connects, without a
//! token. It says how to connect, and nothing of what is stored.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_TYPE, HOST};
use axum::response::{IntoResponse, Response};
use rmcp::model::ProtocolVersion;
use serde_json::json;

use super::App;

/// The place that the extension reserves: that of MCP, and this.
pub(super) const PATH: &str = "/mcp/server-card";
const MEDIA_TYPE: &str = "application/mcp-server-card+json";
const SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json";
/// The name of `server.json`, which registries read.
const NAME: &str = "invalid.example/reprise";

pub(super) async fn serve(State(app): State<App>, headers: HeaderMap) -> Response {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let host = host.unwrap_or("localhost");
    let oauth = app.oauth.as_ref();
    let base = oauth.map_or_else(|| format!("http://{host}"), |oauth| oauth.base_url(host));
    let versions: Vec<&str> = ProtocolVersion::KNOWN_VERSIONS
        .iter()
        .map(ProtocolVersion::as_str)
        .collect();
    let card = json!({
        "$schema": SCHEMA,
        "name": NAME,
        "title": "Reprise",
        "version": env!("CARGO_PKG_VERSION"),
        "description": "Long-term memory of a user: what agents did and learned in earlier sessions.",
        "remotes": [{
            "type": "streamable-http",
            "url": format!("{base}/mcp"),
            "supportedProtocolVersions": versions,
            "headers": [{
                "name": "Authorization",
                "description": "`Bearer TOKEN`; `reprise serve token add NAME` makes one",
                "isRequired": oauth.is_none(),
                "isSecret": true,
            }],
        }],
    });
    let headers = [
        (CONTENT_TYPE, MEDIA_TYPE),
        (ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (CACHE_CONTROL, "public, max-age=3600"),
    ];
    (headers, Json(card)).into_response()
}
