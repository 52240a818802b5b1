//! Requests beside the threads that the doors run on: reading a body, checking it and writing an
//! answer may take a while, and whoever asks whether the daemon lives waits for none of it.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tracing::Span;

use super::answers::Refusal;
use reprise_operations::{Problem, ProblemKind};

/// Requests that have a thread at once. Half of what tokio lends: a request that reads the disk
/// waits for another thread, which must be there.
const THREADS_MAX: usize = 256;

static THREADS: Semaphore = Semaphore::const_new(THREADS_MAX);

/// Answers a request on a thread that may take its time; how the process is, at once. What has
/// begun is finished, whether or not its client waits.
pub(crate) async fn answer(request: Request, next: Next) -> Response {
    if request.uri().path().starts_with("/health/") {
        return next.run(request).await;
    }
    let thread = THREADS.acquire().await;
    let (here, span) = (Handle::current(), Span::current());
    let answered = tokio::task::spawn_blocking(move || {
        let _held = thread;
        span.in_scope(|| here.block_on(next.run(request)))
    });
    answered.await.unwrap_or_else(|error| {
        let said = format!("the request failed ({error}); report this");
        Refusal::from(Problem::new(ProblemKind::Internal, said)).into_response()
    })
}
