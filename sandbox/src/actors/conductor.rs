//! The conductor: recalls, has a plan made, dispatches it to workers, and reports the outcome to
//! memory.

mod arguments;
mod model_gateway;
mod report;
mod run;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};

use super::memory_client::MemoryClient;

pub use arguments::ConductorArguments;
pub use model_gateway::{
    Assignment, CAPABILITY_ROUTING_GUIDANCE, EndpointConfig, GatewayError, ModelEndpoint,
    ModelGateway, Planner, Repertoire, RepertoireError, Routing, RoutingRequest,
};
pub use report::{Attempt, RunError, RunReport, RunStatus};

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
        let memory = MemoryClient::new(arguments.memory_provider.clone());
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
