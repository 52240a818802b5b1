//! The routes of the catalogue: each reads its arguments from path, query and body, and answers
//! JSON.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Query, RawPathParams, Request, State};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use axum::{Json, Router};
use reprise_operations::{Catalogue, Entry, Memory, Method, Problem, ToolAnswer, from_pairs};
use reprise_types::UserId;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value};

use super::App;
use super::answers::Refusal;
use super::extract::{self, ADDRESS_CHARS_MAX, Who, admitted, asked_by, key_of, user_of};

type Fields = Map<String, Value>;

pub(super) fn router(catalogue: &Catalogue) -> Router<App> {
    let mut router = Router::new();
    for entry in catalogue.entries() {
        let mut generator = SchemaGenerator::default();
        let schema = entry.arguments_schema(&mut generator);
        let definitions = generator.take_definitions(false);
        let schema = Arc::new(with_definitions(schema, definitions));
        for (method, path) in entry.spec.paths() {
            let served = Served {
                entry: *entry,
                method,
                schema: Arc::clone(&schema),
            };
            let filter = match method {
                Method::Get => MethodFilter::GET,
                Method::Post => MethodFilter::POST,
                Method::Patch => MethodFilter::PATCH,
                Method::Delete => MethodFilter::DELETE,
            };
            let answer = move |State(app): State<App>, request: Request| {
                let served = served.clone();
                async move { served.answer(app, request).await.map_err(Refusal::from) }
            };
            router = router.route(&path, on(filter, answer));
        }
    }
    router
}

/// Runs the tool that the path names with the body as its arguments, for the stdio side of MCP.
pub(super) async fn tool(
    State(app): State<App>,
    Who(user): Who,
    request: Request,
) -> Result<Json<ToolAnswer>, Refusal> {
    let (mut parts, body) = request.into_parts();
    let name = extract::parameter(&mut parts, &app, "tool").await?;
    let memory = memory_of(&app, &user, &parts)?;
    let tool = app.catalogue.tool(&name).ok_or_else(|| {
        Problem::not_found(format!(
            "there is no tool `{name:.64}`; list the tools first"
        ))
    })?;
    let request = Request::from_parts(parts, body);
    let arguments: Fields = extract::object(request, &app, tool.room()).await?;
    Ok(Json(tool.call_tool(memory, arguments).await?))
}

/// A user's memory as the caller of a request may use it, under the request's own name.
fn memory_of(app: &App, user: &UserId, parts: &Parts) -> Result<Memory, Problem> {
    let memory = app.memories.of(user).keyed(key_of(&parts.headers)?);
    Ok(asked_by(parts, memory))
}

fn with_definitions(mut schema: Schema, definitions: Fields) -> Schema {
    schema.insert("$defs".to_owned(), Value::Object(definitions));
    schema
}

/// An operation at one of its routes.
#[derive(Debug, Clone)]
struct Served {
    entry: Entry,
    method: Method,
    schema: Arc<Schema>,
}

impl Served {
    async fn answer(self, app: App, request: Request) -> Result<Response, Problem> {
        let (mut parts, body) = request.into_parts();
        let (user, mut arguments) = self.named(&mut parts, &app).await?;
        let memory = memory_of(&app, &user, &parts)?;
        if self.method.has_body() {
            let lines = is_lines(&parts.headers);
            let body =
                extract::bytes(Request::from_parts(parts, body), &app, self.entry.room()).await?;
            for (name, value) in self.fields(&body, lines)? {
                give(&mut arguments, name, value)?;
            }
        }
        let answer = self.entry.call(memory, arguments).await?;
        Ok(([(CONTENT_TYPE, "application/json")], answer).into_response())
    }

    /// Whose memory it is, and the arguments in path and query string.
    async fn named(&self, parts: &mut Parts, app: &App) -> Result<(UserId, Fields), Problem> {
        let path = RawPathParams::from_request_parts(parts, app).await;
        let path = path.map_err(Problem::invalid)?;
        let mut user = None;
        let mut arguments = Map::new();
        for (name, value) in &path {
            match name {
                "user" => user = Some(admitted(parts, value)?),
                _ => drop(arguments.insert(name.to_owned(), Value::from(value))),
            }
        }
        let pairs = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
        let Query(mut pairs) = pairs.map_err(Problem::invalid)?;
        let user = if let Some(user) = user {
            user
        } else {
            pairs.retain(|(name, _)| name != "user");
            user_of(parts)?
        };
        let long = pairs
            .iter()
            .find(|(_, value)| value.chars().count() > ADDRESS_CHARS_MAX);
        if let Some((name, _)) = long {
            let said =
                format!("`{name:.64}` has more than {ADDRESS_CHARS_MAX} characters; send less");
            return Err(Problem::invalid(said));
        }
        for (name, value) in from_pairs(&self.schema, pairs)? {
            give(&mut arguments, name, value)?;
        }
        Ok((user, arguments))
    }

    fn fields(&self, body: &[u8], lines: bool) -> Result<Fields, Problem> {
        let bare = self.entry.spec.bare_body;
        if let Some(name) = bare.filter(|_| lines) {
            let lines = body.split(|byte| *byte == b'\n');
            let lines = lines.filter(|line| !line.trim_ascii().is_empty());
            let lines: Vec<Value> = lines.map(extract::json).collect::<Result<_, _>>()?;
            return Ok(Map::from_iter([(name.to_owned(), Value::Array(lines))]));
        }
        if body.is_empty() {
            return Ok(Map::new());
        }
        match (extract::json(body)?, bare) {
            (Value::Object(fields), Some(name)) if !fields.contains_key(name) => {
                Ok(Map::from_iter([(name.to_owned(), Value::Object(fields))]))
            }
            (Value::Object(fields), _) => Ok(fields),
            (list @ Value::Array(_), Some(name)) => Ok(Map::from_iter([(name.to_owned(), list)])),
            (_, Some(name)) => Err(Problem::invalid(format!(
                "send one object, a list of them, or {{\"{name}\": [...]}}"
            ))),
            (_, None) => Err(Problem::invalid(
                "the body is no JSON object; see /openapi.json for its fields",
            )),
        }
    }
}

fn is_lines(headers: &HeaderMap) -> bool {
    let media = headers.get(CONTENT_TYPE);
    media.is_some_and(|media| media == "application/x-ndjson")
}

/// One argument more; none may come twice.
fn give(arguments: &mut Fields, name: String, value: Value) -> Result<(), Problem> {
    if arguments.contains_key(&name) {
        return Err(Problem::invalid(format!(
            "`{name}` stands in the address already; leave it out of the rest"
        )));
    }
    arguments.insert(name, value);
    Ok(())
}
