//! What the command line asks of a daemon that has a file which it wants: through the socket only,
//! since a branch is another user's memory and a file is the whole of one.

use axum::Json;
use axum::extract::{Extension, State};
use reprise_types::UserId;
use serde::Deserialize;
use serde_json::{Value, json};

use super::App;
use super::extract::{Body, Who};
use super::guard::OverSocket;
use crate::problem::{Problem, ProblemKind};
use crate::wire::MergeReport;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Merging {
    branch: UserId,
}

/// Brings a branch back.
pub(super) async fn merge(
    State(app): State<App>,
    Who(user): Who,
    Extension(OverSocket(over_socket)): Extension<OverSocket>,
    Body(Merging { branch }): Body<Merging>,
) -> Result<Json<MergeReport>, Problem> {
    refuse_outside(over_socket)?;
    app.surface.merge(&user, &branch).await.map(Json)
}

/// Lets go of the file.
pub(super) async fn release(
    State(app): State<App>,
    Who(user): Who,
    Extension(OverSocket(over_socket)): Extension<OverSocket>,
) -> Result<Json<Value>, Problem> {
    refuse_outside(over_socket)?;
    app.surface.release(&user).await?;
    Ok(Json(json!({ "released": true })))
}

fn refuse_outside(over_socket: bool) -> Result<(), Problem> {
    if over_socket {
        return Ok(());
    }
    Err(Problem::new(
        ProblemKind::Forbidden,
        "whole files are merged and replaced on the daemon's own machine; run `reprise` there",
    ))
}
