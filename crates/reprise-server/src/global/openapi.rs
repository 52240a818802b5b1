//! The service's description, from the table of its routes.

use reprise_global::AUDIT_MAX;
use reprise_operations::ProblemKind;
use serde_json::{Map, Value, json};

use super::table::{ROUTES, Route};
use crate::tokens::Right;

/// `OpenAPI` 3.1.
pub(super) fn description() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for route in &ROUTES {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        if let Some(methods) = path.as_object_mut() {
            methods.insert(route.method.as_str().to_ascii_lowercase(), operation(route));
        }
    }
    for (path, summary) in [
        ("/health/live", "The process answers"),
        ("/health/ready", "The store answers"),
        ("/openapi.json", "This description"),
    ] {
        let open = json!({ "get": { "summary": summary, "security": [],
            "responses": { "200": { "description": "Done" } } } });
        paths.insert(path.to_owned(), open);
    }
    json!({
        "openapi": "3.1.0",
        "info": { "title": "Reprise: published knowledge", "version": env!("CARGO_PKG_VERSION"),
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" } },
        "servers": [{ "url": "/" }],
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": schemas(),
        },
    })
}

fn operation(route: &Route) -> Value {
    let right = match route.right {
        Right::Read => "read",
        Right::Write => "write",
        Right::Operate => "operate",
    };
    let mut operation = json!({
        "summary": route.summary,
        "description": format!("For tokens that may `{right}`."),
        "responses": {
            "200": { "description": "Done" },
            "default": { "description": "A problem (RFC 9457); `error` is for programs",
                "content": { "application/problem+json":
                    { "schema": { "$ref": "#/components/schemas/Problem" } } } },
        },
    });
    let mut parameters = Vec::new();
    for name in ["id", "name"] {
        if route.path.contains(&format!("{{{name}}}")) {
            parameters.push(json!({ "name": name, "in": "path", "required": true,
                "schema": { "type": "string" } }));
        }
    }
    if route.path.ends_with("{id}") && route.method == "GET" {
        parameters.push(json!({ "name": "version", "in": "query",
            "schema": { "type": "string", "pattern": "^[1-9][0-9]*$" } }));
    }
    if route.path == "/v1/audit" {
        parameters.push(json!({ "name": "limit", "in": "query",
            "schema": { "type": "integer", "minimum": 0, "maximum": AUDIT_MAX } }));
    }
    let body = match (route.method.as_str(), route.path) {
        ("POST", "/v1/publications" | "/v1/branches/{name}/publications") => Some("Publication"),
        ("POST", "/v1/query") => Some("Query"),
        ("POST", "/v1/outcomes") => Some("Outcomes"),
        ("PUT", "/v1/publications/{id}/rating") => Some("Rating"),
        _ => None,
    };
    if let Some(members) = operation.as_object_mut() {
        if !parameters.is_empty() {
            members.insert("parameters".to_owned(), json!(parameters));
        }
        if let Some(schema) = body {
            let schema = json!({ "$ref": format!("#/components/schemas/{schema}") });
            let content = json!({ "application/json": { "schema": schema } });
            let body = json!({ "required": true, "content": content });
            members.insert("requestBody".to_owned(), body);
        }
    }
    operation
}

fn schemas() -> Value {
    let text = json!({ "type": "string" });
    let share = json!({ "type": "number", "minimum": 0, "maximum": 1 });
    let types = json!({ "enum": ["document", "agent", "app", "pattern"] });
    json!({
        "Publication": { "type": "object", "additionalProperties": false,
            "required": ["origin", "content_type", "title", "summary", "content", "access_policy"],
            "properties": { "origin": text, "content_type": types, "title": text, "summary": text,
                "content": text, "tags": { "type": "array", "items": text },
                "access_policy": { "enum": ["public", "org", "paid"] }, "licence": text } },
        "Query": { "type": "object", "additionalProperties": false, "required": ["text", "top_k"],
            "properties": { "text": text, "top_k": { "type": "integer", "minimum": 0 },
                "content_types": { "type": "array", "items": types },
                "snapshot": { "type": ["string", "null"] },
                "branch": { "type": ["string", "null"] } } },
        "Outcomes": { "type": "object", "additionalProperties": false, "required": ["reports"],
            "properties": { "reports": { "type": "array", "items": { "type": "object",
                "required": ["id", "score", "count"], "properties": { "id": text, "score": share,
                    "count": { "type": "integer", "minimum": 1 } } } } } },
        "Rating": { "type": "object", "additionalProperties": false, "required": ["rating"],
            "properties": { "rating": share } },
        "Problem": { "type": "object", "required": ["type", "title", "status", "detail"],
            "properties": {
                "type": { "enum": ProblemKind::ALL.iter()
                    .map(|kind| format!("urn:reprise:problem:{}", kind.slug()))
                    .collect::<Vec<_>>() },
                "title": text, "status": { "type": "integer" }, "detail": text,
                "error": { "type": "object" } } },
    })
}
