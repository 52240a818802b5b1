//! Work that may wait for the disk, on threads other than the runtime's own.

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use reprise_types::{MemoryError, spawn_or_return};

/// Runs work on a blocking thread of tokio, or on one of the runtime's own threads if the system
/// refuses another. A panic is logged.
pub async fn run_blocking<T, W>(work: W) -> Result<T, MemoryError>
where
    T: Send + 'static,
    W: FnOnce() -> T + Send + 'static,
{
    let (work, answer) = wrap_with_result_channel(work);
    if let Err(work) = spawn_or_return(work, |run| drop(tokio::task::spawn_blocking(run))) {
        tokio::spawn(async move { work() });
    }
    answer.await.map_err(|_| {
        let message = "the work broke off; report this, with the log".to_owned();
        tracing::error!("{message}");
        MemoryError::Storage { message }
    })
}

/// Starts work on a blocking thread of `pool`, and returns the receiver of its result; `None` if
/// the system refuses a thread, so that nothing is done.
pub fn spawn_blocking_on<T, W>(pool: &Handle, work: W) -> Option<oneshot::Receiver<T>>
where
    T: Send + 'static,
    W: FnOnce() -> T + Send + 'static,
{
    let (work, answer) = wrap_with_result_channel(work);
    // tokio panics if it has no thread and gets none, and the work stays in its queue.
    let started = spawn_or_return(work, |run| drop(pool.spawn_blocking(run)));
    started.is_ok().then_some(answer)
}

/// Wraps work so that it sends its result, and returns the receiver.
fn wrap_with_result_channel<T, W>(work: W) -> (impl FnOnce() + Send + 'static, oneshot::Receiver<T>)
where
    T: Send + 'static,
    W: FnOnce() -> T + Send + 'static,
{
    let (sender, answer) = oneshot::channel();
    let work = move || {
        let _has_receiver = sender.send(work()).is_ok();
    };
    (work, answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_that_panics_is_told_and_other_work_is_done() {
        assert!(run_blocking(|| panic!("on purpose")).await.is_err());
        assert_eq!(run_blocking(|| 7).await, Ok(7));
    }
}
