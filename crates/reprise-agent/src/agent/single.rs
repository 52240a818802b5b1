//! One background task of a kind at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Permits one running task; another can start once it has ended.
#[derive(Debug, Default)]
pub(super) struct SingleFlight {
    running: Arc<AtomicBool>,
}

/// Permits the next task when dropped, also after a panic.
struct Turn(Arc<AtomicBool>);

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl SingleFlight {
    /// Whether a task runs.
    pub(super) fn is_running(&self) -> bool {
        self.running.load(Ordering::Acquire)
    }

    /// Starts what `task` makes, unless one runs.
    pub(super) fn start<F>(&self, task: impl FnOnce() -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        if self.running.swap(true, Ordering::AcqRel) {
            return;
        }
        let (turn, task) = (Turn(Arc::clone(&self.running)), task());
        tokio::spawn(async move {
            task.await;
            drop(turn);
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[tokio::test]
    async fn one_runs_at_a_time_and_a_panic_makes_room() {
        let single = SingleFlight::default();
        let started = Arc::new(AtomicUsize::new(0));
        let (go, wait) = tokio::sync::oneshot::channel::<()>();
        let begun = Arc::clone(&started);
        single.start(|| async move {
            begun.fetch_add(1, Ordering::AcqRel);
            let _ended = wait.await;
            std::panic::resume_unwind(Box::new("over"));
        });
        single.start(|| async { unreachable!("the first still runs") });
        go.send(()).unwrap();
        while single.running.load(Ordering::Acquire) {
            tokio::task::yield_now().await;
        }
        let (done, end) = tokio::sync::oneshot::channel();
        single.start(|| async move { done.send(()).unwrap() });
        end.await.unwrap();
        assert_eq!(started.load(Ordering::Acquire), 1);
    }
}
