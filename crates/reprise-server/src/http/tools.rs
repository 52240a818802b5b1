//! The tools by name: what the stdio side of MCP asks for.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::App;
use super::extract::{Body, Key, Named, Who};
use crate::hooks::{HookAnswer, HookEvent, HookReport};
use crate::problem::{Problem, ProblemKind};
use crate::surface::{Kept, ToolAnswer};

/// Runs the tool that the path names with the body as its arguments.
pub(super) async fn call(
    State(app): State<App>,
    Who(user): Who,
    Named(tool): Named,
    Key(key): Key,
    Body(arguments): Body<Map<String, Value>>,
) -> Result<Json<ToolAnswer>, Problem> {
    let kept = Kept {
        key,
        verbatim: false,
    };
    let answer = app.surface.tool(&user, &tool, arguments, &kept);
    answer.await.map(Json)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reading {
    uri: String,
}

/// A resource of MCP as text.
pub(super) async fn resource(
    State(app): State<App>,
    Who(user): Who,
    Body(Reading { uri }): Body<Reading>,
) -> Result<Json<Value>, Problem> {
    let text = app.surface.resource(&user, &uri).await?;
    Ok(Json(serde_json::json!({ "text": text })))
}

/// A moment of an agent's session.
pub(super) async fn hook(
    State(app): State<App>,
    Who(user): Who,
    Named(event): Named,
    Body(report): Body<HookReport>,
) -> Result<Json<HookAnswer>, Problem> {
    let event: HookEvent = event.parse().map_err(Problem::not_found)?;
    // A hook that has run out of time goes away; what it reported is kept all the same.
    let kept = tokio::spawn(async move { app.surface.hook(&user, event, report).await });
    let answer = kept
        .await
        .map_err(|error| Problem::new(ProblemKind::Internal, format!("a hook failed ({error})")));
    answer?.map(Json)
}
