//! Secrets out, before anything is kept.
//!
//! Lives here: which keys and which shapes are secrets, and their replacement. Must never live
//! here: anything that sees a record after it was handed on. A false alarm costs a word, a miss is
//! for ever: so shapes that only secrets have need no context, and words that prose has ("token",
//! "secret") count only where a value is assigned to them.

mod patterns;

use reprise_types::NewRecord;
use serde_json::{Map, Value};

use patterns::PATTERNS;

/// Replaces secrets by `[redacted:kind]`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Redactor;

/// A text after redaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted {
    /// The text without its secrets.
    pub text: String,
    /// How many were replaced.
    pub count: u32,
}

/// Endings of key names, folded to lower-case letters and digits, whose values are secrets.
const SECRET_KEYS: [&str; 11] = [
    "authorization",
    "apikey",
    "token",
    "password",
    "passwd",
    "secret",
    "credential",
    "credentials",
    "privatekey",
    "accesskey",
    "secretkey",
];

impl Redactor {
    /// The built-in redaction.
    #[must_use]
    pub fn new() -> Self {
        Self
    }

    /// A text without its secrets. Applying it twice changes nothing more.
    #[must_use]
    pub fn redact_text(&self, text: &str) -> Redacted {
        let patterns = PATTERNS.for_text(text);
        let mut text = text.to_owned();
        let mut count = 0;
        for pattern in patterns {
            if let Some((replaced, hits)) = pattern.replace(&text) {
                text = replaced;
                count += hits;
            }
        }
        Redacted { text, count }
    }

    /// A JSON value without its secrets: whole values under secret keys, and secrets in texts.
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

    /// A JSON object without its secrets, keys included.
    pub fn redact_map(&self, map: &mut Map<String, Value>) -> u32 {
        let mut count = 0;
        for (key, value) in map.iter_mut() {
            match secret_key(key) {
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

    /// Every text of a record that was written by somebody else. External ids stay: they are the
    /// key of deduplication. Returns how many secrets were replaced.
    pub fn redact_record(&self, record: &mut NewRecord) -> u32 {
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

/// The kind named by a secret key, whatever its letter case, dashes and underscores.
fn secret_key(key: &str) -> Option<&'static str> {
    let folded: String = key
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    SECRET_KEYS
        .into_iter()
        .find(|ending| folded.ends_with(ending))
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
