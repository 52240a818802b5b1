//! The actors of memory, which turn a host's events into records and queries into answers.
//!
//! `examples/host.rs` is a host with memory in thirty lines.

mod admission;
mod agent;
mod config;
mod context_snapshot;
mod embedder;
mod handle;
mod intake;
mod job;
mod others;
mod protocol;
mod provider;
mod relay;
mod second;
mod service;
mod shutdown;
mod stages;
mod supervisor;
mod writer;

#[cfg(test)]
mod testing;

pub use admission::{Admission, Permit};
pub use agent::{MemoryAgent, MemoryAgentArguments, MemoryAgentState};
pub use config::{
    MemoryConfig, OpenEngine, ServiceLimits, SpaceOf, Tend, TendDone, TendWork, Tended, Tender,
};
pub use context_snapshot::{CitationRef, ContextItem, ContextSnapshot, context_snapshot};
pub use embedder::{EmbedPool, OpenEmbedder, Pending, PoolError, PoolOptions, PoolStats};
pub use handle::AgentHandle;
pub use intake::{Intake, Taken};
pub use job::Reply;
pub use others::OtherModels;
pub use protocol::{EngineWork, MemoryAgentMsg, Own};
pub use provider::ActorMemoryProvider;
pub use relay::{
    Event, EventError, EventFeed, FeedError, FeedSource, MapOutcome, MappedEvent, Mapper,
    RelayCounters, RelayHandle, RelayProgress, Rule, SourceBinding, TopicCount, TopicTable,
    TopicTableError,
};
pub use service::{MemoryService, ServiceStats, StartError};
pub use shutdown::{ShutdownReport, ShutdownStep};
pub use stages::StageStats;
pub use supervisor::{
    Children, MemorySupervisor, MemorySupervisorArguments, MemorySupervisorMsg,
    MemorySupervisorState,
};
