//! The conductor: asks memory, has a plan made, lets the workers do it, and tells memory how it
//! went.
//!
//! Lives here: the actor and what it starts from. Must never live here: the way of a run
//! (`conductor/run`), or how a plan is made (`conductor/model_gateway`).

mod model_gateway;
mod report;
mod run;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, call_t};
use reprise_types::MemoryProvider;

use super::emitter::Emitter;
use super::recollection::Recollection;
use super::researcher::ResearcherMsg;
use super::terminal::TerminalMsg;
use super::turn::{TurnContext, WorkerReport};
use super::writer::WriterMsg;

pub use model_gateway::{
    Assignment, CAPABILITY_ROUTING_GUIDANCE, Capability, EndpointConfig, GatewayError,
    ModelEndpoint, ModelGateway, Planner, Repertoire, RepertoireError, Routing, RoutingRequest,
    Task,
};
pub use report::{Attempt, RunError, RunReport, RunStatus};

/// How long a worker may take: longer than any command may run.
const WORKER_MS: u64 = 15 * 60 * 1_000;

/// The actor type.
#[derive(Debug)]
pub struct ConductorActor;

/// What the conductor starts from.
#[derive(Clone)]
pub struct ConductorArguments {
    /// The way into the event log.
    pub emitter: Emitter,
    /// Runs commands.
    pub terminal: ActorRef<TerminalMsg>,
    /// Looks things up.
    pub researcher: ActorRef<ResearcherMsg>,
    /// Keeps documents.
    pub writer: ActorRef<WriterMsg>,
    /// Makes the plans.
    pub gateway: Arc<dyn ModelGateway>,
    /// Memory, where there is one (M41).
    pub memory_provider: Option<Arc<dyn MemoryProvider>>,
    /// How long memory may take, a call.
    pub memory_budget: Duration,
}

impl std::fmt::Debug for ConductorArguments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConductorArguments")
            .field("memory", &self.memory_provider.is_some())
            .field("memory_budget", &self.memory_budget)
            .finish_non_exhaustive()
    }
}

impl ConductorArguments {
    /// One turn of one worker.
    async fn call(&self, worker: Capability, turn: TurnContext) -> Result<WorkerReport, RunError> {
        let gone = |message: String| RunError::Gone {
            who: worker.name(),
            message,
        };
        let report = match worker {
            Capability::Terminal => {
                let to = &self.terminal;
                call_t!(to, |reply| TerminalMsg::Run { turn, reply }, WORKER_MS)
                    .map_err(|error| gone(error.to_string()))?
            }
            Capability::Researcher => {
                let to = &self.researcher;
                call_t!(to, |reply| ResearcherMsg::Run { turn, reply }, WORKER_MS)
                    .map_err(|error| gone(error.to_string()))?
            }
            Capability::Writer => {
                let to = &self.writer;
                call_t!(to, |reply| WriterMsg::Run { turn, reply }, WORKER_MS)
                    .map_err(|error| gone(error.to_string()))?
            }
        };
        Ok(report?)
    }
}

/// What the conductor understands.
#[derive(Debug)]
pub enum ConductorMsg {
    /// Does what the user wants. Requests are done one after the other.
    Execute {
        /// In the user's words.
        objective: String,
        /// The desktop, which is the session.
        desktop_id: String,
        /// Set when it is begun: what a conductor ended with unbegun can be asked of the next.
        begun: Arc<AtomicBool>,
        /// How it went. A run that failed is a report; an error is a host that cannot work.
        reply: RpcReplyPort<Result<RunReport, RunError>>,
    },
}

/// The running conductor.
#[derive(Debug)]
pub struct ConductorState {
    arguments: ConductorArguments,
    memory: Recollection,
}

#[async_trait::async_trait]
impl Actor for ConductorActor {
    type Msg = ConductorMsg;
    type State = ConductorState;
    type Arguments = ConductorArguments;

    async fn pre_start(
        &self,
        _myself: ActorRef<Self::Msg>,
        arguments: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        let memory = Recollection::new(arguments.memory_provider.clone());
        Ok(ConductorState {
            memory: memory.within(arguments.memory_budget),
            arguments,
        })
    }

    async fn handle(
        &self,
        _myself: ActorRef<Self::Msg>,
        message: Self::Msg,
        state: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let ConductorMsg::Execute {
            objective,
            desktop_id,
            begun,
            reply,
        } = message;
        begun.store(true, Ordering::SeqCst);
        let done = run::conduct(&state.arguments, &state.memory, objective, desktop_id).await;
        let _gone = reply.send(done).is_err();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
