//! The names under which a trace shows memory at work: the `GenAI` conventions of OpenTelemetry
//! (semantic-conventions-genai, status Development).
//!
//! Names and attributes.

use reprise_types::{RecordId, UserId};
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
        gen_ai.memory.record.count = tracing::field::Empty,
        gen_ai.memory.record.id = tracing::field::Empty,
    )
}

/// What the operation is about: how many records, and which where it is one.
pub(crate) fn records(span: &Span, count: usize, id: Option<RecordId>) {
    span.record("gen_ai.memory.record.count", count);
    if let (1, Some(id)) = (count, id) {
        span.record("gen_ai.memory.record.id", tracing::field::display(id));
    }
}
