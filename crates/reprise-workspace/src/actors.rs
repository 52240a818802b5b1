//! Orchestrator and Governor as actors, for hosts that live in a tree of them.
//!
//! The Orchestrator writes, keeps and gives back agents' states, and hands every event on; the
//! Governor merges, records approvals and rolls back. Work is done on blocking threads, one
//! transaction at a time in each.

mod governor;
mod handle;
mod orchestrator;

pub use self::governor::{GovernorActor, GovernorArguments, GovernorMsg};
pub use handle::WorkspaceHandle;
pub use orchestrator::{
    EventSink, OrchestratorActor, OrchestratorArguments, OrchestratorMsg, OrchestratorState,
};

use ractor::RpcReplyPort;

use crate::error::{Result, WorkspaceError};
use crate::workspace::Workspace;

pub type Reply<T> = RpcReplyPort<Result<T>>;

/// Does blocking work off the runtime's threads.
async fn blocking<T: Send + 'static>(
    workspace: &Workspace,
    work: impl FnOnce(&Workspace) -> Result<T> + Send + 'static,
) -> Result<T> {
    let workspace = workspace.clone();
    let done = tokio::task::spawn_blocking(move || work(&workspace)).await;
    done.unwrap_or_else(|error| {
        Err(WorkspaceError::Busy {
            what: format!("the workspace's worker ended ({error}); what it was at"),
        })
    })
}

/// An answer that nobody waits for any more is no failure: the work is done.
fn answer<T>(reply: Reply<T>, done: Result<T>) {
    let _gone = reply.send(done).is_err();
}
