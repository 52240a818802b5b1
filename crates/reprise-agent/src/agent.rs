//! The actor of one user's memory: it starts the writer, keeps house while nobody asks, and ends
//! both.
//!
//! Lives here: the life of one memory - checkpoint when idle, passivation when long idle, texts
//! embedded late, the search graph grown, the file rewritten. Must never live here: reads (they use
//! the snapshot and never wait for a mailbox), or anything that blocks.

mod compaction;
mod consolidation;
mod growth;
mod late;
mod single;

use std::sync::Arc;

use ractor::{Actor, ActorProcessingErr, ActorRef};
use reprise_engine::Engine;
use tokio::sync::{mpsc, oneshot};

use crate::config::MemoryConfig;
use crate::embedder::EmbedPool;
use crate::handle::{AgentHandle, Job};
use crate::writer::{self, Gate, WriterEnd};

use compaction::CompactionByRule;
pub(crate) use compaction::compact;
use consolidation::Consolidation;
use growth::GraphGrowth;
use late::LateEmbedding;

/// Ticks from one look to the next once a memory is idle and saved.
const IDLE_TICKS: u32 = 20;

/// The actor type.
#[derive(Debug)]
pub struct MemoryAgent;

/// What an agent starts from.
pub struct MemoryAgentArguments {
    pub(crate) config: Arc<MemoryConfig>,
    pub(crate) pool: EmbedPool,
    pub(crate) handle: AgentHandle,
    pub(crate) jobs: mpsc::Receiver<Job>,
    pub(crate) gate: Arc<Gate>,
}

/// What an agent understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryAgentMsg {
    /// Looks whether there is something to do while nobody asks; sent by a timer.
    KeepHouse,
    /// The writer thread came to its end; `None` means that it panicked.
    NoteWriterEnd(Option<WriterEnded>),
}

/// A writer's orderly end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriterEnded(WriterEnd);

/// The agent's own state; everything else is in the file.
pub struct MemoryAgentState {
    config: Arc<MemoryConfig>,
    handle: AgentHandle,
    late: LateEmbedding,
    growth: GraphGrowth,
    consolidation: Consolidation,
    compaction: CompactionByRule,
    ended: Option<oneshot::Receiver<()>>,
}

impl Drop for MemoryAgentState {
    /// However the agent ends, also when it is killed: the writer finishes its queue and closes.
    fn drop(&mut self) {
        self.handle.close();
    }
}

impl std::fmt::Debug for MemoryAgentArguments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryAgentArguments")
            .field("handle", &self.handle)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for MemoryAgentState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryAgentState")
            .field("handle", &self.handle)
            .finish_non_exhaustive()
    }
}

impl MemoryAgentState {
    fn keep_house(&mut self, myself: &ActorRef<MemoryAgentMsg>) {
        let idle = self.handle.idle();
        if idle >= self.config.limits.passivate_after {
            // The writer's last act is a checkpoint; the next question opens the file again.
            tracing::debug!(user = %self.handle.user(), "idle for long; put to sleep");
            let _already = myself.drain().is_err();
            return;
        }
        self.late.start_if_due();
        self.growth.start_if_due();
        self.consolidation.start_if_due();
        self.compaction.start_if_due();

        if idle >= self.config.limits.checkpoint_after {
            let handle = self.handle.clone();
            tokio::spawn(async move {
                match handle.housekeeping(Engine::checkpoint).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => tracing::warn!(%error, "a checkpoint failed"),
                    Err(error) => tracing::debug!(%error, "no checkpoint: the agent has ended"),
                }
            });
        }
        // After the checkpoint there is hardly a chore left, and there may be a thousand of us.
        let ticks = if idle >= self.config.limits.checkpoint_after * 2 {
            IDLE_TICKS
        } else {
            1
        };
        let tick = self.config.limits.tick * ticks;
        let _timer = myself.send_after(tick, || MemoryAgentMsg::KeepHouse);
    }
}

#[async_trait::async_trait]
impl Actor for MemoryAgent {
    type Msg = MemoryAgentMsg;
    type State = MemoryAgentState;
    type Arguments = MemoryAgentArguments;

    async fn pre_start(
        &self,
        myself: ActorRef<Self::Msg>,
        arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        let MemoryAgentArguments {
            config,
            pool,
            handle,
            jobs,
            gate,
        } = arguments;
        let late = LateEmbedding::new(pool, handle.clone());
        let growth = GraphGrowth::new(handle.clone());
        let consolidation = Consolidation::new(handle.clone());
        let compaction = CompactionByRule::new(handle.clone());
        let end = writer::spawn(Arc::clone(&config), handle.clone(), jobs, gate)?;
        let (ended_sender, ended) = oneshot::channel();
        let agent = myself.clone();
        tokio::spawn(async move {
            let how = end.await.ok().map(WriterEnded);
            let _gone = ended_sender.send(()).is_err();
            // Refused where the agent itself has ended, which is then why the writer has.
            let _gone = agent.cast(MemoryAgentMsg::NoteWriterEnd(how)).is_err();
        });
        let _timer = myself.send_after(config.limits.tick, || MemoryAgentMsg::KeepHouse);
        Ok(MemoryAgentState {
            config,
            handle,
            late,
            growth,
            consolidation,
            compaction,
            ended: Some(ended),
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            MemoryAgentMsg::KeepHouse => {
                state.keep_house(&myself);
                Ok(())
            }
            // Not opened: the asker has been told; an agent without a file has no reason to stay,
            // and restarting it would only repeat the failure.
            MemoryAgentMsg::NoteWriterEnd(Some(WriterEnded(_))) => {
                let _already = myself.drain().is_err();
                Ok(())
            }
            MemoryAgentMsg::NoteWriterEnd(None) => {
                Err(format!("the writer of `{}` panicked", state.handle.user()).into())
            }
        }
    }

    async fn post_stop(
        &self,
        _myself: ActorRef<Self::Msg>,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        state.handle.close();
        if let Some(ended) = state.ended.take() {
            // Sent or dropped, the writer has finished its queue and closed the file.
            let _panicked = ended.await.is_err();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
