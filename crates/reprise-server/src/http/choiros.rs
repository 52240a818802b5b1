//! The routes that ChoirOS's third design gave its memory: `/api/memory/...` (A.6), so that a host
//! written for them finds them.

use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequestParts, Query, State};
use axum::http::request::Parts;
use axum::routing::{get, post};
use axum::{Json, Router};
use reprise_types::UserId;
use serde::Deserialize;
use serde_json::{Value, json};

use super::App;
use super::extract::{Named, admitted, bad_query};
use super::guard::Identity;
use crate::problem::Problem;
use crate::tokens::Scope;
use crate::wire::{Answer, Compacted, RecallBody};

/// Whose memory it is where neither token, header nor query says so.
const DEFAULT_USER: &str = "default";
/// Episodes of one answer where the caller does not say.
const EPISODES_DEFAULT: usize = 50;

pub(super) fn router() -> Router<App> {
    Router::new()
        .route("/search", get(search))
        .route("/stats", get(stats))
        .route("/config", get(config))
        .route("/episodes", get(episodes))
        .route("/episodes/{id}", get(episode))
        .route("/compact", post(compact))
        .route("/snapshot", post(snapshot))
}

/// These routes name no user: the token, the header `X-Reprise-User` or `?user=` does.
struct Whose(UserId);

#[derive(Debug, Deserialize)]
struct UserQuery {
    user: Option<String>,
}

impl FromRequestParts<App> for Whose {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Problem> {
        user_of(parts).map(Self)
    }
}

/// Whose memory a request means whose path names nobody.
pub(crate) fn user_of(parts: &Parts) -> Result<UserId, Problem> {
    // One that cannot be read is refused: taken for none, it would open somebody else's memory.
    let header = parts.headers.get("x-reprise-user");
    let header = header.map(|user| user.to_str().map(str::to_owned));
    let header = header.transpose().map_err(Problem::invalid)?;
    let query = Query::<UserQuery>::try_from_uri(&parts.uri).map_err(Problem::invalid)?;
    let identity = parts.extensions.get::<Identity>();
    let own = identity.and_then(|identity| match &identity.scope {
        Scope::User(user) => Some(user.to_string()),
        Scope::All => None,
    });
    let named = match (query.0.user, header) {
        (Some(query), Some(header)) if query != header => {
            return Err(Problem::invalid(
                "`user` and X-Reprise-User name different users; send one of them",
            ));
        }
        (query, header) => query.or(header).or(own),
    };
    admitted(parts, named.as_deref().unwrap_or(DEFAULT_USER))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    q: String,
    k: Option<usize>,
    #[serde(rename = "user")]
    _user: Option<String>,
}

async fn search(
    State(app): State<App>,
    Whose(user): Whose,
    query: Result<Query<Search>, QueryRejection>,
) -> Result<Json<Answer>, Problem> {
    let Query(Search { q, k, .. }) = query.map_err(bad_query)?;
    let body = RecallBody {
        query: q,
        top_k: k,
        ..RecallBody::default()
    };
    app.surface.recall(&user, &body).await.map(Json)
}

/// The names of the third design beside our own.
async fn stats(State(app): State<App>, Whose(user): Whose) -> Result<Json<Value>, Problem> {
    let stats = app.surface.stats(&user).await?;
    let mut answer = json!({
        "total_vectors": stats.live - stats.unembedded.min(stats.live),
        "rvf_file_size_bytes": stats.file_bytes,
        "last_ingest_at": stats.last_ingest,
    });
    if let (Value::Object(answer), Ok(Value::Object(own))) =
        (&mut answer, serde_json::to_value(&stats))
    {
        answer.extend(own);
    }
    Ok(Json(answer))
}

/// What is in force; it is changed where the daemon is started.
async fn config(State(_): State<App>, Whose(_): Whose) -> Json<Value> {
    Json(json!({
        "enabled": true,
        "ingest_enabled": true,
        "retrieval_enabled": true,
        "retrieval_top_k": reprise_types::limits::TOP_K_DEFAULT,
        "use_sona": true,
    }))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Limit {
    limit: Option<usize>,
    #[serde(rename = "user")]
    _user: Option<String>,
}

async fn episodes(
    State(app): State<App>,
    Whose(user): Whose,
    query: Result<Query<Limit>, QueryRejection>,
) -> Result<Json<Value>, Problem> {
    let Query(Limit { limit, .. }) = query.map_err(bad_query)?;
    let limit = limit.unwrap_or(EPISODES_DEFAULT);
    let episodes = app.surface.episodes(&user, limit).await?;
    Ok(Json(json!({ "episodes": episodes })))
}

async fn episode(
    State(app): State<App>,
    Whose(user): Whose,
    Named(id): Named,
) -> Result<Json<Value>, Problem> {
    let records = app.surface.episode(&user, &id).await?;
    Ok(Json(json!({ "id": id, "records": records })))
}

async fn compact(State(app): State<App>, Whose(user): Whose) -> Result<Json<Compacted>, Problem> {
    app.surface.compact(&user).await.map(Json)
}

async fn snapshot(State(app): State<App>, Whose(user): Whose) -> Result<Json<Value>, Problem> {
    app.surface.checkpoint(&user).await?;
    Ok(Json(json!({ "checkpointed": true })))
}
