//! Reading the body of a request whole before it takes a slot: a client that stops in the middle
//! holds no slot that others need.
//!
//! Limits the bytes and the time of a body.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use tokio::time::timeout;

use super::answers::Refusal;
use super::extract::Identity;
use super::{App, BODY_BYTES_MAX};
use crate::daemon::{CallerId, QuotaSlot};
use reprise_operations::{Problem, ProblemKind};

/// Longest time for a whole body.
const BODY_TIMEOUT: Duration = Duration::from_mins(1);
/// Longest time without a byte of a body.
const IDLE_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest body that needs no slot for large bodies; the slots limit their memory.
const SMALL_BODY_BYTES_MAX: usize = 64 * 1024;

pub(super) async fn buffer_body_and_serve(
    State(app): State<App>,
    Extension(identity): Extension<Identity>,
    request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path();
    if path.starts_with("/health/") || path == "/openapi.json" {
        // Open to those without a token; nothing there reads a body.
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let read = timeout(BODY_TIMEOUT, read_whole_body(&app, &identity.caller, body)).await;
    match read.unwrap_or_else(|_| Err(body_timeout_problem(BODY_TIMEOUT))) {
        Ok((bytes, slot)) => {
            let request = Request::from_parts(parts, Body::from(bytes));
            let response = next.run(request).await;
            drop(slot);
            response
        }
        Err(problem) => Refusal::from(problem).into_response(),
    }
}

fn body_timeout_problem(within: Duration) -> Problem {
    let seconds = within.as_secs();
    Problem::new(
        ProblemKind::BodyLate,
        format!("nothing more of the body came within {seconds} s; send it again"),
    )
}

/// Reads a whole body, and takes a slot for large bodies if it is one.
async fn read_whole_body(
    app: &App,
    caller: &CallerId,
    mut body: Body,
) -> Result<(Vec<u8>, Option<QuotaSlot>), Problem> {
    let (mut bytes, mut slot) = (Vec::new(), None);
    loop {
        let frame = timeout(IDLE_TIMEOUT, body.frame()).await;
        let Some(frame) = frame.map_err(|_| body_timeout_problem(IDLE_TIMEOUT))? else {
            return Ok((bytes, slot));
        };
        let frame = frame.map_err(|error| {
            Problem::invalid(format!("the body broke off ({error}); send it again"))
        })?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        let length = bytes.len() + data.len();
        if length > BODY_BYTES_MAX {
            return Err(Problem::new(
                ProblemKind::TooLarge,
                format!("the body has more than {BODY_BYTES_MAX} bytes; send it in parts"),
            ));
        }
        if length > SMALL_BODY_BYTES_MAX && slot.is_none() {
            let full =
                "the daemon reads as many large bodies of yours as it can; try again in a moment";
            slot = Some(app.daemon.large_body_slots.acquire(caller, full)?);
        }
        bytes.extend_from_slice(&data);
    }
}
