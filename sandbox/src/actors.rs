//! The conductor and its workers.

mod conductor;
mod emitter;
mod events;
mod experience;
mod memory_client;
mod researcher;
mod task;
mod terminal;
#[cfg(test)]
pub(crate) mod testing;
mod turn;
mod worker;
mod workspace;
mod writer;

pub use conductor::{
    Assignment, Attempt, CAPABILITY_ROUTING_GUIDANCE, ConductorActor, ConductorArguments,
    ConductorMsg, ConductorState, EndpointConfig, GatewayError, ModelEndpoint, ModelGateway,
    Planner, Repertoire, RepertoireError, Routing, RoutingRequest, RunError, RunReport, RunStatus,
};
pub use emitter::Emitter;
pub(crate) use events::verdict;
pub use memory_client::{MemoryAnswer, MemoryClient, RecallStatus};
pub use task::{Capability, Task};
pub use terminal::CommandLimits;
pub use turn::{FailureKind, Turn, TurnContext, WorkerReport, WorkerStatus};
pub use worker::{WorkerActor, WorkerArguments, WorkerMsg, WorkerState, get_system_context};
pub use workspace::{Workspace, WorkspaceError};
