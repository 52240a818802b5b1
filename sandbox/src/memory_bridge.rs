//! The composition root: the one file of the host that may name the memory's crate.
//!
//! Lives here: which memory the host runs with. Must never live here: anything else of the host.

use std::sync::Arc;

use ractor::{ActorCell, ActorId, ActorRef};
use reprise_types::{MemoryError, MemoryProvider, UserId};
use tokio::sync::watch;

use crate::event_bus::EventBusMsg;
use crate::event_store::EventStoreMsg;
use crate::null_memory::NullMemory;

/// Which memory to run with; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct MemoryBridge;

/// A memory that runs under the session.
#[derive(Debug)]
pub(crate) struct RunningMemory;

impl MemoryBridge {
    /// The host without memory: every recall answers nothing.
    #[must_use]
    pub fn without_memory() -> Self {
        Self
    }

    pub(crate) async fn start(
        &self,
        _supervisor: ActorCell,
        _store: ActorRef<EventStoreMsg>,
        _bus: watch::Receiver<ActorRef<EventBusMsg>>,
    ) -> Result<RunningMemory, MemoryError> {
        Ok(RunningMemory::none())
    }
}

impl RunningMemory {
    pub(crate) fn none() -> Self {
        Self
    }

    pub(crate) fn is(&self, _actor: ActorId) -> bool {
        false
    }

    pub(crate) async fn of(&self, _user: UserId) -> Result<Arc<dyn MemoryProvider>, MemoryError> {
        Ok(Arc::new(NullMemory))
    }

    pub(crate) async fn shut_down(&mut self) {}
}
