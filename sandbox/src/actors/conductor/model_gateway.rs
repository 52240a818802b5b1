//! The model gateway, which makes plans: by a model behind an endpoint, or by a planner without a
//! model.
//!
//! This file has the trait, and the routing context into which memory is injected.

mod endpoint;
mod planner;
mod repertoire;

use super::Attempt;
use crate::prelude::*;

pub use endpoint::{EndpointConfig, ModelEndpoint};
pub use planner::RepertoirePlanner;
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
pub struct RoutingPlan {
    /// Name of the plan. Reports repeat it, so that memory can relate outcomes to plans.
    pub plan: String,
    pub reason: String,
    /// The tasks, in order; the first failure ends the plan.
    pub assignments: Vec<Assignment>,
    /// Records that the plan is based on.
    pub used: Vec<RecordId>,
}

/// The input from which a plan is made.
#[derive(Debug, Clone, Copy)]
pub struct RoutingRequest<'a> {
    /// The request in the user's words.
    pub objective: &'a str,
    /// What memory recalled of requests like this one.
    pub history: &'a MemoryAnswer,
    /// Failed plans of this run.
    pub failed: &'a [Attempt],
}

impl RoutingRequest<'_> {
    /// Renders the recalled memories of the routing context; `None` without any.
    pub fn render_memory(&self) -> Option<String> {
        self.history.render_block("Relevant history:")
    }

    /// Renders the whole routing context: the guidance, recalled memories, and failed plans of this
    /// run.
    pub fn render_context(&self) -> String {
        let mut parts = vec![CAPABILITY_ROUTING_GUIDANCE.to_owned()];
        parts.extend(self.render_memory());
        if !self.failed.is_empty() {
            let line = |attempt: &Attempt| format!("\n- `{}`: {}", attempt.plan, attempt.outcome);
            let lines: String = self.failed.iter().map(line).collect();
            parts.push(format!("Failed in this run already:{lines}"));
        }
        parts.join("\n\n")
    }
}

/// Makes plans; a run whose plan cannot be made fails with the error.
#[async_trait]
pub trait ModelGateway: Send + Sync {
    /// Makes the plan for a request, given recalled memories.
    async fn make_plan(&self, request: &RoutingRequest<'_>) -> Result<RoutingPlan, GatewayError>;
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GatewayError {
    #[error("every known plan for this has failed; name another way, or teach one")]
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
    /// Returns the kind of failure in the event contract.
    pub fn failure_kind(&self) -> FailureKind {
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
