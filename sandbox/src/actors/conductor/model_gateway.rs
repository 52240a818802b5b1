//! Who makes a plan: a model behind an endpoint, or a planner that needs none.
//!
//! The seam, and the routing context into which memory is injected.

mod endpoint;
mod error;
mod planner;
mod repertoire;

use async_trait::async_trait;
use reprise_types::RecordId;

use super::super::memory_client::MemoryAnswer;
use super::super::task::Task;
use super::report::Attempt;

pub use endpoint::{EndpointConfig, ModelEndpoint};
pub use error::GatewayError;
pub use planner::Planner;
pub use repertoire::{Repertoire, RepertoireError};

/// What a plan is made of, and how.
pub const CAPABILITY_ROUTING_GUIDANCE: &str = "\
You route a request to workers. `terminal` runs one shell command in a folder, after writing the \
files given; `researcher` searches the workspace's files for words; `writer` writes one document. \
Name the plan in a few words. Prefer what history says has worked, avoid what it says has failed, \
and name the ids of the memories that you rely on.";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// What is wanted of the worker.
    pub objective: String,
    pub task: Task,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routing {
    /// Its name: reports carry it, so that memory can tell what came of it.
    pub plan: String,
    pub reason: String,
    /// The work, in order; the first that fails ends the plan.
    pub assignments: Vec<Assignment>,
    /// Memories that the plan was made from.
    pub used: Vec<RecordId>,
}

/// What a plan is made from.
#[derive(Debug, Clone, Copy)]
pub struct RoutingRequest<'a> {
    /// In the user's words.
    pub objective: &'a str,
    pub history: &'a MemoryAnswer,
    /// What came of things like it.
    pub lessons: &'a MemoryAnswer,
    /// Plans of this run that have failed.
    pub failed: &'a [Attempt],
}

impl RoutingRequest<'_> {
    /// The part of the routing context that memory gives; `None` where it gives nothing.
    #[must_use]
    pub fn memory(&self) -> Option<String> {
        let history = self.history.block("Relevant history:");
        let lessons = self.lessons.block("What came of it:");
        let both: Vec<String> = [history, lessons].into_iter().flatten().collect();
        (!both.is_empty()).then(|| both.join("\n\n"))
    }

    /// The whole routing context: the guidance, what memory says, and what has failed in this run.
    #[must_use]
    pub fn routing_context(&self) -> String {
        let mut parts = vec![CAPABILITY_ROUTING_GUIDANCE.to_owned()];
        parts.extend(self.memory());
        if !self.failed.is_empty() {
            let line = |attempt: &Attempt| format!("\n- `{}`: {}", attempt.plan, attempt.outcome);
            let lines: String = self.failed.iter().map(line).collect();
            parts.push(format!("Failed in this run already:{lines}"));
        }
        parts.join("\n\n")
    }
}

/// Makes plans. An error is no plan: the run fails, and says why.
#[async_trait]
pub trait ModelGateway: Send + Sync {
    /// Which worker does what for a request, given what memory says.
    async fn conduct(&self, request: &RoutingRequest<'_>) -> Result<Routing, GatewayError>;
}
