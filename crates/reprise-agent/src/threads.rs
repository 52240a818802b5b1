//! Work that may wait for the disk, beside the threads of the runtime.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use tokio::task::JoinError;

use reprise_types::lock;

/// Runs work on a thread that tokio lends, and on one of the runtime's own where the system
/// refuses another.
///
/// # Errors
///
/// [`JoinError`] where the work panicked.
pub async fn lent<T, W>(work: W) -> Result<T, JoinError>
where
    T: Send + 'static,
    W: FnOnce() -> T + Send + 'static,
{
    let kept = Arc::new(Mutex::new(Some(work)));
    let lent = {
        let kept = Arc::clone(&kept);
        // tokio panics where it has no thread and gets none.
        catch_unwind(AssertUnwindSafe(|| {
            tokio::task::spawn_blocking(move || run(&kept))
        }))
    };
    match lent {
        Ok(lent) => lent.await,
        Err(_refused) => tokio::spawn(async move { run(&kept) }).await,
    }
}

fn run<T>(kept: &Mutex<Option<impl FnOnce() -> T>>) -> T {
    let Some(work) = lock(kept).take() else {
        unreachable!("one of the two threads runs it")
    };
    work()
}
