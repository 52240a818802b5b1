//! The actors of memory: they turn a host's events into records, and queries into recalls.
//!
//! `examples/host.rs` is a host with memory in thirty lines.
//!
//! # Examples
//!
//! ```
//! use std::sync::Arc;
//!
//! use reprise_agent::{MemoryConfig, MemoryService};
//! use reprise_engine::Engine;
//! use reprise_store::RealDisk;
//! use reprise_types::{
//!     EmbedError, MemoryKind, MemoryProvider, MemorySource, NewRecord, RecallRequest, UserId,
//! };
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let data = folder.path().to_owned();
//! let open = Arc::new(|path: &_, options: &_| Engine::open(Arc::new(RealDisk), path, options));
//! // Without a model, recall searches by words.
//! let model = Arc::new(|| Err(EmbedError::Unavailable { message: "none here".to_owned() }));
//! let service = MemoryService::start(MemoryConfig::new(data, 384, open, model), None).await?;
//! let user: UserId = "ada".parse()?;
//! let note = NewRecord::new("tea at five", MemorySource::UserInput, MemoryKind::Finding);
//! service.observe(&user, vec![note]).await?;
//! let request = RecallRequest::new("when is tea?");
//! let recall = service.provider(&user).execute_recall(request).await?;
//! assert_eq!(recall.results[0].record.text, "tea at five");
//! service.shut_down().await;
//! # Ok(())
//! # }
//! ```

mod admission;
mod agent;
mod config;
mod context_snapshot;
mod embedder;
mod expand_and_rerank;
mod handle;
mod job;
mod other_models;
mod protocol;
mod provider;
mod relay;
mod service;
mod shutdown;
mod stage_timers;
mod supervisor;
mod threads;
mod writer;

#[cfg(test)]
mod testing;

pub use admission::{Admission, IntakeOptions, IntakeReport, Permit};
pub use agent::{MemoryAgent, MemoryAgentArguments, MemoryAgentState};
pub use config::{
    EngineOpener, MaintenanceFactory, MaintenancePlan, MaintenancePlanner, MaintenanceReport,
    MaintenanceWork, MemoryConfig, ServiceLimits, SpaceLookup,
};
pub use context_snapshot::{CitationRef, ContextItem, ContextSnapshot, build_context_snapshot};
pub use embedder::{EmbedPool, EmbedderOpener, PendingVector, PoolError, PoolOptions, PoolStats};
pub use handle::MemoryHandle;
pub use job::ReplyPort;
pub use other_models::OtherModels;
pub use protocol::{InternalMsg, MemoryAgentMsg};
pub use provider::ActorMemoryProvider;
pub use relay::{
    EventError, EventFeed, EventMapper, FeedError, FeedSource, HostEvent, MapOutcome, MappedEvent,
    RelayCounters, RelayHandle, RelayProgress, SourceBinding, TopicCount, TopicRule, TopicTable,
    TopicTableError,
};
pub use service::{MemoryService, ServiceStats, StartError};
pub use shutdown::{ShutdownReport, ShutdownStep};
pub use stage_timers::StageStats;
pub use supervisor::{
    Children, MemorySupervisor, MemorySupervisorArguments, MemorySupervisorMsg,
    MemorySupervisorState,
};
pub use threads::{run_blocking, spawn_blocking_on};
