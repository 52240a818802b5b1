//! The problems that a request may be answered with.

use reprise_operations::ProblemKind;
use serde_json::{Value, json};

/// What every request may be answered with.
pub(super) const ANY: [ProblemKind; 8] = [
    ProblemKind::Invalid,
    ProblemKind::Unauthorized,
    ProblemKind::Forbidden,
    ProblemKind::NotFound,
    ProblemKind::Method,
    ProblemKind::Overloaded,
    ProblemKind::Internal,
    ProblemKind::Unavailable,
];

/// References to the problems of these kinds.
pub(super) fn answers(kinds: &[ProblemKind]) -> Value {
    let answers = kinds.iter().map(|kind| {
        let status = kind.status().to_string();
        let answer = json!({ "$ref": format!("#/components/responses/{status}") });
        (status, answer)
    });
    let long = json!({ "description": "The address is longer than 64 KiB" });
    let long = [("414".to_owned(), long)];
    Value::Object(answers.chain(long).collect())
}
