//! What was taken out of one of several records.

use reprise_redact::Redaction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A secret that was taken out of one of several records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordRedaction {
    /// Field, rule and line.
    #[serde(flatten)]
    pub redaction: Redaction,
    /// Which record of the request, or which line of the file, it was, from 1.
    pub record: u64,
}
