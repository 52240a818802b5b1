//! Rewriting one memory's file without what is dead, off its writer: by rule, and when asked.
//!
//! The order of the steps, and one at a time.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use reprise_engine::{CompactionCopy, CompactionOutcome, Engine, EngineError};
use reprise_types::MemoryError;
use tokio::sync::Semaphore;

use super::single::SingleFlight;
use crate::handle::AgentHandle;

/// Of all memories of a process, one is rewritten by rule at a time.
static BY_RULE: Semaphore = Semaphore::const_new(1);
/// A file that could not be rewritten, for want of room as a rule, is left alone for so long.
const AFTER_FAILURE: Duration = Duration::from_mins(10);
/// What was written meanwhile is carried over in so many rounds at most,
const CATCH_UPS_MAX: usize = 8;
/// until this much is left for the writer.
const LEFT_BYTES: u64 = 256 * 1024;

/// The compaction of one memory by rule.
#[derive(Debug)]
pub(super) struct CompactionByRule {
    handle: AgentHandle,
    single: SingleFlight,
    failed: Arc<Mutex<Option<Instant>>>,
}

impl CompactionByRule {
    pub(super) fn new(handle: AgentHandle) -> Self {
        Self {
            handle,
            single: SingleFlight::default(),
            failed: Arc::default(),
        }
    }

    /// Starts the task, unless it runs or has failed lately.
    pub(super) fn start_if_due(&self) {
        let failed = *self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.is_some_and(|at| at.elapsed() < AFTER_FAILURE) {
            return;
        }
        let (handle, failed) = (self.handle.clone(), Arc::clone(&self.failed));
        self.single.start(|| async move {
            let due = handle.run(|engine| engine.is_compaction_due());
            if !matches!(due.await, Ok(true)) {
                return;
            }
            let Ok(_turn) = BY_RULE.acquire().await else {
                return;
            };
            match compact(&handle).await {
                Ok(Ok(report)) => {
                    tracing::info!(user = %handle.user(), ?report, "compacted by rule");
                }
                Ok(Err(error)) => {
                    tracing::warn!(user = %handle.user(), %error, "a compaction by rule failed");
                    let now = Some(Instant::now());
                    *failed.lock().unwrap_or_else(PoisonError::into_inner) = now;
                }
                Err(error) => tracing::debug!(%error, "no compaction: the agent has ended"),
            }
        });
    }
}

/// Rewrites a memory's file. Its writer begins and ends it, and commits in between; whoever asks
/// while one runs waits for that and then for one of his own, which leaves out what was forgotten
/// meanwhile.
pub(crate) async fn compact(handle: &AgentHandle) -> Result<CompactionOutcome, MemoryError> {
    let turns = handle.compactions();
    let _turn = turns.lock().await;
    let started = handle.run(Engine::start_compaction).await?;
    let job = match started {
        Ok(job) => job,
        Err(error) => return Ok(Err(error)),
    };
    let reader = handle.clone();
    let run = tokio::task::spawn_blocking(move || catch_up(job.run()?, &reader));
    match run.await {
        Ok(Ok(done)) => {
            let finish = move |engine: &mut Engine| engine.finish_compaction(done);
            handle.run(finish).await
        }
        Ok(Err(error)) => Ok(Err(error)),
        Err(panicked) => {
            tracing::error!(error = %panicked, "a compaction failed");
            Err(handle.unavailable())
        }
    }
}

/// Carries over what was committed meanwhile, as long as there is much of it.
fn catch_up(mut done: CompactionCopy, handle: &AgentHandle) -> Result<CompactionCopy, EngineError> {
    for _ in 0..CATCH_UPS_MAX {
        let Some(newest) = handle.newest() else {
            break;
        };
        if done.behind(&newest) <= LEFT_BYTES {
            break;
        }
        done.catch_up(&newest)?;
    }
    Ok(done)
}
