//! The one way in for what operations are given: before an operation sees its arguments their
//! secrets are out, and what was taken out stands in its answer, never the value.

use reprise_redact::Redaction;

use crate::prelude::*;

/// Arguments under which something is kept, or grouped: they stay equal and different, as those of
/// a record do.
const NAMES: [&str; 3] = ["session", "session_id", "run_id"];
/// Arguments by which something is found as it is called, and hashes: looked up, never kept.
/// Records are redacted one by one where they are kept.
const FOUND_BY: [&str; 9] = [
    "id",
    "ids",
    "external_id",
    "used",
    "from",
    "to",
    "agreed",
    "cursor",
    "records",
];
/// Arguments of no form of ours: a key may say that its value is a secret.
const FREE: [&str; 2] = ["metadata", "details"];
/// Most places that are told one by one.
const TOLD_MAX: usize = 10;
/// So many bytes are looked through where the request runs; more would hold up others.
const AT_ONCE_BYTES: usize = 16 * 1024;
/// The field of an answer that says what was taken out.
const FIELD: &str = "redacted";

/// What an operation answers, and what was taken out of what it was given.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran<A> {
    /// Its answer.
    pub answer: A,
    /// Empty where nothing was taken out.
    pub redacted: Vec<Redaction>,
}

impl<A: Serialize> Ran<A> {
    /// As JSON: the answer, with `redacted` where something was.
    pub fn json(&self) -> Result<Vec<u8>, Problem> {
        let bytes = serde_json::to_vec(&self.answer).map_err(unwritable)?;
        if self.redacted.is_empty() {
            return Ok(bytes);
        }
        let mut answer: Value = serde_json::from_slice(&bytes).map_err(unwritable)?;
        if let Value::Object(answer) = &mut answer {
            let told = serde_json::to_value(&self.redacted).map_err(unwritable)?;
            answer.insert(FIELD.to_owned(), told);
        }
        serde_json::to_vec(&answer).map_err(unwritable)
    }
}

impl<A: DeserializeOwned> Ran<A> {
    /// From such JSON.
    pub fn read(mut answer: Value) -> Result<Self, serde_json::Error> {
        let redacted = match &mut answer {
            Value::Object(answer) => answer.remove(FIELD),
            _ => None,
        };
        Ok(Self {
            redacted: redacted.map_or(Ok(Vec::new()), Vec::deserialize)?,
            answer: A::deserialize(answer)?,
        })
    }
}

/// Takes the secrets out of the arguments of an operation; answers these, and what was taken out by
/// the arguments' own names. What only reads keeps its words: they are looked for, not kept.
pub(super) async fn take_out(
    name: &'static str,
    keeps: bool,
    mut arguments: Map<String, Value>,
) -> Result<(Map<String, Value>, Vec<Redaction>), Problem> {
    let bytes = arguments.values().map(weight).sum::<usize>();
    if bytes <= AT_ONCE_BYTES {
        let redacted = taken(name, keeps, &mut arguments);
        return Ok((arguments, redacted));
    }
    let work = lent(move || {
        let redacted = taken(name, keeps, &mut arguments);
        (arguments, redacted)
    });
    work.await.map_err(|error| {
        let said = format!("the arguments could not be looked through ({error}); try again");
        Problem::new(ProblemKind::Internal, said)
    })
}

/// Bytes of all strings in a value.
fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(map) => map.values().map(weight).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

fn taken(operation: &str, keeps: bool, arguments: &mut Map<String, Value>) -> Vec<Redaction> {
    let mut taken = Vec::new();
    // The files of a governed workspace are no memory.
    if !operation.starts_with("workspace_") {
        // What was kept verbatim is forgotten under its own name.
        let others = arguments.iter_mut();
        let is_its_own = |name: &str| operation == "forget" && name.starts_with("session");
        for (name, value) in others.filter(|(name, _)| !is_its_own(name)) {
            clean(name, name, value, keeps, &mut taken);
        }
        if !keeps {
            // Nothing was kept: there is nothing to tell.
            taken.clear();
        }
    }
    for Redaction { field, rule, line } in &taken {
        tracing::info!(operation, field, rule, line, "a secret was taken out");
    }
    taken
}

fn clean(path: &str, name: &str, value: &mut Value, keeps: bool, taken: &mut Vec<Redaction>) {
    if FOUND_BY.contains(&name) {
        return;
    }
    let redactor = Redactor::new();
    match value {
        Value::String(text) if NAMES.contains(&name) => {
            taken.extend(redactor.redact_name(path, text));
        }
        Value::String(text) if keeps => taken.extend(redactor.redact_field(path, text)),
        Value::Object(_) if keeps && FREE.contains(&name) => {
            taken.extend(redactor.redact_value(path, value));
        }
        Value::Array(items) => {
            // Of a vector no number is looked at.
            let items = items.iter_mut().enumerate();
            for (place, item) in items.filter(|(_, item)| !item.is_number()) {
                clean(&format!("{path}.{place}"), name, item, keeps, taken);
            }
        }
        Value::Object(map) => {
            for (name, item) in map.iter_mut() {
                clean(&format!("{path}.{name}"), name, item, keeps, taken);
            }
        }
        _ => {}
    }
}

/// What was taken out, as a person or an agent reads it; empty where nothing was.
pub fn taken_out(redacted: &[Redaction]) -> String {
    if redacted.is_empty() {
        return String::new();
    }
    let places = redacted.iter().take(TOLD_MAX).map(|one| {
        let Redaction { field, rule, line } = one;
        format!("`{field}` line {line} ({rule})")
    });
    let mut places: Vec<String> = places.collect();
    let others = redacted.len().saturating_sub(TOLD_MAX);
    if others > 0 {
        places.push(format!("{others} more"));
    }
    let what = counted(redacted.len(), "secret");
    format!(
        "{what} taken out before anything was kept: {}",
        places.join(", ")
    )
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "it stands in `map_err`, which hands over the error"
)]
pub(super) fn unwritable(error: serde_json::Error) -> Problem {
    let said = format!("the answer could not be written as JSON ({error}); report this");
    Problem::new(ProblemKind::Internal, said)
}
