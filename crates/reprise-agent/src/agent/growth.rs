//! Growth of one memory's search graph while its writer is idle.
//!
//! One background task at a time per memory, in steps between which commits go first.

use std::time::Instant;

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
