//! What operators do with published things, what one person may have of himself, and the way in by
//! an invitation.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Path, Query, Request, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use reprise_global::{Caller, TakeDown};
use reprise_operations::{Problem, ProblemKind};
use serde::Deserialize;

use super::bodies::Joined;
use super::routes::{Desk, Part, answer, body, id, page};
use crate::http::{Refusal, bearer};
use crate::tokens::{Scope, TokenError};

pub(super) async fn catalogue(
    State(desk): State<Desk>,
    Extension(caller): Extension<Caller>,
    part: Result<Query<Part>, QueryRejection>,
) -> Result<Response, Refusal> {
    let page = page(part)?;
    Ok(answer(desk.store.catalogue(&caller, page).await).into_response())
}

pub(super) async fn take_down(
    State(desk): State<Desk>,
    Extension(caller): Extension<Caller>,
    Path(named): Path<String>,
    request: Request,
) -> Result<Response, Refusal> {
    let order: TakeDown = body(request).await?;
    let done = desk.store.take_down(&caller, id(&named)?, &order).await;
    Ok(answer(done).into_response())
}

pub(super) async fn put_back(
    State(desk): State<Desk>,
    Extension(caller): Extension<Caller>,
    Path(named): Path<String>,
) -> Result<Response, Refusal> {
    Ok(answer(desk.store.put_back(&caller, id(&named)?).await).into_response())
}

pub(super) async fn taken_down(
    State(desk): State<Desk>,
    Extension(caller): Extension<Caller>,
) -> Response {
    answer(desk.store.taken_down(&caller).await).into_response()
}

pub(super) async fn person(
    State(desk): State<Desk>,
    Extension(caller): Extension<Caller>,
) -> Response {
    answer(desk.store.person(&caller).await).into_response()
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Meant {
    /// Whose everything is to be deleted.
    confirm: Option<String>,
}

/// The caller's own, his tokens among it: this one opens nothing any more. It does not come back,
/// so the request names who is meant.
pub(super) async fn erase_person(
    State(desk): State<Desk>,
    Extension(caller): Extension<Caller>,
    meant: Result<Query<Meant>, QueryRejection>,
) -> Result<Response, Refusal> {
    let Query(Meant { confirm }) = meant.map_err(|error| Problem::invalid(error.body_text()))?;
    if confirm.as_deref() != Some(caller.user.as_str()) {
        let said = format!(
            "this deletes everything of `{}`, for good; to mean it, send that name as `?confirm=`",
            caller.user
        );
        let kind = match confirm {
            None => ProblemKind::Invalid,
            Some(_) => ProblemKind::Conflict,
        };
        return Err(Problem::new(kind, said).into());
    }
    let erased = desk.store.erase_person(&caller).await;
    let mut erased = match erased {
        Ok(erased) => erased,
        refused => return Ok(answer(refused).into_response()),
    };
    let revoked = desk.tokens.revoke_user(&caller.user);
    erased.tokens += revoked.map_err(|error| failed(&error))? as u64;
    Ok(Json(erased).into_response())
}

/// Gives a token for an invitation, which stands in the place of one. Who shows another, or the
/// same again, is told no more than that it is not open.
pub(super) async fn join(
    State(desk): State<Desk>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let code = bearer(&headers).unwrap_or_default();
    let (token, entry) = desk
        .tokens
        .accept(code)
        .await
        .map_err(|error| failed(&error))?;
    let (Scope::User(user), Some(grant)) = (entry.scope, entry.grant) else {
        return Err(failed(&TokenError::NotInvited).into());
    };
    Ok(Json(Joined {
        token,
        user,
        org: grant.org,
    })
    .into_response())
}

fn failed(error: &TokenError) -> Problem {
    let kind = match error {
        TokenError::NotInvited => ProblemKind::Unauthorized,
        TokenError::Store(error) => return Problem::from(error.clone()),
        _ => ProblemKind::Internal,
    };
    Problem::failed(kind, error)
}
