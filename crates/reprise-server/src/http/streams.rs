//! What is answered part by part: exports, backups, changes.

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
use reprise_operations::{Parts, Problem, hinted};
use reprise_types::{Clock, SystemClock};
use serde::Deserialize;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};

use super::App;
use super::answers::Refusal;
use super::extract::Who;
use super::guard::Identity;
use crate::daemon::Share;

/// Changes that wait for one listener to take them.
const CHANGES_WAITING: usize = 64;

pub(super) fn router() -> Router<App> {
    Router::new()
        .route("/export", get(export))
        .route("/backup", get(backup))
        .route("/changes", get(changes))
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
    let full =
        "as many exports and backups of yours as may be are under way; try again in a moment";
    app.life.streams.place(&identity.asker, full)
}

/// What comes part by part, with its share until it is read or left.
pub(crate) fn sharing<T: Send + 'static>(
    parts: mpsc::Receiver<T>,
    share: Share,
) -> impl Stream<Item = T> + Send {
    ReceiverStream::new(parts).map(move |part| {
        let _held = &share;
        part
    })
}

fn stream<T: Into<Bytes> + Send + 'static>(parts: Parts<T>, share: Share) -> HttpBody {
    HttpBody::from_stream(sharing(parts, share))
}

async fn export(
    State(app): State<App>,
    Who(user): Who,
    Extension(identity): Extension<Identity>,
    query: Result<Query<Exporting>, QueryRejection>,
) -> Result<Response, Refusal> {
    // A field that the route does not have, or that cannot be read.
    let bad = |error: QueryRejection| Problem::invalid(hinted(error.body_text()));
    let Query(Exporting { sensitive }) = query.map_err(bad)?;
    let share = stream_share(&app, &identity)?;
    let body = stream(app.memories.export(&user, sensitive).await?, share);
    Ok(([(CONTENT_TYPE, "application/x-ndjson")], body).into_response())
}

/// The whole file, for `reprise restore`.
async fn backup(
    State(app): State<App>,
    Who(user): Who,
    Extension(identity): Extension<Identity>,
) -> Result<Response, Refusal> {
    let share = stream_share(&app, &identity)?;
    let body = stream(app.memories.backup(&user).await?, share);
    Ok(([(CONTENT_TYPE, "application/octet-stream")], body).into_response())
}

/// Server-sent events, one a change; `missed` where the listener was too slow. They end with the
/// daemon, and with the token that they were asked for with.
async fn changes(
    State(app): State<App>,
    Who(user): Who,
    Extension(identity): Extension<Identity>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refusal> {
    let full = "as many listeners of yours as may be hear of changes; end one, and try again";
    let share = app.life.listeners.place(&identity.asker, full)?;
    let (sender, told) = mpsc::channel(CHANGES_WAITING);
    let mut changes = app.memories.listen();
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
            let ended = identity.ends.is_some_and(|ends| ends <= SystemClock.now());
            let closed = withdrawn || ended || matches!(change, Err(RecvError::Closed));
            if closed || sender.send(change).await.is_err() {
                return;
            }
        }
    });
    let events = sharing(told, share).filter_map(move |heard| match heard {
        Ok(change) if change.user == user => {
            let data = serde_json::to_string(&change).unwrap_or_default();
            Some(Ok(Event::default().event(change.what).data(data)))
        }
        Ok(_) => None,
        Err(_) => Some(Ok(Event::default().event("missed").data("{}"))),
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}
