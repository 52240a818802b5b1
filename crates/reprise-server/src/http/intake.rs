//! The body of a request, read whole before it takes a place among the requests under way: a client
//! that stops in the middle costs nobody else theirs.
//!
//! Lives here: the bounds of bytes and of time. Must never live here: what is in a body.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::{App, BODY_BYTES_MAX};
use crate::problem::{Problem, ProblemKind};

/// A body has this long to come.
const PATIENCE: Duration = Duration::from_secs(20);
/// A larger one needs a place among the large ones, so that all of them together stay bounded.
const SMALL: usize = 64 * 1024;

pub(super) async fn read(State(app): State<App>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    if path.starts_with("/health/") || path == "/openapi.json" {
        // Open to those without a token; nothing there reads a body.
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let read = timeout(PATIENCE, whole(&app, body)).await;
    let read = read.unwrap_or_else(|_| {
        let seconds = PATIENCE.as_secs();
        Err(Problem::new(
            ProblemKind::BodyLate,
            format!("the body did not come within {seconds} s; send it again"),
        ))
    });
    match read {
        Ok((bytes, place)) => {
            let request = Request::from_parts(parts, Body::from(bytes));
            let response = next.run(request).await;
            drop(place);
            response
        }
        Err(problem) => problem.into_response(),
    }
}

/// The bytes, and the place that they hold where they are many.
async fn whole(
    app: &App,
    mut body: Body,
) -> Result<(Vec<u8>, Option<OwnedSemaphorePermit>), Problem> {
    let (mut bytes, mut place) = (Vec::new(), None);
    while let Some(frame) = body.frame().await {
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
        if length > SMALL && place.is_none() {
            let free = Arc::clone(&app.life.large).try_acquire_owned();
            place = Some(free.map_err(|_| {
                Problem::new(
                    ProblemKind::Overloaded,
                    "the daemon reads as many large bodies as it can; try again in a moment",
                )
            })?);
        }
        bytes.extend_from_slice(&data);
    }
    Ok((bytes, place))
}
