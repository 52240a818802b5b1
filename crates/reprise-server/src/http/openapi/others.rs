//! Descriptions of the routes that are no operations: the daemon's own, and streams.

use std::collections::BTreeMap;

use reprise_operations::{Catalogue, ProblemKind};
use serde_json::{Map, Value, json};

use super::{COMMON_PROBLEMS, problem_responses};
use crate::http::{MCP_PATH, added_mcp_path};

type Methods = Map<String, Value>;

/// A route: path, method, name, summary, media type of its answer.
type RouteDescription = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

const TEXT_MEDIA: &str = "text/plain";
const JSON_MEDIA: &str = "application/json";
const ROUTES: [RouteDescription; 10] = [
    (
        "/health/live",
        "get",
        "live",
        "Whether the daemon lives",
        TEXT_MEDIA,
    ),
    (
        "/health/ready",
        "get",
        "ready",
        "Whether it takes requests",
        TEXT_MEDIA,
    ),
    (
        "/metrics",
        "get",
        "metrics",
        "Counters for Prometheus; no user is named",
        TEXT_MEDIA,
    ),
    (
        "/v1/status",
        "get",
        "status",
        "The daemon in numbers",
        JSON_MEDIA,
    ),
    (
        "/v1/shutdown",
        "post",
        "shutdown",
        "End the daemon; over its socket only",
        JSON_MEDIA,
    ),
    (
        "/mcp",
        "post",
        "mcp",
        "MCP, streamable and stateless: one message of JSON-RPC",
        JSON_MEDIA,
    ),
    (
        "/v1/users/{user}/export",
        "get",
        "export",
        "Every live record, a JSON line each",
        "application/x-ndjson",
    ),
    (
        "/v1/users/{user}/backup",
        "get",
        "backup",
        "The whole file, for `reprise backup restore`",
        "application/octet-stream",
    ),
    (
        "/v1/users/{user}/changes",
        "get",
        "changes",
        "Changes as server-sent events, without end",
        "text/event-stream",
    ),
    (
        "/v1/users/{user}/tools/{tool}",
        "post",
        "tool",
        "Run a tool of MCP with its arguments",
        JSON_MEDIA,
    ),
];

pub(super) fn describe_paths(catalogue: &Catalogue) -> BTreeMap<String, Methods> {
    let mut paths: BTreeMap<String, Methods> = BTreeMap::new();
    for (path, method, name, summary, media) in ROUTES {
        let described = describe_route(path, method, name, summary, media);
        let methods = paths.entry(path.to_owned()).or_default();
        methods.insert(method.to_owned(), described);
    }
    for profile in catalogue.list_added_profiles() {
        let path = added_mcp_path(profile);
        let name = format!("mcp_{}", profile.name);
        let summary = format!("The same with the tools of {}", profile.subject);
        let described = describe_route(&path, "post", &name, &summary, JSON_MEDIA);
        let methods = paths.entry(path).or_default();
        methods.insert("post".to_owned(), described);
    }
    paths
}

/// Returns the schema of a request or a notification of JSON-RPC.
fn json_rpc_schema() -> Value {
    let number = json!({ "type": "integer", "minimum": i64::MIN, "maximum": i64::MAX });
    json!({
        "type": "object",
        "properties": {
            "jsonrpc": { "const": "2.0" },
            "id": { "anyOf": [{ "type": "string" }, number] },
            "method": { "type": "string" },
            "params": { "type": ["object", "null"] },
        },
        "required": ["jsonrpc", "method"],
    })
}

fn describe_route(path: &str, method: &str, name: &str, summary: &str, media: &str) -> Value {
    let schema = match media {
        JSON_MEDIA => json!({ "type": "object" }),
        _ => json!({ "type": "string" }),
    };
    let mut kinds = COMMON_PROBLEMS.to_vec();
    if name == "tool" {
        kinds.extend([ProblemKind::Conflict, ProblemKind::TimedOut]);
    }
    if method == "post" {
        kinds.extend([ProblemKind::BodyLate, ProblemKind::TooLarge]);
    }
    let mut answers = problem_responses(&kinds);
    answers["200"] = json!({
        "description": "Done",
        "content": { media: { "schema": schema } },
    });
    let mut described = json!({ "operationId": name, "summary": summary });
    let mut parameters = Vec::new();
    if path.contains("{user}") {
        parameters.push(json!({ "$ref": "#/components/parameters/user" }));
    }
    let is_mcp = path.starts_with(MCP_PATH);
    match name {
        "live" | "ready" => described["security"] = json!([]),
        "export" => parameters.push(json!({
            "name": "sensitive",
            "in": "query",
            "required": false,
            "schema": { "type": "boolean" },
            "description": "Those tagged `sensitive` too.",
        })),
        "tool" => {
            parameters.push(json!({ "$ref": "#/components/parameters/key" }));
            parameters.push(json!({
                "name": "tool",
                "in": "path",
                "required": true,
                "schema": { "type": "string" },
                "description": "Its name or alias, as MCP lists it.",
            }));
        }
        _ if is_mcp => {
            parameters.push(json!({ "$ref": "#/components/parameters/whose" }));
            answers["202"] = json!({ "description": "Taken; a notification has no answer" });
            for (status, detail) in [
                ("406", "The `Accept` header takes neither JSON nor events"),
                ("415", "No message of JSON-RPC"),
            ] {
                let text = json!({ TEXT_MEDIA: { "schema": { "type": "string" } } });
                answers[status] = json!({ "description": detail, "content": text });
            }
        }
        _ => {}
    }
    let request_schema = match name {
        _ if is_mcp => Some(json_rpc_schema()),
        "tool" => Some(json!({ "type": "object" })),
        _ => None,
    };
    if let Some(request_schema) = request_schema {
        described["requestBody"] = json!({
            "required": true,
            "content": { JSON_MEDIA: { "schema": request_schema } },
        });
    }
    if !parameters.is_empty() {
        described["parameters"] = json!(parameters);
    }
    described["responses"] = answers;
    described
}
