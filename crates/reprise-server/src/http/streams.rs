//! Streamed responses: exports, backups, changes.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body as HttpBody, Bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use reprise_agent::run_blocking;
use reprise_operations::{BodyParts, Problem, add_hint};
use reprise_types::{Clock, SystemClock};
use serde::Deserialize;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};

use super::App;
use super::answers::Refusal;
use super::extract::{Identity, PathUser};
use crate::daemon::QuotaSlot;

/// Most changes that wait for one listener.
const CHANGES_WAITING: usize = 64;

pub(super) fn router() -> Router<App> {
    Router::new()
        .route("/export", get(export))
        .route("/backup", get(backup))
        .route("/changes", get(changes))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExportQuery {
    #[serde(default)]
    sensitive: bool,
}

/// Takes a slot for a stream, which holds a thread until its client has read everything: a client
/// that reads nothing must not hold the threads that others need.
fn acquire_stream_slot(app: &App, identity: &Identity) -> Result<QuotaSlot, Problem> {
    let full =
        "as many exports and backups of yours as may be are under way; try again in a moment";
    app.daemon.stream_slots.acquire(&identity.caller, full)
}

/// Streams parts and holds the slot until the stream ends or is dropped.
pub(crate) fn stream_with_slot<T: Send + 'static>(
    parts: mpsc::Receiver<T>,
    slot: QuotaSlot,
) -> impl Stream<Item = T> + Send {
    ReceiverStream::new(parts).map(move |part| {
        let _held = &slot;
        part
    })
}

fn body_with_slot<T: Into<Bytes> + Send + 'static>(
    parts: BodyParts<T>,
    slot: QuotaSlot,
) -> HttpBody {
    HttpBody::from_stream(stream_with_slot(parts, slot))
}

async fn export(
    State(app): State<App>,
    PathUser(user): PathUser,
    Extension(identity): Extension<Identity>,
    query: Result<Query<ExportQuery>, QueryRejection>,
) -> Result<Response, Refusal> {
    // A field that the route does not have, or that cannot be read.
    let bad = |error: QueryRejection| Problem::invalid(add_hint(error.body_text()));
    let Query(ExportQuery { sensitive }) = query.map_err(bad)?;
    let slot = acquire_stream_slot(&app, &identity)?;
    let body = body_with_slot(app.memories.stream_export(&user, sensitive).await?, slot);
    Ok(([(CONTENT_TYPE, "application/x-ndjson")], body).into_response())
}

/// Streams the whole memory file, for `reprise backup restore`.
async fn backup(
    State(app): State<App>,
    PathUser(user): PathUser,
    Extension(identity): Extension<Identity>,
) -> Result<Response, Refusal> {
    let slot = acquire_stream_slot(&app, &identity)?;
    let body = body_with_slot(app.memories.stream_backup(&user).await?, slot);
    Ok(([(CONTENT_TYPE, "application/octet-stream")], body).into_response())
}

/// Streams changes as server-sent events, and `missed` if the listener was too slow. The stream
/// ends with the daemon or with the caller's token.
async fn changes(
    State(app): State<App>,
    PathUser(user): PathUser,
    Extension(identity): Extension<Identity>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refusal> {
    let full = "as many listeners of yours as may be hear of changes; end one, and try again";
    let slot = app.daemon.listener_slots.acquire(&identity.caller, full)?;
    let (sender, changes_received) = mpsc::channel(CHANGES_WAITING);
    let mut changes = app.memories.subscribe_to_changes();
    let (daemon, tokens) = (Arc::clone(&app.daemon), Arc::clone(&app.tokens));
    tokio::spawn(async move {
        loop {
            let change = tokio::select! {
                change = changes.recv() => change,
                () = daemon.wait_for_shutdown() => return,
                () = sender.closed() => return,
            };
            let withdrawn = match identity.token.clone() {
                Some(token) => {
                    let tokens = Arc::clone(&tokens);
                    let is_valid = run_blocking(move || tokens.is_valid(&token)).await;
                    !is_valid.unwrap_or(false)
                }
                None => false,
            };
            let ended = identity.ends.is_some_and(|ends| ends <= SystemClock.now());
            let closed = withdrawn || ended || matches!(change, Err(RecvError::Closed));
            if closed || sender.send(change).await.is_err() {
                return;
            }
        }
    });
    let events = stream_with_slot(changes_received, slot).filter_map(move |change| match change {
        Ok(change) if change.user == user => {
            let data = serde_json::to_string(&change).unwrap_or_default();
            Some(Ok(Event::default().event(change.what).data(data)))
        }
        Ok(_) => None,
        Err(_) => Some(Ok(Event::default().event("missed").data("{}"))),
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}
