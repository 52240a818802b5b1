//! What is more than one operation of the store: a question within its bounds, the audit log,
//! members and their quotas, the erasure of a person, the way in by an invitation, and the metrics.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use reprise_global::{
    AuditLine, Caller, Erased, GlobalAnswer, GlobalQuery, GlobalResult, HolderQuota, OrgId,
    QuotaChange, StoreMetric,
};
use reprise_operations::{Problem, ProblemKind};
use reprise_types::UserId;
use reprise_types::limits::{QUERY_BYTES_MAX, TOP_K_MAX};
use schemars::JsonSchema;
use serde::Serialize;

use super::context::{ServiceContext, ServiceState};
use crate::http::{MetricFamily, Refusal, bearer, write_families};
use crate::tokens::{Member, Scope, TokenError};

/// Answers a question of which no more than a service reads is left.
pub(super) async fn answer_query(
    context: &ServiceContext,
    mut query: GlobalQuery,
) -> Result<GlobalAnswer, Refusal> {
    if query.top_k > TOP_K_MAX {
        let got = query.top_k;
        let said = format!("top_k is {got}, the limit is {TOP_K_MAX}; ask for fewer");
        return Err(Problem::invalid(said).into());
    }
    let end = query.text.floor_char_boundary(QUERY_BYTES_MAX);
    query.text.truncate(end);
    Ok(context
        .state
        .store
        .get()?
        .query(&context.caller, &query)
        .await?)
}

/// What the store says of authors, and the token file of who may come in. A line that names another
/// organisation's shelf is not told.
pub(super) async fn list_audit(
    state: &ServiceState,
    caller: &Caller,
    limit: usize,
) -> Result<Vec<AuditLine>, Problem> {
    let told = state
        .store
        .get()?
        .list_told_audit_lines(caller, limit)
        .await?;
    let tokens = state.tokens.clone();
    match tokio::task::spawn_blocking(move || tokens.file().merge_audit(told, limit)).await {
        Ok(told) => told.map_err(|error| Problem::from_failure(ProblemKind::Internal, &error)),
        Err(error) => Err(Problem::from_failure(ProblemKind::Internal, &error)),
    }
}

/// Lists the people of the operator's own organisation who have tokens, and those of none.
pub(super) async fn list_members(
    state: &ServiceState,
    operator: &Caller,
) -> Result<Vec<Member>, Problem> {
    let listed = state.tokens.list_members().await;
    let mut members = listed.map_err(|error| token_problem(&error))?;
    members.retain(|one| one.org.is_none() || is_of_organisation(operator, one.org.as_deref()));
    Ok(members)
}

/// Returns whether something is of the operator's organisation, or of none as the operator is.
pub(super) fn is_of_organisation(operator: &Caller, org: Option<&str>) -> bool {
    operator.org.as_ref().map(OrgId::as_str) == org
}

/// Lists the users whom this operator may limit: those who have tokens in the same organisation.
async fn list_own_users(
    state: &ServiceState,
    operator: &Caller,
) -> Result<BTreeSet<UserId>, Problem> {
    let members = list_members(state, operator).await?.into_iter();
    let own = members.filter(|one| is_of_organisation(operator, one.org.as_deref()));
    Ok(own.map(|one| one.user).collect())
}

/// Lists what the operator's organisation and its people have published, and may have.
pub(super) async fn list_quotas(
    state: &ServiceState,
    operator: &Caller,
) -> Result<Vec<HolderQuota>, Problem> {
    let users: Vec<UserId> = list_own_users(state, operator).await?.into_iter().collect();
    Ok(state.store.get()?.list_quotas(operator, &users).await?)
}

/// Limits one of those.
pub(super) async fn set_quota(
    state: &ServiceState,
    operator: &Caller,
    change: &QuotaChange,
) -> Result<HolderQuota, Problem> {
    if let Some(user) = change.find_user(operator)?
        && !list_own_users(state, operator).await?.contains(&user)
    {
        let said = format!(
            "`{user}` has no token in your organisation; `reprise global members` lists who has"
        );
        return Err(Problem::new(ProblemKind::NotFound, said));
    }
    Ok(state.store.get()?.set_quota(operator, change).await?)
}

/// Deletes all of the caller's own, his tokens among it: this one opens nothing any more. It does
/// not come back, so the request names who is meant.
pub(super) async fn erase_person(
    context: &ServiceContext,
    confirm: Option<&str>,
) -> Result<Erased, Refusal> {
    let caller = &context.caller;
    if confirm != Some(caller.user.as_str()) {
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
    let mut erased = context.state.store.get()?.erase_person(caller).await?;
    let revoked = context.state.tokens.revoke_user(&caller.user);
    erased.tokens += revoked.map_err(|error| token_problem(&error))? as u64;
    Ok(erased)
}

/// What an invitation gave: the token is shown this once.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct JoinResponse {
    token: String,
    user: UserId,
    org: Option<String>,
}

/// Gives a token for an invitation, which replaces one here. Who shows another, or the same again,
/// is told no more than that it is not open.
pub(super) async fn join(
    State(state): State<ServiceState>,
    headers: HeaderMap,
) -> Result<Json<JoinResponse>, Refusal> {
    let code = bearer(&headers).unwrap_or_default();
    let (token, entry) = state
        .tokens
        .accept(code)
        .await
        .map_err(|error| token_problem(&error))?;
    let (Scope::User(user), Some(grant)) = (entry.scope, entry.grant) else {
        return Err(token_problem(&TokenError::NotInvited).into());
    };
    Ok(Json(JoinResponse {
        token,
        user,
        org: grant.org,
    }))
}

pub(super) fn token_problem(error: &TokenError) -> Problem {
    let kind = match error {
        TokenError::NotInvited => ProblemKind::Unauthorized,
        TokenError::Store(error) => return Problem::from(error.clone()),
        _ => ProblemKind::Internal,
    };
    Problem::from_failure(kind, error)
}

pub(super) async fn serve_ready(
    State(state): State<ServiceState>,
) -> Result<&'static str, Refusal> {
    state.ready.check(&state.store).await?;
    Ok("ready\n")
}

pub(super) async fn list_metrics(state: &ServiceState) -> GlobalResult<Vec<StoreMetric>> {
    state.store.get()?.list_metrics().await
}

/// What the service counts, and whether the store answers, for Prometheus.
pub(super) async fn render_metrics(state: &ServiceState) -> Result<String, Refusal> {
    let mut text = String::new();
    let ready = u64::from(state.ready.check(&state.store).await.is_ok());
    let free = state.places.available_permits() as u64;
    let own = [
        ("global_ready", "Whether the store answers.", ready),
        (
            "global_requests_free",
            "Requests that could begin now.",
            free,
        ),
        (
            "global_questions_max",
            "Questions that are let in at once now; fewer while answers come late.",
            state.questions.limit_now(),
        ),
    ];
    let written = state.metrics.requests(&mut text);
    let written = written.and_then(|()| write_families(&mut text, &own));
    let of_store = match list_metrics(state).await {
        Ok(of_store) => of_store,
        // `global_ready` says so.
        Err(error) => {
            tracing::debug!(%error, "the store did not tell its metrics");
            Vec::new()
        }
    };
    let names: Vec<String> = of_store
        .iter()
        .map(|one| format!("global_{}", one.name))
        .collect();
    let families: Vec<MetricFamily<'_>> = names
        .iter()
        .zip(&of_store)
        .map(|(name, one)| (name.as_str(), one.help, one.value))
        .collect();
    let written = written.and_then(|()| write_families(&mut text, &families));
    if let Err(error) = written {
        tracing::error!(%error, "the metrics are not whole");
    }
    Ok(text)
}
