//! The built-in rules applied to texts, JSON and records.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Display;
use std::sync::{LazyLock, OnceLock};

use reprise_types::limits::TEXT_BYTES_MAX;
use reprise_types::{RecordBody, sha256_hex};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::rules::RedactionRules;
use crate::scan::{RedactedText, RemovedSecret};
use crate::text_parts::prefix_of;

/// Most bytes of a record's text that are examined: twice what is stored, since removed secrets
/// make room for more text.
const EXAMINED_BYTES_MAX: usize = 2 * TEXT_BYTES_MAX;
/// Longest field name in a report.
const FIELD_BYTES_MAX: usize = 256;
/// Digits of the digest that distinguishes names that had secrets.
const DIGEST_DIGITS: usize = 16;

#[expect(
    clippy::expect_used,
    reason = "the page is a constant; every redaction test compiles it"
)]
static BUILT_IN: LazyLock<RedactionRules> = LazyLock::new(|| {
    let rules = RedactionRules::from_toml(include_str!("rules.toml"));
    let mut rules = rules.expect("the built-in rules compile");
    rules.switch_on(SWITCHED_ON.get().map_or(&[], Vec::as_slice));
    rules
});
/// Optional kinds that the configuration of this process switched on.
static SWITCHED_ON: OnceLock<Vec<String>> = OnceLock::new();
/// What not everybody calls a secret, and what many texts have something like.
const OPTIONAL_KINDS: [&str; 2] = ["iban", "us_ssn"];

/// Has optional kinds redacted in this process from now on. It is called once, before any text is
/// read. The error names a kind that there is not.
pub fn switch_on_kinds(kinds: &[String]) -> Result<(), String> {
    let is_unknown = |kind: &&String| !OPTIONAL_KINDS.contains(&kind.as_str());
    if let Some(kind) = kinds.iter().find(is_unknown) {
        return Err(format!(
            "there is no optional kind `{kind}` of secret; choose from {}",
            OPTIONAL_KINDS.join(", ")
        ));
    }
    if !kinds.is_empty() {
        SWITCHED_ON.get_or_init(|| kinds.to_vec());
    }
    Ok(())
}

/// The report of a secret that was removed from a field, without its value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Redaction {
    /// The field, `metadata.server.note` say, or `tags.0`.
    pub field: String,
    /// The rule that found it; the field has `[redacted:rule]` in its place.
    pub rule: String,
    /// The line of the field on which it began, from 1.
    pub line: u32,
}

impl Redaction {
    /// Returns the kind of secret in words, for messages.
    pub fn kind(&self) -> &str {
        match self.rule.as_str() {
            "assigned" => "password or key assignment",
            rule => rule,
        }
    }
}

/// Replaces secrets by `[redacted:kind]`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Redactor;

impl Redactor {
    pub fn new() -> Self {
        Self
    }

    /// Returns a text without its secrets. Idempotent.
    pub fn redact_text(&self, text: &str) -> RedactedText {
        BUILT_IN.redact(text)
    }

    /// Redacts a text in place, as the field of that name. Returns what was removed.
    pub fn redact_field(&self, field: &str, text: &mut String) -> Vec<Redaction> {
        let redacted = self.redact_text(text);
        if !redacted.removed.is_empty() {
            *text = redacted.text;
        }
        to_redactions(field, redacted.removed)
    }

    /// Returns a name without its secrets. A name that had one gets a digest, so that equal names
    /// stay equal and different ones stay different. Idempotent.
    pub fn redacted_name<'a>(&self, name: &'a str) -> Cow<'a, str> {
        let redacted = self.redact_text(name);
        if redacted.removed.is_empty() {
            return name.into();
        }
        name_with_digest(name, &redacted).into()
    }

    /// Replaces a name by its [`Self::redacted_name`], as the field `field`. Returns what was
    /// removed.
    pub fn redact_name(&self, field: &str, name: &mut String) -> Vec<Redaction> {
        let redacted = self.redact_text(name);
        if !redacted.removed.is_empty() {
            *name = name_with_digest(name, &redacted);
        }
        to_redactions(field, redacted.removed)
    }

    /// Redacts a JSON value as the field of that name: whole values under secret keys, and secrets
    /// in strings. Returns what was removed.
    pub fn redact_value(&self, field: &str, value: &mut Value) -> Vec<Redaction> {
        match value {
            Value::String(text) => self.redact_field(field, text),
            Value::Array(items) => {
                let items = items.iter_mut().enumerate();
                items
                    .flat_map(|(place, item)| self.redact_value(&child_field(field, place), item))
                    .collect()
            }
            Value::Object(map) => self.redact_map(field, map),
            Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
        }
    }

    /// Redacts a JSON object as the field of that name, keys included. Returns what was removed.
    pub fn redact_map(&self, field: &str, map: &mut Map<String, Value>) -> Vec<Redaction> {
        let mut redactions = Vec::new();
        // How often redaction returned a key: two that become equal keep both their values.
        let mut same: HashMap<String, u32> = HashMap::new();
        for (mut key, mut value) in std::mem::take(map) {
            // A key that was redacted before is no name of a secret.
            let is_name = !key.starts_with("[redacted:");
            let kind = BUILT_IN.secret_kind_of_key(&key).filter(|_| is_name);
            let of_key = self.redact_field(field, &mut key);
            let field = child_field(field, &key);
            match kind {
                Some(rule) if can_hold_secret(&value) => {
                    let placeholder = format!("[redacted:{rule}]");
                    if value.as_str() != Some(placeholder.as_str()) {
                        value = Value::String(placeholder);
                        let (rule, line) = (rule.to_owned(), 1);
                        redactions.push(Redaction { field, rule, line });
                    }
                }
                _ => redactions.extend(self.redact_value(&field, &mut value)),
            }
            let bare = key.clone();
            while map.contains_key(&key) {
                let count = same.entry(bare.clone()).or_insert(1);
                *count += 1;
                key = format!("{bare} {count}");
            }
            map.insert(key, value);
            redactions.extend(of_key);
        }
        redactions
    }

    /// Redacts every text field of a record. Ids and names become their [`Self::redacted_name`],
    /// since they are keys of deduplication, sessions and runs. Returns what was removed.
    ///
    /// A text that is far longer than what is stored of it is cut first, between two words.
    pub fn redact_record(&self, record: &mut RecordBody) -> Vec<Redaction> {
        if record.text.len() > EXAMINED_BYTES_MAX {
            let examined = prefix_of(&record.text, EXAMINED_BYTES_MAX);
            let word = examined.rfind(char::is_whitespace);
            record.truncate_text(
                word.filter(|at| *at > TEXT_BYTES_MAX)
                    .unwrap_or(examined.len()),
            );
        }
        let mut redactions = self.redact_field("text", &mut record.text);
        redactions.extend(self.redact_name("session_id", &mut record.session_id));
        let provenance = &mut record.provenance;
        for (field, texts) in [
            ("tags", &mut record.tags),
            ("provenance.source_refs", &mut provenance.source_refs),
        ] {
            for (place, text) in texts.iter_mut().enumerate() {
                redactions.extend(self.redact_field(&child_field(field, place), text));
            }
        }
        for (field, name) in [
            ("provenance.run_id", &mut provenance.run_id),
            ("provenance.actor_id", &mut provenance.actor_id),
        ] {
            if let Some(name) = name {
                redactions.extend(self.redact_name(field, name));
            }
        }
        for external in &mut record.external_ids {
            redactions.extend(self.redact_name("external_id", &mut external.id));
        }
        redactions.extend(self.redact_map("metadata", &mut record.metadata));
        if let Some(details) = &mut record.details {
            redactions.extend(self.redact_value("details", details));
        }
        redactions
    }
}

fn to_redactions(field: &str, removed: Vec<RemovedSecret>) -> Vec<Redaction> {
    let redactions = |RemovedSecret { rule, line }| Redaction {
        field: field.to_owned(),
        rule,
        line,
    };
    removed.into_iter().map(redactions).collect()
}

/// Returns a redacted name with the digest of the original before it. After it, the digest would
/// look like the value of a secret.
fn name_with_digest(name: &str, redacted: &RedactedText) -> String {
    let digest = sha256_hex(name.as_bytes());
    format!("{} {}", &digest[..DIGEST_DIGITS], redacted.text)
}

/// Returns the name of a field within a field.
fn child_field(field: &str, name: impl Display) -> String {
    let mut path = if field.is_empty() {
        name.to_string()
    } else {
        format!("{field}.{name}")
    };
    path.truncate(path.floor_char_boundary(FIELD_BYTES_MAX));
    path
}

fn can_hold_secret(value: &Value) -> bool {
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
