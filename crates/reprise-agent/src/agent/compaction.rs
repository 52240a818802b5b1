//! Compaction of one memory's file, automatic and on request, and its checkpoints.
//!
//! The writer appends a checkpoint in steps, between which it commits; a compaction copies on
//! another thread. One of both runs per memory at a time.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use reprise_engine::{CheckpointOutcome, CompactedLog, CompactionOutcome, Engine, EngineError};
use reprise_types::{MemoryError, lock};
use tokio::sync::Semaphore;

use super::background_tasks::{SingleFlight, load_deferred};
use crate::handle::MemoryHandle;
use crate::threads::run_blocking;

/// Permits one automatic compaction per process at a time.
static AUTOMATIC: Semaphore = Semaphore::const_new(1);
/// Pause after a failed compaction, whose cause is mostly a lack of disk space.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_mins(10);
/// Most rounds of purging; records that are forgotten during one round wait for the next.
const PURGES_MAX: usize = 3;
/// Most rounds of copying what was written meanwhile.
const CATCH_UPS_MAX: usize = 8;
/// Most bytes that are left for the writer's thread to copy; more needs another round.
const UNCOPIED_BYTES_MAX: u64 = 256 * 1024;

/// The task that compacts one memory automatically.
#[derive(Debug, Default)]
pub(super) struct AutoCompaction {
    single: SingleFlight,
    failed_at: Arc<Mutex<Option<Instant>>>,
}

impl AutoCompaction {
    /// Starts the task, unless it runs already or failed recently.
    pub(super) fn start_if_due(&self, handle: &MemoryHandle) {
        let failed_at = *lock(&self.failed_at);
        if failed_at.is_some_and(|at| at.elapsed() < PAUSE_AFTER_FAILURE) {
            return;
        }
        let (handle, failed_at) = (handle.clone(), Arc::clone(&self.failed_at));
        self.single.start(|| async move {
            let due = handle.run_on_engine(|engine| engine.is_compaction_due());
            if !matches!(due.await, Ok(true)) {
                return;
            }
            let Ok(_turn) = AUTOMATIC.acquire().await else {
                return;
            };
            match compact(handle.clone()).await {
                Ok(Ok(report)) => {
                    tracing::info!(user = %handle.user(), ?report, "compacted automatically");
                }
                Ok(Err(error)) => {
                    tracing::warn!(user = %handle.user(), %error, "an automatic compaction failed");
                    let now = Some(Instant::now());
                    *lock(&failed_at) = now;
                }
                Err(error) => tracing::debug!(%error, "no compaction: the agent has ended"),
            }
        });
    }
}

/// Compacts a memory's file. The writer's thread starts and finishes the compaction, and commits in
/// between. A call during a running compaction waits for it and then runs another, which drops what
/// was forgotten meanwhile.
pub(super) async fn compact(handle: MemoryHandle) -> Result<CompactionOutcome, MemoryError> {
    let _turn = handle.compaction_lock().lock().await;
    load_deferred(&handle).await;
    if let Err(error) = purge_forgotten(&handle).await? {
        return Ok(Err(error));
    }
    // In steps: what is left to save when the compaction starts is little.
    if let Err(error) = advance_checkpoint(&handle).await? {
        return Ok(Err(error));
    }
    let compaction = match handle.run_on_engine(Engine::start_compaction).await? {
        Ok(compaction) => compaction,
        Err(error) => return Ok(Err(error)),
    };
    let reader = handle.clone();
    let copying = run_blocking(move || copy_new_commits(compaction()?, &reader));
    match copying.await? {
        Ok(done) => {
            let finish = move |engine: &mut Engine| engine.finish_compaction(done);
            handle.run_on_engine(finish).await
        }
        Err(error) => Ok(Err(error)),
    }
}

/// Removes forgotten records from memory, off the writer's thread and in steps between which
/// commits go first; the compaction then has none to remove.
async fn purge_forgotten(handle: &MemoryHandle) -> Result<Result<(), EngineError>, MemoryError> {
    for _ in 0..PURGES_MAX {
        let job = match handle.run_on_engine(Engine::start_purge).await? {
            Ok(Some(job)) => job,
            Ok(None) => break,
            Err(error) => return Ok(Err(error)),
        };
        let mut purge = run_blocking(job).await?;
        loop {
            let step = move |engine: &mut Engine| (engine.finish_purge(&mut purge), purge);
            let (is_done, rest) = handle.run_on_engine(step).await?;
            if is_done {
                break;
            }
            purge = rest;
        }
    }
    Ok(Ok(()))
}

/// Copies what was committed meanwhile, until little of it is left.
fn copy_new_commits(
    mut done: CompactedLog,
    handle: &MemoryHandle,
) -> Result<CompactedLog, EngineError> {
    for _ in 0..CATCH_UPS_MAX {
        let Some(newest) = handle.newest_snapshot() else {
            break;
        };
        if done.bytes_behind(newest.log_reader()) <= UNCOPIED_BYTES_MAX {
            break;
        }
        done.copy_new_commits(newest.log_reader())?;
    }
    Ok(done)
}

/// Writes a checkpoint if that is worth its bytes.
pub(super) async fn checkpoint_if_due(handle: MemoryHandle) {
    let _turn = handle.compaction_lock().lock().await;
    let due = handle.run_on_engine(|engine: &mut Engine| engine.is_checkpoint_due());
    if !matches!(due.await, Ok(true)) {
        return;
    }
    match advance_checkpoint(&handle).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::warn!(user = %handle.user(), %error, "a checkpoint failed");
        }
        Err(error) => tracing::debug!(%error, "no checkpoint: the agent has ended"),
    }
}

/// Writes a checkpoint if anything is new, and the closing index for rvf-runtime. It waits for a
/// running compaction, which writes a checkpoint of its own.
pub(super) async fn checkpoint(handle: MemoryHandle) -> Result<CheckpointOutcome, MemoryError> {
    let _turn = handle.compaction_lock().lock().await;
    let is_new = |engine: &mut Engine| engine.has_unsaved_changes();
    if handle.run_on_engine(is_new).await?
        && let Err(error) = advance_checkpoint(&handle).await?
    {
        return Ok(Err(error));
    }
    handle.run_on_engine(Engine::write_closing_index).await
}

/// Writes a checkpoint; the caller must hold the compaction lock.
async fn advance_checkpoint(handle: &MemoryHandle) -> Result<CheckpointOutcome, MemoryError> {
    load_deferred(handle).await;
    let encode = match handle.run_on_engine(Engine::begin_checkpoint).await? {
        Ok(encode) => encode,
        Err(error) => return Ok(Err(error)),
    };
    let encoded = run_blocking(encode).await?;
    handle
        .run_on_engine(move |engine: &mut Engine| engine.put_encoded(encoded))
        .await?;
    loop {
        match handle.run_on_engine(Engine::advance_checkpoint).await? {
            Ok(false) => {}
            Ok(true) => return Ok(Ok(())),
            Err(error) => return Ok(Err(error)),
        }
    }
}
