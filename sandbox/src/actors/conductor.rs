//! The conductor: recalls, has a plan made, dispatches it to workers, and reports the outcome to
//! memory.

mod model_gateway;
mod run;

use std::sync::atomic::{AtomicBool, Ordering};

use reprise_types::RecallId;

use super::emitter::Emitter;
use super::memory_client::MemoryClient;
use super::turn::Turn;
use crate::prelude::*;
use crate::supervisor::Workers;

pub use model_gateway::{
    Assignment, CAPABILITY_ROUTING_GUIDANCE, EndpointConfig, GatewayError, ModelEndpoint,
    ModelGateway, Planner, Repertoire, RepertoireError, Routing, RoutingRequest,
};

#[derive(Debug, Default)]
pub struct ConductorActor;

#[derive(Debug)]
pub enum ConductorMsg {
    /// Runs a request. Requests are run one after the other.
    Execute {
        /// In the user's words.
        objective: String,
        /// The desktop, which is the session id.
        desktop_id: String,
        /// Set when the run begins, so that an unstarted request can be retried with a successor.
        begun: Arc<AtomicBool>,
        /// The report. A failed run is a report too; an error means that the host cannot work.
        reply: RpcReplyPort<Result<RunReport, RunError>>,
    },
}

#[derive(Clone)]
pub struct ConductorArguments {
    pub emitter: Emitter,
    pub workers: Workers,
    pub gateway: Arc<dyn ModelGateway>,
    /// The user's memory, if any (M41).
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
            begun,
            reply,
        } = message;
        begun.store(true, Ordering::SeqCst);
        let done = run::conduct(&state.arguments, &state.memory, objective, desktop_id).await;
        let _gone = reply.send(done).is_err();
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
    /// Why it failed; `None` where it worked.
    pub failure: Option<FailureKind>,
}

/// The report of a finished run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunReport {
    pub run_id: String,
    /// In the user's words.
    pub objective: String,
    pub status: RunStatus,
    /// Why it failed; `None` where it completed.
    pub failure: Option<FailureKind>,
    pub summary: String,
    /// The attempted plans, in order.
    pub attempts: Vec<Attempt>,
    /// The receipt of the recall behind the first plan.
    pub recall_id: Option<RecallId>,
    /// Records that the first plan is based on, which get the credit.
    pub used: Vec<RecordId>,
    /// Every turn, with the injected memories (M42).
    pub turns: Vec<Turn>,
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
    pub(crate) fn gone(who: &'static str, error: &dyn std::fmt::Display) -> Self {
        let message = error.to_string();
        Self::Gone { who, message }
    }
}

#[cfg(test)]
mod tests;
