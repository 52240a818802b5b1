//! What the conductor starts from.

use std::sync::Arc;
use std::time::Duration;

use reprise_types::MemoryProvider;

use super::super::emitter::Emitter;
use super::model_gateway::ModelGateway;
use crate::supervisor::Workers;

/// What the conductor starts from.
#[derive(Clone)]
pub struct ConductorArguments {
    /// The way into the event log.
    pub emitter: Emitter,
    pub workers: Workers,
    pub gateway: Arc<dyn ModelGateway>,
    /// Memory, where there is one (M41).
    pub memory_provider: Option<Arc<dyn MemoryProvider>>,
    /// How long memory may take, a call.
    pub memory_budget: Duration,
}

impl std::fmt::Debug for ConductorArguments {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConductorArguments")
            .field("memory", &self.memory_provider.is_some())
            .field("memory_budget", &self.memory_budget)
            .finish_non_exhaustive()
    }
}
