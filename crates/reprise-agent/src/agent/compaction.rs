//! Compaction of one memory's file, off the writer's thread: automatic, and on request. And its
//! checkpoints: their bytes are made off that thread, which appends them in steps and takes writes
//! meanwhile.
//!
//! One of both per memory at a time.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use reprise_engine::{
    CheckpointOutcome, CheckpointStep, CompactionCopy, CompactionOutcome, Engine, EngineError,
};
use reprise_types::{MemoryError, lock};
use tokio::sync::Semaphore;

use super::upkeep::{SingleFlight, load};
use crate::handle::AgentHandle;

/// One automatic compaction per process at a time.
static BY_RULE: Semaphore = Semaphore::const_new(1);
/// Pause after a failed compaction, which is mostly for lack of disk space.
const AFTER_FAILURE: Duration = Duration::from_mins(10);
/// Most rounds of purging: what is forgotten during one waits for the next.
const PURGES_MAX: usize = 3;
/// Most rounds of copying what was written meanwhile,
const CATCH_UPS_MAX: usize = 8;
/// until at most this much is left for the writer's thread.
const LEFT_BYTES: u64 = 256 * 1024;

/// The automatic compaction of one memory.
#[derive(Debug, Default)]
pub(super) struct CompactionByRule {
    single: SingleFlight,
    failed: Arc<Mutex<Option<Instant>>>,
}

impl CompactionByRule {
    /// Starts the task, unless it runs or failed recently.
    pub(super) fn start_if_due(&self, handle: &AgentHandle) {
        let failed = *lock(&self.failed);
        if failed.is_some_and(|at| at.elapsed() < AFTER_FAILURE) {
            return;
        }
        let (handle, failed) = (handle.clone(), Arc::clone(&self.failed));
        self.single.start(|| async move {
            let due = handle.run(|engine| engine.is_compaction_due());
            if !matches!(due.await, Ok(true)) {
                return;
            }
            let Ok(_turn) = BY_RULE.acquire().await else {
                return;
            };
            match compact(handle.clone()).await {
                Ok(Ok(report)) => {
                    tracing::info!(user = %handle.user(), ?report, "compacted automatically");
                }
                Ok(Err(error)) => {
                    tracing::warn!(user = %handle.user(), %error, "an automatic compaction failed");
                    let now = Some(Instant::now());
                    *lock(&failed) = now;
                }
                Err(error) => tracing::debug!(%error, "no compaction: the agent has ended"),
            }
        });
    }
}

/// Compacts a memory's file. The writer's thread starts and finishes it, and commits in between. A
/// request during a running compaction waits for it and then runs another, which drops what was
/// forgotten meanwhile.
pub(super) async fn compact(handle: AgentHandle) -> Result<CompactionOutcome, MemoryError> {
    let _turn = handle.compactions().lock().await;
    load(&handle).await;
    if let Err(error) = purge(&handle).await? {
        return Ok(Err(error));
    }
    let job = match handle.run(Engine::start_compaction).await? {
        Ok(job) => job,
        Err(error) => return Ok(Err(error)),
    };
    let reader = handle.clone();
    let copying = handle.lent("a compaction", move || catch_up(job.run()?, &reader));
    match copying.await? {
        Ok(done) => {
            let finish = move |engine: &mut Engine| engine.finish_compaction(done);
            handle.run(finish).await
        }
        Err(error) => Ok(Err(error)),
    }
}

/// Takes what is forgotten out of memory, beside the writer and in steps between which commits go:
/// the compaction then finds nothing to take out.
async fn purge(handle: &AgentHandle) -> Result<Result<(), EngineError>, MemoryError> {
    for _ in 0..PURGES_MAX {
        let job = match handle.run(Engine::start_purge).await? {
            Ok(Some(job)) => job,
            Ok(None) => break,
            Err(error) => return Ok(Err(error)),
        };
        let mut left = handle.lent("a purge", move || job.run()).await?;
        loop {
            let step = move |engine: &mut Engine| (engine.finish_purge(&mut left), left);
            let (is_done, rest) = handle.run(step).await?;
            if is_done {
                break;
            }
            left = rest;
        }
    }
    Ok(Ok(()))
}

/// Copies what was committed meanwhile, while there is much of it.
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

/// Writes a checkpoint where that is worth its bytes.
pub(super) async fn checkpoint_if_due(handle: AgentHandle) {
    let _turn = handle.compactions().lock().await;
    let due = handle.run(|engine: &mut Engine| engine.is_checkpoint_due());
    if !matches!(due.await, Ok(true)) {
        return;
    }
    match write_checkpoint(&handle).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::warn!(user = %handle.user(), %error, "a checkpoint failed");
        }
        Err(error) => tracing::debug!(%error, "no checkpoint: the agent has ended"),
    }
}

/// Writes a checkpoint where anything is new. During a compaction it waits: that leaves one, and
/// what was copied before it must not follow it.
pub(super) async fn checkpoint(handle: AgentHandle) -> Result<CheckpointOutcome, MemoryError> {
    let _turn = handle.compactions().lock().await;
    write_checkpoint(&handle).await
}

/// The same, for whoever has the turn.
async fn write_checkpoint(handle: &AgentHandle) -> Result<CheckpointOutcome, MemoryError> {
    load(handle).await;
    let job = match handle.run(Engine::start_checkpoint).await? {
        Ok(Some(job)) => job,
        Ok(None) => return Ok(Ok(())),
        Err(error) => return Ok(Err(error)),
    };
    let mut parts = match handle.lent("a checkpoint", move || job.run()).await? {
        Ok(parts) => parts,
        Err(error) => return Ok(Err(error)),
    };
    loop {
        let step = move |engine: &mut Engine| (engine.advance_checkpoint(&mut parts), parts);
        let (step, rest) = handle.run(step).await?;
        match step {
            Ok(CheckpointStep::Begun) => parts = rest,
            Ok(CheckpointStep::Done | CheckpointStep::Overtaken) => return Ok(Ok(())),
            Err(error) => return Ok(Err(error)),
        }
    }
}
