//! One user's memory: `/v1/users/{user}/...`.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body as HttpBody, Bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use reprise_types::MemoryRecord;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};

use super::extract::{self, Body, Key, Named, Who};
use super::guard::{Identity, OverSocket};
use super::{App, custody, tools};
use crate::daemon::Share;
use crate::problem::{Problem, ProblemKind};
use crate::surface::{Kept, Parts};
use crate::wire::{
    Compacted, Fate, ForgetBody, LearningAction, ListBody, Listed, OutcomeLine, OutcomeReport,
    RecallBody, WriteReport,
};

/// Changes that wait for one listener to take them.
const CHANGES_WAITING: usize = 64;

pub(super) fn router() -> Router<App> {
    Router::new()
        .route("/records", get(list).post(observe))
        .route("/records/{id}", get(show).patch(update).delete(forget))
        .route("/recall", post(recall))
        .route("/outcome", post(outcome))
        .route("/export", get(export))
        .route("/backup", get(backup))
        .route("/stats", get(stats))
        .route("/forget", post(forget_many))
        .route("/learning", post(learning))
        .route("/compact", post(compact))
        .route("/checkpoint", post(checkpoint))
        .route("/merge", post(custody::merge))
        .route("/release", post(custody::release))
        .route("/changes", get(changes))
        .route("/tools/{id}", post(tools::call))
        .route("/hooks/{id}", post(tools::hook))
        .route("/resource", post(tools::resource))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Writing {
    #[serde(default)]
    verbatim: bool,
}

/// Keeps one record, a list of them, `{"records": [...]}`, or NDJSON.
async fn observe(
    State(app): State<App>,
    Who(user): Who,
    Key(key): Key,
    query: Result<Query<Writing>, QueryRejection>,
    Extension(OverSocket(over_socket)): Extension<OverSocket>,
    request: Request,
) -> Result<Json<WriteReport>, Problem> {
    let Query(Writing { verbatim }) = query.map_err(extract::bad_query)?;
    if verbatim && !over_socket {
        return Err(Problem::new(
            ProblemKind::Forbidden,
            "records are redacted before they are kept; leave `verbatim` out",
        ));
    }
    let media = request.headers().get(CONTENT_TYPE);
    let lines = media.is_some_and(|media| media == "application/x-ndjson");
    let body = extract::bytes(request, &app).await?;
    let (records, alone) = if lines {
        (split(&body)?, false)
    } else {
        listed(&body)?
    };
    let kept = Kept { key, verbatim };
    let report = app.surface.observe(&user, records, &kept).await?;
    match report.outcomes.first() {
        // Of a list each has its fate; of one record the answer is it.
        Some(Fate::Rejected { why }) if alone => Err(Problem::invalid(why)),
        _ => Ok(Json(report)),
    }
}

fn split(body: &[u8]) -> Result<Vec<Value>, Problem> {
    let lines = body.split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| !line.trim_ascii().is_empty());
    lines.map(extract::json).collect()
}

/// The records, and whether the body was one of them and no list.
fn listed(body: &[u8]) -> Result<(Vec<Value>, bool), Problem> {
    match extract::json(body)? {
        Value::Array(records) => Ok((records, false)),
        Value::Object(mut one) => match one.remove("records") {
            Some(Value::Array(records)) if one.is_empty() => Ok((records, false)),
            Some(Value::Array(_)) => Err(Problem::invalid(
                "beside `records` the body has other fields; put them into the records",
            )),
            Some(other) => {
                one.insert("records".to_owned(), other);
                Ok((vec![Value::Object(one)], true))
            }
            None => Ok((vec![Value::Object(one)], true)),
        },
        _ => Err(Problem::invalid(
            "send one record, a list of records, or {\"records\": [...]}",
        )),
    }
}

/// A page of the records, the newest first.
async fn list(
    State(app): State<App>,
    Who(user): Who,
    query: Result<Query<Vec<(String, String)>>, QueryRejection>,
) -> Result<Json<Listed>, Problem> {
    let Query(pairs) = query.map_err(Problem::invalid)?;
    let body = ListBody::from_pairs(&pairs).map_err(Problem::invalid)?;
    app.surface.list(&user, &body).await.map(Json)
}

async fn show(
    State(app): State<App>,
    Who(user): Who,
    Named(id): Named,
) -> Result<Json<MemoryRecord>, Problem> {
    app.surface.record(&user, &id).await.map(plain)
}

/// Without its vector: 384 numbers tell a reader nothing.
fn plain(record: MemoryRecord) -> Json<MemoryRecord> {
    Json(MemoryRecord {
        embedding: Vec::new(),
        ..record
    })
}

async fn update(
    State(app): State<App>,
    Who(user): Who,
    Named(id): Named,
    Key(key): Key,
    Body(changes): Body<Map<String, Value>>,
) -> Result<Json<MemoryRecord>, Problem> {
    let verbatim = false;
    let kept = Kept { key, verbatim };
    let updated = app.surface.update(&user, &id, changes, &kept);
    updated.await.map(plain)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Forgetting {
    reason: Option<String>,
}

async fn forget(
    State(app): State<App>,
    Who(user): Who,
    Named(id): Named,
    query: Result<Query<Forgetting>, QueryRejection>,
) -> Result<Json<Value>, Problem> {
    let Query(Forgetting { reason }) = query.map_err(extract::bad_query)?;
    let reason = reason.as_deref().unwrap_or("asked for over HTTP");
    let forgotten = app.surface.forget(&user, &id, reason).await?;
    Ok(Json(json!({ "forgotten": forgotten })))
}

/// An answer, or with `budget` a text for a prompt.
async fn recall(
    State(app): State<App>,
    Who(user): Who,
    Body(body): Body<RecallBody>,
) -> Result<Response, Problem> {
    if let Some(budget) = body.budget {
        let block = app.surface.context(&user, &body, budget).await?;
        return Ok(Json(block).into_response());
    }
    let answer = app.surface.recall(&user, &body).await?;
    Ok(Json(answer).into_response())
}

async fn outcome(
    State(app): State<App>,
    Who(user): Who,
    Key(key): Key,
    Body(line): Body<OutcomeLine>,
) -> Result<Json<OutcomeReport>, Problem> {
    let report = app.surface.outcome(&user, line, key.as_deref());
    report.await.map(Json)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exporting {
    #[serde(default)]
    sensitive: bool,
}

/// A thread to read the disk with, for as long as its reader takes: whoever takes nothing holds
/// one, and must not hold those that others need.
fn stream_share(app: &App, identity: &Identity) -> Result<Share, Problem> {
    app.life.streams.take(&identity.asker).ok_or_else(|| {
        Problem::new(
            ProblemKind::Overloaded,
            "as many exports and backups of yours as may be are under way; try again in a moment",
        )
    })
}

/// A body in parts, which holds its share until it is read or left.
fn stream<T: Into<Bytes> + Send + 'static>(parts: Parts<T>, share: Share) -> HttpBody {
    let parts = ReceiverStream::new(parts).map(move |part| {
        let _held = &share;
        part
    });
    HttpBody::from_stream(parts)
}

async fn export(
    State(app): State<App>,
    Who(user): Who,
    Extension(identity): Extension<Identity>,
    query: Result<Query<Exporting>, QueryRejection>,
) -> Result<Response, Problem> {
    let Query(Exporting { sensitive }) = query.map_err(extract::bad_query)?;
    let share = stream_share(&app, &identity)?;
    let body = stream(app.surface.export(&user, sensitive).await?, share);
    Ok(([(CONTENT_TYPE, "application/x-ndjson")], body).into_response())
}

/// The whole file, for `reprise restore`.
async fn backup(
    State(app): State<App>,
    Who(user): Who,
    Extension(identity): Extension<Identity>,
) -> Result<Response, Problem> {
    let share = stream_share(&app, &identity)?;
    let body = stream(app.surface.backup(&user).await?, share);
    Ok(([(CONTENT_TYPE, "application/octet-stream")], body).into_response())
}

async fn stats(State(app): State<App>, Who(user): Who) -> Result<Response, Problem> {
    let stats = app.surface.stats(&user).await?;
    Ok(Json(stats).into_response())
}

async fn compact(State(app): State<App>, Who(user): Who) -> Result<Json<Compacted>, Problem> {
    app.surface.compact(&user).await.map(Json)
}

/// Forgets what one selector names: an id, an external id, a session, or all before an instant.
async fn forget_many(
    State(app): State<App>,
    Who(user): Who,
    Body(what): Body<ForgetBody>,
) -> Result<Json<Value>, Problem> {
    let forgotten = app.surface.forget_many(&user, &what).await?;
    Ok(Json(json!({ "forgotten": forgotten })))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Governing {
    action: LearningAction,
}

async fn learning(
    State(app): State<App>,
    Who(user): Who,
    Body(Governing { action }): Body<Governing>,
) -> Result<Json<Value>, Problem> {
    app.surface.govern_learning(&user, action).await?;
    Ok(Json(json!({ "done": true })))
}

async fn checkpoint(State(app): State<App>, Who(user): Who) -> Result<Json<Value>, Problem> {
    app.surface.checkpoint(&user).await?;
    Ok(Json(json!({ "checkpointed": true })))
}

/// Server-sent events, one a change; `missed` where the listener was too slow. They end with the
/// daemon, and with the token that they were asked for with.
async fn changes(
    State(app): State<App>,
    Who(user): Who,
    Extension(identity): Extension<Identity>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let (sender, told) = mpsc::channel(CHANGES_WAITING);
    let mut changes = app.surface.listen();
    let (life, tokens) = (Arc::clone(&app.life), Arc::clone(&app.tokens));
    tokio::spawn(async move {
        loop {
            let change = tokio::select! {
                change = changes.recv() => change,
                () = life.until_told() => return,
                () = sender.closed() => return,
            };
            let withdrawn = identity
                .token
                .as_ref()
                .is_some_and(|token| !tokens.stands(token));
            let closed = withdrawn || matches!(change, Err(RecvError::Closed));
            if closed || sender.send(change).await.is_err() {
                return;
            }
        }
    });
    let heard = ReceiverStream::new(told);
    let events = heard.filter_map(move |heard| match heard {
        Ok(change) if change.user == user => {
            let data = serde_json::to_string(&change).unwrap_or_default();
            Some(Ok(Event::default().event(change.what).data(data)))
        }
        Ok(_) => None,
        Err(_) => Some(Ok(Event::default().event("missed").data("{}"))),
    });
    Sse::new(events).keep_alive(KeepAlive::default())
}
