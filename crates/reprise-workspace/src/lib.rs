//! The workspace of ADR-008: agents and people change one version-controlled tree, and every change
//! is a governed transaction.
//!
//! The tree and its classes, locks, WAL, transactions, recovery, rules, merges, audit. All but
//! `actors` is synchronous.
//!
//! # Examples
//!
//! ```
//! use std::sync::Arc;
//!
//! use reprise_types::SystemClock;
//! use reprise_workspace::{Actor, RepoPath, Workspace, WriteRequest};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let (workspace, _) = Workspace::init(folder.path(), Arc::new(SystemClock))?;
//! let path = RepoPath::new("core/prd/PRD-001.json")?;
//! let write = |actor: &str| {
//!     let changes = vec![(path.clone(), Some(b"{\"v\":1}".to_vec()))];
//!     workspace.write(&WriteRequest { actor: Actor::new(actor)?, changes, message: None })
//! };
//! // Whose work it is may write; the rules refuse everybody else.
//! write("prm")?;
//! assert_eq!(workspace.read(&path, None)?, b"{\"v\":1}");
//! assert!(write("researcher").is_err());
//! # Ok(())
//! # }
//! ```

mod actors;
mod answer;
mod audit;
mod cache;
mod checkpoint;
mod combine;
mod error;
mod event;
mod files;
mod git;
mod governor;
mod graph;
mod layout;
mod lock;
mod maintenance;
mod merge;
mod project;
mod recover;
mod review;
mod rules;
mod schema;
mod snapshot;
mod stage;
mod start;
mod status;
mod sync_queue;
mod trail;
mod transaction;
mod validate;
mod wal;
mod workspace;

#[cfg(test)]
mod tests;

pub use crate::governor::PathAction;
pub use actors::{
    EventSink, GovernorActor, GovernorArguments, OrchestratorActor, OrchestratorArguments,
    OrchestratorMsg, OrchestratorState, Reply, TransactionJob, WorkspaceHandle,
};
pub use answer::TreeServer;
pub use combine::{CombinedFile, MergeSides, combine};
pub use error::{Result, WorkspaceError};
pub use maintenance::{MaintenanceState, PrunePolicy, PruneReport};
pub use project::{EmbeddingSpaces, RecordProjection};
pub use reprise_workspace_types::{
    Actor, ActorError, AgentBranch, ArtifactNode, AuditAction, AuditEntry, AuditQuery, Class,
    EditedPath, FileChange, LogEntry, MergeRule, PathError, Receipt, RepoPath, Review,
    ReviewVerdict, SavedCheckpoint, Status, WorkspaceEvent, WorkspaceRecovery,
};
pub use schema::ARTIFACT_BYTES_MAX;
pub use snapshot::SnapshotManifest;
pub use start::StartReport;
pub use workspace::{InitReport, TransactionStep, Watcher, Workspace, WriteRequest};
