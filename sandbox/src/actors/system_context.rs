//! The system context of a turn, from which a worker's prompt is rendered and its choices are made.

use super::task::Capability;
use crate::prelude::*;

/// The role, objective and recalled memories of a turn. A worker reads memory from here only.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemContext {
    role: &'static str,
    objective: String,
    memory_heading: &'static str,
    memory: MemoryAnswer,
}

impl SystemContext {
    pub(super) fn new(
        role: &'static str,
        worker: Capability,
        objective: &str,
        memory: MemoryAnswer,
    ) -> Self {
        Self {
            role,
            objective: objective.to_owned(),
            memory_heading: worker.memory_heading(),
            memory,
        }
    }

    /// Returns the memories in it.
    pub fn memory(&self) -> &MemoryAnswer {
        &self.memory
    }

    /// Renders the memories under their heading; `None` without any.
    pub fn render_memory(&self) -> Option<String> {
        self.memory.render_block(self.memory_heading)
    }

    /// Renders the whole system prompt.
    pub fn render(&self) -> String {
        let wanted = format!("{}\n\nObjective: {}", self.role, self.objective);
        match self.render_memory() {
            Some(memory) => format!("{wanted}\n\n{memory}"),
            None => wanted,
        }
    }
}
