//! The service's description, from the table of its routes.

use std::sync::LazyLock;

use reprise_global::{A_NAME, AUDIT_MAX};
use reprise_operations::ProblemKind;
use reprise_types::ID_PATTERN;
use reprise_types::limits::PAGE_MAX;
use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};

use super::bodies::{JoinResponse, LINES_DEFAULT};
use super::routes::{ROUTES, Route};
use crate::http::generators;

/// The `OpenAPI` 3.1 description, made once; it is served without a token.
pub(super) static DESCRIPTION: LazyLock<Value> = LazyLock::new(description);

fn description() -> Value {
    let (mut taken, mut given) = generators();
    let mut paths: Map<String, Value> = Map::new();
    for route in &*ROUTES {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.as_str().to_ascii_lowercase()] =
            describe_route(route, &mut taken, &mut given);
    }
    let text = json!({ "text/plain": { "schema": { "type": "string" } } });
    let object = json!({ "application/json": { "schema": { "type": "object" } } });
    for (path, name, summary, content) in [
        (
            "/health/live",
            "get_health_live",
            "The process answers",
            &text,
        ),
        (
            "/health/ready",
            "get_health_ready",
            "The store answers",
            &text,
        ),
        ("/openapi.json", "get_openapi", "This description", &object),
    ] {
        let answers = json!({ "200": { "description": "Done", "content": content },
            "default": problem_response() });
        let open = json!({ "get": { "operationId": name, "summary": summary, "security": [],
            "responses": answers } });
        paths.insert(path.to_owned(), open);
    }
    let joined = given.subschema_for::<JoinResponse>();
    let answers = json!({ "200": { "description": "Done",
        "content": { "application/json": { "schema": joined } } }, "default": problem_response() });
    let join = json!({ "post": { "operationId": "post_invitations",
        "security": [],
        "summary": "Give a token for an invitation, which is shown as bearer token; once",
        "responses": answers } });
    paths.insert("/v1/invitations".to_owned(), join);
    let mut schemas = given.take_definitions(true);
    schemas.extend(taken.take_definitions(true));
    schemas.insert("Problem".to_owned(), problem_schema());
    json!({
        "openapi": "3.1.0",
        "info": { "title": "Reprise: published knowledge", "version": env!("CARGO_PKG_VERSION"),
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" } },
        "servers": [{ "url": "/" }],
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": schemas,
        },
    })
}

fn describe_route(
    route: &Route,
    taken: &mut SchemaGenerator,
    given: &mut SchemaGenerator,
) -> Value {
    let right = json!(route.right);
    let right = right.as_str().unwrap_or_default();
    let kind = match route.path {
        "/metrics" => "text/plain",
        _ => "application/json",
    };
    let mut words = vec![route.method.as_str().to_ascii_lowercase()];
    let parts = route.path.trim_start_matches("/v1").split('/');
    let parts = parts.filter(|part| !part.is_empty());
    words.extend(parts.map(|part| part.trim_matches(['{', '}']).to_owned()));
    let mut operation = json!({
        "operationId": words.join("_"),
        "summary": route.summary,
        "description": format!("For tokens that may `{right}`."),
        "responses": {
            "200": { "description": "Done",
                "content": { kind: { "schema": (route.action.answer)(given) } } },
            "4XX": problem_response(),
            "5XX": problem_response(),
        },
    });
    let mut parameters = Vec::new();
    for name in ["id", "name"] {
        if route.path.contains(&format!("{{{name}}}")) {
            let pattern = match name {
                "id" => format!("^{ID_PATTERN}$"),
                _ => A_NAME.to_owned(),
            };
            parameters.push(json!({ "name": name, "in": "path", "required": true,
                "schema": { "type": "string", "pattern": pattern } }));
        }
    }
    for name in route.action.takes {
        let schema = match (*name, route.path) {
            ("limit", "/v1/audit") => json!({ "type": "integer", "minimum": 0,
                "maximum": AUDIT_MAX, "default": LINES_DEFAULT }),
            ("limit", _) => json!({ "type": "integer", "minimum": 0, "maximum": PAGE_MAX,
                "default": PAGE_MAX }),
            ("offset", _) => json!({ "type": "integer", "minimum": 0, "default": 0 }),
            ("confirm", _) => json!({ "type": "string", "pattern": A_NAME }),
            _ => json!({ "type": "string", "pattern": "^[1-9][0-9]{0,8}$" }),
        };
        let mut parameter = json!({ "name": name, "in": "query", "schema": schema });
        if *name == "confirm" {
            parameter["required"] = true.into();
        }
        parameters.push(parameter);
    }
    if !parameters.is_empty() {
        operation["parameters"] = json!(parameters);
    }
    if let Some(body) = route.action.body {
        let content = json!({ "application/json": { "schema": body(taken) } });
        operation["requestBody"] = json!({ "required": true, "content": content });
    }
    operation
}

fn problem_response() -> Value {
    json!({ "description": "A problem (RFC 9457); `error` is for programs",
        "content": { "application/problem+json":
            { "schema": { "$ref": "#/components/schemas/Problem" } } } })
}

fn problem_schema() -> Value {
    let text = json!({ "type": "string" });
    let kinds = ProblemKind::ALL.iter();
    let kinds = kinds.map(|kind| format!("urn:reprise:problem:{}", kind.slug()));
    json!({ "type": "object", "required": ["type", "title", "status", "detail"],
        "properties": {
            "type": { "enum": kinds.collect::<Vec<_>>() },
            "title": text, "status": { "type": "integer" }, "detail": text,
            "error": { "type": "object" } } })
}
