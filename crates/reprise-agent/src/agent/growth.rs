//! Growth of one memory's search graph while its writer is idle.
//!
//! One background task at a time per memory, in steps between which commits go first.

use std::time::Instant;

use reprise_engine::Engine;

use super::single::SingleFlight;
use crate::handle::AgentHandle;

/// Records inserted at a time: a few milliseconds, by which a commit may be delayed.
const STEP: usize = 8;

#[derive(Debug)]
pub(super) struct GraphGrowth {
    handle: AgentHandle,
    single: SingleFlight,
}

impl GraphGrowth {
    pub(super) fn new(handle: AgentHandle) -> Self {
        Self {
            handle,
            single: SingleFlight::default(),
        }
    }

    /// Starts the task, unless it runs. It ends when the graph is complete or the memory closes,
    /// and sleeps for as long as it works, so that it uses at most half a core.
    pub(super) fn start_if_due(&self) {
        let handle = self.handle.clone();
        self.single.start(|| async move {
            let step = |engine: &mut Engine| {
                let begin = Instant::now();
                (engine.advance_graph(STEP), begin.elapsed())
            };
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
        });
    }
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
    if let Ok(Some(records)) = tokio::task::spawn_blocking(measuring).await {
        tracing::debug!(user = %handle.user(), records, "the search's routes were compared");
        let set = move |engine: &mut Engine| engine.set_crossover(records);
        let _closed = handle.run(set).await.is_err();
    }
}
