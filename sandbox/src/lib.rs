//! The host: a `ChoirOS`-style sandbox with an event log, a bus, a relay and a supervision tree.
//!
//! The conductor and its workers, and replay of recorded logs. The host uses memory only through
//! `MemoryProvider`; only the composition root `memory_bridge.rs` names `reprise-agent`.

mod actors;
mod app_state;
mod event;
mod event_bus;
mod event_relay;
mod event_store;
mod memory_bridge;
mod prelude;
mod replay;
mod supervisor;
mod workspace_bridge;

pub use actors::{
    Assignment, Attempt, CAPABILITY_ROUTING_GUIDANCE, Capability, CommandLimits, ConductorActor,
    ConductorArguments, ConductorMsg, ConductorState, Emitter, EndpointConfig, FailureKind,
    GatewayError, MemoryAnswer, MemoryClient, ModelEndpoint, ModelGateway, Planner, RecallStatus,
    Repertoire, RepertoireError, Routing, RoutingRequest, RunError, RunReport, RunStatus, Task,
    Turn, TurnContext, WorkerActor, WorkerArguments, WorkerMsg, WorkerReport, WorkerState,
    WorkerStatus, Workspace, WorkspaceError, get_system_context,
};
pub use app_state::{AppConfig, AppError, AppState};
pub use event::{BusEvent, EventIds, EventType, ExportError, NewEvent, SYSTEM_USER, StoredEvent};
pub use event_bus::{EventBusActor, EventBusMsg, EventBusState, Published, Subscription};
pub use event_relay::{EventRelayActor, EventRelayArguments, EventRelayMsg, EventRelayState};
pub use event_store::{
    Appended, EventQuery, EventStoreActor, EventStoreError, EventStoreMsg, EventStoreState,
};
pub use memory_bridge::{Before, Mapper, MemoryBridge, MemoryConfig, NullMemory, SourceBinding};
pub use replay::{BadLine, ReplayCounts, ReplayError, follow_jsonl, replay_jsonl};
pub use supervisor::{
    ApplicationArguments, ApplicationState, ApplicationSupervisor, ApplicationSupervisorMsg,
    ArgumentsOf, PerUserMsg, PerUserState, PerUserSupervisor, SessionArguments, SessionState,
    SessionSupervisor, SessionSupervisorMsg, Workers, WorkersConfig,
};
pub use workspace_bridge::WorkspaceBridge;
