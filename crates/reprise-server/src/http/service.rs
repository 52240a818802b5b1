//! Routes about the daemon itself: health, metrics, status, shutdown.

use std::sync::atomic::Ordering;

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::App;
use super::answers::Refusal;
use super::extract::Identity;
use crate::client::VERSION_HEADER;
use reprise_operations::{Problem, ProblemKind};

/// Reports that the process runs; a client on another machine reads the version here.
pub(super) async fn report_liveness() -> impl IntoResponse {
    ([(VERSION_HEADER, env!("CARGO_PKG_VERSION"))], "live\n")
}

/// Reports whether requests are served: not while the daemon ends or its service is gone.
pub(super) async fn report_readiness(State(app): State<App>) -> Result<&'static str, Refusal> {
    let detail = if app.daemon.is_ending() {
        "the daemon is ending; the next request starts another"
    } else if !app.memories.service().is_ready().await {
        "the memory service does not answer; run `reprise serve --replace`"
    } else {
        return Ok("ready\n");
    };
    Err(Problem::new(ProblemKind::Unavailable, detail).into())
}

pub(super) async fn serve_metrics(State(app): State<App>) -> Response {
    let text = app
        .metrics
        .text(&app.memories.service().stats(), &app.daemon);
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}

pub(super) async fn report_status(State(app): State<App>) -> Json<Value> {
    let daemon = &app.daemon;
    Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "pid": std::process::id(),
        "data_dir": daemon.place.data(),
        "socket": daemon.place.socket(),
        "http": daemon.http.get().map(ToString::to_string),
        "uptime_seconds": daemon.started.elapsed().as_secs(),
        "idle_exit_seconds": daemon.idle_exit.map(|idle| idle.as_secs()),
        "requests_served": daemon.requests_served.load(Ordering::Relaxed),
        "projections_failing": app.memories.list_failing_projections(),
        "service": app.memories.service().stats(),
    }))
}

/// Ends the daemon after this response; allowed only on its own machine.
pub(super) async fn shut_down(
    State(app): State<App>,
    Extension(identity): Extension<Identity>,
) -> Result<Json<Value>, Refusal> {
    let detail =
        "a daemon is ended through its socket only; run `reprise serve stop` on its machine";
    identity.require_local(detail)?;
    app.daemon.begin_shutdown();
    Ok(Json(json!({ "ending": true })))
}

pub(crate) async fn no_route() -> Refusal {
    Problem::not_found("there is no such route; see /openapi.json").into()
}

pub(crate) async fn no_method() -> Refusal {
    wrong_method_problem().into()
}

pub(crate) fn wrong_method_problem() -> Problem {
    let detail = "the route does not take this method; see /openapi.json";
    Problem::new(ProblemKind::Method, detail)
}
