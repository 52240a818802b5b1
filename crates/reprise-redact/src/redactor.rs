//! The built-in rules applied to texts, JSON and records.

use std::sync::LazyLock;

use reprise_types::RecordBody;
use serde_json::{Map, Value};

use crate::rules::Rules;
use crate::scan::Redacted;

#[expect(
    clippy::expect_used,
    reason = "the page is a constant; every redaction test compiles it"
)]
static BUILT_IN: LazyLock<Rules> = LazyLock::new(|| {
    Rules::from_toml(include_str!("rules.toml")).expect("the built-in rules compile")
});

/// Replaces secrets by `[redacted:kind]`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Redactor;

impl Redactor {
    #[must_use]
    pub fn new() -> Self {
        Self
    }

    /// Redacts a text. Idempotent.
    #[must_use]
    pub fn redact_text(&self, text: &str) -> Redacted {
        BUILT_IN.redact(text)
    }

    /// Redacts a JSON value: whole values under secret keys, and secrets in strings. Returns how
    /// many secrets were replaced.
    pub fn redact_value(&self, value: &mut Value) -> u32 {
        match value {
            Value::String(text) => {
                let redacted = self.redact_text(text);
                if redacted.count > 0 {
                    *text = redacted.text;
                }
                redacted.count
            }
            Value::Array(items) => items.iter_mut().map(|item| self.redact_value(item)).sum(),
            Value::Object(map) => self.redact_map(map),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
    }

    /// Redacts a JSON object, keys included. Returns how many secrets were replaced.
    pub fn redact_map(&self, map: &mut Map<String, Value>) -> u32 {
        let mut count = 0;
        for (key, value) in map.iter_mut() {
            match BUILT_IN.secret_key(key) {
                Some(kind) if holds_something(value) => {
                    let placeholder = format!("[redacted:{kind}]");
                    if value.as_str() != Some(placeholder.as_str()) {
                        *value = Value::String(placeholder);
                        count += 1;
                    }
                }
                _ => count += self.redact_value(value),
            }
        }
        let dirty: Vec<(String, Redacted)> = map
            .keys()
            .map(|key| (key.clone(), self.redact_text(key)))
            .filter(|(_, redacted)| redacted.count > 0)
            .collect();
        for (key, redacted) in dirty {
            if let Some(value) = map.remove(&key) {
                map.insert(redacted.text, value);
                count += redacted.count;
            }
        }
        count
    }

    /// Redacts every text field of a record. External ids stay: they are the key of deduplication.
    /// Returns how many secrets were replaced.
    pub fn redact_record(&self, record: &mut RecordBody) -> u32 {
        let mut count = 0;
        let texts = std::iter::once(&mut record.text)
            .chain(record.tags.iter_mut())
            .chain(record.provenance.source_refs.iter_mut())
            .chain(std::iter::once(&mut record.session_id))
            .chain(record.provenance.run_id.iter_mut())
            .chain(record.provenance.actor_id.iter_mut());
        for text in texts {
            let redacted = self.redact_text(text);
            if redacted.count > 0 {
                *text = redacted.text;
                count += redacted.count;
            }
        }
        count += self.redact_map(&mut record.metadata);
        if let Some(details) = &mut record.details {
            count += self.redact_value(details);
        }
        count
    }
}

fn holds_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::Number(_) => true,
    }
}

#[cfg(test)]
mod tests;
