//! The actors of memory, which turn a host's events into records and queries into answers.
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
//! // Without a model recall is by words.
//! let model = Arc::new(|| Err(EmbedError::Unavailable { message: "none here".to_owned() }));
//! let service = MemoryService::start(MemoryConfig::new(data, 384, open, model), None).await?;
//! let user: UserId = "ada".parse()?;
//! let note = NewRecord::new("tea at five", MemorySource::UserInput, MemoryKind::Finding);
//! service.observe(&user, vec![note]).await?;
//! let asked = RecallRequest::new("when is tea?");
//! let recall = service.provider(&user).recall_request(asked).await?;
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
mod handle;
mod job;
mod others;
mod protocol;
mod provider;
mod relay;
mod second;
mod service;
mod shutdown;
mod supervisor;
mod threads;
mod writer;

#[cfg(test)]
mod testing;

pub use admission::{Admission, Intake, Permit, Taken};
pub use agent::{MemoryAgent, MemoryAgentArguments, MemoryAgentState};
pub use config::{
    MemoryConfig, OpenEngine, ServiceLimits, SpaceOf, Tend, TendDone, TendWork, Tended, Tender,
};
pub use context_snapshot::{CitationRef, ContextItem, ContextSnapshot, context_snapshot};
pub use embedder::{EmbedPool, OpenEmbedder, Pending, PoolError, PoolOptions, PoolStats};
pub use handle::AgentHandle;
pub use job::Reply;
pub use others::OtherModels;
pub use protocol::{EngineWork, MemoryAgentMsg, Own};
pub use provider::ActorMemoryProvider;
pub use relay::{
    Event, EventError, EventFeed, FeedError, FeedSource, MapOutcome, MappedEvent, Mapper,
    RelayCounters, RelayHandle, RelayProgress, Rule, SourceBinding, TopicCount, TopicTable,
    TopicTableError,
};
pub use service::{MemoryService, ServiceStats, StageStats, StartError};
pub use shutdown::{ShutdownReport, ShutdownStep};
pub use supervisor::{
    Children, MemorySupervisor, MemorySupervisorArguments, MemorySupervisorMsg,
    MemorySupervisorState,
};
pub use threads::{lend, lent};
