//! The routes of the catalogue: each reads its arguments from path, query and body, and returns
//! JSON.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Query, RawPathParams, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use axum::{Json, Router};
use percent_encoding::percent_decode;
use reprise_operations::{
    Catalogue, CatalogueEntry, Memory, Method, Problem, ToolAnswer, parse_query_pairs,
};
use reprise_types::{JsonLine, UserId, parse_json_line};
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value};

use super::App;
use super::answers::Refusal;
use super::extract::{
    self, ADDRESS_CHARS_MAX, PathUser, apply_caller_rights, authorize_user, idempotency_key,
    requested_user,
};
use crate::client::AGENT_HEADER;

type Fields = Map<String, Value>;

pub(super) fn router(catalogue: &Catalogue) -> Router<App> {
    let mut router = Router::new();
    for entry in catalogue.entries() {
        let mut generator = SchemaGenerator::default();
        let schema = entry.arguments_schema(&mut generator);
        let definitions = generator.take_definitions(false);
        let schema = Arc::new(with_definitions(schema, definitions));
        for (method, path) in entry.spec.list_routes() {
            let route = OperationRoute {
                entry: entry.clone(),
                method,
                schema: Arc::clone(&schema),
            };
            let filter = match method {
                Method::Get => MethodFilter::GET,
                Method::Post => MethodFilter::POST,
                Method::Put => MethodFilter::PUT,
                Method::Patch => MethodFilter::PATCH,
                Method::Delete => MethodFilter::DELETE,
            };
            let answer = move |State(app): State<App>, request: Request| {
                let route = route.clone();
                async move { route.handle(app, request).await.map_err(Refusal::from) }
            };
            router = router.route(&path, on(filter, answer));
        }
    }
    router
}

/// Runs the tool that the path names with the body as its arguments, for the stdio side of MCP.
pub(super) async fn run_tool(
    State(app): State<App>,
    PathUser(user): PathUser,
    request: Request,
) -> Result<Json<ToolAnswer>, Refusal> {
    let (mut parts, body) = request.into_parts();
    let name = extract::path_parameter(&mut parts, &app, "tool").await?;
    let mut memory = memory_for_request(&app, &user, &parts)?;
    let agent = parts.headers.get(AGENT_HEADER).map(HeaderValue::as_bytes);
    if let Some(agent) = agent {
        memory = memory.with_agent_name(&percent_decode(agent).decode_utf8_lossy());
    }
    let tool = app.catalogue.find_tool(&name).ok_or_else(|| {
        Problem::not_found(format!(
            "there is no tool `{name:.64}`; list the tools first"
        ))
    })?;
    let request = Request::from_parts(parts, body);
    let arguments: Fields = extract::read_json_object(request, &app, tool.room()).await?;
    Ok(Json((tool.call_tool)(memory, arguments).await?))
}

/// Returns a user's memory for the caller of a request, with the request's idempotency key.
fn memory_for_request(app: &App, user: &UserId, parts: &Parts) -> Result<Memory, Problem> {
    let memory = app
        .memories
        .user_memory(user)
        .with_request_key(idempotency_key(&parts.headers)?);
    Ok(apply_caller_rights(parts, memory))
}

fn with_definitions(mut schema: Schema, definitions: Fields) -> Schema {
    schema.insert("$defs".to_owned(), Value::Object(definitions));
    schema
}

/// An operation at one of its routes.
#[derive(Debug, Clone)]
struct OperationRoute {
    entry: CatalogueEntry,
    method: Method,
    schema: Arc<Schema>,
}

impl OperationRoute {
    async fn handle(self, app: App, request: Request) -> Result<Response, Problem> {
        let (mut parts, body) = request.into_parts();
        let (user, mut arguments) = self.read_path_and_query(&mut parts, &app).await?;
        let memory = memory_for_request(&app, &user, &parts)?;
        if self.method.has_body() {
            let lines = is_json_lines(&parts.headers);
            let body =
                extract::read_body(Request::from_parts(parts, body), &app, self.entry.room())
                    .await?;
            for (name, value) in self.parse_body(&body, lines)? {
                insert_argument(&mut arguments, name, value)?;
            }
        }
        let answer = (self.entry.call)(memory, arguments).await?;
        Ok(([(CONTENT_TYPE, "application/json")], answer).into_response())
    }

    /// Reads the user and the arguments from the path and the query string.
    async fn read_path_and_query(
        &self,
        parts: &mut Parts,
        app: &App,
    ) -> Result<(UserId, Fields), Problem> {
        let path = RawPathParams::from_request_parts(parts, app).await;
        let path = path.map_err(Problem::invalid)?;
        let mut user = None;
        let mut arguments = Map::new();
        for (name, value) in &path {
            match name {
                "user" => user = Some(authorize_user(parts, value)?),
                _ => drop(arguments.insert(name.to_owned(), Value::from(value))),
            }
        }
        let pairs = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
        let Query(mut pairs) = pairs.map_err(Problem::invalid)?;
        let user = if let Some(user) = user {
            user
        } else {
            pairs.retain(|(name, _)| name != "user");
            requested_user(parts)?
        };
        let long = pairs
            .iter()
            .find(|(_, value)| value.chars().count() > ADDRESS_CHARS_MAX);
        if let Some((name, _)) = long {
            let detail =
                format!("`{name:.64}` has more than {ADDRESS_CHARS_MAX} characters; send less");
            return Err(Problem::invalid(detail));
        }
        for (name, value) in parse_query_pairs(&self.schema, pairs)? {
            insert_argument(&mut arguments, name, value)?;
        }
        Ok((user, arguments))
    }

    fn parse_body(&self, body: &[u8], lines: bool) -> Result<Fields, Problem> {
        let bare = self.entry.spec.bare_body;
        if let Some(name) = bare.filter(|_| lines) {
            let lines = body.split(|byte| *byte == b'\n');
            let lines = lines.filter(|line| !line.trim_ascii().is_empty());
            let lines = lines.flat_map(parse_line).collect();
            return Ok(Map::from_iter([(name.to_owned(), Value::Array(lines))]));
        }
        if body.is_empty() {
            return Ok(Map::new());
        }
        match (extract::parse_json(body)?, bare) {
            (Value::Object(fields), Some(name)) if !fields.contains_key(name) => {
                Ok(Map::from_iter([(name.to_owned(), Value::Object(fields))]))
            }
            (Value::Object(fields), _) => Ok(fields),
            (list @ Value::Array(_), Some(name)) => Ok(Map::from_iter([(name.to_owned(), list)])),
            (_, Some(name)) => Err(Problem::invalid(format!(
                "send one object, a list of them, or {{\"{name}\": [...]}}"
            ))),
            (_, None) => Err(Problem::invalid(
                "the body is not a JSON object; see /openapi.json for its fields",
            )),
        }
    }
}

/// Returns the objects of a line, and what is no object as it is, for the one that reads it to say.
fn parse_line(line: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(line);
    let JsonLine { objects, unread } = parse_json_line(text.trim_start_matches('\u{feff}'));
    let unread = unread.map(|_| Value::from(text.into_owned()));
    objects
        .into_iter()
        .map(Value::Object)
        .chain(unread)
        .collect()
}

fn is_json_lines(headers: &HeaderMap) -> bool {
    let media = headers.get(CONTENT_TYPE);
    media.is_some_and(|media| media == "application/x-ndjson")
}

/// Inserts an argument; fails if it is there already.
fn insert_argument(arguments: &mut Fields, name: String, value: Value) -> Result<(), Problem> {
    if arguments.contains_key(&name) {
        return Err(Problem::invalid(format!(
            "`{name}` is in the address already; leave it out of the rest"
        )));
    }
    arguments.insert(name, value);
    Ok(())
}
