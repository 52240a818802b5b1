//! Checkpoints of one memory's file: their bytes are made off the writer's thread, which appends
//! them in steps and takes writes meanwhile.

use reprise_engine::{CheckpointOutcome, CheckpointStep, Engine};
use reprise_types::MemoryError;

use super::upkeep::load;
use crate::handle::AgentHandle;
use crate::threads::lent;

/// Writes a checkpoint where that is worth its bytes.
pub(super) async fn checkpoint_if_due(handle: AgentHandle) {
    let turns = handle.compactions();
    let _turn = turns.lock().await;
    let due = handle.run(|engine: &mut Engine| engine.is_checkpoint_due());
    if !matches!(due.await, Ok(true)) {
        return;
    }
    match write(&handle).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::warn!(user = %handle.user(), %error, "a checkpoint failed");
        }
        Err(error) => tracing::debug!(%error, "no checkpoint: the agent has ended"),
    }
}

/// Writes a checkpoint where anything is new. During a compaction it waits: that leaves one, and
/// what was copied before it must not follow it.
pub(super) async fn checkpoint(handle: &AgentHandle) -> Result<CheckpointOutcome, MemoryError> {
    let turns = handle.compactions();
    let _turn = turns.lock().await;
    write(handle).await
}

/// The same, for whoever has the turn.
async fn write(handle: &AgentHandle) -> Result<CheckpointOutcome, MemoryError> {
    load(handle).await;
    let started = handle.run(Engine::start_checkpoint).await?;
    let job = match started {
        Ok(Some(job)) => job,
        Ok(None) => return Ok(Ok(())),
        Err(error) => return Ok(Err(error)),
    };
    let made = lent(move || job.run()).await;
    let mut parts = match made {
        Ok(Ok(parts)) => parts,
        Ok(Err(error)) => return Ok(Err(error)),
        Err(panicked) => {
            tracing::error!(user = %handle.user(), error = %panicked, "a checkpoint failed");
            return Err(handle.unavailable());
        }
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
