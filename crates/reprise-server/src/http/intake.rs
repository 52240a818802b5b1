//! The body of a request, read whole before it takes a place among the requests under way: a client
//! that stops in the middle costs nobody else theirs.
//!
//! The bounds of bytes and of time.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use tokio::time::timeout;

use super::answers::Refusal;
use super::guard::Identity;
use super::{App, BODY_BYTES_MAX};
use crate::daemon::{Asker, Share};
use reprise_operations::{Problem, ProblemKind};

/// A body has this long to come.
const PATIENCE: Duration = Duration::from_mins(1);
/// And of this long no part may be without a byte of it.
const SILENCE: Duration = Duration::from_secs(5);
/// A larger one needs a place among the large ones, so that all of them together stay bounded.
const SMALL: usize = 64 * 1024;

pub(super) async fn read(
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
    let read = timeout(PATIENCE, whole(&app, &identity.asker, body)).await;
    match read.unwrap_or_else(|_| Err(late(PATIENCE))) {
        Ok((bytes, place)) => {
            let request = Request::from_parts(parts, Body::from(bytes));
            let response = next.run(request).await;
            drop(place);
            response
        }
        Err(problem) => Refusal::from(problem).into_response(),
    }
}

fn late(within: Duration) -> Problem {
    let seconds = within.as_secs();
    Problem::new(
        ProblemKind::BodyLate,
        format!("nothing more of the body came within {seconds} s; send it again"),
    )
}

/// The bytes, and the place that they hold where they are many.
async fn whole(
    app: &App,
    asker: &Asker,
    mut body: Body,
) -> Result<(Vec<u8>, Option<Share>), Problem> {
    let (mut bytes, mut place) = (Vec::new(), None);
    loop {
        let frame = timeout(SILENCE, body.frame()).await;
        let Some(frame) = frame.map_err(|_| late(SILENCE))? else {
            return Ok((bytes, place));
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
        if length > SMALL && place.is_none() {
            let full =
                "the daemon reads as many large bodies of yours as it can; try again in a moment";
            place = Some(app.life.large.place(asker, full)?);
        }
        bytes.extend_from_slice(&data);
    }
}
