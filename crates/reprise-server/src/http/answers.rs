//! Serving requests on worker threads, apart from the acceptors' threads, and problems as RFC 9457
//! JSON.
//!
//! Reading a body, checking it and writing a response may take a while; a health check waits for
//! none of it.

use std::sync::LazyLock;

use axum::extract::Request;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use reprise_agent::spawn_blocking_on;
use reprise_operations::{Problem, ProblemKind};
use reprise_types::MemoryError;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Semaphore;
use tracing::Span;

/// Seconds after which a refused request may be sent again.
const DEFAULT_RETRY_SECONDS: &str = "1";

/// Limits how many requests have a thread at once.
static THREAD_PERMITS: Semaphore = Semaphore::const_new(256);

/// Pool of the worker threads. It is separate from the pool for disk reads: a request waits for
/// disk reads, which could never start if requests held all threads.
static WORKER_POOL: LazyLock<Option<Runtime>> =
    LazyLock::new(|| Builder::new_current_thread().build().ok());

/// A problem as the response to a request: with an `error` member, and seconds until a retry.
#[derive(Debug)]
pub struct Refusal(Problem, Option<Value>, Option<u64>);

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self(problem, None, None)
    }
}

impl From<MemoryError> for Refusal {
    fn from(error: MemoryError) -> Self {
        Self::from(Problem::from(error))
    }
}

impl Refusal {
    /// Returns the response to a problem with a member `error` for programs.
    pub(crate) fn with(problem: Problem, error: Value) -> Self {
        Self(problem, Some(error), None)
    }

    /// Sets the seconds after which the client may try again.
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
        let mut body = json!(problem.to_body());
        if let (Some(error), Some(members)) = (error, body.as_object_mut()) {
            members.insert("error".to_owned(), error);
        }
        let media = [(CONTENT_TYPE, "application/problem+json")];
        let mut response = (status, media, axum::Json(body)).into_response();
        let headers = response.headers_mut();
        if problem.is_passing() {
            let after = after.map_or(HeaderValue::from_static(DEFAULT_RETRY_SECONDS), Into::into);
            headers.insert(RETRY_AFTER, after);
        }
        if problem.kind == ProblemKind::Unauthorized {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// Serves a request on a worker thread, but a health check at once. A request that has begun is
/// finished even if its client leaves.
pub(crate) async fn serve_on_worker_thread(request: Request, next: Next) -> Response {
    if request.uri().path().starts_with("/health/") {
        return next.run(request).await;
    }
    let thread = THREAD_PERMITS.acquire().await;
    let (here, span) = (Handle::current(), Span::current());
    let work = move || {
        let _held = thread;
        span.in_scope(|| here.block_on(next.run(request)))
    };
    let lent = WORKER_POOL.as_ref();
    let lent = lent.and_then(|pool| spawn_blocking_on(pool.handle(), work));
    let Some(answered) = lent else {
        let detail = "the system refuses the daemon a thread; try again later";
        return Refusal::from(Problem::new(ProblemKind::Unavailable, detail)).into_response();
    };
    answered.await.unwrap_or_else(|error| {
        let detail = format!("the request failed ({error}); report this");
        Refusal::from(Problem::new(ProblemKind::Internal, detail)).into_response()
    })
}
