//! The conductor: it recalls, has a plan made, dispatches the plan to workers, and reports the
//! outcome to memory.

mod model_gateway;
mod run;

use std::sync::atomic::{AtomicBool, Ordering};

use reprise_types::RecallId;

use super::emitter::EventEmitter;
use super::memory_client::MemoryClient;
use super::turn::TurnTrace;
use crate::prelude::*;
use crate::supervisor::WorkerSupervisors;

pub use model_gateway::{
    Assignment, CAPABILITY_ROUTING_GUIDANCE, EndpointConfig, GatewayError, ModelEndpoint,
    ModelGateway, Repertoire, RepertoireError, RepertoirePlanner, RoutingPlan, RoutingRequest,
};

#[derive(Debug, Default)]
pub struct ConductorActor;

#[derive(Debug)]
pub enum ConductorMsg {
    /// Runs a request; requests run one after the other.
    Execute {
        /// The request in the user's words.
        objective: String,
        /// Id of the desktop, which is the session id.
        desktop_id: String,
        /// Set when the run begins, so that a request that has not begun can be retried with
        /// another conductor.
        has_begun: Arc<AtomicBool>,
        /// Receives the report. A failed run has a report too; an error means that the host cannot
        /// work.
        reply: RpcReplyPort<Result<RunReport, RunError>>,
    },
}

#[derive(Clone)]
pub struct ConductorArguments {
    pub emitter: EventEmitter,
    pub workers: WorkerSupervisors,
    pub gateway: Arc<dyn ModelGateway>,
    /// The user's memory, if there is one.
    pub memory_provider: Option<Arc<dyn MemoryProvider>>,
    /// Time budget of a call to memory.
    pub memory_budget: Duration,
}

reprise_types::show_fields!(ConductorArguments { memory_budget });

#[derive(Debug)]
pub struct ConductorState {
    arguments: ConductorArguments,
    memory: MemoryClient,
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
        let provider = arguments.memory_provider.clone();
        Ok(ConductorState {
            memory: MemoryClient::new(provider, arguments.memory_budget),
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
            has_begun,
            reply,
        } = message;
        has_begun.store(true, Ordering::SeqCst);
        let report = run::conduct_run(&state.arguments, &state.memory, objective, desktop_id).await;
        let _receiver_gone = reply.send(report).is_err();
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    Completed,
    /// No plan worked.
    Failed,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Attempt {
    pub plan: String,
    pub reason: String,
    /// The summary of its last worker.
    pub outcome: String,
    /// Why it failed; `None` if it worked.
    pub failure: Option<FailureKind>,
}

/// The report of a finished run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunReport {
    pub run_id: String,
    /// The request in the user's words.
    pub objective: String,
    pub status: RunStatus,
    /// Why it failed; `None` if it completed.
    pub failure: Option<FailureKind>,
    pub summary: String,
    /// The attempted plans, in order.
    pub attempts: Vec<Attempt>,
    /// The receipt of the recall behind the first plan.
    pub recall_id: Option<RecallId>,
    /// Records that the first plan is based on, which get the credit.
    pub used: Vec<RecordId>,
    /// Every turn, with the injected memories.
    pub turns: Vec<TurnTrace>,
}

/// Why a request was not run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("the request is empty; say what is wanted")]
    Empty,
    #[error("the request has {got} bytes; shorten it to at most {limit}")]
    TooLong { got: usize, limit: usize },
    #[error("{limit} requests wait already; ask again when one is done")]
    Overloaded { limit: usize },
    #[error("this host has no workers; start it with `AppConfig::workers` set")]
    NoWorkers,
    #[error(transparent)]
    Log(#[from] EventStoreError),
    #[error("the {who} does not answer ({message}); retry, it is being restarted")]
    Gone { who: &'static str, message: String },
}

impl RunError {
    pub(crate) fn no_answer(who: &'static str, error: &dyn std::fmt::Display) -> Self {
        let message = error.to_string();
        Self::Gone { who, message }
    }
}

#[cfg(test)]
mod tests;
