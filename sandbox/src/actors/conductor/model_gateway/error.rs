//! Why there is no plan.

use super::super::super::turn::FailureKind;

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GatewayError {
    /// Nothing is left to try.
    #[error("every plan that is known for this has failed; name another way, or teach one")]
    NothingLeft,
    /// The model did not answer in time.
    #[error(
        "the model at {endpoint} did not answer within {limit_ms} ms; try again, or raise the limit"
    )]
    TimedOut {
        endpoint: String,
        /// How long it was waited for, each time.
        limit_ms: u64,
    },
    /// The model cannot be reached.
    #[error("the model at {endpoint} cannot be reached ({message}); check address and network")]
    Unreachable { endpoint: String, message: String },
    /// The model's provider refuses for now.
    #[error("the model at {endpoint} takes no more requests for now; try again later")]
    RateLimited { endpoint: String },
    /// The key is not accepted.
    #[error("the model at {endpoint} refuses the key (status {status}); check it")]
    Unauthorized { endpoint: String, status: u16 },
    #[error("the model at {endpoint} failed with status {status}; try again later")]
    Provider { endpoint: String, status: u16 },
    /// The answer is no plan.
    #[error("the model at {endpoint} answered with no plan ({message}); try another model")]
    Malformed {
        endpoint: String,
        /// What is wrong with it.
        message: String,
    },
}

impl GatewayError {
    /// In the contract's words.
    #[must_use]
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
