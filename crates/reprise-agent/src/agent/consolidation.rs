//! The background loop of learning (M56): abandons runs that were never ended, and refits the
//! adapter off the writer's thread.
//!
//! One background task at a time per memory.

use reprise_engine::Engine;

use super::single::SingleFlight;
use crate::handle::AgentHandle;

pub(super) struct Consolidation {
    handle: AgentHandle,
    single: SingleFlight,
}

impl Consolidation {
    pub(super) fn new(handle: AgentHandle) -> Self {
        Self {
            handle,
            single: SingleFlight::default(),
        }
    }

    /// Starts the task, unless it runs. The fit itself does not occupy the writer.
    pub(super) fn start_if_due(&self) {
        let handle = self.handle.clone();
        self.single.start(|| async move {
            let swept = handle.run(Engine::sweep_runs);
            if let Ok(Err(error)) = swept.await {
                tracing::warn!(%error, "stale runs could not be abandoned");
            }
            if let Ok(Some(job)) = handle.run(|e: &mut Engine| e.start_consolidation()).await
                && let Ok(done) = tokio::task::spawn_blocking(move || job.run()).await
            {
                let kept = handle.run(move |engine| engine.finish_consolidation(done));
                if let Ok(Err(error)) = kept.await {
                    tracing::warn!(%error, "fitted weights could not be stored");
                }
            }
        });
    }
}
