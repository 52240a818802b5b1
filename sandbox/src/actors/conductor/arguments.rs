//! The conductor's arguments.

use std::sync::Arc;
use std::time::Duration;

use reprise_types::MemoryProvider;

use super::super::emitter::Emitter;
use super::model_gateway::ModelGateway;
use crate::supervisor::Workers;

/// The conductor's arguments.
#[derive(Clone)]
pub struct ConductorArguments {
    pub emitter: Emitter,
    pub workers: Workers,
    pub gateway: Arc<dyn ModelGateway>,
    /// The user's memory, if any (M41).
    pub memory_provider: Option<Arc<dyn MemoryProvider>>,
    /// Time budget of a call to memory.
    pub memory_budget: Duration,
}

reprise_types::show_fields!(ConductorArguments { memory_budget });
