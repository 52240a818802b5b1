//! How requests are answered: on threads beside those that the doors run on, and problems as
//! RFC 9457 JSON.
//!
//! Reading a body, checking it and writing an answer may take a while, and whoever asks whether the
//! daemon lives waits for none of it.

use std::sync::LazyLock;

use axum::extract::Request;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use reprise_agent::lend;
use reprise_operations::{Problem, ProblemKind};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Semaphore;
use tracing::Span;

/// Seconds after which a refused request may be sent again.
const RETRY_AFTER_SECONDS: &str = "1";

/// Requests that have a thread at once.
static THREADS: Semaphore = Semaphore::const_new(256);

/// Lends the threads. A pool of their own: a request waits for others that read the disk, which
/// would never come where the system refuses a thread and requests hold all there are.
static POOL: LazyLock<Option<Runtime>> =
    LazyLock::new(|| Builder::new_current_thread().build().ok());

/// A problem on its way to whoever asked.
#[derive(Debug)]
pub(crate) struct Refusal(Problem, Option<Value>, Option<u64>);

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self(problem, None, None)
    }
}

impl Refusal {
    /// The same with a member `error` for programs.
    pub(crate) fn with(problem: Problem, error: Value) -> Self {
        Self(problem, Some(error), None)
    }

    /// The same, to be sent again after so many seconds.
    pub(crate) fn after(self, seconds: u64) -> Self {
        Self(self.0, self.1, Some(seconds))
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Self(problem, error, after) = self;
        let status = StatusCode::from_u16(problem.kind.status())
            .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if problem.kind == ProblemKind::Internal {
            tracing::error!(problem = %problem, "a request failed");
        }
        let mut body = json!(problem.body());
        if let (Some(error), Some(members)) = (error, body.as_object_mut()) {
            members.insert("error".to_owned(), error);
        }
        let media = [(CONTENT_TYPE, "application/problem+json")];
        let mut response = (status, media, axum::Json(body)).into_response();
        let headers = response.headers_mut();
        if problem.is_passing() {
            let after = after.map_or(HeaderValue::from_static(RETRY_AFTER_SECONDS), Into::into);
            headers.insert(RETRY_AFTER, after);
        }
        if problem.kind == ProblemKind::Unauthorized {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// Answers a request on a thread that may take its time; how the process is, at once. What has
/// begun is finished, whether or not its client waits.
pub(crate) async fn answer(request: Request, next: Next) -> Response {
    if request.uri().path().starts_with("/health/") {
        return next.run(request).await;
    }
    let thread = THREADS.acquire().await;
    let (here, span) = (Handle::current(), Span::current());
    let work = move || {
        let _held = thread;
        span.in_scope(|| here.block_on(next.run(request)))
    };
    let lent = POOL.as_ref();
    let lent = lent.and_then(|pool| lend(pool.handle(), work));
    let Some(answered) = lent else {
        let said = "the system refuses the daemon a thread; try again later";
        return Refusal::from(Problem::new(ProblemKind::Unavailable, said)).into_response();
    };
    answered.await.unwrap_or_else(|error| {
        let said = format!("the request failed ({error}); report this");
        Refusal::from(Problem::new(ProblemKind::Internal, said)).into_response()
    })
}
