//! What is said of a governed workspace: actors, paths, requests and answers. It has no git: what
//! asks a workspace links this crate, and what serves workspaces links `reprise-workspace`.
//!
//! # Examples
//!
//! ```
//! use reprise_workspace_types::{Actor, RepoPath};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! assert!(Actor::new("human:ada")?.is_human());
//! assert!(RepoPath::new("../elsewhere").is_err());
//! # Ok(())
//! # }
//! ```

mod actor;
mod answers;
mod call;
mod path;

pub use actor::{Actor, ActorError};
pub use answers::{
    AgentBranch, ArtifactNode, AuditAction, AuditEntry, AuditQuery, EditedPath, FileChange,
    LogEntry, Receipt, Review, ReviewVerdict, SavedCheckpoint, SnapshotRow, Status, Trail,
    WorkspaceEvent, WorkspaceRecovery,
};
pub use call::{NumberedAnswer, NumberedRequest, TreeCall, TreeError, TreeErrorKind, TreeRequest};
pub use path::{Class, MergeRule, PathError, RepoPath, TRAIL, TRAIL_PARTS};
