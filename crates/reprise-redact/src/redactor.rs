//! The built-in rules applied to texts, JSON and records.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::LazyLock;

use reprise_types::RecordBody;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::rules::Rules;
use crate::scan::{Redacted, Removed};

/// Longest name of a field that is told.
const FIELD_BYTES_MAX: usize = 256;

#[expect(
    clippy::expect_used,
    reason = "the page is a constant; every redaction test compiles it"
)]
static BUILT_IN: LazyLock<Rules> = LazyLock::new(|| {
    Rules::from_toml(include_str!("rules.toml")).expect("the built-in rules compile")
});

/// A secret that was taken out of a field: what a person or a program is told, never the value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Redaction {
    /// The field, `metadata.server.note` say, or `tags.0`.
    pub field: String,
    /// The rule that found it; the field has `[redacted:rule]` in its place.
    pub rule: String,
    /// The line of the field on which it began, from 1.
    pub line: u32,
}

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

    /// Redacts a text in place, as the field of that name. Returns what was taken out.
    pub fn redact_field(&self, field: &str, text: &mut String) -> Vec<Redaction> {
        let redacted = self.redact_text(text);
        if !redacted.removed.is_empty() {
            *text = redacted.text;
        }
        let told = |Removed { rule, line }| Redaction {
            field: field.to_owned(),
            rule,
            line,
        };
        redacted.removed.into_iter().map(told).collect()
    }

    /// Redacts a JSON value as the field of that name: whole values under secret keys, and secrets
    /// in strings. Returns what was taken out.
    pub fn redact_value(&self, field: &str, value: &mut Value) -> Vec<Redaction> {
        match value {
            Value::String(text) => self.redact_field(field, text),
            Value::Array(items) => {
                let items = items.iter_mut().enumerate();
                items
                    .flat_map(|(place, item)| self.redact_value(&below(field, place), item))
                    .collect()
            }
            Value::Object(map) => self.redact_map(field, map),
            Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
        }
    }

    /// Redacts a JSON object as the field of that name, keys included. Returns what was taken out.
    pub fn redact_map(&self, field: &str, map: &mut Map<String, Value>) -> Vec<Redaction> {
        let mut told = Vec::new();
        // How often a key came out of redaction: two that come out alike keep both their values.
        let mut same: HashMap<String, u32> = HashMap::new();
        for (mut key, mut value) in std::mem::take(map) {
            // A key that was redacted before names nothing.
            let is_name = !key.starts_with("[redacted:");
            let kind = BUILT_IN.secret_key(&key).filter(|_| is_name);
            let of_key = self.redact_field(field, &mut key);
            let field = below(field, &key);
            match kind {
                Some(rule) if holds_something(&value) => {
                    let placeholder = format!("[redacted:{rule}]");
                    if value.as_str() != Some(placeholder.as_str()) {
                        value = Value::String(placeholder);
                        let (rule, line) = (rule.to_owned(), 1);
                        told.push(Redaction { field, rule, line });
                    }
                }
                _ => told.extend(self.redact_value(&field, &mut value)),
            }
            let bare = key.clone();
            while map.contains_key(&key) {
                let count = same.entry(bare.clone()).or_insert(1);
                *count += 1;
                key = format!("{bare} {count}");
            }
            map.insert(key, value);
            told.extend(of_key);
        }
        told
    }

    /// Redacts every text field of a record. External ids stay: they are the key of deduplication.
    /// Returns what was taken out.
    pub fn redact_record(&self, record: &mut RecordBody) -> Vec<Redaction> {
        let mut told = self.redact_field("text", &mut record.text);
        told.extend(self.redact_field("session_id", &mut record.session_id));
        let provenance = &mut record.provenance;
        for (field, texts) in [
            ("tags", &mut record.tags),
            ("provenance.source_refs", &mut provenance.source_refs),
        ] {
            for (place, text) in texts.iter_mut().enumerate() {
                told.extend(self.redact_field(&below(field, place), text));
            }
        }
        for (field, text) in [
            ("provenance.run_id", &mut provenance.run_id),
            ("provenance.actor_id", &mut provenance.actor_id),
        ] {
            if let Some(text) = text {
                told.extend(self.redact_field(field, text));
            }
        }
        told.extend(self.redact_map("metadata", &mut record.metadata));
        if let Some(details) = &mut record.details {
            told.extend(self.redact_value("details", details));
        }
        told
    }
}

/// The name of a field within a field.
fn below(field: &str, name: impl Display) -> String {
    let mut path = if field.is_empty() {
        name.to_string()
    } else {
        format!("{field}.{name}")
    };
    path.truncate(path.floor_char_boundary(FIELD_BYTES_MAX));
    path
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
