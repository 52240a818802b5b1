//! Work that may wait for the disk, beside the threads of the runtime.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::RecvError;

use reprise_types::lock;

/// Runs work on a thread that tokio lends, and on one of the runtime's own where the system
/// refuses another.
///
/// # Errors
///
/// [`RecvError`] where the work panicked.
pub async fn lent<T, W>(work: W) -> Result<T, RecvError>
where
    T: Send + 'static,
    W: FnOnce() -> T + Send + 'static,
{
    let work = match lend(&Handle::current(), work) {
        Ok(answer) => return answer.await,
        Err(work) => work,
    };
    let (done, answer) = oneshot::channel();
    tokio::spawn(async move { done.send(work()).is_ok() });
    answer.await
}

/// Runs work on a thread of `pool`.
///
/// # Errors
///
/// The work, not begun, where the system refuses a thread.
pub fn lend<T, W>(pool: &Handle, work: W) -> Result<oneshot::Receiver<T>, W>
where
    T: Send + 'static,
    W: FnOnce() -> T + Send + 'static,
{
    let (done, answer) = oneshot::channel();
    let kept = Arc::new(Mutex::new(Some(work)));
    let waiting = Arc::clone(&kept);
    let run = move || {
        let work = lock(&waiting).take();
        work.is_some_and(|work| done.send(work()).is_ok())
    };
    // tokio panics where it has no thread and gets none, and the work stays in its queue.
    let refused = catch_unwind(AssertUnwindSafe(|| pool.spawn_blocking(run))).is_err();
    let left = refused.then(|| lock(&kept).take()).flatten();
    left.map_or(Ok(answer), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_that_panics_is_told_and_other_work_is_done() {
        assert!(lent(|| panic!("on purpose")).await.is_err());
        assert_eq!(lent(|| 7).await, Ok(7));
    }
}
