//! The names under which a trace shows memory at work: the `GenAI` conventions of OpenTelemetry
//! (semantic-conventions-genai, status Development).
//!
//! Names and attributes.

use reprise_types::UserId;
use tracing::Span;

/// A span of one operation on a user's memory, for example `search_memory`.
pub(crate) fn memory(operation: &'static str, user: &UserId) -> Span {
    tracing::info_span!(
        target: "reprise::memory",
        "memory",
        otel.name = operation,
        otel.kind = "internal",
        gen_ai.operation.name = operation,
        gen_ai.memory.store.id = %user,
        gen_ai.memory.result.count = tracing::field::Empty,
    )
}
