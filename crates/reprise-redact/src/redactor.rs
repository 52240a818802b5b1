//! The built-in rules applied to texts, JSON and records.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Display;
use std::sync::LazyLock;

use reprise_types::limits::TEXT_BYTES_MAX;
use reprise_types::{RecordBody, sha256_hex};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::rules::Rules;
use crate::scan::{Redacted, Removed, head};

/// Bytes of a record's text that are looked at: what is taken out makes room for as much again.
const LOOKED_AT_MAX: usize = 2 * TEXT_BYTES_MAX;
/// Longest name of a field that is told.
const FIELD_BYTES_MAX: usize = 256;
/// Digits of the digest that tells names apart that had secrets.
const DIGEST_DIGITS: usize = 16;

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
    pub fn new() -> Self {
        Self
    }

    /// Redacts a text. Idempotent.
    pub fn redact_text(&self, text: &str) -> Redacted {
        BUILT_IN.redact(text)
    }

    /// Redacts a text in place, as the field of that name. Returns what was taken out.
    pub fn redact_field(&self, field: &str, text: &mut String) -> Vec<Redaction> {
        let redacted = self.redact_text(text);
        if !redacted.removed.is_empty() {
            *text = redacted.text;
        }
        told(field, redacted.removed)
    }

    /// A name under which something is kept: itself, or without its secrets and with a digest, so
    /// that the same name stays the same and two stay two. Idempotent.
    pub fn name_of<'a>(&self, name: &'a str) -> Cow<'a, str> {
        let redacted = self.redact_text(name);
        if redacted.removed.is_empty() {
            return name.into();
        }
        told_apart(name, &redacted).into()
    }

    /// Makes a name of a field the one of [`Self::name_of`]. Returns what was taken out.
    pub fn redact_name(&self, field: &str, name: &mut String) -> Vec<Redaction> {
        let redacted = self.redact_text(name);
        if !redacted.removed.is_empty() {
            *name = told_apart(name, &redacted);
        }
        told(field, redacted.removed)
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

    /// Redacts every text field of a record. Its names stay equal and different, as
    /// [`Self::name_of`] has them: they are keys of deduplication, sessions and runs. Returns what
    /// was taken out.
    ///
    /// A text far longer than what is kept of it is cut first, between two words.
    pub fn redact_record(&self, record: &mut RecordBody) -> Vec<Redaction> {
        if record.text.len() > LOOKED_AT_MAX {
            let looked_at = head(&record.text, LOOKED_AT_MAX);
            let word = looked_at.rfind(char::is_whitespace);
            record.truncate(
                word.filter(|at| *at > TEXT_BYTES_MAX)
                    .unwrap_or(looked_at.len()),
            );
        }
        let mut told = self.redact_field("text", &mut record.text);
        told.extend(self.redact_name("session_id", &mut record.session_id));
        let provenance = &mut record.provenance;
        for (field, texts) in [
            ("tags", &mut record.tags),
            ("provenance.source_refs", &mut provenance.source_refs),
        ] {
            for (place, text) in texts.iter_mut().enumerate() {
                told.extend(self.redact_field(&below(field, place), text));
            }
        }
        for (field, name) in [
            ("provenance.run_id", &mut provenance.run_id),
            ("provenance.actor_id", &mut provenance.actor_id),
        ] {
            if let Some(name) = name {
                told.extend(self.redact_name(field, name));
            }
        }
        for external in &mut record.external_ids {
            told.extend(self.redact_name("external_id", &mut external.id));
        }
        told.extend(self.redact_map("metadata", &mut record.metadata));
        if let Some(details) = &mut record.details {
            told.extend(self.redact_value("details", details));
        }
        told
    }
}

fn told(field: &str, removed: Vec<Removed>) -> Vec<Redaction> {
    let told = |Removed { rule, line }| Redaction {
        field: field.to_owned(),
        rule,
        line,
    };
    removed.into_iter().map(told).collect()
}

/// A name that had secrets: its digest before the text, for behind it, it would be another secret's
/// value.
fn told_apart(name: &str, redacted: &Redacted) -> String {
    let digest = sha256_hex(name.as_bytes());
    format!("{} {}", &digest[..DIGEST_DIGITS], redacted.text)
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
