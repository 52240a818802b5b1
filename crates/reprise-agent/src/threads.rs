//! Work that may wait for the disk, beside the threads of the runtime.

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::RecvError;

use reprise_types::handed_over;

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
    let (work, answer) = answered(work);
    if let Err(work) = handed_over(work, |run| drop(tokio::task::spawn_blocking(run))) {
        tokio::spawn(async move { work() });
    }
    answer.await
}

/// Runs work on a thread of `pool`; `None` where the system refuses a thread, and nothing is done.
pub fn lend<T, W>(pool: &Handle, work: W) -> Option<oneshot::Receiver<T>>
where
    T: Send + 'static,
    W: FnOnce() -> T + Send + 'static,
{
    let (work, answer) = answered(work);
    // tokio panics where it has no thread and gets none, and the work stays in its queue.
    let begun = handed_over(work, |run| drop(pool.spawn_blocking(run)));
    begun.is_ok().then_some(answer)
}

/// Work that sends what it answers.
fn answered<T, W>(work: W) -> (impl FnOnce() + Send + 'static, oneshot::Receiver<T>)
where
    T: Send + 'static,
    W: FnOnce() -> T + Send + 'static,
{
    let (done, answer) = oneshot::channel();
    let work = move || {
        let _is_heard = done.send(work()).is_ok();
    };
    (work, answer)
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
