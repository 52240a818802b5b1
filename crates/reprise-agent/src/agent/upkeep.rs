//! The background work of one memory, one task of a kind at a time: runs that were never ended are
//! abandoned and the adapter is refitted (M56), what opening left in the file is read beside the
//! writer, and the search graph grows, in steps between which commits go first.

use std::sync::Arc;
use std::time::Instant;

use reprise_engine::Engine;
use tokio::sync::Mutex;

use crate::handle::AgentHandle;

/// Records inserted at a time: a few milliseconds, by which a commit may be delayed.
const STEP: usize = 8;

/// Permits one running task, which holds the lock; another can start once it has ended, also by a
/// panic.
#[derive(Debug, Default)]
pub(super) struct SingleFlight(Arc<Mutex<()>>);

impl SingleFlight {
    /// Whether a task runs. For whoever starts them: it takes the lock for a moment.
    pub(super) fn is_running(&self) -> bool {
        self.0.try_lock().is_err()
    }

    /// Starts what `task` makes, unless one runs.
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

/// Sweeps runs, and fits the adapter off the writer's thread.
pub(super) async fn consolidate(handle: AgentHandle) {
    let swept = handle.run(Engine::sweep_runs);
    if let Ok(Err(error)) = swept.await {
        tracing::warn!(%error, "stale runs could not be abandoned");
    }
    if let Ok(Some(job)) = handle.run(|e: &mut Engine| e.start_consolidation()).await
        && let Ok(done) = handle.lent("a fit", move || job.run()).await
    {
        let kept = handle.run(move |engine| engine.finish_consolidation(done));
        if let Ok(Err(error)) = kept.await {
            tracing::warn!(%error, "fitted weights could not be stored");
        }
    }
}

/// Reads what opening left in the file, off the writer's thread, which then finds it in memory.
pub(super) async fn load(handle: &AgentHandle) {
    let loading = handle.run(|engine: &mut Engine| engine.loading());
    if let Ok(Some(loading)) = loading.await {
        let _logged = handle
            .lent("the reading of a memory", loading)
            .await
            .is_err();
    }
}

/// Ends when the graph is complete or the memory closes, and sleeps for as long as it works, so
/// that it uses at most half a core.
pub(super) async fn grow(handle: AgentHandle) {
    let step = |engine: &mut Engine| {
        let begin = Instant::now();
        (engine.advance_graph(STEP), begin.elapsed())
    };
    load(&handle).await;
    loop {
        match handle.run(step).await {
            Ok((Ok(left), took)) if left > 0 => tokio::time::sleep(took).await,
            Ok((Err(error), _)) => {
                tracing::warn!(user = %handle.user(), %error, "the graph cannot grow");
                break;
            }
            _ => break,
        }
    }
    compare_routes(&handle).await;
}

/// Measures, beside the writer, from which size on the graph answers sooner than a scan here, where
/// that is due.
async fn compare_routes(handle: &AgentHandle) {
    let is_due = |engine: &mut Engine| engine.is_crossover_due();
    let Ok(true) = handle.run(is_due).await else {
        return;
    };
    let Some(snapshot) = handle.newest() else {
        return;
    };
    let begin = Instant::now();
    let measuring = move || snapshot.crossover(&|| begin.elapsed());
    if let Ok(Some(records)) = handle.lent("a comparison", measuring).await {
        tracing::debug!(user = %handle.user(), records, "the search's routes were compared");
        let set = move |engine: &mut Engine| engine.set_crossover(records);
        let _closed = handle.run(set).await.is_err();
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
        let begun = Arc::clone(&started);
        single.start(|| async move {
            begun.fetch_add(1, Ordering::AcqRel);
            let _ended = wait.await;
            std::panic::resume_unwind(Box::new("over"));
        });
        single.start(|| async { unreachable!("the first still runs") });
        go.send(()).unwrap();
        while single.is_running() {
            tokio::task::yield_now().await;
        }
        let (done, end) = tokio::sync::oneshot::channel();
        single.start(|| async move { done.send(()).unwrap() });
        end.await.unwrap();
        assert_eq!(started.load(Ordering::Acquire), 1);
    }
}
