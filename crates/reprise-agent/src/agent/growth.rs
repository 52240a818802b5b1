//! The search graph of one memory, grown while nobody waits for its writer.
//!
//! One background task at a time per memory, in steps between which commits go first.

use std::time::Instant;

use super::single::SingleFlight;
use crate::handle::AgentHandle;

/// Records taken in at a time: some milliseconds, which a commit may have to wait.
const STEP: usize = 8;

/// The growth of one memory's graph.
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

    /// Starts the task, unless it runs. It ends when the graph is whole or the memory closes, and
    /// rests for as long as it works, so that it never takes more than half a core.
    pub(super) fn start_if_due(&self) {
        let handle = self.handle.clone();
        self.single.start(|| async move {
            let step = |engine: &mut reprise_engine::Engine| {
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
        });
    }
}
