//! Whether the store can be asked, and the metrics. A probe has no token and takes no place:
//! whoever they are, the store is looked at once a second for all of them.

use std::fmt::Write;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use reprise_global::{GlobalError, GlobalStore};
use tokio::sync::Mutex;

use super::routes::Desk;
use crate::http::Refusal;

/// So long a look holds.
const HOLDS: Duration = Duration::from_secs(1);

/// The last look at the store, and what came of it.
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
    let mut written = desk.metrics.requests(&mut text);
    let is_ready = desk.ready.look(&*desk.store).await.is_ok();
    for (name, help, value) in [
        ("ready", "Whether the store answers.", u64::from(is_ready)),
        (
            "requests_free",
            "Requests that could begin now.",
            desk.places.available_permits() as u64,
        ),
    ] {
        written = written.and_then(|()| {
            writeln!(
                text,
                "# HELP reprise_global_{name} {help}\n# TYPE reprise_global_{name} gauge\n\
                 reprise_global_{name} {value}"
            )
        });
    }
    if let Err(error) = written {
        tracing::error!(%error, "the metrics are not whole");
    }
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}
