//! `/openapi.json`: the surface described for programs, in version 3.1 of that format.
//!
//! Lives here: one row a route. Must never live here: a route that does not exist; the test walks
//! them all.

use axum::Json;
use serde_json::{Map, Value, json};

/// Method, path, what it does, and the body it takes.
type Row = (&'static str, &'static str, &'static str, Takes);

/// The body of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Record,
    Changes,
    Recall,
    Outcome,
    Forget,
    Learning,
    Arguments,
}

use Takes::{Arguments, Changes, Forget, Learning, Nothing, Outcome, Recall, Record};

const ROWS: &[Row] = &[
    ("get", "/health/live", "Whether the daemon lives", Nothing),
    ("get", "/health/ready", "Whether it takes requests", Nothing),
    ("get", "/metrics", "Counters for Prometheus", Nothing),
    ("get", "/v1/status", "The daemon in numbers", Nothing),
    (
        "post",
        "/v1/users/{user}/records",
        "Keep a record or a list",
        Record,
    ),
    (
        "get",
        "/v1/users/{user}/records/{id}",
        "Show a record",
        Nothing,
    ),
    (
        "patch",
        "/v1/users/{user}/records/{id}",
        "Correct a record",
        Changes,
    ),
    (
        "delete",
        "/v1/users/{user}/records/{id}",
        "Forget a record",
        Nothing,
    ),
    (
        "post",
        "/v1/users/{user}/recall",
        "Bring back what resonates",
        Recall,
    ),
    (
        "post",
        "/v1/users/{user}/outcome",
        "Say how a run went",
        Outcome,
    ),
    (
        "post",
        "/v1/users/{user}/forget",
        "Forget by a selector",
        Forget,
    ),
    (
        "post",
        "/v1/users/{user}/learning",
        "Govern learning",
        Learning,
    ),
    (
        "get",
        "/v1/users/{user}/export",
        "Every live record as NDJSON",
        Nothing,
    ),
    (
        "get",
        "/v1/users/{user}/stats",
        "A memory in numbers",
        Nothing,
    ),
    (
        "post",
        "/v1/users/{user}/compact",
        "Remove the forgotten",
        Nothing,
    ),
    (
        "post",
        "/v1/users/{user}/checkpoint",
        "Write the derived parts",
        Nothing,
    ),
    (
        "get",
        "/v1/users/{user}/changes",
        "Changes as server-sent events",
        Nothing,
    ),
    (
        "post",
        "/v1/users/{user}/tools/{id}",
        "Run a tool of MCP",
        Arguments,
    ),
    (
        "post",
        "/v1/users/{user}/resource",
        "Read a resource of MCP",
        Arguments,
    ),
    (
        "post",
        "/v1/users/{user}/hooks/{id}",
        "A moment of a session",
        Arguments,
    ),
    (
        "get",
        "/api/memory/search",
        "ChoirOS: search by `q`, at most `k`",
        Nothing,
    ),
    ("get", "/api/memory/stats", "ChoirOS: statistics", Nothing),
    (
        "get",
        "/api/memory/config",
        "ChoirOS: what is in force",
        Nothing,
    ),
    (
        "get",
        "/api/memory/episodes",
        "ChoirOS: runs and sessions",
        Nothing,
    ),
    (
        "get",
        "/api/memory/episodes/{id}",
        "ChoirOS: one of them",
        Nothing,
    ),
    ("post", "/api/memory/compact", "ChoirOS: compact", Nothing),
    (
        "post",
        "/api/memory/snapshot",
        "ChoirOS: checkpoint",
        Nothing,
    ),
];

/// The document.
pub(super) async fn document() -> Json<Value> {
    let mut paths: Map<String, Value> = Map::new();
    for (method, path, what, takes) in ROWS {
        let operations = paths.entry(*path).or_insert_with(|| json!({}));
        operations[*method] = operation(path, what, *takes);
    }
    Json(json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Reprise",
            "description": "Episodic memory for AI agents. Problems are RFC 9457 JSON.",
            "version": env!("CARGO_PKG_VERSION"),
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": { "Problem": {
                "type": "object",
                "properties": {
                    "type": { "type": "string" },
                    "title": { "type": "string" },
                    "status": { "type": "integer" },
                    "detail": { "type": "string" },
                },
                "required": ["type", "title", "status", "detail"],
            } },
        },
    }))
}

fn operation(path: &str, what: &str, takes: Takes) -> Value {
    let parameters = path.split('/').filter_map(|part| {
        let name = part.strip_prefix('{')?.strip_suffix('}')?;
        let schema = json!({ "type": "string", "minLength": 1, "maxLength": 512 });
        Some(json!({ "name": name, "in": "path", "required": true, "schema": schema }))
    });
    let mut parameters: Vec<Value> = parameters.collect();
    if path.ends_with("/search") {
        for (name, kind, required) in [("q", "string", true), ("k", "integer", false)] {
            let schema = json!({ "type": kind });
            let parameter =
                json!({ "name": name, "in": "query", "required": required, "schema": schema });
            parameters.push(parameter);
        }
    }
    let problem = json!({ "application/problem+json": {
        "schema": { "$ref": "#/components/schemas/Problem" },
    } });
    let mut operation = json!({
        "summary": what,
        "parameters": parameters,
        "responses": {
            "200": { "description": "Done" },
            "default": { "description": "Not done, and why", "content": problem },
        },
    });
    if let Some(schema) = body(takes) {
        operation["requestBody"] = json!({
            "required": true,
            "content": { "application/json": { "schema": schema } },
        });
    }
    operation
}

fn body(takes: Takes) -> Option<Value> {
    let text = || json!({ "type": "string" });
    let texts = || json!({ "type": "array", "items": { "type": "string" } });
    let (properties, required): (Value, &[&str]) = match takes {
        Nothing => return None,
        Arguments | Changes => (json!({}), &[]),
        Record => (
            json!({
                "text": text(), "external_id": text(), "source": text(), "kind": text(),
                "session_id": text(), "timestamp": text(), "tags": texts(),
                "metadata": { "type": "object" }, "details": {},
                "quality_score": { "type": "number", "minimum": 0, "maximum": 1 },
            }),
            &["text"],
        ),
        Recall => (
            json!({
                "query": text(), "top_k": { "type": "integer", "minimum": 0 },
                "kind": texts(), "source": texts(), "tags": texts(), "since": text(),
                "until": text(), "session": text(), "as_of": text(),
                "budget": { "type": "integer", "minimum": 0 },
            }),
            &["query"],
        ),
        Outcome => (
            json!({
                "recall_id": text(), "query": text(), "used": texts(), "run_id": text(),
                "quality": { "type": "number", "minimum": 0, "maximum": 1 },
                "failure_kind": text(), "credit": text(),
            }),
            &["quality"],
        ),
        Forget => (
            json!({
                "id": text(), "external_id": text(), "session": text(), "before": text(),
                "reason": text(),
            }),
            &[],
        ),
        Learning => (
            json!({ "action": { "enum": ["on", "off", "reset"] } }),
            &["action"],
        ),
    };
    Some(json!({ "type": "object", "properties": properties, "required": required }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Call;
    use crate::problem::ProblemKind;
    use crate::testing::run;

    #[tokio::test]
    async fn every_route_that_is_described_exists() {
        let running = run().await;
        let document: Value = running
            .client
            .ask(&Call::get("/openapi.json"))
            .await
            .unwrap();
        let paths = document["paths"].as_object().unwrap();
        assert_eq!(
            paths.values().flat_map(|p| p.as_object().unwrap()).count(),
            ROWS.len()
        );
        for (method, path, ..) in ROWS.iter().filter(|row| !row.1.ends_with("/changes")) {
            let path = path.replace("{user}", "ada").replace("{id}", "nobody");
            let empty = json!({});
            let call = match *method {
                "get" => Call::get(path.clone()),
                "post" => Call::post(path.clone(), &empty),
                "patch" => Call::patch(path.clone(), &empty),
                _ => Call::delete(path.clone()),
            };
            if let Err(problem) = running.client.bytes(&call).await {
                let known = problem.kind != ProblemKind::Method
                    && !problem.detail.contains("no such route");
                assert!(known, "{method} {path}: {problem}");
            }
        }
        running.end().await;
    }
}
