//! The conductor and its workers.

mod conductor;
mod emitter;
mod events;
mod experience;
mod memory_client;
mod researcher;
mod system_context;
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
    Repertoire, RepertoireError, RepertoirePlanner, RoutingPlan, RoutingRequest, RunError,
    RunReport, RunStatus,
};
pub use emitter::EventEmitter;
pub(crate) use events::verdict_event;
pub use memory_client::{MemoryAnswer, MemoryClient, RecallStatus};
pub use system_context::SystemContext;
pub use task::{Capability, Task};
pub use terminal::CommandLimits;
pub use turn::{FailureKind, TurnContext, TurnTrace, WorkerReport, WorkerStatus};
pub use worker::{WorkerActor, WorkerArguments, WorkerMsg, WorkerState, build_system_context};
pub use workspace::{WorkerDirectory, WorkerDirectoryError};
