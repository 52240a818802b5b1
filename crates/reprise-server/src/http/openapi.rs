//! `/openapi.json`: the description of the routes in `OpenAPI` 3.1. The routes of the catalogue are
//! described from it; the few others are in `openapi/others.rs`.

mod others;

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use reprise_operations::{
    Callers, Catalogue, CatalogueEntry, Effect, Method, ProblemKind, add_missing_bounds,
};
use reprise_redact::Redaction;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::App;
use super::extract::ADDRESS_CHARS_MAX;

/// Problems that every route may return.
const COMMON_PROBLEMS: [ProblemKind; 8] = [
    ProblemKind::Invalid,
    ProblemKind::Unauthorized,
    ProblemKind::Forbidden,
    ProblemKind::NotFound,
    ProblemKind::Method,
    ProblemKind::Overloaded,
    ProblemKind::Internal,
    ProblemKind::Unavailable,
];

pub(super) async fn serve_document(State(app): State<App>) -> impl IntoResponse {
    let made = || build_document(&app.catalogue).to_string().into();
    let text = app.description.get_or_init(made).clone();
    ([(CONTENT_TYPE, "application/json")], text)
}

/// Returns the schema generators for request bodies and for responses.
pub(crate) fn generators() -> (SchemaGenerator, SchemaGenerator) {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let inputs = settings
        .clone()
        .with_transform(add_missing_bounds)
        .for_deserialize();
    (
        inputs.into_generator(),
        settings.for_serialize().into_generator(),
    )
}

/// Builds the document of a catalogue.
pub(super) fn build_document(catalogue: &Catalogue) -> Value {
    let (mut inputs, mut outputs) = generators();
    let mut paths: BTreeMap<String, Map<String, Value>> = others::describe_paths(catalogue);
    for entry in catalogue.entries() {
        for (position, (method, path)) in entry.spec.list_routes().into_iter().enumerate() {
            let described =
                describe_operation(entry, position, (method, &path), &mut inputs, &mut outputs);
            let methods = paths.entry(path).or_default();
            methods.insert(method.name().to_lowercase(), described);
        }
    }
    // A type of both requests and responses has the bounds of requests.
    let mut schemas = outputs.take_definitions(true);
    schemas.extend(inputs.take_definitions(true));
    schemas.insert("Problem".to_owned(), problem_schema());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Reprise",
            "description": "Episodic memory for AI agents. Problems are RFC 9457 JSON. MCP is at `POST /mcp`.",
            "version": env!("CARGO_PKG_VERSION"),
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/", "description": "This daemon" }],
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "parameters": shared_parameters(),
            "responses": shared_responses(),
            "schemas": schemas,
        },
    })
}

/// Describes an operation at one of its routes.
fn describe_operation(
    entry: &CatalogueEntry,
    position: usize,
    (method, path): (Method, &str),
    inputs: &mut SchemaGenerator,
    outputs: &mut SchemaGenerator,
) -> Value {
    let spec = &entry.spec;
    let mut arguments = entry.arguments_schema(inputs).to_value();
    let mut parameters = Vec::new();
    let mut in_path = Vec::new();
    for name in path.split('/').filter_map(|part| part.strip_prefix('{')) {
        let name = name.trim_end_matches('}');
        if name == "user" {
            parameters.push(json!({ "$ref": "#/components/parameters/user" }));
            continue;
        }
        in_path.push(name.to_owned());
        parameters.push(extract_parameter(&mut arguments, name, "path"));
    }
    if !path.contains("{user}") {
        parameters.push(json!({ "$ref": "#/components/parameters/whose" }));
    }
    if spec.effect != Effect::Reads {
        parameters.push(json!({ "$ref": "#/components/parameters/key" }));
    }
    if !method.has_body() {
        let properties = arguments["properties"].as_object().into_iter().flatten();
        let names: Vec<String> = properties.map(|(name, _)| name.clone()).collect();
        for name in names {
            parameters.push(extract_parameter(&mut arguments, &name, "query"));
        }
    }
    let id = match position {
        0 => spec.name.to_owned(),
        position => format!("{}_{}", spec.name, position + 1),
    };
    let mut summary = spec.summary.trim_end_matches('.').to_owned();
    if spec.callers == Callers::Machine {
        summary.push_str("; over the socket only");
    }
    let mut kinds = COMMON_PROBLEMS.to_vec();
    kinds.extend([ProblemKind::TimedOut, ProblemKind::Conflict]);
    let mut described = json!({
        "operationId": id,
        "summary": summary,
        "parameters": parameters,
    });
    if method.has_body() {
        kinds.extend([ProblemKind::BodyLate, ProblemKind::TooLarge]);
        described["requestBody"] = describe_body(entry, &arguments);
    }
    let mut answers = problem_responses(&kinds);
    let mut schema = entry.answer_schema(outputs).to_value();
    if spec.effect != Effect::Reads
        && let Some(Value::Object(fields)) = schema.get_mut("properties")
        && !fields.contains_key("redacted")
    {
        let redactions = outputs.subschema_for::<Vec<Redaction>>().to_value();
        fields.insert("redacted".to_owned(), redactions);
    }
    answers["200"] = json!({
        "description": "Done",
        "content": { "application/json": { "schema": schema } },
    });
    described["responses"] = answers;
    described
}

fn describe_body(entry: &CatalogueEntry, arguments: &Value) -> Value {
    let needs = |schema: &Value| {
        let names = schema["required"].as_array();
        names.is_some_and(|names| !names.is_empty())
    };
    let ways = arguments["anyOf"].as_array();
    let is_needed = needs(arguments) || ways.is_some_and(|ways| ways.iter().all(needs));
    let Some(name) = entry.spec.bare_body else {
        return json!({
            "required": is_needed,
            "content": { "application/json": { "schema": arguments } },
        });
    };
    let bare = arguments["properties"][name].clone();
    json!({
        "required": true,
        "content": {
            "application/json": { "schema": { "anyOf": [bare, arguments] } },
            "application/x-ndjson": { "schema": { "type": "string" } },
        },
    })
}

/// Removes a property from the arguments and describes it as a parameter.
fn extract_parameter(arguments: &mut Value, name: &str, position: &str) -> Value {
    let required = arguments.get_mut("required").and_then(Value::as_array_mut);
    let required = required.is_some_and(|required| {
        let before = required.len();
        required.retain(|other| other != name);
        required.len() < before
    });
    let properties = arguments
        .get_mut("properties")
        .and_then(Value::as_object_mut);
    let mut schema = properties
        .and_then(|all| all.remove(name))
        .unwrap_or_else(|| json!({}));
    if schema["maxLength"].as_u64() > Some(ADDRESS_CHARS_MAX as u64) {
        schema["maxLength"] = json!(ADDRESS_CHARS_MAX);
    }
    if position == "path"
        && let Some(Value::Array(types)) = schema.get_mut("type")
    {
        types.retain(|one| one != "null");
    }
    let description = schema
        .as_object_mut()
        .and_then(|schema| schema.remove("description"));
    let mut parameter = json!({
        "name": name,
        "in": position,
        "required": required || position == "path",
        "schema": schema,
    });
    if let Some(description) = description {
        parameter["description"] = description;
    }
    parameter
}

/// Returns the responses for problems of these kinds, as references.
fn problem_responses(kinds: &[ProblemKind]) -> Value {
    let answers = kinds.iter().map(|kind| {
        let status = kind.status().to_string();
        let answer = json!({ "$ref": format!("#/components/responses/{status}") });
        (status, answer)
    });
    let long = json!({ "description": "The address is longer than 64 KiB" });
    let long = [("414".to_owned(), long)];
    Value::Object(answers.chain(long).collect())
}

fn shared_responses() -> Value {
    let responses = ProblemKind::ALL.iter().map(|kind| {
        let problem = json!({ "schema": { "$ref": "#/components/schemas/Problem" } });
        let mut response = json!({
            "description": kind.title(),
            "content": { "application/problem+json": problem },
        });
        let header = match kind {
            ProblemKind::Unauthorized => Some("WWW-Authenticate"),
            ProblemKind::Overloaded | ProblemKind::Unavailable | ProblemKind::TimedOut => {
                Some("Retry-After")
            }
            _ => None,
        };
        if let Some(header) = header {
            let text = json!({ "required": true, "schema": { "type": "string" } });
            response["headers"] = json!({ header: text });
        }
        (kind.status().to_string(), response)
    });
    Value::Object(responses.collect())
}

fn problem_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "type": { "type": "string", "pattern": "^urn:reprise:problem:" },
            "title": { "type": "string" },
            "status": { "type": "integer" },
            "detail": { "type": "string", "description": "What happened, to what, what to do next." },
        },
        "required": ["type", "title", "status", "detail"],
    })
}

fn shared_parameters() -> Value {
    let user = json!({ "type": "string", "pattern": "^[A-Za-z0-9_@+-][A-Za-z0-9._@+-]{0,127}$" });
    json!({
        "user": {
            "name": "user",
            "in": "path",
            "required": true,
            "schema": user,
            "description": "Whose memory; the token must open it.",
        },
        "whose": {
            "name": "user",
            "in": "query",
            "required": false,
            "schema": user,
            "description": "Whose memory, where the token does not say; X-Reprise-User does the same.",
        },
        "key": {
            "name": "Idempotency-Key",
            "in": "header",
            "required": false,
            "schema": { "type": "string", "maxLength": 128, "pattern": "^[!-~]*$" },
            "description": "The request's own name: sent again with it, it changes nothing more.",
        },
    })
}

#[cfg(test)]
mod tests;
