//! The conductor and its workers: who does what for a request of the user.
//!
//! Lives here: choiros' own names. Must never live here: how memory works; the actors know it as
//! `MemoryProvider`, ask it within a budget and go on without an answer.

mod conductor;
mod desk;
mod emitter;
mod events;
mod recollection;
mod researcher;
mod terminal;
#[cfg(test)]
mod testing;
mod turn;
mod workspace;
mod writer;

pub use conductor::{
    Assignment, Attempt, CAPABILITY_ROUTING_GUIDANCE, Capability, ConductorActor,
    ConductorArguments, ConductorMsg, ConductorState, EndpointConfig, GatewayError, ModelEndpoint,
    ModelGateway, Planner, Repertoire, RepertoireError, Routing, RoutingRequest, RunError,
    RunReport, RunStatus, Task,
};
pub(crate) use desk::Desk;
pub use desk::DeskConfig;
pub use emitter::Emitter;
pub(crate) use events::verdict;
pub use recollection::{Asked, Recollection, Remembered};
pub use researcher::{ResearcherActor, ResearcherMsg, ResearcherState};
pub use terminal::{CommandLimits, TerminalActor, TerminalMsg, TerminalState};
pub use turn::{FailureKind, Turn, TurnContext, WorkerReport, WorkerStatus};
pub use workspace::{Workspace, WorkspaceError};
pub use writer::{WriterActor, WriterMsg, WriterState};
