//! The actor of one user's memory: it starts the writer, forwards requests, and runs maintenance
//! while idle.
//!
//! Lifecycle of a memory: checkpoint when idle, passivation when idle for long.

mod compaction;
mod consolidation;
mod growth;
mod late;
mod requests;
mod single;
mod tending;

use std::sync::Arc;

use ractor::{Actor, ActorProcessingErr, ActorRef};
use reprise_engine::{Engine, RunTurn, RunWrite, WriteBatch};
use reprise_types::{MemoryError, RunStep};
use tokio::sync::{mpsc, oneshot};

use crate::admission::Permit;
use crate::config::MemoryConfig;
use crate::embedder::EmbedPool;
use crate::handle::AgentHandle;
use crate::job::{Job, Reply, storage};
use crate::protocol::{EngineWork, MemoryAgentMsg, Own, OwnMsg};
use crate::stages::Stages;
use crate::supervisor::Directory;
use crate::writer::{self, Gate};

use compaction::{CompactionByRule, compact};
use consolidation::Consolidation;
use growth::GraphGrowth;
use late::LateEmbedding;
pub(crate) use late::embed_some;
pub(crate) use requests::Requests;
use tending::Tending;

/// Interval between maintenance checks, in ticks, once a memory is idle and checkpointed.
const IDLE_TICKS: u32 = 20;

#[derive(Debug)]
pub struct MemoryAgent;

pub struct MemoryAgentArguments {
    pub(crate) config: Arc<MemoryConfig>,
    pub(crate) pool: EmbedPool,
    pub(crate) handle: AgentHandle,
    pub(crate) jobs: mpsc::Receiver<Job>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) stages: Arc<Stages>,
    pub(crate) directory: Arc<Directory>,
}

/// The agent's state; everything durable is in the file.
pub struct MemoryAgentState {
    config: Arc<MemoryConfig>,
    handle: AgentHandle,
    directory: Arc<Directory>,
    requests: Requests,
    late: LateEmbedding,
    growth: GraphGrowth,
    consolidation: Consolidation,
    compaction: CompactionByRule,
    tending: Tending,
    ended: Option<oneshot::Receiver<()>>,
}

impl Drop for MemoryAgentState {
    /// However the agent ends, even killed: the writer finishes its queue and closes the file.
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
    fn maintain(&mut self, myself: &ActorRef<MemoryAgentMsg>) {
        let idle = self.handle.idle();
        if idle >= self.config.limits.passivate_after && !self.late.is_running() {
            // The writer writes a checkpoint before it ends; the next request opens the file again.
            tracing::debug!(user = %self.handle.user(), "idle for long; passivated");
            let _already = myself.drain().is_err();
            return;
        }
        self.late.start_if_due();
        self.growth.start_if_due();
        self.consolidation.start_if_due();
        self.compaction.start_if_due();
        self.tending.start_if_due();

        if idle >= self.config.limits.checkpoint_after {
            let handle = self.handle.clone();
            tokio::spawn(async move {
                match handle.run(Engine::checkpoint_if_due).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => tracing::warn!(%error, "a checkpoint failed"),
                    Err(error) => tracing::debug!(%error, "no checkpoint: the agent has ended"),
                }
            });
        }
        // After the checkpoint little maintenance is left, and there may be a thousand idle agents.
        let ticks = if idle >= self.config.limits.checkpoint_after * 2 {
            IDLE_TICKS
        } else {
            1
        };
        let tick = self.config.limits.tick * ticks;
        let _timer = myself.send_after(tick, || own(OwnMsg::Maintain));
    }
}

impl MemoryAgentState {
    /// Forwards a request without working or waiting.
    fn dispatch(&self, request: MemoryAgentMsg) {
        self.handle.touch();
        if !self.handle.is_serving() {
            // Still opening, or already closed: the request goes to the agent that serves next.
            let (directory, user) = (Arc::clone(&self.directory), self.handle.user().clone());
            tokio::spawn(async move { directory.deliver(&user, request).await });
            return;
        }
        let now = self.config.clock.now();
        match request {
            MemoryAgentMsg::Recall {
                request,
                permit,
                reply,
            } => answer(reply, self.requests.clone().recall(request, permit)),
            MemoryAgentMsg::Ingest {
                records,
                permit,
                reply,
            } => answer(reply, self.requests.clone().ingest(records, permit)),
            MemoryAgentMsg::Write {
                batch,
                permit,
                reply,
            } => answer(reply, self.requests.clone().write(batch, permit)),
            MemoryAgentMsg::Compact { permit, reply } => {
                let handle = self.handle.clone();
                answer(reply, async move {
                    let _permit = permit;
                    compact(&handle).await
                });
            }
            MemoryAgentMsg::Snapshot { permit, reply } => {
                let _left = reply.send(self.handle.snapshot()).is_err();
                drop(permit);
            }
            MemoryAgentMsg::Forget {
                selector,
                reason,
                permit,
                reply,
            } => self.queue(Job::answering(permit, reply, move |engine| {
                let forgotten = engine.forget(&selector, &reason, now);
                forgotten.map_err(|error| storage(&error))
            })),
            MemoryAgentMsg::Stats { permit, reply } => {
                // Counted beside the writer: a pass over all documents.
                let handle = self.handle.clone();
                tokio::spawn(async move {
                    let counting = handle.run(|engine: &mut Engine| engine.counting()).await;
                    let counted = match counting {
                        Ok(counting) => tokio::task::spawn_blocking(counting)
                            .await
                            .map_err(|_| handle.unavailable()),
                        Err(error) => Err(error),
                    };
                    // The caller may have gone.
                    let _left = reply.send(counted).is_err();
                    drop(permit);
                });
            }
            MemoryAgentMsg::Work(EngineWork(job)) => self.queue(job),
            request => self.dispatch_run(request),
        }
    }

    /// The same of what is said of a run.
    fn dispatch_run(&self, request: MemoryAgentMsg) {
        match request {
            MemoryAgentMsg::BeginTrajectory { run, permit, reply } => {
                self.say(RunTurn::Begin(run), permit, reply);
            }
            MemoryAgentMsg::AddTrajectoryStep {
                run_id,
                action,
                used,
                permit,
                reply,
            } => {
                let step = RunStep {
                    run_id,
                    action,
                    used,
                    result: None,
                };
                self.say(RunTurn::Step { step, result: None }, permit, reply);
            }
            MemoryAgentMsg::EndTrajectory { run, permit, reply } => {
                self.say(RunTurn::End(run), permit, reply);
            }
            MemoryAgentMsg::Revise {
                run_id,
                revision,
                quality,
                permit,
                reply,
            } => {
                let turn = RunTurn::Revise {
                    run_id,
                    revision,
                    quality,
                };
                self.say(turn, permit, reply);
            }
            _ => {}
        }
    }

    /// Queues what is said of a run, in the order in which it is said.
    fn say(&self, turn: RunTurn, permit: Permit, reply: Reply<()>) {
        let said = RunWrite::told(self.config.clock.now(), turn);
        let (job, written) = Job::write(WriteBatch::of_run(said));
        self.queue(job);
        let requests = self.requests.clone();
        answer(reply, async move {
            let _permit = permit;
            let fate = requests.written(written).await?.learning.pop();
            fate.unwrap_or(Ok(()))
                .map_err(|refused| MemoryError::Invalid {
                    message: refused.to_string(),
                })
        });
    }

    /// Queues a job for the writer, from a task where the queue is full.
    fn queue(&self, job: Job) {
        let Err(job) = self.handle.try_send(job) else {
            return;
        };
        let (handle, directory) = (self.handle.clone(), Arc::clone(&self.directory));
        tokio::spawn(async move {
            if let Err(undone) = handle.send(job).await {
                // Closed meanwhile: the job goes to the successor.
                directory.work(handle.user(), undone).await;
            }
        });
    }
}

/// Answers from a task of its own.
fn answer<T: Send + 'static>(
    reply: Reply<T>,
    work: impl Future<Output = Result<T, MemoryError>> + Send + 'static,
) {
    tokio::spawn(async move {
        let _left = reply.send(work.await).is_err();
    });
}

fn own(message: OwnMsg) -> MemoryAgentMsg {
    MemoryAgentMsg::Own(Own(message))
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
            stages,
            directory,
        } = arguments;
        handle.set_actor(myself.clone());
        let requests = Requests {
            config: Arc::clone(&config),
            pool: pool.clone(),
            stages,
            handle: handle.clone(),
            directory: Arc::clone(&directory),
        };
        let late = LateEmbedding::new(pool, handle.clone());
        let growth = GraphGrowth::new(handle.clone());
        let consolidation = Consolidation::new(handle.clone());
        let compaction = CompactionByRule::new(handle.clone());
        let tending = Tending::new(Arc::clone(&config), handle.clone());
        let end = writer::spawn(Arc::clone(&config), handle.clone(), jobs, gate)?;
        let (ended_sender, ended) = oneshot::channel();
        let agent = myself.clone();
        tokio::spawn(async move {
            let panicked = end.await.is_err();
            let _gone = ended_sender.send(()).is_err();
            // Fails only where the agent has ended, which then ended the writer.
            let _gone = agent.cast(own(OwnMsg::NoteWriterEnd { panicked })).is_err();
        });
        let _timer = myself.send_after(config.limits.tick, || own(OwnMsg::Maintain));
        Ok(MemoryAgentState {
            config,
            handle,
            directory,
            requests,
            late,
            growth,
            consolidation,
            compaction,
            tending,
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
            MemoryAgentMsg::Own(Own(OwnMsg::Maintain)) => {
                state.maintain(&myself);
                Ok(())
            }
            // Not opened: the caller got the error. The agent stops, as a restart would repeat the
            // failure.
            MemoryAgentMsg::Own(Own(OwnMsg::NoteWriterEnd { panicked: false })) => {
                let _already = myself.drain().is_err();
                Ok(())
            }
            MemoryAgentMsg::Own(Own(OwnMsg::NoteWriterEnd { panicked: true })) => {
                Err(format!("the writer of `{}` panicked", state.handle.user()).into())
            }
            request => {
                state.dispatch(request);
                Ok(())
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
            // Either way the writer has finished its queue and closed the file.
            let _panicked = ended.await.is_err();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
