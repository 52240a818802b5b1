//! The gate through which all arguments pass: secrets are removed before an operation sees them,
//! and the answer says what was removed, never the value.

use reprise_redact::Redaction;

use crate::memories::{RequestContents, hash_request};
use crate::prelude::*;

/// Most places that are told one by one.
const TOLD_MAX: usize = 10;
/// So many bytes are looked through where the request runs; more would hold up others.
const AT_ONCE_BYTES: usize = 16 * 1024;
/// The field of an answer that says what was taken out.
const FIELD: &str = "redacted";

/// Encodes an answer as JSON, with `redacted` where something was taken out of what was given.
pub fn encode_answer(answer: &impl Serialize, redacted: &[Redaction]) -> Result<Vec<u8>, Problem> {
    let bytes = serde_json::to_vec(answer).map_err(encoding_problem)?;
    if redacted.is_empty() {
        return Ok(bytes);
    }
    let mut answer: Value = serde_json::from_slice(&bytes).map_err(encoding_problem)?;
    if let Value::Object(answer) = &mut answer {
        let told = serde_json::to_value(redacted).map_err(encoding_problem)?;
        answer.insert(FIELD.to_owned(), told);
    }
    serde_json::to_vec(&answer).map_err(encoding_problem)
}

/// Decodes such JSON: the answer, and what was taken out of what was given.
pub fn decode_answer<A: DeserializeOwned>(
    mut answer: Value,
) -> Result<(A, Vec<Redaction>), serde_json::Error> {
    let redacted = match &mut answer {
        Value::Object(answer) => answer.remove(FIELD),
        _ => None,
    };
    let redacted = redacted.map_or(Ok(Vec::new()), Vec::deserialize)?;
    Ok((A::deserialize(answer)?, redacted))
}

/// Arguments that an operation may see.
pub(super) struct Admitted {
    pub(super) arguments: Map<String, Value>,
    /// What was taken out of them.
    pub(super) redacted: Vec<Redaction>,
    /// The hash of the request where it has a name.
    pub(super) contents: Option<(String, RequestContents)>,
}

/// Takes the secrets out of the arguments of an operation; returns these, and what was taken out.
/// What only reads keeps its words: they are looked for, not kept. `is_named` says that the
/// request has a name, for which what it says is hashed.
pub(super) async fn redact_secrets(
    spec: Spec,
    bounds: &Arc<Bounds>,
    is_named: bool,
    mut arguments: Map<String, Value>,
) -> Result<Admitted, Problem> {
    let bytes = arguments.values().map(count_string_bytes).sum::<usize>();
    let bounds = Arc::clone(bounds);
    let work = move || {
        let redacted = redact_arguments(&spec, &bounds, &mut arguments);
        Admitted {
            contents: is_named.then(|| hash_request(spec.name, &arguments)),
            arguments,
            redacted,
        }
    };
    if bytes <= AT_ONCE_BYTES {
        return Ok(work());
    }
    Ok(run_blocking(work).await?)
}

/// Bytes of all strings in a value.
fn count_string_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(count_string_bytes).sum(),
        Value::Object(map) => map.values().map(count_string_bytes).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

fn redact_arguments(
    spec: &Spec,
    bounds: &Bounds,
    arguments: &mut Map<String, Value>,
) -> Vec<Redaction> {
    let Spec {
        name,
        effect,
        keeps_no_memory,
        ..
    } = *spec;
    if keeps_no_memory {
        return Vec::new();
    }
    let keeps = effect != Effect::Reads;
    let mut taken = bounds.redact_fields(keeps, arguments);
    if !keeps {
        // Nothing was kept: there is nothing to tell.
        taken.clear();
    }
    for Redaction { field, rule, line } in &taken {
        tracing::info!(
            operation = name,
            field,
            rule,
            line,
            "a secret was taken out"
        );
    }
    taken
}

/// What was taken out, as a person or an agent reads it; empty where nothing was.
pub fn describe_redactions(redacted: &[Redaction]) -> String {
    if redacted.is_empty() {
        return String::new();
    }
    let places = redacted.iter().take(TOLD_MAX).map(|one| {
        let Redaction { field, line, .. } = one;
        format!("`{field}` line {line} ({})", one.kind())
    });
    let mut places: Vec<String> = places.collect();
    let others = redacted.len().saturating_sub(TOLD_MAX);
    if others > 0 {
        places.push(format!("{others} more"));
    }
    let what = format_count(redacted.len(), "secret");
    format!(
        "{what} taken out before anything was kept: {}",
        places.join(", ")
    )
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "`map_err` passes the error by value"
)]
pub(super) fn encoding_problem(error: serde_json::Error) -> Problem {
    let said = format!("the answer could not be written as JSON ({error}); report this");
    Problem::new(ProblemKind::Internal, said)
}
