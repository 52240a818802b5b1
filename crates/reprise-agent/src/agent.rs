//! The actor of one user's memory: it starts the writer, forwards requests, and runs maintenance
//! while idle.

mod compaction;
mod late;
mod requests;
mod tending;
mod upkeep;

use std::sync::Arc;

use ractor::{Actor, ActorProcessingErr, ActorRef};
use reprise_engine::{Engine, RunTurn, RunWrite, WriteBatch};
use reprise_types::{MemoryError, RunStep};
use tokio::sync::{mpsc, oneshot};

use crate::admission::Permit;
use crate::job::{Job, Reply, storage};
use crate::protocol::{EngineWork, MemoryAgentMsg, Own, OwnMsg};
use crate::writer::{self, Gate};

use compaction::{CompactionByRule, checkpoint, checkpoint_if_due, compact};
pub(crate) use late::embed_some;
pub(crate) use requests::Requests;
use tending::Tending;
use upkeep::SingleFlight;

/// Interval between maintenance checks, in ticks, once a memory is idle and checkpointed.
const IDLE_TICKS: u32 = 20;

#[derive(Debug)]
pub struct MemoryAgent;

pub struct MemoryAgentArguments {
    pub(crate) requests: Requests,
    pub(crate) jobs: mpsc::Receiver<Job>,
    pub(crate) gate: Arc<Gate>,
}

/// The agent's state; everything durable is in the file.
pub struct MemoryAgentState {
    requests: Requests,
    late: SingleFlight,
    growth: SingleFlight,
    consolidation: SingleFlight,
    checkpoint: SingleFlight,
    compaction: CompactionByRule,
    tending: Tending,
    ended: Option<oneshot::Receiver<()>>,
}

reprise_types::show_fields!(MemoryAgentArguments { jobs });
reprise_types::show_fields!(MemoryAgentState { late });

impl Drop for MemoryAgentState {
    /// However the agent ends, even killed: the writer finishes its queue and closes the file.
    fn drop(&mut self) {
        self.requests.handle.close();
    }
}

impl MemoryAgentState {
    fn maintain(&mut self, myself: &ActorRef<MemoryAgentMsg>) {
        let Requests { handle, config, .. } = &self.requests;
        let (idle, limits) = (handle.idle(), &config.limits);
        let is_busy = self.late.is_running() || self.checkpoint.is_running();
        if idle >= limits.passivate_after && !is_busy {
            // The writer writes a checkpoint before it ends; the next request opens the file again.
            tracing::debug!(user = %handle.user(), "idle for long; passivated");
            let _already = myself.drain().is_err();
            return;
        }
        let (memory, pool) = (handle.clone(), self.requests.pool.clone());
        self.late
            .start(|| async move { while let Ok(true) = embed_some(&memory, &pool).await {} });
        self.growth.start(|| upkeep::grow(handle.clone()));
        self.consolidation
            .start(|| upkeep::consolidate(handle.clone()));
        self.compaction.start_if_due(handle);
        self.tending.start_if_due();

        if idle >= limits.checkpoint_after {
            self.checkpoint.start(|| checkpoint_if_due(handle.clone()));
        }
        // After the checkpoint little maintenance is left, and there may be a thousand idle agents.
        let ticks = if idle >= limits.checkpoint_after * 2 {
            IDLE_TICKS
        } else {
            1
        };
        let tick = limits.tick * ticks;
        let _timer = myself.send_after(tick, || own(OwnMsg::Maintain));
    }
}

impl MemoryAgentState {
    /// Forwards a request without working or waiting.
    fn dispatch(&self, request: MemoryAgentMsg) {
        self.requests.handle.touch();
        if !self.requests.handle.is_serving() {
            // Still opening, or already closed: the request goes to the agent that serves next.
            let (directory, user) = (
                Arc::clone(&self.requests.directory),
                self.requests.handle.user().clone(),
            );
            tokio::spawn(async move { directory.deliver(&user, request).await });
            return;
        }
        let now = self.requests.config.clock.now();
        match request {
            MemoryAgentMsg::Recall {
                request,
                permit,
                reply,
            } => answer((), reply, self.requests.clone().recall(request, permit)),
            MemoryAgentMsg::Ingest {
                records,
                permit,
                reply,
            } => answer((), reply, self.requests.clone().ingest(records, permit)),
            MemoryAgentMsg::Write {
                batch,
                permit,
                reply,
            } => answer((), reply, self.requests.clone().write(batch, permit)),
            MemoryAgentMsg::Checkpoint { permit, reply } => {
                answer(permit, reply, checkpoint(self.requests.handle.clone()));
            }
            MemoryAgentMsg::Compact { permit, reply } => {
                answer(permit, reply, compact(self.requests.handle.clone()));
            }
            MemoryAgentMsg::Snapshot { permit, reply } => {
                let _left = reply.send(self.requests.handle.snapshot()).is_err();
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
                let handle = self.requests.handle.clone();
                answer(permit, reply, async move {
                    let counting = handle.run(|engine: &mut Engine| engine.counting()).await?;
                    handle.lent("a count", counting).await
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
        let said = RunWrite::told(self.requests.config.clock.now(), turn);
        let (job, written) = Job::write(WriteBatch::of_run(said));
        self.queue(job);
        let requests = self.requests.clone();
        answer(permit, reply, async move {
            let fate = requests.written(written).await?.learning.pop();
            fate.unwrap_or(Ok(()))
                .map_err(|refused| MemoryError::Invalid {
                    message: refused.to_string(),
                })
        });
    }

    /// Queues a job for the writer, from a task where the queue is full.
    fn queue(&self, job: Job) {
        let Err(job) = self.requests.handle.try_send(job) else {
            return;
        };
        let requests = self.requests.clone();
        tokio::spawn(async move { requests.send(job).await });
    }
}

/// Answers from a task of its own; `held` is dropped once the work is done.
fn answer<T: Send + 'static>(
    held: impl Send + 'static,
    reply: Reply<T>,
    work: impl Future<Output = Result<T, MemoryError>> + Send + 'static,
) {
    tokio::spawn(async move {
        let done = work.await;
        drop(held);
        // The caller may have gone.
        let _left = reply.send(done).is_err();
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
            requests,
            jobs,
            gate,
        } = arguments;
        let Requests { config, handle, .. } = &requests;
        handle.set_actor(myself.clone());
        let end = writer::spawn(Arc::clone(config), handle.clone(), jobs, gate)?;
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
            late: SingleFlight::default(),
            growth: SingleFlight::default(),
            consolidation: SingleFlight::default(),
            checkpoint: SingleFlight::default(),
            compaction: CompactionByRule::default(),
            tending: Tending::new(Arc::clone(config), handle.clone()),
            requests,
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
                Err(format!("the writer of `{}` panicked", state.requests.handle.user()).into())
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
        state.requests.handle.close();
        if let Some(ended) = state.ended.take() {
            // Either way the writer has finished its queue and closed the file.
            let _panicked = ended.await.is_err();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
