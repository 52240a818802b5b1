//! The service's description, from the table of its routes.

use std::sync::LazyLock;

use reprise_operations::ProblemKind;
use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};

use super::operate::JoinResponse;
use super::operations::ROUTES;
use super::service_route::ServiceRoute;
use crate::http::generators;

/// The `OpenAPI` 3.1 description, made once; it is served without a token.
pub(super) static DESCRIPTION: LazyLock<Value> = LazyLock::new(description);

fn description() -> Value {
    let (mut taken, mut given) = generators();
    let mut paths: Map<String, Value> = Map::new();
    for route in ROUTES {
        let path = paths.entry(route.path()).or_insert_with(|| json!({}));
        path[route.method().name().to_ascii_lowercase()] =
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
    route: &ServiceRoute,
    taken: &mut SchemaGenerator,
    given: &mut SchemaGenerator,
) -> Value {
    let right = json!(route.right());
    let right = right.as_str().unwrap_or_default();
    let kind = match route.path() {
        "/metrics" => "text/plain",
        _ => "application/json",
    };
    let mut words = vec![route.method().name().to_ascii_lowercase()];
    let parts = route.path().trim_start_matches("/v1").split('/');
    let parts = parts.filter(|part| !part.is_empty());
    words.extend(parts.map(|part| part.trim_matches(['{', '}']).to_owned()));
    let mut described = json!({
        "operationId": words.join("_"),
        "summary": route.spec.summary,
        "description": format!("For tokens that may `{right}`."),
        "responses": {
            "200": { "description": "Done",
                "content": { kind: { "schema": (route.describe_answer)(given) } } },
            "4XX": problem_response(),
            "5XX": problem_response(),
        },
    });
    (route.describe_arguments)(&mut described, taken);
    described
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
