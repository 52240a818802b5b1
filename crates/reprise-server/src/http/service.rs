//! The daemon about itself.

use std::sync::atomic::Ordering;

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::App;
use super::answers::Refusal;
use super::guard::Identity;
use crate::client::VERSION_HEADER;
use reprise_operations::{Problem, ProblemKind};

/// Alive: asks nothing of anybody. A client elsewhere reads the version here.
pub(super) async fn live() -> impl IntoResponse {
    ([(VERSION_HEADER, env!("CARGO_PKG_VERSION"))], "live\n")
}

/// Ready for requests: not while it ends, and not without the service behind it.
pub(super) async fn ready(State(app): State<App>) -> Result<&'static str, Refusal> {
    let said = if app.life.is_ending() {
        "the daemon is ending; the next request starts another"
    } else if !app.memories.service().is_ready().await {
        "the memory service does not answer; run `reprise serve --replace`"
    } else {
        return Ok("ready\n");
    };
    Err(Problem::new(ProblemKind::Unavailable, said).into())
}

pub(super) async fn metrics(State(app): State<App>) -> Response {
    let text = app.metrics.text(&app.memories.service().stats(), &app.life);
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}

pub(super) async fn status(State(app): State<App>) -> Json<Value> {
    let life = &app.life;
    Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "pid": std::process::id(),
        "data_dir": life.place.data(),
        "socket": life.place.socket(),
        "http": life.http.map(|http| http.to_string()),
        "uptime_seconds": life.started.elapsed().as_secs(),
        "idle_exit_seconds": life.idle_exit.map(|idle| idle.as_secs()),
        "requests_served": life.served.load(Ordering::Relaxed),
        "projections_failing": app.memories.failing_projections(),
        "service": app.memories.service().stats(),
    }))
}

/// Ends the daemon after this answer; from the machine itself only.
pub(super) async fn shut_down(
    State(app): State<App>,
    Extension(identity): Extension<Identity>,
) -> Result<Json<Value>, Refusal> {
    let said = "a daemon is ended through its socket only; run `reprise stop` on its machine";
    identity.needs_machine(said)?;
    app.life.end();
    Ok(Json(json!({ "ending": true })))
}

pub(crate) async fn no_route() -> Refusal {
    Problem::not_found("there is no such route; see /openapi.json").into()
}

pub(crate) async fn no_method() -> Refusal {
    wrong_method().into()
}

pub(crate) fn wrong_method() -> Problem {
    let said = "the route does not take this method; see /openapi.json";
    Problem::new(ProblemKind::Method, said)
}
