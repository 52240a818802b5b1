//! The host: a `ChoirOS`-style sandbox with an event log, a bus, a relay and a supervision tree.
//!
//! It has a conductor with its workers, and can replay recorded logs. The host uses memory only
//! through `MemoryProvider`; only the composition root `memory_bridge.rs` names `reprise-agent`.

mod actors;
mod app_config;
mod app_state;
mod event;
mod event_bus;
mod event_relay;
mod event_store;
mod governed;
mod memory_bridge;
mod prelude;
mod replay;
mod supervisor;

pub use actors::{
    Assignment, Attempt, CAPABILITY_ROUTING_GUIDANCE, Capability, CommandLimits, ConductorActor,
    ConductorArguments, ConductorMsg, ConductorState, EndpointConfig, EventEmitter, FailureKind,
    GatewayError, MemoryAnswer, MemoryClient, ModelEndpoint, ModelGateway, RecallStatus,
    Repertoire, RepertoireError, RepertoirePlanner, RoutingPlan, RoutingRequest, RunError,
    RunReport, RunStatus, SystemContext, Task, TurnContext, TurnTrace, WorkerActor,
    WorkerArguments, WorkerDirectory, WorkerDirectoryError, WorkerMsg, WorkerReport, WorkerState,
    WorkerStatus, build_system_context,
};
pub use app_config::AppConfig;
pub use app_state::{AppError, AppState};
pub use event::{
    BusEvent, EventExportError, EventIds, EventType, NewEvent, SYSTEM_USER, StoredEvent,
};
pub use event_bus::{EventBusActor, EventBusMsg, EventBusState, PublishReport, Subscription};
pub use event_relay::{EventRelayActor, EventRelayArguments, EventRelayMsg, EventRelayState};
pub use event_store::{
    AppendOutcome, EventQuery, EventStoreActor, EventStoreError, EventStoreMsg, EventStoreState,
    call_store,
};
pub use governed::GovernedWorkspace;
pub use memory_bridge::{
    EventMapper, MemoryBridge, MemoryConfig, NullMemory, ProviderWrapper, SourceBinding,
};
pub use replay::{BadLine, ReplayCounts, ReplayError, follow_jsonl, replay_jsonl};
pub use supervisor::{
    ApplicationArguments, ApplicationState, ApplicationSupervisor, ApplicationSupervisorMsg,
    ArgumentsFactory, PerUserMsg, PerUserState, PerUserSupervisor, SessionArguments, SessionState,
    SessionSupervisor, SessionSupervisorMsg, WorkerSupervisors, WorkersConfig,
};
