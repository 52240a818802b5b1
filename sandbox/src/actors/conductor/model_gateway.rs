//! The model gateway: plans come from a model behind an endpoint, or from a planner without a
//! model.
//!
//! The trait, and the routing context into which memory is injected.

mod endpoint;
mod planner;
mod repertoire;

use super::Attempt;
use crate::prelude::*;

pub use endpoint::{EndpointConfig, ModelEndpoint};
pub use planner::Planner;
pub use repertoire::{Repertoire, RepertoireError};

/// The instructions for making a plan.
pub const CAPABILITY_ROUTING_GUIDANCE: &str = "\
You route a request to workers. `terminal` runs one shell command in a folder, after writing the \
files given; `researcher` searches the workspace's files for words; `writer` writes one document. \
Name the plan in a few words. Prefer what history says has worked, avoid what it says has failed, \
and name the ids of the memories that you rely on.";

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Assignment {
    pub objective: String,
    #[serde(flatten)]
    pub task: Task,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routing {
    /// Its name, which reports repeat, so that memory can relate outcomes to plans.
    pub plan: String,
    pub reason: String,
    /// The tasks, in order; the first failure ends the plan.
    pub assignments: Vec<Assignment>,
    /// Records that the plan is based on.
    pub used: Vec<RecordId>,
}

/// The input of a plan.
#[derive(Debug, Clone, Copy)]
pub struct RoutingRequest<'a> {
    /// In the user's words.
    pub objective: &'a str,
    pub history: &'a MemoryAnswer,
    /// Recalled outcomes of similar requests.
    pub lessons: &'a MemoryAnswer,
    /// Failed plans of this run.
    pub failed: &'a [Attempt],
}

impl RoutingRequest<'_> {
    /// The recalled memories in the routing context; `None` without any.
    pub fn memory(&self) -> Option<String> {
        let history = self.history.block("Relevant history:");
        let lessons = self.lessons.block("What came of it:");
        let both: Vec<String> = [history, lessons].into_iter().flatten().collect();
        (!both.is_empty()).then(|| both.join("\n\n"))
    }

    /// The whole routing context: the guidance, recalled memories, and failed plans of this run.
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

/// Makes plans. On an error the run fails with it.
#[async_trait]
pub trait ModelGateway: Send + Sync {
    /// The assignments for a request, given recalled memories.
    async fn conduct(&self, request: &RoutingRequest<'_>) -> Result<Routing, GatewayError>;
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GatewayError {
    #[error("every plan that is known for this has failed; name another way, or teach one")]
    NothingLeft,
    #[error(
        "the model at {endpoint} did not answer within {limit_ms} ms; try again, or raise the limit"
    )]
    TimedOut {
        endpoint: String,
        /// Time limit of each request.
        limit_ms: u64,
    },
    #[error("the model at {endpoint} cannot be reached ({message}); check address and network")]
    Unreachable { endpoint: String, message: String },
    #[error("the model at {endpoint} takes no more requests for now; try again later")]
    RateLimited { endpoint: String },
    #[error("the model at {endpoint} refuses the key (status {status}); check it")]
    Unauthorized { endpoint: String, status: u16 },
    #[error("the model at {endpoint} failed with status {status}; try again later")]
    Provider { endpoint: String, status: u16 },
    #[error("the model at {endpoint} returned no valid plan ({message}); try another model")]
    Malformed { endpoint: String, message: String },
}

impl GatewayError {
    /// The kind of failure in the event contract.
    pub fn failure(&self) -> FailureKind {
        match self {
            Self::NothingLeft => FailureKind::Validation,
            Self::TimedOut { .. } | Self::Provider { .. } | Self::Malformed { .. } => {
                FailureKind::Provider
            }
            Self::Unreachable { .. } => FailureKind::Network,
            Self::RateLimited { .. } => FailureKind::RateLimit,
            Self::Unauthorized { .. } => FailureKind::Auth,
        }
    }
}
