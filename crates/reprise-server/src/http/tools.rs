//! The tools by name: what the stdio side of MCP asks for.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::App;
use super::extract::{Body, Key, Named, Who};
use crate::problem::Problem;
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
