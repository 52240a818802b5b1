//! The actor of one user's memory: it starts the writer, forwards requests, and runs maintenance
//! while idle.

mod background_tasks;
mod compaction;
mod late_embedding;
mod maintenance;
mod requests;

use std::sync::Arc;

use ractor::{Actor, ActorProcessingErr, ActorRef};
use reprise_engine::{Engine, LinkEnd, RunAction, RunWrite, WriteBatch};
use reprise_types::MemoryError;
use tokio::sync::{mpsc, oneshot};

use crate::admission::Permit;
use crate::job::{ReplyPort, WriterJob, to_storage_error};
use crate::protocol::{AgentSelfMsg, InternalMsg, MemoryAgentMsg};
use crate::threads::run_blocking;
use crate::writer::{self, FileGate};

use background_tasks::SingleFlight;
use compaction::{AutoCompaction, checkpoint, checkpoint_if_due, compact};
pub(crate) use late_embedding::embed_waiting_batch;
use maintenance::MaintenanceTask;
pub(crate) use requests::RequestContext;

/// Interval between maintenance checks, in ticks, once a memory is idle and checkpointed.
const IDLE_TICKS: u32 = 20;

#[derive(Debug)]
pub struct MemoryAgent;

pub struct MemoryAgentArguments {
    pub(crate) requests: RequestContext,
    pub(crate) jobs: mpsc::Receiver<WriterJob>,
    pub(crate) gate: Arc<FileGate>,
}

/// The agent's state; everything durable is in the file.
pub struct MemoryAgentState {
    requests: RequestContext,
    late_embedding: SingleFlight,
    graph_growth: SingleFlight,
    adapter_fit: SingleFlight,
    checkpoint: SingleFlight,
    compaction: AutoCompaction,
    maintenance: MaintenanceTask,
    writer_ended: Option<oneshot::Receiver<()>>,
}

reprise_types::show_fields!(MemoryAgentArguments { jobs });
reprise_types::show_fields!(MemoryAgentState { late_embedding });

impl Drop for MemoryAgentState {
    /// Closes the handle, so that the writer finishes its queue and closes the file even if the
    /// agent was killed.
    fn drop(&mut self) {
        self.requests.handle.close();
    }
}

impl MemoryAgentState {
    fn start_due_tasks(&mut self, myself: &ActorRef<MemoryAgentMsg>) {
        let RequestContext { handle, config, .. } = &self.requests;
        let (idle, limits) = (handle.idle_time(), &config.limits);
        let is_busy = self.late_embedding.is_running() || self.checkpoint.is_running();
        if idle >= limits.passivate_after && !is_busy {
            // The writer writes a checkpoint before it ends; the next request opens the file again.
            tracing::debug!(user = %handle.user(), "idle for long; passivated");
            let _already_ended = myself.drain().is_err();
            return;
        }
        let (memory, pool) = (handle.clone(), self.requests.pool.clone());
        self.late_embedding.start(|| async move {
            while let Ok(true) = embed_waiting_batch(&memory, &pool).await {}
        });
        self.graph_growth
            .start(|| background_tasks::grow_graph(handle.clone()));
        self.adapter_fit
            .start(|| background_tasks::abandon_stale_and_fit_learning(handle.clone()));
        self.compaction.start_if_due(handle);
        self.maintenance.start_if_due();

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
        let _timer = myself.send_after(tick, || internal_message(AgentSelfMsg::Maintain));
    }
}

impl MemoryAgentState {
    /// Forwards a request to a task or to the writer's queue; never works or waits itself.
    fn dispatch_request(&self, request: MemoryAgentMsg) {
        self.requests.handle.touch();
        if !self.requests.handle.is_serving() {
            // Still opening, or already closed: the request goes to the agent that serves next.
            let (directory, user) = (
                Arc::clone(&self.requests.directory),
                self.requests.handle.user().clone(),
            );
            tokio::spawn(async move { directory.deliver_message(&user, request).await });
            return;
        }
        let now = self.requests.config.clock.now();
        match request {
            MemoryAgentMsg::Recall {
                request,
                permit,
                reply,
            } => {
                let recall = self.requests.clone().recall(request, None, permit);
                spawn_reply((), reply, recall);
            }
            MemoryAgentMsg::Ingest {
                records,
                permit,
                reply,
            } => spawn_reply((), reply, self.requests.clone().ingest(records, permit)),
            MemoryAgentMsg::Write {
                batch,
                permit,
                reply,
            } => spawn_reply((), reply, self.requests.clone().write(batch, permit)),
            MemoryAgentMsg::Checkpoint { permit, reply } => {
                spawn_reply(permit, reply, checkpoint(self.requests.handle.clone()));
            }
            MemoryAgentMsg::Compact { permit, reply } => {
                spawn_reply(permit, reply, compact(self.requests.handle.clone()));
            }
            MemoryAgentMsg::Forget {
                selector,
                reason,
                permit,
                reply,
            } => self.queue_job(WriterJob::from_work_with_reply(
                permit,
                reply,
                move |engine| {
                    let forgotten = engine.forget(&selector, &reason, now);
                    forgotten.map_err(|error| to_storage_error(&error))
                },
            )),
            MemoryAgentMsg::Stats { permit, reply } => {
                // Counting passes over all documents, so it runs off the writer's thread.
                let handle = self.requests.handle.clone();
                spawn_reply(permit, reply, async move {
                    let counting = handle
                        .run_on_engine(|engine: &mut Engine| engine.stats_job())
                        .await?;
                    run_blocking(counting).await
                });
            }
            request => self.dispatch_run_event(request),
        }
    }

    /// Forwards the messages about a run to the writer's queue.
    fn dispatch_run_event(&self, request: MemoryAgentMsg) {
        match request {
            MemoryAgentMsg::BeginTrajectory { run, permit, reply } => {
                self.queue_run_event(RunAction::Begin(run), permit, reply);
            }
            MemoryAgentMsg::AddTrajectoryStep {
                step,
                permit,
                reply,
            } => {
                let result = step.result.map(LinkEnd::Stored);
                self.queue_run_event(RunAction::Step { step, result }, permit, reply);
            }
            MemoryAgentMsg::EndTrajectory { run, permit, reply } => {
                self.queue_run_event(RunAction::End(run), permit, reply);
            }
            MemoryAgentMsg::Revise {
                run_id,
                revision,
                quality,
                permit,
                reply,
            } => {
                let turn = RunAction::Revise {
                    run_id,
                    revision,
                    quality,
                };
                self.queue_run_event(turn, permit, reply);
            }
            _ => {}
        }
    }

    /// Queues an event of a run, in the order of arrival, and replies once it is written.
    fn queue_run_event(&self, turn: RunAction, permit: Permit, reply: ReplyPort<()>) {
        let event = RunWrite::new(self.requests.config.clock.now(), turn);
        let (job, written) = WriterJob::from_batch(WriteBatch::of_run(event));
        self.queue_job(job);
        let requests = self.requests.clone();
        spawn_reply(permit, reply, async move {
            let result = requests.await_write(written).await?.learning.pop();
            result
                .unwrap_or(Ok(()))
                .map_err(|refused| MemoryError::Invalid {
                    message: refused.to_string(),
                })
        });
    }

    /// Queues a job for the writer; if the queue is full, a task waits for room.
    fn queue_job(&self, job: WriterJob) {
        let Err(job) = self.requests.handle.try_send_job(job) else {
            return;
        };
        let requests = self.requests.clone();
        tokio::spawn(async move { requests.send_job(job).await });
    }
}

/// Runs `work` on a task of its own and sends its result to `reply`; `guard` is dropped once the
/// work is done.
fn spawn_reply<T: Send + 'static>(
    guard: impl Send + 'static,
    reply: ReplyPort<T>,
    work: impl Future<Output = Result<T, MemoryError>> + Send + 'static,
) {
    tokio::spawn(async move {
        let result = work.await;
        drop(guard);
        // The caller may be gone.
        let _caller_gone = reply.send(result).is_err();
    });
}

fn internal_message(message: AgentSelfMsg) -> MemoryAgentMsg {
    MemoryAgentMsg::Internal(InternalMsg(message))
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
        let RequestContext { config, handle, .. } = &requests;
        handle.set_actor(myself.clone());
        let end = writer::spawn_writer(Arc::clone(config), handle.clone(), jobs, gate)?;
        let (ended_sender, ended) = oneshot::channel();
        let agent = myself.clone();
        tokio::spawn(async move {
            let has_panicked = end.await.is_err();
            let _receiver_gone = ended_sender.send(()).is_err();
            // This fails only if the agent has ended, which also ended the writer.
            let _receiver_gone = agent
                .cast(internal_message(AgentSelfMsg::NoteWriterEnd {
                    has_panicked,
                }))
                .is_err();
        });
        let _timer = myself.send_after(config.limits.tick, || {
            internal_message(AgentSelfMsg::Maintain)
        });
        Ok(MemoryAgentState {
            late_embedding: SingleFlight::default(),
            graph_growth: SingleFlight::default(),
            adapter_fit: SingleFlight::default(),
            checkpoint: SingleFlight::default(),
            compaction: AutoCompaction::default(),
            maintenance: MaintenanceTask::new(Arc::clone(config), handle.clone()),
            requests,
            writer_ended: Some(ended),
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            MemoryAgentMsg::Internal(InternalMsg(AgentSelfMsg::Maintain)) => {
                state.start_due_tasks(&myself);
                Ok(())
            }
            // The file could not be opened, and the callers got the error. The agent stops, because
            // a restart would repeat the failure.
            MemoryAgentMsg::Internal(InternalMsg(AgentSelfMsg::NoteWriterEnd {
                has_panicked: false,
            })) => {
                let _already_ended = myself.drain().is_err();
                Ok(())
            }
            MemoryAgentMsg::Internal(InternalMsg(AgentSelfMsg::NoteWriterEnd {
                has_panicked: true,
            })) => Err(format!("the writer of `{}` panicked", state.requests.handle.user()).into()),
            request => {
                state.dispatch_request(request);
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
        if let Some(ended) = state.writer_ended.take() {
            // An error means a panic; either way the writer has closed the file.
            let _panicked = ended.await.is_err();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
