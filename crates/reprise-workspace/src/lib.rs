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

mod actor;
mod actors;
mod audit;
mod care;
mod checkpoint;
mod combine;
mod durable;
mod error;
mod event;
mod files;
mod foreign;
mod git;
mod governor;
mod graph;
mod kept;
mod layout;
mod lock;
mod merge;
mod path;
mod project;
mod recover;
mod review;
mod rules;
mod schema;
mod snapshot;
mod stage;
mod start;
mod status;
mod transaction;
mod validate;
mod wal;
mod workspace;

#[cfg(test)]
mod tests;

pub use crate::governor::Act;
pub use actor::{Actor, ActorError};
pub use actors::{
    EventSink, GovernorActor, GovernorArguments, Job, OrchestratorActor, OrchestratorArguments,
    OrchestratorMsg, OrchestratorState, Reply, WorkspaceHandle,
};
pub use audit::{Action, AuditLine, AuditQuery};
pub use care::{CarePolicy, Pruned, Tended};
pub use checkpoint::Saved;
pub use combine::{Combined, Sides, combine};
pub use error::{Result, WorkspaceError};
pub use event::WorkspaceEvent;
pub use graph::Node;
pub use layout::Made;
pub use path::{Class, MergeRule, PathError, RepoPath};
pub use project::{Projection, Spaces};
pub use recover::Recovered;
pub use review::{Proposal, Review, Word};
pub use schema::ARTIFACT_BYTES_MAX;
pub use snapshot::SnapshotManifest;
pub use start::Started;
pub use status::{Edited, FileChange, LogEntry, Status};
pub use transaction::{Receipt, Step, Watcher};
pub use workspace::{Workspace, WriteRequest};
