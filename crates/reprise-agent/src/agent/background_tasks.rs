//! The background work of one memory, one task of a kind at a time: it abandons runs that were
//! never ended, refits the adapter, reads off the writer's thread what opening left in the file,
//! and grows the search graph in steps, between which commits go first.

use std::sync::Arc;
use std::time::Instant;

use reprise_engine::Engine;
use tokio::sync::Mutex;

use crate::handle::MemoryHandle;
use crate::threads::run_blocking;

/// Records inserted per step; a step takes a few milliseconds, by which it may delay a commit.
const STEP: usize = 8;

/// Permits one running task, which holds the lock; the next can start once it has ended, even by a
/// panic.
#[derive(Debug, Default)]
pub(super) struct SingleFlight(Arc<Mutex<()>>);

impl SingleFlight {
    /// Returns whether a task runs. It takes the lock for a moment, so only the code that starts
    /// tasks may call it.
    pub(super) fn is_running(&self) -> bool {
        self.0.try_lock().is_err()
    }

    /// Starts the future that `task` creates, unless one runs already.
    pub(super) fn start<F>(&self, task: impl FnOnce() -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let Ok(turn) = Arc::clone(&self.0).try_lock_owned() else {
            return;
        };
        let task = task();
        tokio::spawn(async move {
            task.await;
            drop(turn);
        });
    }
}

/// Abandons stale runs, and fits the learning adapter off the writer's thread.
pub(super) async fn abandon_stale_and_fit_learning(handle: MemoryHandle) {
    let swept = handle.run_on_engine(Engine::abandon_stale_runs);
    if let Ok(Err(error)) = swept.await {
        tracing::warn!(%error, "stale runs could not be abandoned");
    }
    if let Ok(Some(job)) = handle
        .run_on_engine(|e: &mut Engine| e.start_adapter_fit())
        .await
        && let Ok(done) = run_blocking(move || job.run()).await
    {
        let stored = handle.run_on_engine(move |engine| engine.finish_adapter_fit(done));
        if let Ok(Err(error)) = stored.await {
            tracing::warn!(%error, "fitted weights could not be stored");
        }
    }
}

/// Loads what opening left in the file, off the writer's thread, which then finds it in memory.
pub(super) async fn load_deferred(handle: &MemoryHandle) {
    let loading = handle.run_on_engine(|engine: &mut Engine| engine.loader());
    if let Ok(Some(loading)) = loading.await {
        let _logged = run_blocking(loading).await.is_err();
    }
}

/// Grows the search graph until it is complete or the memory closes; it sleeps for as long as it
/// works, so that it uses at most half a core.
pub(super) async fn grow_graph(handle: MemoryHandle) {
    let step = |engine: &mut Engine| {
        let begin = Instant::now();
        (engine.advance_graph(STEP), begin.elapsed())
    };
    load_deferred(&handle).await;
    loop {
        match handle.run_on_engine(step).await {
            Ok((Ok(left), took)) if left > 0 => tokio::time::sleep(took).await,
            Ok((Err(error), _)) => {
                tracing::warn!(user = %handle.user(), %error, "the graph cannot grow");
                break;
            }
            _ => break,
        }
    }
    measure_crossover(&handle).await;
}

/// Measures, if that is due, from which number of records on the graph is faster than a scan on
/// this machine; it runs off the writer's thread.
async fn measure_crossover(handle: &MemoryHandle) {
    let is_due = |engine: &mut Engine| engine.is_crossover_due();
    let Ok(true) = handle.run_on_engine(is_due).await else {
        return;
    };
    let Some(snapshot) = handle.newest_snapshot() else {
        return;
    };
    let begin = Instant::now();
    let measuring = move || snapshot.measure_crossover(&|| begin.elapsed());
    if let Ok(Some(records)) = run_blocking(measuring).await {
        tracing::debug!(user = %handle.user(), records, "the search's routes were compared");
        let set = move |engine: &mut Engine| engine.set_crossover(records);
        let _closed = handle.run_on_engine(set).await.is_err();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn one_runs_at_a_time_and_a_panic_makes_room() {
        let single = SingleFlight::default();
        let started = Arc::new(AtomicUsize::new(0));
        let (go, wait) = tokio::sync::oneshot::channel::<()>();
        let counter = Arc::clone(&started);
        single.start(|| async move {
            counter.fetch_add(1, Ordering::AcqRel);
            let _ended = wait.await;
            std::panic::resume_unwind(Box::new("over"));
        });
        single.start(|| async { unreachable!("the first still runs") });
        go.send(()).unwrap();
        while single.is_running() {
            tokio::task::yield_now().await;
        }
        let (end_sender, end) = tokio::sync::oneshot::channel();
        single.start(|| async move { end_sender.send(()).unwrap() });
        end.await.unwrap();
        assert_eq!(started.load(Ordering::Acquire), 1);
    }
}
