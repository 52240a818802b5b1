//! Work on a thread that tokio lends.

use reprise_types::spawn_or_return;
use tokio::sync::oneshot;

use crate::error::{GlobalError, GlobalResult};

/// Runs work on a thread that tokio lends. Without one it is refused: what makes vectors waits for
/// the runtime, as no thread of its own may.
pub async fn run_on_lent_thread<T, W>(work: W) -> GlobalResult<T>
where
    T: Send + 'static,
    W: FnOnce() -> T + Send + 'static,
{
    let (done, answer) = oneshot::channel();
    let work = move || {
        let _is_heard = done.send(work()).is_ok();
    };
    let run_on_lent_thread = spawn_or_return(work, |run| drop(tokio::task::spawn_blocking(run)));
    run_on_lent_thread.map_err(|_| GlobalError::unavailable("the system gives no thread"))?;
    answer.await.map_err(|_| {
        tracing::error!("an operation of the global store panicked");
        GlobalError::unavailable("its last operation failed; see the log")
    })
}
