//! The conductor: asks memory, has a plan made, lets the workers do it, and tells memory how it
//! went.
//!
//! The actor and what it starts from.

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
