//! The port of a governed workspace under a session: `reprise-sandbox-workspace` fulfils it, so
//! that a host without a workspace links no git (ADR 0054).

use ractor::{ActorCell, ActorId};

use crate::prelude::*;

/// A governed workspace that a host can run.
#[async_trait]
pub trait GovernedWorkspace: std::fmt::Debug + Send + Sync {
    /// Starts its actors under `supervisor` and returns their ids; its events go to the log.
    async fn start(
        &self,
        supervisor: ActorCell,
        store: ActorRef<EventStoreMsg>,
    ) -> Result<Vec<ActorId>, ActorProcessingErr>;

    /// Ends its actors after what they have begun.
    async fn shut_down(&self);
}
