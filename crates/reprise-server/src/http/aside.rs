//! Requests beside the threads that the doors run on: reading a body, checking it and writing an
//! answer may take a while, and whoever asks whether the daemon lives waits for none of it.

use std::sync::LazyLock;

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use reprise_agent::lend;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Semaphore;
use tracing::Span;

use super::answers::Refusal;
use reprise_operations::{Problem, ProblemKind};

/// Requests that have a thread at once.
static THREADS: Semaphore = Semaphore::const_new(256);

/// Lends the threads. A pool of their own: a request waits for others that read the disk, which
/// would never come where the system refuses a thread and requests hold all there are.
static POOL: LazyLock<Option<Runtime>> =
    LazyLock::new(|| Builder::new_current_thread().build().ok());

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
    let lent = lent.and_then(|pool| lend(pool.handle(), work).ok());
    let Some(answered) = lent else {
        let said = "the system refuses the daemon a thread; try again later";
        return Refusal::from(Problem::new(ProblemKind::Unavailable, said)).into_response();
    };
    answered.await.unwrap_or_else(|error| {
        let said = format!("the request failed ({error}); report this");
        Refusal::from(Problem::new(ProblemKind::Internal, said)).into_response()
    })
}
