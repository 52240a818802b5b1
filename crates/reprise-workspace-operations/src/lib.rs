//! The operations on governed workspaces: what they are given and answer, which workspace a request
//! reaches, and as whom. A program adds them to the catalogue of a memory's own. The crate has no
//! git: the program that serves workspaces is asked by the port [`TreeHost`].
//!
//! # Examples
//!
//! ```
//! use reprise_operations::Catalogue;
//! use reprise_workspace_operations::GovernedWorkspaces;
//!
//! // Described, and served by nobody: to say what there is.
//! let added = GovernedWorkspaces::default().list_operations();
//! let catalogue = Catalogue::default().with_operations(added);
//! assert!(catalogue.find_operation("workspace_status").is_some());
//! assert!(Catalogue::default().find_operation("workspace_status").is_none());
//! ```

mod kinds;
mod operations;
mod registered;

pub use operations::{
    Abandon, AbandonArguments, AbandonedBranch, Announced, Approve, ApproveArguments, Audit,
    AuditArguments, Checkpoint, CheckpointArguments, Commits, Dag, Decline, DeclineArguments, Diff,
    DiffArguments, Differences, Events, EventsArguments, FileContent, Graph, GraphArguments, Log,
    LogArguments, Merge, MergeArguments, Propose, ProposeArguments, Read, ReadArguments, Recover,
    RecoverArguments, Restore, RestoreArguments, Review, ReviewArguments, Reviews, Rollback,
    RollbackArguments, Snapshot, SnapshotArguments, SnapshotList, Snapshots, SnapshotsArguments,
    StateArguments, StateOf, Status, StatusArguments, Write, WriteArguments,
};
pub use registered::{
    GovernedWorkspaces, PROFILE, RegisteredWorkspace, TreeHost, WorkspaceContext, Workspaces,
};
