//! Routes that are more than one operation of the store: the audit log, the erasure of a person,
//! the way in by an invitation, whether the store can be asked, and the metrics.

use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use reprise_global::{AUDIT_MAX, AuditLine, Erased, GlobalError, GlobalStore, Shelf};
use reprise_operations::{Problem, ProblemKind};
use serde::Deserialize;
use tokio::sync::Mutex;

use super::bodies::{Call, Joined, LINES_DEFAULT, Lines};
use super::routes::Desk;
use crate::http::{Refusal, bearer, families};
use crate::tokens::{Scope, TokenError};

/// So long a look at the store holds.
const HOLDS: Duration = Duration::from_secs(1);

/// What the store says of authors, and the token file of who may come in. A line that names another
/// organisation's shelf is not told.
pub(super) async fn audit(call: Call) -> Result<Vec<AuditLine>, Refusal> {
    let Lines { limit } = call.parameters()?;
    let limit = limit.unwrap_or(LINES_DEFAULT);
    if limit > AUDIT_MAX {
        let said = format!("limit is {limit}, at most {AUDIT_MAX} lines are told; ask for fewer");
        return Err(Problem::invalid(said).into());
    }
    let mut told = call.store().audit(&call.caller, AUDIT_MAX).await?;
    let own = call.caller.org.map(|org| Shelf::Org(org).to_string());
    told.retain(|line| {
        let of_org = line.name.as_ref().filter(|name| name.starts_with("org:"));
        of_org.is_none() || of_org == own.as_ref()
    });
    told.truncate(limit);
    let tokens = call.desk.tokens;
    match tokio::task::spawn_blocking(move || tokens.file().audited(told, limit)).await {
        Ok(Ok(told)) => Ok(told),
        Ok(Err(error)) => Err(Problem::failed(ProblemKind::Internal, &error).into()),
        Err(error) => Err(Problem::failed(ProblemKind::Internal, &error).into()),
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Meant {
    /// Whose everything is to be deleted.
    confirm: Option<String>,
}

/// The caller's own, his tokens among it: this one opens nothing any more. It does not come back,
/// so the request names who is meant.
pub(super) async fn erase_person(call: Call) -> Result<Erased, Refusal> {
    let (Meant { confirm }, caller) = (call.parameters()?, &call.caller);
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
    let mut erased = call.store().erase_person(caller).await?;
    let revoked = call.desk.tokens.revoke_user(&caller.user);
    erased.tokens += revoked.map_err(|error| failed(&error))? as u64;
    Ok(erased)
}

/// Gives a token for an invitation, which stands in the place of one. Who shows another, or the
/// same again, is told no more than that it is not open.
pub(super) async fn join(
    State(desk): State<Desk>,
    headers: HeaderMap,
) -> Result<Json<Joined>, Refusal> {
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
    }))
}

fn failed(error: &TokenError) -> Problem {
    let kind = match error {
        TokenError::NotInvited => ProblemKind::Unauthorized,
        TokenError::Store(error) => return Problem::from(error.clone()),
        _ => ProblemKind::Internal,
    };
    Problem::failed(kind, error)
}

/// The last look at the store, and what came of it. A probe has no token and takes no place:
/// whoever they are, the store is looked at once a second for all of them.
#[derive(Debug, Default)]
pub(super) struct Readiness(Mutex<Option<(Instant, Result<(), GlobalError>)>>);

impl Readiness {
    /// Those who ask while somebody looks wait for what he sees.
    pub(super) async fn look(&self, store: &dyn GlobalStore) -> Result<(), GlobalError> {
        let mut last = self.0.lock().await;
        if let Some((at, seen)) = &*last
            && at.elapsed() < HOLDS
        {
            return seen.clone();
        }
        let seen = store.answers().await;
        *last = Some((Instant::now(), seen.clone()));
        seen
    }
}

pub(super) async fn ready(State(desk): State<Desk>) -> Result<&'static str, Refusal> {
    desk.ready.look(&*desk.store).await?;
    Ok("ready\n")
}

/// What the service counts, and whether the store answers.
pub(super) async fn metrics(desk: &Desk) -> Response {
    let mut text = String::new();
    let ready = u64::from(desk.ready.look(&*desk.store).await.is_ok());
    let free = desk.places.available_permits() as u64;
    let own = [
        ("global_ready", "Whether the store answers.", ready),
        (
            "global_requests_free",
            "Requests that could begin now.",
            free,
        ),
    ];
    let written = desk.metrics.requests(&mut text);
    let written = written.and_then(|()| families(&mut text, &own));
    if let Err(error) = written {
        tracing::error!(%error, "the metrics are not whole");
    }
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}
